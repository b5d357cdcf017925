"""The messages between the process that drives and its workers, their limits, and their seal."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sam_tui.core.errors import SamError
from sam_tui.core.text.field_faults import faults_of

FLEET_ROLE = "FleetAgent"
"""The role of workers that run whole headless tasks. The other roles do steps of plans."""
HEADLESS_TOOL = "HeadlessRun"
MOST_PROMPT = 200_000
MOST_PATCH = 5_000_000
MOST_LOG = 64_000
MOST_ANSWER = 1_000_000
MOST_ASKS = 20
_MOST_USED = 10**12
"""The most dollars, tokens or turns that a result may report."""
MOST_MESSAGE = 12_000_000
"""The most characters of a sealed message."""
NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}"
Name = Annotated[str, Field(pattern=f"^{NAME}$")]
Mode = Literal["plan", "ask-all", "ask", "accept-edits", "auto", "bypass"]
MODES: tuple[Mode, ...] = ("plan", "ask-all", "ask", "accept-edits", "auto", "bypass")
"""The modes from the strictest on; each also allows what the modes before it allow."""


class UntrustedMessage(SamError):
    """A message that is not sealed with the key of this fleet, or not of the form."""

    title = "Message refused"


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SubTaskMessage(_Message):
    """Spec C5: the work of one worker. ``sub_task_input`` belongs to the tool."""

    sub_task_id: Name
    parent_task_id: Name
    assigned_agent_role: Name
    tool_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,120}$")]
    sub_task_input: dict[str, Any]
    narrative_step: Annotated[str, Field(max_length=2000)] = ""
    stepId: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,120}$")]

    @property
    def id(self) -> str:
        """The id of the work in the queue."""
        return f"{self.parent_task_id}.{self.sub_task_id}"


class ErrorDetails(_Message):
    """The reason why a sub-task failed."""

    message: Annotated[str, Field(max_length=20_000)]


class SubTaskResult(_Message):
    """Spec C5: the outcome of a sub-task."""

    sub_task_id: Name
    parent_task_id: Name
    worker_agent_role: Name
    status: Literal["COMPLETED", "FAILED"]
    result_data: Any = None
    error_details: ErrorDetails | None = None


class HeadlessInput(_Message):
    """The input of ``HeadlessRun``. ``workspace`` names the bundle; a clone has an address as well."""

    prompt: Annotated[str, Field(min_length=1, max_length=MOST_PROMPT)]
    model: Annotated[str, Field(max_length=300, pattern=r"^[^\s-]\S*$|^$")] = ""
    mode: Mode = "ask"
    max_turns: Annotated[int, Field(ge=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_cost: Annotated[float, Field(gt=0)] | None = None
    seconds: Annotated[float, Field(gt=0, le=86_400)] = 3600
    answer_seconds: Annotated[float, Field(ge=0, le=86_400)] = 0
    workspace: Annotated[str, Field(pattern=rf"^{NAME}$|^$")] = ""
    clone: Annotated[str, Field(max_length=1000)] = ""
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$|^$")] = ""


class HeadlessResult(_Message):
    """The ``result_data`` of ``HeadlessRun``."""

    answer: Annotated[str, Field(max_length=MOST_ANSWER)] = ""
    subtype: Annotated[str, Field(max_length=40)] = ""
    cost: Annotated[float, Field(ge=0, le=_MOST_USED)] | None = None
    tokens: Annotated[int, Field(ge=0, le=_MOST_USED)] = 0
    turns: Annotated[int, Field(ge=0, le=_MOST_USED)] = 0
    seconds: Annotated[float, Field(ge=0, le=_MOST_USED)] = 0
    patch: Annotated[str, Field(max_length=MOST_PATCH)] = ""
    log: Annotated[str, Field(max_length=MOST_LOG)] = ""
    worker: Annotated[str, Field(max_length=200)] = ""


class Ask(_Message):
    """A question of a task to the person: the part of an inquiry that a front end shows."""

    id: Name
    title: Annotated[str, Field(max_length=500)]
    summary: Annotated[str, Field(max_length=4000)] = ""
    targets: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    why: Annotated[str, Field(max_length=4000)] = ""
    change: Annotated[str, Field(max_length=60_000)] = ""
    choices: Annotated[tuple[str, ...], Field(max_length=50)] = ()


class Asks(_Message):
    """All open questions of one piece of work."""

    work: Annotated[str, Field(max_length=200)]
    asks: Annotated[tuple[Ask, ...], Field(max_length=MOST_ASKS)]


class AnswerMessage(_Message):
    """The answer to one question: ``approve``, ``deny`` or a text, as in a file of answers."""

    work: Annotated[str, Field(max_length=200)]
    ask: Name
    reply: Annotated[str, Field(min_length=1, max_length=20_000)]


Form = TypeVar("Form", bound=BaseModel)


class Seal:
    """Signs messages with the key of a fleet, and opens signed ones.

    ``kind`` prevents that a message of one kind passes for another's.
    """

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def closed(self, kind: str, message: BaseModel) -> dict[str, str]:
        """Return the signed message in the form in which it is sent."""
        body = message.model_dump_json()
        return {"body": body, "seal": self._mark(kind, body)}

    def opened(self, kind: str, envelope: object, model: type[Form]) -> Form:
        """The message of an envelope. Raises ``UntrustedMessage``."""
        body, mark = _parts(envelope)
        if len(body) > MOST_MESSAGE or not hmac.compare_digest(mark, self._mark(kind, body)):
            raise UntrustedMessage(f"A {kind} does not carry the seal of this fleet's key.")
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            raise UntrustedMessage(f"A {kind} has the wrong form: {faults_of(error)[0]}.") from None

    def _mark(self, kind: str, body: str) -> str:
        text = f"{kind}\0{body}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()


def _parts(envelope: object) -> tuple[str, str]:
    if isinstance(envelope, Mapping):
        fields = cast("Mapping[str, object]", envelope)
        body, mark = fields.get("body"), fields.get("seal")
        if isinstance(body, str) and isinstance(mark, str) and mark.isascii():
            return body, mark
    return "", ""
