"""The output of a step (seed 003): read from an object or an answer, checked against its schema."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from sam_tui.core.inquiry import chosen
from sam_tui.core.text.field_faults import faults_of
from sam_tui.core.workflow.definitions.model import Step
from sam_tui.core.workflow.definitions.schema import value_faults
from sam_tui.core.workflow.views import WorkflowRefused, output_refused

_LONGEST = 400_000
_OPENING = re.compile(r"[\[{]")


_COMMA = re.compile(r'("(?:\\.|[^"\\])*+")|,(?=\s*[\]}])')
"""A quoted text, or a comma before the end of a list or an object."""
_MOST_TRIES, _MOST_MENDED = 200, 10


def first_value(text: str, fits: Callable[[object], bool]) -> object:
    """Return the first fitting JSON value of a text, or None, with any fences, prose or trailing commas."""
    text = text[:_LONGEST]
    for number, match in enumerate(_OPENING.finditer(text)):
        if number == _MOST_TRIES:
            break
        value = _decoded(text, match.start())
        if value is None and number < _MOST_MENDED:
            value = _decoded(_COMMA.sub(lambda m: m[1] or "", text[match.start() :]), 0)
        if value is not None and fits(value):
            return value
    return None


def _decoded(text: str, start: int) -> object:
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def first_object(text: str) -> dict[str, object] | None:
    """The first JSON object in a text, or None. Other braces are skipped."""
    value = first_value(text, lambda value: isinstance(value, dict))
    return cast("dict[str, Any] | None", value)


RESULT, SUMMARY = "result_data.txt", "result_data_summary.txt"
"""The artifacts of a step with a long result: all of it, and its summary."""
LARGEST = 2_000_000
"""The most characters of an output as JSON."""
_RESERVED = (
    "summary", "artifacts", "findings", "suggested_findings", "next_step_recommendation", "success",
)  # fmt: skip


class ArtifactDraft(BaseModel):
    """An artifact as handed in; ``title`` is accepted for ``name``."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    type: Literal["file", "data", "report", "finding"] = "file"
    name: str = Field(default="", max_length=500)
    title: str = Field(default="", max_length=500)
    content: str = ""
    content_type: str = Field(default="text/plain", max_length=200)
    metadata: dict[str, object] = Field(default_factory=dict[str, object])

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        """A text alone is a name: seed 003, usage example."""
        return {"name": value} if isinstance(value, str) else value


class FindingDraft(BaseModel):
    """A finding as handed in: seed 003's categories and severities, scopes as there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(min_length=1, max_length=500)
    content: str = Field(min_length=1, max_length=100_000)
    category: Literal["security", "architecture", "performance", "constraint", "pattern"] = (
        "pattern"
    )
    severity: Literal["info", "low", "medium", "high", "critical"] = "info"
    scope: Literal["global", "project", "system"] = "system"
    project_id: str = Field(default="", max_length=200, coerce_numbers_to_str=True)
    tags: tuple[str, ...] = Field(default=(), max_length=20)
    source_execution_id: str = ""
    source_agent: str = ""
    step: str = ""
    accepted: bool = False
    metadata: dict[str, object] = Field(default_factory=dict[str, object])

    def require_project(self) -> None:
        """Raise ``ValueError`` unless a project is named exactly for the scope ``project``."""
        if (self.scope == "project") != bool(self.project_id):
            raise ValueError("project_id goes with the scope project, and only with it")


class StepOutput(BaseModel):
    """A step's output; further fields are its data."""

    model_config = ConfigDict(extra="allow", frozen=True)

    summary: str = Field(default="", max_length=100_000)
    artifacts: tuple[ArtifactDraft, ...] = Field(default=(), max_length=100)
    findings: tuple[str, ...] = Field(default=(), max_length=100)
    suggested_findings: tuple[FindingDraft, ...] = Field(default=(), max_length=100)
    next_step_recommendation: str | None = None
    success: bool = True

    @field_validator("suggested_findings")
    @classmethod
    def _projects(cls, value: tuple[FindingDraft, ...]) -> tuple[FindingDraft, ...]:
        for draft in value:
            draft.require_project()
        return value

    def stored(self) -> dict[str, object]:
        """Return what later steps can refer to: the data, the summary and the artifacts' names."""
        value = {**(self.model_extra or {}), "summary": self.summary, "success": self.success}
        present: dict[str, object] = {
            "artifacts": [a.name or a.title for a in self.artifacts],
            "findings": list(self.findings),
            "next_step_recommendation": self.next_step_recommendation,
        }
        return value | {name: item for name, item in present.items() if item}


def read_output(step: Step, value_given: object) -> StepOutput:
    """The output of a step. Raises ``WorkflowRefused`` (``output_invalid``) naming every fault."""
    value: object = {"summary": value_given} if isinstance(value_given, str) else value_given
    if not isinstance(value, Mapping):
        raise _invalid(step, ["the output must be an object with a summary"])
    fields = dict(cast("Mapping[str, Any]", value))
    if _size(step, fields) > LARGEST:
        raise _invalid(step, [f"the output is longer than {LARGEST} characters"])
    faults = _schema_faults(step, fields)
    if step.output is None and not str(fields.get("summary") or "").strip():
        faults.append("output.summary is missing")
    if step.choices:
        answer = chosen(str(fields.get("answer") or ""), step.choices)
        if not answer:
            faults.append(f"output.answer must be one of {', '.join(step.choices)}")
        fields["answer"] = answer
    try:
        output = StepOutput.model_validate(fields)
    except ValidationError as error:
        raise _invalid(step, [*faults, *faults_of(error, "output")]) from None
    if faults:
        raise _invalid(step, faults)
    return output


def _size(step: Step, fields: Mapping[str, object]) -> int:
    try:
        return len(json.dumps(fields, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise _invalid(step, ["the output must be plain JSON"]) from None


def _schema_faults(step: Step, fields: Mapping[str, object]) -> list[str]:
    """The faults of an output; one that reports a failure need not have the fields of a success."""
    schema = step.output or {}
    declared = cast("Mapping[str, Any]", schema.get("properties", {}))
    if fields.get("success") is False and "success" not in declared:
        return []
    data = {k: v for k, v in fields.items() if k in declared or k not in _RESERVED}
    return list(value_faults(data, schema))[:20]


def _invalid(step: Step, faults: list[str]) -> WorkflowRefused:
    return output_refused("output", step.id, faults, schema=step.output)
