"""The arguments of each operation of the workflow tool."""

from typing import Literal

from pydantic import Field

from sam_tui.core.tooling.arguments import Arguments

_ID = Field(default="", description="default: the one of this conversation")


class WorkflowStart(Arguments):
    """Arguments of start; without a name the workflows are listed."""

    name: str = Field(default="", description="omit to list workflows")
    params: dict[str, object] | None = None


class OneExecution(Arguments):
    """The id of an execution."""

    executionId: str = _ID


class Advance(Arguments):
    """Arguments of advance."""

    output: dict[str, object] = Field(description="as the step's schema says; at least a summary")
    step: str = Field(default="", description="default: the phase you are in")
    executionId: str = _ID


class Plan(Arguments):
    """Arguments of plan and replan: the steps of a plan step."""

    steps: list[dict[str, object]] = Field(description="{id, persona?, needs?, tools?, prompt}")
    step: str = Field(default="", description="default: the phase you are in")
    executionId: str = _ID


class Reason(Arguments):
    """Arguments of pause and abandon."""

    reason: str = ""
    executionId: str = _ID


class StepChoice(Arguments):
    """Arguments of retry."""

    step: str = Field(default="", description="default: the one that failed")
    executionId: str = _ID


Steering = OneExecution | Reason | StepChoice
STEERING: dict[str, type[Steering]] = {"": OneExecution, "reason": Reason, "step": StepChoice}
"""The arguments of a verb, by the word that it takes."""


class Artifact(Arguments):
    """Arguments of artifact: keep a text, read one, or list them."""

    name: str = Field(default="", description="with text: keep it under this name")
    text: str = ""
    artifactId: str = Field(default="", description="read this one")
    offset: int = Field(default=0, ge=0)
    length: int = Field(default=8000, ge=1, le=100_000)
    executionId: str = _ID


class Finding(Arguments):
    """Arguments of finding: keep one, or list them."""

    title: str = Field(default="", description="omit to list findings")
    content: str = ""
    severity: Literal["info", "low", "medium", "high", "critical"] = "info"
    category: Literal["pattern", "security", "architecture", "performance", "constraint"] = (
        "pattern"
    )
    executionId: str = _ID
