"""Arguments of the tools of seed 003 and of our additions; each model gives schema and parser."""

from typing import Literal

from pydantic import Field

from sam_tui.core.tooling.arguments import Arguments

Category = Literal["security", "architecture", "performance", "constraint", "pattern"]
Severity = Literal["info", "low", "medium", "high", "critical"]


class MidexStart(Arguments):
    """Arguments of ``workflow.start``."""

    workflow_name: str = Field(min_length=1, description="one of available_workflows")
    execution_id: str = Field(default="", description="name it yourself; made up unless given")
    params: dict[str, object] = Field(
        default_factory=dict[str, object], description="as workflow_details says"
    )


class NextStep(Arguments):
    """Arguments of ``workflow.next_step``."""

    token: str = Field(min_length=1, description="new_token of the step, exactly as it was given")
    output: dict[str, object] | str = Field(
        description="what the step came to: summary, optional artifacts, findings,"
        " suggested_findings, next_step_recommendation, and what its output_schema asks for"
    )
    execution_id: str = Field(default="", description="a token of another is refused")


class MidexExecution(Arguments):
    """Arguments of verbs on an execution."""

    execution_id: str = Field(min_length=1)


class MidexReason(MidexExecution):
    """Arguments of pause and abandon."""

    reason: str = ""


class MidexStep(MidexExecution):
    """Arguments of ``workflow.retry``."""

    step_name: str = Field(default="", description="the one that failed, unless given")


STEERING: dict[str, tuple[type[MidexExecution], str]] = {
    "": (MidexExecution, ""),
    "reason": (MidexReason, "reason"),
    "step": (MidexStep, "step_name"),
}
"""The arguments of a verb by the word that it takes, and the argument with the word."""


class ReadArtifact(Arguments):
    """Arguments of ``workflow.read_artifact``."""

    artifact_id: str = Field(min_length=1)
    offset: int = Field(default=0, ge=0, description="characters to skip")
    length: int = Field(default=50_000, ge=1, le=1_000_000, description="characters to read")


class AddFinding(Arguments):
    """Arguments of ``knowledge.add_finding``."""

    scope: Literal["global", "project", "system"] = "system"
    project_id: str = Field(default="", description="exactly for the scope project")
    category: Category
    severity: Severity
    title: str = Field(min_length=1, max_length=500)
    content: str = Field(min_length=1, max_length=100_000)
    tags: list[str] = Field(default_factory=list[str], max_length=20)
    source_execution_id: str = ""
    source_agent: str = ""


class UpdateFinding(Arguments):
    """Arguments of ``knowledge.update_finding``; at least one besides the id."""

    id: str = Field(min_length=1)
    title: str | None = None
    content: str | None = None
    tags: list[str] | None = None
    severity: Severity | None = None
    category: Category | None = None
    status: Literal["active", "deprecated"] | None = None


class SearchFindings(Arguments):
    """Arguments of ``knowledge.search``."""

    text: str = Field(default="", description="words to find; all of them unless given")
    execution_id: str = ""
    project_id: str = ""
    limit: int = Field(default=50, ge=1, le=1000)
