"""FileSystemTool and FileDownloaderTool: our own file operations in the folder of a step's task."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from sam_tools.workers.arguments import Download, TaskArguments, TaskFile
from sam_tui.core.accesses import Access, Fetch, Location, Read, Write
from sam_tui.core.display import Diff
from sam_tui.core.errors import InvalidArguments, ToolError
from sam_tui.core.ports.files import Files, FileStat
from sam_tui.core.ports.web import Web
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult, single

_MOST_BYTES = 50 * 1024 * 1024
_MOST_READ = 2_000_000
_SECONDS = 120.0
_NO_TASK = "task_files"
"""The folder in the workspace for calls without a task."""


@dataclass(frozen=True, slots=True)
class FileActions:
    """The operations of file_operations and document_operations that write, and the files."""

    create: Operation[Any]
    document: Operation[Any]
    files: Files


class TaskFiles:
    """The two tools."""

    def __init__(self, actions: FileActions, web: Web) -> None:
        self._actions = actions
        self._files = actions.files
        self._web = web

    def tools(self) -> tuple[Tool, ...]:
        """The tools, ready to register."""
        files = Operation(
            "FileSystemTool",
            "files of the task",
            TaskFile,
            self._act,
            lambda a: f"{a.operation}: {_named(a) or 'the folder of the task'}",
            self._accesses,
            schedule=Schedule.SERIAL,
            preview=self._preview,
        )
        download = Operation(
            "FileDownloaderTool",
            "downloads a file",
            Download,
            self._download,
            lambda a: f"Downloading: {a.value('url')[:80]}",
            lambda a: (Fetch(a.value("url"), "url"), Write(_target(a), "filename")),
            schedule=Schedule.SERIAL,
        )
        return (
            single(
                files,
                "Files in the folder of the task; operation is create_file, overwrite_file,"
                " append_to_file, read_file, list_files or create_pdf_from_text.",
                listed=False,
            ),
            single(
                download,
                "Downloads a file of at most 50 MiB into the folder of the task.",
                listed=False,
            ),
        )

    def _accesses(self, arguments: TaskFile) -> Sequence[Access]:
        match arguments.operation:
            case "list_files":
                return (Read(_inside(arguments, arguments.value("directory")), "directory"),)
            case "read_file":
                return (Read(_path(arguments), "filePath"),)
            case "append_to_file":
                path = _path(arguments)
                return (Read(path, "filePath"), *self._creation(arguments, "")[0])
            case "create_pdf_from_text":
                operation = self._actions.document
                return operation.accesses(operation.arguments.model_validate(_pdf(arguments)))
            case _:
                return self._creation(arguments, arguments.value("content"))[0]

    def _preview(self, arguments: TaskFile, locations: Mapping[str, Location]) -> Sequence[Diff]:
        preview = self._actions.create.preview
        if preview is None or arguments.operation not in ("create_file", "overwrite_file"):
            return ()
        return preview(self._creation(arguments, arguments.value("content"))[1], locations)

    async def _act(self, arguments: TaskFile, context: ToolContext) -> ToolResult:
        match arguments.operation:
            case "list_files":
                return await self._listed(context)
            case "read_file":
                text = await self._text(context)
                data = {"filename": _named(arguments), "content": text}
                return ToolResult(text or "(empty)", data=data)
            case "create_pdf_from_text":
                operation = self._actions.document
                values = operation.arguments.model_validate(_pdf(arguments))
                return await operation.run(values, context)
            case "append_to_file":
                before = await self._text(context, missing="")
                content = before + arguments.value("content")
            case _:
                content = arguments.value("content")
        values = self._creation(arguments, content)[1]
        result = await self._actions.create.run(values, context)
        path = context.location("filePath").display_path
        return ToolResult(result.text, result.ok, result.display, {"path": path})

    def _creation(self, arguments: TaskFile, content: str) -> tuple[Sequence[Access], object]:
        """The accesses and arguments of create_file for this call."""
        operation = self._actions.create
        values = operation.arguments.model_validate({
            "filePath": _path(arguments),
            "content": content,
            "overwrite": arguments.operation != "create_file",
        })
        return operation.accesses(values), values

    async def _text(self, context: ToolContext, missing: str | None = None) -> str:
        where = context.location("filePath")
        if missing is not None and await asyncio.to_thread(self._files.stat, where) is None:
            return missing
        data = await asyncio.to_thread(self._files.read, where, limit=_MOST_READ + 1)
        if len(data) > _MOST_READ:
            raise ToolError(f"{where.display_path} has more than {_MOST_READ} bytes.")
        return data.decode("utf-8", "replace")

    async def _listed(self, context: ToolContext) -> ToolResult:
        where = context.location("directory")
        entries: Sequence[FileStat] = ()
        if await asyncio.to_thread(self._files.stat, where) is not None:
            entries = await asyncio.to_thread(self._files.list, where)
        data = {
            "files": [entry.name for entry in entries if entry.kind == "file"],
            "directories": [entry.name for entry in entries if entry.kind == "directory"],
        }
        lines = [*data["files"], *(f"{name}/" for name in data["directories"])]
        return ToolResult("\n".join(lines) or "The folder is empty.", data=data)

    async def _download(self, arguments: Download, context: ToolContext) -> ToolResult:
        url, where = arguments.value("url"), context.location("filename")
        if await asyncio.to_thread(self._files.stat, where) is not None:
            raise ToolError(f"{where.display_path} exists already.", hint="Give another filename.")
        page = await self._web.fetch(url, most_bytes=_MOST_BYTES, seconds=_SECONDS)
        page.accepted()
        if page.truncated:
            raise ToolError(f"{page.url} has more than {_MOST_BYTES // 1024 // 1024} MiB.")
        await asyncio.to_thread(self._files.write, where, page.body, replace=False)
        data = {
            "path": where.display_path,
            "url": page.url,
            "bytes": len(page.body),
            "media_type": page.media_type,
        }
        return ToolResult(f"Downloaded {where.display_path} ({len(page.body)} bytes).", data=data)


def _named(arguments: TaskArguments) -> str:
    return arguments.value("filename").strip()


def _path(arguments: TaskArguments) -> str:
    name = _named(arguments)
    if not name:
        raise InvalidArguments("filename is missing.", hint="Give the name of a file.")
    return _inside(arguments, name)


def _inside(arguments: TaskArguments, name: str) -> str:
    """Return a path in the folder of the task. Raises for an absolute path and one that leads out of it."""
    path = PurePosixPath(name.strip() or ".")
    if path.is_absolute() or ".." in path.parts or name.startswith("~"):
        raise InvalidArguments(f"{name[:80]!r} is not in the folder of the task.")
    return str(PurePosixPath(arguments.task_folder or _NO_TASK) / path)


def _target(arguments: Download) -> str:
    """Return the target of a download: its name cleaned, or the last part of the address."""
    name = _named(arguments) or PurePosixPath(unquote(_path_of(arguments.value("url")))).name
    plain = re.sub(r"[^\w.-]+", "_", PurePosixPath(name).name).lstrip(".")[:200]
    return _inside(arguments, plain or "download")


def _path_of(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def _pdf(arguments: TaskFile) -> dict[str, object]:
    path = PurePosixPath(_path(arguments))
    if path.suffix.lower() != ".pdf":
        raise InvalidArguments("The filename of a PDF ends in .pdf.")
    text = arguments.value("text_content") or arguments.value("content")
    return {
        "content": text,
        "format": "pdf",
        "filename": path.stem,
        "output_path": str(path.parent),
    }
