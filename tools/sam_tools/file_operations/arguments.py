"""The arguments of every operation, under the seed's names. Shared names have one meaning."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from sam_tui.core.ports.code import CheckPlan
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.arguments import Arguments, NoArguments

if TYPE_CHECKING:
    from sam_tools.file_operations.patch import Patch


def _escaped(value: object) -> object:
    """A name with bytes that are not UTF-8, as results show it; locating finds the name again."""
    return printable(value) if isinstance(value, str) and _SURROGATE.search(value) else value


_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMED = BeforeValidator(_escaped)
FilePath = Annotated[
    str, Field(min_length=1, description="Path; relative ones start at the workspace"), _NAMED
]
DefaultPath = Annotated[
    str, Field(description="Path; relative ones start at the workspace"), _NAMED
]
Offset = Annotated[
    int, Field(ge=0, description="read_file: first line, from 1. Else: entries to skip")
]
Limit = Annotated[int, Field(ge=1, description="Most lines (2000) or entries (100) to return")]
RootPath = Annotated[str, Field(description="Folder to search; default the workspace"), _NAMED]
IncludePattern = Annotated[str, Field(description="Glob on paths, such as src/**/*.ts")]
FilePaths = Annotated[
    list[Annotated[str, _NAMED]] | None,
    Field(description="Files or folders; default the workspace"),
]
Query = Annotated[str, Field(min_length=1, description="Glob such as **/*.py, or text to find")]


class FileArguments(Arguments):
    """The names that all operations accept for arguments, as similar tools use them."""

    also: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "path": ("filePath", "rootPath"),
        "file": ("filePath",),
        "filename": ("filePath",),
        "oldstr": ("oldString",),
        "oldtext": ("oldString",),
        "newstr": ("newString",),
        "newtext": ("newString",),
        "filetext": ("content",),
        "contents": ("content",),
        "pattern": ("query",),
        "glob": ("includePattern",),
        "include": ("includePattern",),
        "patch": ("patchContent",),
        "diff": ("patchContent",),
        "input": ("patchContent",),
        "line": ("lineNumber",),
    }


class ReadFile(FileArguments):
    """The arguments of ``read_file``."""

    filePath: FilePath
    offset: Offset = 1
    limit: Limit = 2000


class ListDir(FileArguments):
    """The arguments of ``list_dir``."""

    path: Annotated[str, Field(description="Folder; default the workspace"), _NAMED] = ""
    limit: Limit = 100
    offset: Offset = 0


class GetErrors(FileArguments):
    """The arguments of ``get_errors``."""

    filePaths: FilePaths = None
    _plan: CheckPlan | None = PrivateAttr(default=None)

    @property
    def plan(self) -> CheckPlan | None:
        """The checks planned for this call: the commands that were judged are the ones that run."""
        return self._plan

    def keep(self, plan: CheckPlan) -> CheckPlan:
        """Remember the plan."""
        self._plan = plan
        return plan


class GetSearchResults(NoArguments):
    """The arguments of ``get_search_results``: none."""


class FileSearch(FileArguments):
    """The arguments of ``file_search``."""

    query: Query
    rootPath: RootPath = ""
    limit: Limit = 100
    offset: Offset = 0


class GrepSearch(FileArguments):
    """The arguments of ``grep_search``."""

    query: Query
    isRegexp: Annotated[bool, Field(description="query is a regular expression")] = False
    includePattern: IncludePattern = ""
    maxResults: Annotated[int, Field(ge=1, description="Default 200")] = 200
    rootPath: RootPath = ""


class SemanticSearch(FileArguments):
    """The arguments of ``semantic_search``."""

    query: Query
    includePattern: IncludePattern = ""
    limit: Limit = 20


class ListUsages(FileArguments):
    """The arguments of ``list_usages``."""

    symbolName: Annotated[str, Field(min_length=1, description="Name, or Class.name")]
    filePaths: FilePaths = None
    limit: Limit = 100


class SearchIndex(FileArguments):
    """The arguments of ``search_index``."""

    query: Annotated[str, Field(description="Part of a file name"), _NAMED] = ""
    extension: Annotated[str, _NAMED] = ""
    minSize: Annotated[int, Field(ge=0, description="Bytes")] = 0
    maxSize: Annotated[int, Field(ge=0)] = 0
    modifiedAfter: Annotated[str, Field(description="ISO date, UTC")] = ""
    modifiedBefore: str = ""
    limit: Limit = 100
    refresh: Annotated[bool, Field(description="Build the index anew")] = False


class CreateFile(FileArguments):
    """The arguments of ``create_file``."""

    filePath: FilePath
    content: Annotated[str, Field(description="The whole content")]
    overwrite: Annotated[bool, Field(description="Replace an existing file")] = False


class ReplaceString(FileArguments):
    """The arguments of ``replace_string``."""

    filePath: FilePath
    oldString: Annotated[str, Field(description="Exact text, with lines around it to be unique")]
    newString: Annotated[str, Field(description="What replaces it")]
    expectedReplacements: Annotated[
        int, Field(ge=1, description="How often oldString occurs; default 1, all are replaced")
    ] = 1


class Replacement(FileArguments):
    """One item of ``multi_replace_string``."""

    filePath: Annotated[str, _NAMED] = ""
    oldString: str
    newString: str
    expectedReplacements: Annotated[int, Field(ge=1)] = 1


class MultiReplaceString(FileArguments):
    """The arguments of ``multi_replace_string``."""

    replacements: Annotated[
        list[Replacement], Field(min_length=1, description="All are made or none, in this order")
    ]
    filePath: DefaultPath = ""

    @model_validator(mode="after")
    def _name_files(self) -> "MultiReplaceString":
        for index, item in enumerate(self.replacements):
            if not item.filePath and not self.filePath:
                raise ValueError(f"replacements[{index}] has no filePath, and there is no default")
        return self


class ApplyPatch(FileArguments):
    """The arguments of ``apply_patch``."""

    patchContent: Annotated[
        str, Field(min_length=1, description="Unified diff, or *** Begin Patch envelope")
    ]
    filePath: DefaultPath = ""
    target_directory: Annotated[
        str, Field(description="Where the patch's relative paths start; default the workspace")
    ] = ""
    dry_run: Annotated[bool, Field(description="Change nothing, show the diff")] = False

    @cached_property
    def patch(self) -> "Patch":
        """The parsed patch. Raises ``ToolError``."""
        from sam_tools.file_operations.patch import parse  # its expressions take a while to compile

        return parse(self.patchContent, self.filePath)


class InsertEdit(FileArguments):
    """The arguments of ``insert_edit``."""

    filePath: FilePath
    lineNumber: Annotated[int, Field(description="Line, from 1")]
    newText: Annotated[str, Field(description="One or more whole lines")]
    insertOperation: Annotated[
        Literal["insert", "replace"],
        Field(description="insert before the line (lines+1 appends), or replace that line"),
    ] = "insert"


class RenameFile(FileArguments):
    """The arguments of ``rename_file``."""

    oldPath: Annotated[str, Field(min_length=1, description="File or folder"), _NAMED]
    newPath: Annotated[str, Field(min_length=1, description="Its new path; must not exist"), _NAMED]


class DeleteFile(FileArguments):
    """The arguments of ``delete_file``."""

    filePath: FilePath
