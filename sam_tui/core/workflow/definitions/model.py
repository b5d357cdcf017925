"""The model of a workflow, for both forms in which it may be written.

The fuller form has ``steps``; midex's form has ``phases`` of ``{phase, agent, description,
dependsOn, allowParallel}``, which become steps of kind ``agent``. docs/workflows.md is the reference.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

StepKind = Literal["agent", "tool", "llm", "human", "plan"]
Comparison = Literal["present", "equals", "not_equals", "at_least", "at_most", "contains", "one_of"]
ActionKind = Literal["retry", "rollback", "replan", "ask", "abort"]

MOST_STEPS = 200
LONGEST_TASK = 500
"""The most characters of a task that matchers read."""
RULES = ("critical", "threshold", "in_progress", "consistency")
"""The rules of a guard of ``tasks``, in the order in which they are checked."""
STEP_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""The form of names of workflows and personas: no name can be mistaken for another one, or for a path."""
_ACTION = re.compile(
    r"retry|replan|ask|abort|rollback:(?P<target>[A-Za-z0-9][A-Za-z0-9_-]{0,63})(?P<prev>:previous)?"
)
Name = Annotated[str, Field(min_length=1, max_length=200)]
Seconds = Annotated[float, Field(gt=0, le=30 * 86_400)]


@dataclass(frozen=True, slots=True)
class StepAction:
    """The action after a failed step or guard; ``previous`` goes one item further back."""

    kind: ActionKind
    target: str = ""
    previous: bool = False


def parse_action(text: str) -> StepAction:
    """``retry``, ``rollback:<step>[:previous]``, ``replan``, ``ask`` or ``abort``; else ``ValueError``."""
    match = _ACTION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not retry, rollback:<step>, replan, ask or abort")
    kind = text.strip().partition(":")[0]
    return StepAction(cast("ActionKind", kind), match["target"] or "", bool(match["prev"]))


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _checked(value: object) -> object:
    """An action, or bands of actions in rising order."""
    if isinstance(value, str):
        parse_action(value)
    else:
        bounds = [band.below for band in cast("tuple[Band, ...]", value)]
        if not bounds or bounds != sorted(bounds):
            raise ValueError("bands must stand in rising order")
    return value


Action = Annotated[str, AfterValidator(_checked)]


class Band(_Part):
    """The action if fewer than ``below`` percent of the tasks are completed."""

    below: float = Field(gt=0, le=101)
    do: Action


OnFail = Annotated[str | tuple[Band, ...], AfterValidator(_checked)]


class StepGuard(_Part):
    """A condition on a step's outcome: of ``value``, of ``evidence``, or of ``tasks``.

    ``value`` compares a reference; ``evidence`` asks how the last call of that operation ``ended``
    which the host itself saw in this attempt; ``tasks`` measures the items of another step.
    """

    value: object = None
    is_: Comparison = Field(default="present", alias="is")
    to: object = None
    evidence: str = ""
    contains: str = ""
    exit_code: int | None = None
    ended: Literal["well", "badly", "any"] = "well"
    tasks: str = ""
    threshold: float = Field(default=95, ge=0, le=100)
    rules: dict[str, Action] = Field(default_factory=dict[str, str])
    """The actions if a rule of ``tasks`` is the first to fail, by rule; without one, ``on_fail``."""
    message: str = ""
    on_fail: OnFail | None = None

    @model_validator(mode="after")
    def _one_subject(self) -> "StepGuard":
        subjects = [self.value is not None, bool(self.evidence), bool(self.tasks)]
        if sum(subjects) != 1:
            raise ValueError("a guard has exactly one of value, evidence and tasks")
        if self.rules and not self.tasks:
            raise ValueError("rules are those of tasks")
        if unknown := sorted(set(self.rules) - set(RULES)):
            raise ValueError(f"{unknown[0]!r} is not a rule of tasks: {', '.join(RULES)}")
        return self

    @property
    def kind(self) -> str:
        """``value``, ``evidence`` or ``tasks``."""
        return "tasks" if self.tasks else "evidence" if self.evidence else "value"


class SubTask(_Part):
    """A sub-task as seed 002 writes it: whom it is assigned to, with which tool, and its input."""

    role: str
    tool: str
    input: dict[str, object] = Field(default_factory=dict[str, object])


