"""get_changed_files: what differs from the last commit, by state."""

import json
from typing import Any

from sam_tools.build_and_version_control.arguments import GetChangedFiles
from sam_tools.build_and_version_control.git import Git
from sam_tools.build_and_version_control.repository import look
from sam_tools.build_and_version_control.status import FileStatus, Status
from sam_tui.core.display import Table
from sam_tui.core.ports.processes.terminals import Commands
from sam_tui.core.text.plain import gist
from sam_tui.core.tooling.contract import ToolContext, ToolResult

MOST_FILES = 2000


async def changed_files(
    commands: Commands, arguments: GetChangedFiles, context: ToolContext
) -> ToolResult:
    """The changes of the whole repository around the folder, those of the wanted states only."""
    where = context.location("repositoryPath")
    context.emit("Asking git what changed\n")
    repository = await look(Git(commands, context, where.real))
    status = repository.status
    states = arguments.sourceControlState
    changes = [c for c in status.changes if not states or c.state in states]
    data: dict[str, Any] = {
        "files": [_entry(change) for change in changes[:MOST_FILES]],
        "repository": repository.root,
        "branch": status.branch,
        **_upstream(status),
        "totalFiles": len(changes),
    }
    if len(changes) > MOST_FILES:
        data["truncated"] = True
    rows = tuple((c.state, _words(c), _path(c)) for c in changes[:MOST_FILES])
    # A name's bytes that are not UTF-8 become JSON escapes, which name it again when sent back.
    text = json.dumps(data, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return ToolResult(
        text,
        display=(Table(("State", "Change", "File"), rows),),
        data=data,
        mime_type="application/json",
    )


def _entry(change: FileStatus) -> dict[str, object]:
    entry: dict[str, Any] = {"path": change.path}
    if change.old_path:
        entry |= {"oldPath": change.old_path, "similarity": change.score}
    entry |= {"status": change.status, "staged": change.staged}
    if change.conflict:
        entry["conflict"] = change.conflict
    if change.submodule:
        entry["submodule"] = list(change.submodule)
    return entry


def _upstream(status: Status) -> dict[str, object]:
    if not status.upstream:
        return {}
    return {"upstream": status.upstream, "ahead": status.ahead, "behind": status.behind}


def _words(change: FileStatus) -> str:
    detail = change.conflict or ", ".join(change.submodule)
    return f"{change.status} ({detail})" if detail else change.status


def _path(change: FileStatus) -> str:
    path = gist(change.path, 200)
    return f"{gist(change.old_path, 200)} → {path}" if change.old_path else path
