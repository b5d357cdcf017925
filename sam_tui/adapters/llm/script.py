"""The file that a scripted model plays: its format, and how it is read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from sam_tui.core import errors
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.local_files.bounded import UnusableFile, read_named
from sam_tui.core.text.field_faults import fault_words
from sam_tui.core.text.json_files import json_of_file
from sam_tui.core.usage import Usage

ErrorType = Literal[
    "ModelAuthError",
    "ModelNotFound",
    "ModelRejected",
    "ContextExceeded",
    "ModelLimited",
    "ModelUnavailable",
    "ModelCut",
]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScriptedCall(_Part):
    """A tool call. ``arguments`` is an object, or raw text that is sent unchanged."""

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict[str, Any])
    id: str = ""


class When(_Part):
    """The conditions of playing a step; every given one must hold.

    They look at what came after the last answer of the model: ``last_tool`` is the name of the last
    tool result, ``ok`` whether it succeeded, ``contains`` a text in it (or, without a result, in the
    person's message), ``user`` a text in the person's last message of the whole conversation.
    """

    last_tool: str = ""
    ok: bool | None = None
    contains: str = ""
    user: str = ""


class WaitFor(_Part):
    """The condition that a step waits for before it plays.

    ``file`` must exist (relative to the script's folder) and, if given, contain ``contains``.
    ``contains`` alone is looked for in the messages of the request, should they still grow.
    ``timeout`` in seconds; then the step fails as ``ModelUnavailable``.
    """

    file: str = ""
    contains: str = ""
    timeout: Annotated[float, Field(gt=0)] = 60.0

    @model_validator(mode="after")
    def _something(self) -> "WaitFor":
        if not (self.file or self.contains):
            raise ValueError("needs file or contains")
        return self


class ScriptedError(_Part):
    """An error to raise after the step's text and calls were streamed."""

    type: ErrorType
    message: str = "The script says so."
    hint: str = ""
    status: int | None = None
    retry_after: float | None = None

    def build(self) -> errors.ModelError:
        """The exception."""
        kind: type[errors.ModelError] = getattr(errors, self.type)
        return kind(self.message, hint=self.hint, status=self.status, retry_after=self.retry_after)


class ScriptedUsage(_Part):
    """The reported usage of the step; the fields of ``Usage``."""

    input_tokens: Count = 0
    cached_tokens: Count = 0
    cache_write_tokens: Count = 0
    output_tokens: Count = 0
    reasoning_tokens: Count = 0
    cost: Annotated[float, Field(ge=0)] | None = None

    def build(self) -> Usage:
        """The usage itself."""
        return Usage(**self.model_dump())


class ScriptStep(_Part):
    """One turn of the assistant. See ``scripted`` for the meaning of each field."""

    reasoning: str = ""
    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    rate: Annotated[float, Field(gt=0)] | None = None
    delay: Annotated[float, Field(ge=0)] | None = None
    chunk: Annotated[int, Field(ge=1)] | None = None
    when: When | None = None
    usage: ScriptedUsage | None = None
    error: ScriptedError | None = None
    wait_for: WaitFor | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "ScriptStep":
        if self.rate is not None and self.delay is not None:
            raise ValueError("rate and delay exclude each other")
        return self


_STEPS: TypeAdapter[tuple[ScriptStep, ...]] = TypeAdapter(tuple[ScriptStep, ...])


def read_steps(
    data: Sequence[ScriptStep | Mapping[str, object]], *, source: str
) -> tuple[ScriptStep, ...]:
    """Checked steps; ConfigurationError naming ``source`` and the place of everything wrong."""
    try:
        return _STEPS.validate_python(tuple(data))
    except ValidationError as error:
        lines = [f"{_place(e['loc'])}: {fault_words(e)}" for e in error.errors()[:5]]
        text = f"The script {source} is invalid: " + "; ".join(lines) + "."
        raise ConfigurationError(text, hint=_HINT) from error


def read_file(path: Path) -> tuple[ScriptStep, ...]:
    """The steps of a script file; ConfigurationError when it cannot be read or is not one."""
    try:
        data = read_named(str(path), most=_LARGEST)
    except UnusableFile as error:
        raise ConfigurationError(f"The script {path} {error}.", hint=_HINT) from error
    parsed = json_of_file(data, str(path), hint=_HINT)
    if not isinstance(parsed, list):
        raise ConfigurationError(f"The script {path} is not a list of steps.", hint=_HINT)
    return read_steps(cast("list[Mapping[str, object]]", parsed), source=str(path))


_LARGEST = 64 * 1024 * 1024
_HINT = 'A script is a JSON list of steps such as {"text": "Hello"}.'


def _place(loc: tuple[int | str, ...]) -> str:
    """``(0, "calls", 1, "name")`` as ``step 1, calls[1].name``."""
    step, *parts = loc or ("?",)
    number = step + 1 if isinstance(step, int) else step
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return f"step {number}, {path.lstrip('.')}" if path else f"step {number}"
