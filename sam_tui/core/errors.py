"""Every error that a person or a model may read. Each knows its title and the exit code it ends with.

SamError                      1   what happened, to what, and what to do next
├── UsageError                2   the command line or an argument is wrong
├── ConfigurationError       52   a settings or script file is invalid
├── WorkspaceError           52   the workspace does not exist, is not a folder, or cannot be used
├── StoppedByHook             3   a hook refused a message or ended the turn
├── BudgetExhausted          53   the turn, token or money limit was reached
├── ToolError                 1   a tool could not do what was asked (text goes to the model)
│   └── InvalidArguments      1   the call's arguments do not fit the operation
├── StorageError             70   the conversation database cannot be used
├── CheckpointError           1   the files of the workspace could not be stored or restored
├── ConversationInUse        75   another program writes to the conversation
├── ConversationTakenOver     1   another program writes to it now, this one no longer
└── ModelError                1   the provider refused or failed
    ├── ModelAuthError       41   no key, or a wrong one
    ├── ModelNotFound         1   no such model there
    ├── ModelRejected         1   the request was refused (400)
    │   └── ContextExceeded   1   it was longer than the model's context
    ├── ModelLimited         75   429; ``retry_after`` seconds where the provider said so
    ├── ModelUnavailable     75   5xx, refused connection, name not found, time-out
    ├── ModelCut             75   the stream ended in the middle
    ├── EmptyAnswer          75   it answered with nothing, also when it was asked to go on
    └── AnswerTooLarge       53   it answered with more than the limits of an answer
"""

from typing import ClassVar


class SamError(Exception):
    """Base of all errors with a message fit to show.

    ``str(error)`` says what happened and to what; ``hint`` says what to do next, or is empty.
    """

    title: ClassVar[str] = "Something went wrong"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def explain(self) -> str:
        """Message and hint as one text, for a terminal or a model."""
        return f"{self}\n{self.hint}" if self.hint else str(self)


class UsageError(SamError):
    """The command line or an argument is wrong."""

    title = "Usage error"
    exit_code = 2


class ConfigurationError(SamError):
    """A settings or script file is invalid."""

    title = "Invalid configuration"
    exit_code = 52


class WorkspaceError(SamError):
    """The workspace does not exist, is not a folder, or cannot be used."""

    title = "The workspace cannot be used"
    exit_code = 52


class StoppedByHook(SamError):
    """A hook refused a message, or ended the turn."""

    title = "A hook stopped it"
    exit_code = 3


class BudgetExhausted(SamError):
    """A limit of a turn was reached; ``limit`` names it."""

    title = "Limit reached"
    exit_code = 53

    def __init__(self, message: str, *, limit: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.limit = limit


class ToolError(SamError):
    """A tool could not do its work; the model reads the text."""

    title = "The tool failed"


class InvalidArguments(ToolError):
    """The call's arguments do not fit the operation."""

    title = "Wrong arguments"


class StorageError(SamError):
    """The conversation database cannot be used."""

    title = "Conversations cannot be stored"
    exit_code = 70


class CheckpointError(SamError):
    """The files of the workspace could not be stored or restored."""

    title = "Checkpoints"


class ConversationInUse(SamError):
    """Another program writes to the conversation."""

    title = "The conversation is open elsewhere"
    exit_code = 75


class ConversationTakenOver(SamError):
    """Another program took the conversation over; this program writes no more to it."""

    title = "The conversation was taken over"


class ModelError(SamError):
    """The provider refused or failed. ``status`` is the HTTP status where there was one."""

    title = "The model did not answer"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retry_after = retry_after


class ModelAuthError(ModelError):
    """No key, or a wrong one."""

    title = "The key was not accepted"
    exit_code = 41


class ModelNotFound(ModelError):
    """The provider knows no model of this name."""

    title = "No such model"


class ModelRejected(ModelError):
    """The provider refused the request: sending it again unchanged would not help."""

    title = "The request was refused"


class ContextExceeded(ModelRejected):
    """The request was longer than the model's context, of ``limit`` tokens where it said so."""

    title = "Too long for the model"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(message, hint=hint, status=status, retry_after=retry_after)
        self.limit = limit


class ModelLimited(ModelError):
    """Too many requests; ``retry_after`` is the wait in seconds if the provider named one."""

    title = "Rate limited"
    exit_code = 75
    retryable = True


class ModelUnavailable(ModelError):
    """Overloaded, down, unreachable or too slow."""

    title = "The model cannot be reached"
    exit_code = 75
    retryable = True


class ModelCut(ModelError):
    """The stream ended before the answer did."""

    title = "The answer was cut off"
    exit_code = 75
    retryable = True


class EmptyAnswer(ModelError):
    """The model ended its answer without a word or a call, twice."""

    title = "The answer was empty"
    exit_code = 75


class AnswerTooLarge(ModelError):
    """The answer is larger than is taken; ``setting`` of ``[limits]`` is the limit."""

    title = "The answer is too large"
    exit_code = 53
    limit: ClassVar[str] = "answer"

    def __init__(self, message: str, *, setting: str) -> None:
        hint = f"To accept such answers, raise {setting} in [limits] of your policy file."
        super().__init__(message, hint=hint)
