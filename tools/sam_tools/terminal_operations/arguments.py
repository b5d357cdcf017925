"""The model's arguments for each terminal operation, and the accesses that it declares."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints, model_validator

from sam_tui.core.accesses import Access, CommandAccess, Read, Type, Write
from sam_tui.core.tooling.arguments import Arguments

DEFAULT_TIMEOUT = 120
LONGEST_TIMEOUT = 3600
INPUT_TIMEOUT = 10
LONGEST_WAIT = 600
SHELL_ITSELF = "(interactive shell)"
"""The command that the guard judges when a session opens: any command may follow."""

SessionName = Annotated[str, Field(description="from create_session")]
Folder = Annotated[
    str | None, Field(description="where to run; the workspace when left out", min_length=1)
]


class RunCommand(Arguments):
    """The arguments of ``run_command``."""

    command: Annotated[str, StringConstraints(pattern=r"\S")]
    explanation: str | None = Field(default=None, description="why, in one line for the person")
    isBackground: bool = Field(default=False, description="return at once with a terminalId")
    working_directory: Folder = None
    timeout: float = Field(
        default=DEFAULT_TIMEOUT,
        gt=0,
        le=LONGEST_TIMEOUT,
        description=f"seconds, at most {LONGEST_TIMEOUT}. run_command: {DEFAULT_TIMEOUT} unless given,"
        f" none in the background; send_input: {INPUT_TIMEOUT}",
    )

    @property
    def limit(self) -> float | None:
        """Seconds the command may run; None for a background command that was given none."""
        if self.isBackground and "timeout" not in self.model_fields_set:
            return None
        return self.timeout


class GetTerminalOutput(Arguments):
    """The arguments of ``get_terminal_output``."""

    id: str | None = Field(default=None, description="terminalId or session_id")
    from_index: int = Field(default=0, ge=0, description="the end_index of the last read")
    wait: float = Field(
        default=0, ge=0, le=LONGEST_WAIT, description="seconds to wait for the command's end"
    )
    end: bool = Field(default=False, description="end the command")


class GetTerminalBuffer(Arguments):
    """The arguments of ``get_terminal_buffer``."""

    id: str | None = None


class CreateDirectory(Arguments):
    """The arguments of ``create_directory``."""

    also: ClassVar[Mapping[str, tuple[str, ...]]] = {"path": ("dirPath",)}
    dirPath: Annotated[str, Field(min_length=1)]


class CreateSession(Arguments):
    """The arguments of ``create_session``."""

    conversation_id: str | None = Field(default=None, description="this conversation's, or nothing")
    working_directory: Folder = None


class SendInput(Arguments):
    """The arguments of ``send_input``."""

    session_id: SessionName
    input: str = Field(
        description=r"keys as typed; end a command with \r\n to run it; \u0003 is ctrl+c"
    )
    hand_over: str = Field(
        default="",
        description="why the person must type after input (may be empty), as a password; waits for them",
        max_length=500,
    )
    timeout: float = Field(default=INPUT_TIMEOUT, gt=0, le=LONGEST_TIMEOUT)

    @model_validator(mode="after")
    def _something(self) -> "SendInput":
        if not self.input and not self.hand_over.strip():
            raise ValueError("there is nothing to type")
        return self


class GetOutput(Arguments):
    """The arguments of ``get_output``."""

    session_id: SessionName
    from_index: int = Field(default=0, ge=0)


class SessionOnly(Arguments):
    """The arguments of ``get_history`` and ``close_session``."""

    session_id: SessionName


def run_accesses(arguments: RunCommand) -> Sequence[Access]:
    """The command, and the folder where one is named."""
    return _in_folder(arguments.command, arguments.working_directory)


def create_accesses(arguments: CreateSession) -> Sequence[Access]:
    """A shell that can run anything, and the folder where one is named."""
    return _in_folder(SHELL_ITSELF, arguments.working_directory)


def send_accesses(arguments: SendInput) -> Sequence[Access]:
    """The keys, as the person is shown them; none where the person is to type."""
    if not arguments.input:
        return ()
    return (Type(arguments.session_id, arguments.input),)


def directory_accesses(arguments: CreateDirectory) -> Sequence[Access]:
    """The folder that is made."""
    return (Write(arguments.dirPath, "dirPath"),)


def _in_folder(command: str, folder: str | None) -> Sequence[Access]:
    if folder is None:
        return (CommandAccess(command),)
    return (CommandAccess(command, folder), Read(folder, "working_directory"))