class Step(_Part):
    """One step. ``tools`` None allows every tool, an empty list none; ``attempts`` bounds retries.

    ``max_calls`` are model calls of one attempt, ``timeout`` seconds. ``each`` makes it run once for
    every item of a list. ``parallel`` false: nothing else runs beside it.
    """

    id: str
    kind: StepKind = "agent"
    description: str = Field(default="", max_length=2000)
    persona: str = ""
    needs: tuple[str, ...] = ()
    parallel: bool = True
    tools: tuple[str, ...] | None = None
    prompt: str = Field(default="", max_length=40_000)
    inputs: dict[str, object] = Field(default_factory=dict[str, object])
    output: dict[str, Any] | None = None
    when: tuple[StepGuard, ...] = ()
    guards: tuple[StepGuard, ...] = ()
    on_fail: OnFail = "retry"
    attempts: int | None = Field(default=None, ge=1, le=20)
    timeout: Seconds | None = None
    max_calls: int | None = Field(default=None, ge=1, le=300)
    each: str = ""
    tool: str = ""
    arguments: dict[str, object] = Field(default_factory=dict[str, object])
    choices: tuple[str, ...] = ()
    child_tools: tuple[str, ...] | None = None
    form: Literal["steps", "stages"] = "steps"
    """The form of plan that a planner is asked for; it may answer in either."""
    review: str = ""
    """A reference or a word: if its value is ``true``, the plan waits for approval. Empty for never."""
    task: SubTask | None = None

    @field_validator("id")
    @classmethod
    def _id(cls, text: str) -> str:
        if not STEP_ID.fullmatch(text):
            raise ValueError("an id is up to 64 letters, digits, dashes and underscores")
        return text

    @model_validator(mode="after")
    def _fits_kind(self) -> "Step":
        if (self.kind == "tool") != bool(self.tool):
            raise ValueError("kind tool and the field tool go together")
        if self.kind == "llm" and self.tools:
            raise ValueError("an llm step calls no tools")
        if self.kind == "human" and not (self.prompt or self.description):
            raise ValueError("a human step needs a prompt")
        if self.each and self.kind not in ("agent", "llm"):
            raise ValueError("each is for agent and llm steps")
        if self.kind != "plan" and (self.child_tools is not None or self.review):
            raise ValueError("child_tools and review are for plan steps")
        return self

    @property
    def filled(self) -> list[object]:
        """The fields of a planned step that may have references."""
        return [self.prompt, self.inputs, self.arguments]

    @property
    def allowed(self) -> tuple[str, ...] | None:
        """The allow-list that the gate enforces while this step runs."""
        if self.kind == "tool":
            return (self.tool,)
        if self.kind in ("llm", "human"):
            return ()
        return self.tools


class Parameter(_Part):
    """One thing a start is given. With ``choices`` nothing else is taken."""

    description: str = ""
    required: bool = False
    default: object = None
    choices: tuple[object, ...] = ()
    type: Literal["any", "text", "number", "integer"] = "any"
    """The type to which the text that a matcher reads is converted."""


class WorkflowPolicy(_Part):
    """The limits of one execution. ``timeout`` is in seconds from its start, or None."""

    parallel: int = Field(default=4, ge=1, le=32)
    attempts: int = Field(default=2, ge=1, le=20)
    rollbacks: int = Field(default=3, ge=0, le=100)
    replans: int = Field(default=5, ge=0, le=100)
    same_error: int = Field(default=2, ge=1, le=100)
    on_exhausted: Literal["ask", "abort", "diverge"] = "ask"
    on_failure: Literal["fail-fast", "finish-stage"] = "fail-fast"
    timeout: Seconds | None = None
    model_calls: int | None = Field(default=None, ge=1)


_TYPES: dict[str, type[str | int | float]] = {"integer": int, "number": float}
_COMPLEXITY: dict[str, dict[str, object]] = {
    "simple": {"attempts": 1, "parallel": 2},
    "moderate": {"attempts": 2, "parallel": 4},
    "high": {"attempts": 3, "parallel": 6},
}
"""The policy that each complexity presets: those of seed 003, without time limits."""


