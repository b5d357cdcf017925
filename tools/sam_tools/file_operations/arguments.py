"""The arguments of every operation, under the seed's names. Shared names have one meaning."""

from typing import Annotated, Literal

from pydantic import Field

from sam_tui.core.tooling.contract import Arguments

FilePath = Annotated[
    str, Field(min_length=1, description="Path; relative ones start at the workspace")
]
Offset = Annotated[
    int, Field(ge=0, description="read_file: first line, from 1. Else: entries to skip")
]
Limit = Annotated[int, Field(ge=1, description="Most lines (2000) or entries (100) to return")]
RootPath = Annotated[str, Field(description="Folder to search; default the workspace")]
Query = Annotated[str, Field(min_length=1, description="Glob such as **/*.py, or text to find")]


class ReadFile(Arguments):
    """The arguments of ``read_file``."""

    filePath: FilePath
    offset: Offset = 1
    limit: Limit = 2000


class ListDir(Arguments):
    """The arguments of ``list_dir``."""

    path: Annotated[str, Field(description="Folder; default the workspace")] = ""
    limit: Limit = 100
    offset: Offset = 0


class FileSearch(Arguments):
    """The arguments of ``file_search``."""

    query: Query
    rootPath: RootPath = ""
    limit: Limit = 100
    offset: Offset = 0


class GrepSearch(Arguments):
    """The arguments of ``grep_search``."""

    query: Query
    isRegexp: Annotated[bool, Field(description="query is a regular expression")] = False
    includePattern: Annotated[str, Field(description="Glob on paths, such as src/**/*.ts")] = ""
    maxResults: Annotated[int, Field(ge=1, description="Default 200")] = 200
    rootPath: RootPath = ""


class CreateFile(Arguments):
    """The arguments of ``create_file``."""

    filePath: FilePath
    content: Annotated[str, Field(description="The whole content")]
    overwrite: Annotated[bool, Field(description="Replace an existing file")] = False


class ReplaceString(Arguments):
    """The arguments of ``replace_string``."""

    filePath: FilePath
    oldString: Annotated[str, Field(description="Exact text, with lines around it to be unique")]
    newString: Annotated[str, Field(description="What replaces it")]
    expectedReplacements: Annotated[
        int, Field(ge=1, description="How often oldString occurs; default 1, all are replaced")
    ] = 1


class InsertEdit(Arguments):
    """The arguments of ``insert_edit``."""

    filePath: FilePath
    lineNumber: Annotated[int, Field(description="Line, from 1")]
    newText: Annotated[str, Field(description="One or more whole lines")]
    insertOperation: Annotated[
        Literal["insert", "replace"],
        Field(description="insert before the line (lines+1 appends), or replace that line"),
    ] = "insert"


class RenameFile(Arguments):
    """The arguments of ``rename_file``."""

    oldPath: Annotated[str, Field(min_length=1, description="File or folder")]
    newPath: Annotated[str, Field(min_length=1, description="Its new path; must not exist")]


class DeleteFile(Arguments):
    """The arguments of ``delete_file``."""

    filePath: FilePath
