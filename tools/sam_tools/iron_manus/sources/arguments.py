"""The arguments of the tools that research by APIs: seeds 000 and 001."""

from typing import Literal

from pydantic import Field, field_validator

from sam_tui.core.tooling.arguments import Arguments

RoleName = Literal[
    "planner", "coder", "critic", "researcher", "analyzer", "synthesizer", "ui_architect",
    "ui_implementer", "ui_refiner", "slide_generator",
]  # fmt: skip
_HEADERS = Field(
    default=None, description='for every host, or by host: {"api.example.org": {"Accept": "..."}}'
)


class ApiSearch(Arguments):
    """Arguments of APISearch."""

    objective: str = Field(min_length=1, description="what data is needed for")
    user_role: RoleName
    category_filter: str = Field(default="", description="part of a category's name")
    max_results: int = Field(default=5, ge=1, le=20)


class ApiValidator(Arguments):
    """Arguments of APIValidator."""

    api_endpoint: dict[str, object] = Field(description="{name?, url?}: one at least")
    auto_correct: bool = Field(default=True, description="try the list's own endpoint too")
    parameters: dict[str, str] = Field(
        default_factory=dict[str, str], description="values for the list's endpoint"
    )
    headers: dict[str, object] | None = _HEADERS

    @field_validator("api_endpoint")
    @classmethod
    def _named(cls, value: dict[str, object]) -> dict[str, object]:
        if not any(isinstance(value.get(key), str) and value[key] for key in ("name", "url")):
            raise ValueError("needs a name or a url")
        return value

    @property
    def name(self) -> str:
        """The name of the API, or empty."""
        return str(self.api_endpoint.get("name") or "")

    @property
    def url(self) -> str:
        """The URL to try first, or nothing."""
        return str(self.api_endpoint.get("url") or "")


class MultiApiFetch(Arguments):
    """Arguments of MultiAPIFetch."""

    api_endpoints: list[str] = Field(min_length=1, max_length=10, description="URLs")
    headers: dict[str, object] | None = _HEADERS
    max_concurrent: int = Field(default=3, ge=1, le=5)
    timeout_ms: int = Field(default=5000, ge=1000, le=30_000)


class ApiResponse(Arguments):
    """One source of KnowledgeSynthesize."""

    source: str = Field(min_length=1)
    data: str = Field(min_length=1)
    confidence: float = Field(ge=0, le=1)


class KnowledgeSynthesize(Arguments):
    """Arguments of KnowledgeSynthesize."""

    api_responses: list[ApiResponse] = Field(min_length=1, max_length=20)
    synthesis_mode: Literal["consensus", "weighted", "hierarchical", "conflict_resolution"]
    confidence_threshold: float = Field(default=0.5, ge=0, le=1)
    objective_context: str = Field(default="", description="what the synthesis is for")


class ApiChoice(Arguments):
    """An API of the list that was chosen, with the values that its endpoint needs."""

    api_name: str = Field(min_length=1)
    parameters: dict[str, str] = Field(default_factory=dict[str, str])


class ApiTask(Arguments):
    """Arguments of APITaskAgent."""

    objective: str = Field(min_length=1, description="what is to be found out")
    user_role: RoleName
    apis: list[ApiChoice] = Field(
        default_factory=list[ApiChoice], max_length=10, description="your choice; else by score"
    )
    research_depth: Literal["light", "standard", "comprehensive"] = "standard"
    validation_required: bool = True
    max_sources: int = Field(default=5, ge=1, le=10)
    category_filter: str = ""
    timeout_ms: int = Field(default=5000, ge=1000, le=30_000)
    headers: dict[str, object] | None = _HEADERS