class WorkflowDefinition(_Part):
    """A whole workflow. ``content`` is the Markdown below the front matter."""

    name: Name
    description: str = Field(default="", max_length=2000)
    version: str = ""
    tags: tuple[str, ...] = Field(default=(), max_length=20)
    keywords: tuple[str, ...] = Field(default=(), max_length=50)
    complexity: Literal["", "simple", "moderate", "high"] = ""
    matcher: str = Field(default="", max_length=500)
    """A pattern of tasks for which this definition is the plan; its named groups are parameters."""
    params: dict[str, Parameter] = Field(default_factory=dict[str, Parameter])
    policy: WorkflowPolicy = WorkflowPolicy()
    steps: tuple[Step, ...] = Field(min_length=1, max_length=MOST_STEPS)
    content: str = ""

    @property
    def plans(self) -> bool:
        """Whether a step of it makes a plan."""
        return any(step.kind == "plan" for step in self.steps)

    @model_validator(mode="before")
    @classmethod
    def _either_form(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        fields = dict(cast("Mapping[str, Any]", data))
        if "complexityHint" in fields:
            fields.setdefault("complexity", fields.pop("complexityHint"))
        if "phases" in fields and "steps" not in fields:
            phases: object = fields.pop("phases")
            fields["steps"] = (
                [_from_phase(phase) for phase in cast("list[Any]", phases)]
                if isinstance(phases, list)
                else phases
            )
        policy: object = fields.get("policy") or {}
        complexity: object = fields.get("complexity")
        if isinstance(policy, Mapping) and isinstance(complexity, str):
            fields["policy"] = {**_COMPLEXITY.get(complexity, {}), **policy}
        return fields

    @model_validator(mode="after")
    def _anchored(self) -> "WorkflowDefinition":
        if not self.matcher:
            return self
        if not (self.matcher.startswith("^") and self.matcher.endswith("$")):
            raise ValueError("a matcher begins with ^ and ends with $")
        try:
            groups = re.compile(self.matcher).groupindex
        except re.error as error:
            raise ValueError(f"the matcher is not a pattern: {error}") from error
        if unknown := sorted(set(groups) - set(self.params)):
            raise ValueError(f"the matcher names {unknown[0]!r}, which is not a parameter")
        return self

    def matched(self, task: str) -> dict[str, object] | None:
        """The parameters that the matcher reads from a task; None if the task does not match."""
        match = re.fullmatch(self.matcher, task.strip(), re.IGNORECASE) if self.matcher else None
        if match is None:
            return None
        params: dict[str, object] = {"task": task} if "task" in self.params else {}
        try:
            for name, text in match.groupdict().items():
                if text is not None:
                    params[name] = _TYPES.get(self.params[name].type, str)(text.strip())
        except ValueError:
            return None
        return None if "" in params.values() else params

    def step(self, id_: str) -> Step | None:
        """The step of this id, or None."""
        return next((step for step in self.steps if step.id == id_), None)

    @property
    def phases(self) -> list[dict[str, object]]:
        """The steps as midex's list, for either form."""
        ours = set(PHASE_FIELDS.values())
        steps = [step.model_dump(mode="json", include=ours) for step in self.steps]
        return [{midex: step[name] for midex, name in PHASE_FIELDS.items()} for step in steps]

    @property
    def evidence(self) -> tuple[tuple[str, str], ...]:
        """The calls that guards require as evidence: step and operation, of steps that a client does."""
        working = [step for step in self.steps if step.kind not in ("tool", "human")]
        return tuple((s.id, g.evidence) for s in working for g in s.guards if g.evidence)

    @property
    def canonical(self) -> str:
        """The definition as one JSON text that is the same for the same definition."""
        value = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of ``canonical``: what an execution is pinned to."""
        return sha256(self.canonical)


def sha256(text: str) -> str:
    """The hexadecimal SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


PHASE_FIELDS = {
    "phase": "id",
    "agent": "persona",
    "description": "description",
    "dependsOn": "needs",
    "allowParallel": "parallel",
    "kind": "kind",
}
"""Names of fields in midex's form, each with ours."""


def _from_phase(phase: object) -> object:
    """A phase of midex's form as a step; without ``allowParallel`` it runs alone, as there."""
    if not isinstance(phase, Mapping):
        return phase
    fields = cast("Mapping[str, Any]", phase)
    step = {PHASE_FIELDS.get(key, key): value for key, value in fields.items()}
    step.setdefault("parallel", False)
    if step.get("needs") is None:
        step["needs"] = ()
    return step
