"""The arguments of the tools that steps of plans name, under seed 002's names."""

import json
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, cast

from pydantic import BeforeValidator, Field

from sam_tui.core.tooling.arguments import Arguments

FileAction = Literal[
    "create_file", "overwrite_file", "append_to_file", "read_file", "list_files",
    "create_pdf_from_text",
]  # fmt: skip
TASK_FOLDER = Field(default="", description="filled in by the workflow engine: leave it out")


def _address(value: object) -> object:
    text = value.strip() if isinstance(value, str) else value
    return f"https://{text}" if isinstance(text, str) and text and "://" not in text else text


Address = Annotated[str, Field(min_length=1), BeforeValidator(_address)]


class Calculate(Arguments):
    """The arguments of ``CalculatorTool``."""

    expression: str = Field(
        min_length=1, description="such as 15% of 80, (2+3)^2, 3 km + 200 m, 60 mph in km/h"
    )


class WebSearchArguments(Arguments):
    """The arguments of ``WebSearchTool``."""

    query: str = Field(min_length=1)
    limit: int = Field(default=8, ge=1, le=20)


class WebPageArguments(Arguments):
    """The arguments of ``ReadWebpageTool``."""

    url: Address


class Exploration(Arguments):
    """The arguments of ``ExploreSearchResults``."""

    searchResults: object = Field(description="result_data of a WebSearchTool step")
    pagesToExplore: int = Field(default=2, ge=1, le=10)
    relevanceCriteria: str = Field(default="", description="words that the best pages speak of")


class TaskArguments(Arguments):
    """The arguments that actions in a task's folder share; they may also be passed in ``params``."""

    params: dict[str, object] | None = None
    task_folder: str = TASK_FOLDER

    def value(self, name: str) -> str:
        """A text among the fields or in ``params``; empty where it is in neither. Data becomes JSON."""
        nested: Mapping[str, object] = self.params or {}
        value = cast("object", getattr(self, name, "") or nested.get(name, ""))
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


class TaskFile(TaskArguments):
    """The arguments of ``FileSystemTool``."""

    operation: FileAction
    filename: str = ""
    directory: str = Field(default="", description="for list_files")
    content: object = Field(default="", description="text; data becomes JSON")
    text_content: str = Field(default="", description="for create_pdf_from_text")


class Download(TaskArguments):
    """The arguments of ``FileDownloaderTool``."""

    also: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    operation: Literal["download_file"] = "download_file"
    url: str = ""
    filename: str = ""
