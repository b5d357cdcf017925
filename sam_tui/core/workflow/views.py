"""The verbs of the workflow service, their answers (frozen data, times in seconds, UTC), and refusals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from sam_tui.core.errors import SamError
from sam_tui.core.inquiry import chosen
from sam_tui.core.ports.workflows import AttemptRow, ExecutionRow, ExecutionState, StepRow, TaskRow

if TYPE_CHECKING:
    from sam_tui.core.workflow.definitions.model import Step

RUNNER = "sam-tui run"
"""The driver of a step that has its own conversation."""

MODES = ("EXECUTE_FULL_PLAN", "PLAN_ONLY", "SYNTHESIZE_ONLY", "EXECUTE_PLANNED_TASK")
"""The modes of a planned task (seed 002)."""

VerbName = Literal["pause", "resume", "abandon", "retry", "decide"]
Word = Literal["", "reason", "step", "choice"]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb. ``word`` is its argument besides the execution; ``ends`` if it ends the execution.

    ``brief`` is its line in a list of operations, ``about`` a sentence by itself.
    """

    name: VerbName
    brief: str
    about: str
    word: Word = ""
    ends: bool = False


_VERBS = (
    Verb("pause", "stop for now", "Stop handing out work; tokens are refused meanwhile.", "reason"),
    Verb(
        "resume", "go on", "Go on after a pause, with fresh tokens; a person decides what it asks."
    ),
    Verb("abandon", "end it for good", "End an execution for good.", "reason", ends=True),
    Verb("retry", "open a step again", "Open a step again, with all that depends on it.", "step"),
    Verb("decide", "answer its question", "Answer what a paused execution asks.", "choice"),
)
VERBS: Final[Mapping[VerbName, Verb]] = {verb.name: verb for verb in _VERBS}
"""The verbs of the tool, of midex, of the command line and of the workbench, by name."""
FOR_MODELS: Final = tuple(verb for verb in _VERBS if verb.word != "choice")
"""The verbs that a model may use: only a person decides the question of a paused execution."""

Outcome = Literal[
    "started", "continued", "completed", "retried", "rolled_back", "replanned", "asked",
    "failed", "diverged", "waiting",
]  # fmt: skip
"""The effect of a verb. ``continued``: further steps follow; ``waiting``: other steps still run."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """An open step with its instructions, and the step token that completes it.

    ``spec`` is its definition; ``persona``, ``instructions``, ``inputs`` and ``arguments`` are those of
    it with the references filled in; ``persona_text`` is the pinned persona.
    """

    execution_id: str
    workflow: str
    step: str
    spec: "Step"
    attempt: int
    token: str = field(repr=False)
    expires_at: float
    persona: str
    persona_text: str
    instructions: str
    inputs: Mapping[str, object]
    arguments: Mapping[str, object]
    deadline: float | None
    task: TaskRow | None


@dataclass(frozen=True, slots=True)
class Failure:
    """A guard that did not hold: its name, the reason, and the values it looked at."""

    guard: str
    message: str
    details: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Advanced:
    """The result of a verb: the state now, the steps it opened, and why something failed."""

    execution_id: str
    workflow: str
    state: ExecutionState
    outcome: Outcome
    opened: tuple[Ticket, ...]
    message: str
    failures: tuple[Failure, ...] = ()
    target: str = ""
    """The step to which the execution went back, if the outcome is ``rolled_back``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView(StepRow):
    """One step of an execution, with the fields of its definition or plan."""

    kind: str
    persona: str
    description: str
    needs: tuple[str, ...]
    tools: tuple[str, ...] | None
    tasks: tuple[TaskRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView(AttemptRow):
    """One attempt at a step: the history is a list of these."""

    persona: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionView(ExecutionRow):
    """One execution. ``totals`` are its steps by status, and ``total``, with those that plans added.

    ``effectiveness`` starts at 0.8, gains 0.1 for each attempt that its evidence bears out and loses
    0.1 for each failed one, within 0.3 and 1.0 (seed 001).
    """

    current: tuple[str, ...]
    totals: Mapping[str, int]
    rollbacks_left: int
    replans_left: int
    effectiveness: float

    @property
    def progress(self) -> str:
        """Completed steps of all steps, as ``3/7``."""
        return f"{self.totals['completed']}/{self.totals['total']}"


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A range of an artifact's text, in code points."""

    text: str
    start: int
    end: int
    total: int


@dataclass(frozen=True, slots=True)
class Phase:
    """The step that a conversation works on: for the gate, the reminder and the status line."""

    execution_id: str
    workflow: str
    step: str
    tools: tuple[str, ...] | None
    state: ExecutionState
    alone: bool = False
    """Whether a driver made the conversation for this one step."""


Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class DefinitionProblem:
    """Something wrong with a definition file; ``line`` counts from 1."""

    path: str
    line: int
    message: str
    level: Level = "error"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.level}: {self.message}"


class WorkflowRefused(SamError):
    """A call that was not possible. ``code`` is stable; ``details`` are plain JSON values."""

    title = "The workflow refused"

    def __init__(self, code: str, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.details = details

    def as_object(self) -> dict[str, object]:
        """The refusal as programs read it: ``{code, message, details}``."""
        return {"code": self.code, "message": self.explain(), "details": dict(self.details)}


def require_choice(text: str, choices: Sequence[str]) -> str:
    """The choice that a text names, see ``chosen``. Raises ``WorkflowRefused`` (``choice_invalid``)."""
    choice = chosen(text, choices)
    if not choice:
        raise WorkflowRefused(
            "choice_invalid",
            f"{text!r} is none of: {', '.join(choices)}.",
            hint="Answer with one of these.",
            choices=list(choices),
        )
    return choice


def output_refused(
    what: str, step: str, faults: Sequence[str], **details: object
) -> WorkflowRefused:
    """The refusal of an output or a plan that does not fit its step, naming every fault."""
    return WorkflowRefused(
        "output_invalid",
        f"The {what} of step {step} does not fit: {'; '.join(faults)}.",
        hint="Nothing has changed; a token stays valid. Correct it and send it again.",
        step=step,
        faults=list(faults),
        **details,
    )
