"""Calls by the names of Claude Code, which published hooks expect, and their answers by our names."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from sam_tui.core.accesses import CommandAccess, Read, Write
from sam_tui.core.ports.hooks import HookAnswer, Occasion
from sam_tui.core.tooling.registry import CLAUDE_TOOLS

_FILE = {"filePath": "file_path"}


@dataclass(frozen=True, slots=True)
class Counterpart:
    """Claude Code's tool for an operation, and its names for our arguments.

    ``shell`` is the command with the same effect on the paths. ``merged`` are arguments with several files
    or commands of one call: a hook gets each of them separately, and can change none.
    """

    tool: str
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    shell: str = ""
    merged: bool = False


COUNTERPARTS: Mapping[str, Counterpart] = {
    "build_and_version_control.create_and_run_task": Counterpart("Bash", merged=True),
    "build_and_version_control.git_commit": Counterpart("Bash", merged=True),
    "build_and_version_control.run_task": Counterpart("Bash", merged=True),
    "document_operations.document_create": Counterpart(
        "Write", {"content": "content"}, merged=True
    ),
    "file_operations.apply_patch": Counterpart("Edit", {"patchContent": "new_string"}, merged=True),
    "file_operations.create_file": Counterpart("Write", {**_FILE, "content": "content"}),
    "file_operations.delete_file": Counterpart("Bash", shell="rm -r --"),
    "file_operations.file_search": Counterpart("Glob", {"query": "pattern", "rootPath": "path"}),
    "file_operations.grep_search": Counterpart(
        "Grep", {"query": "pattern", "includePattern": "glob", "rootPath": "path"}
    ),
    "file_operations.insert_edit": Counterpart("Edit", {**_FILE, "newText": "new_string"}),
    "file_operations.list_dir": Counterpart("LS", {"path": "path"}),
    "file_operations.multi_replace_string": Counterpart("Edit", merged=True),
    "file_operations.read_file": Counterpart(
        "Read", {**_FILE, "offset": "offset", "limit": "limit"}
    ),
    "file_operations.rename_file": Counterpart("Bash", shell="mv --"),
    "file_operations.replace_string": Counterpart(
        "Edit", {**_FILE, "oldString": "old_string", "newString": "new_string"}
    ),
    "run_subagent": Counterpart("Task", {"task": "prompt", "agent": "subagent_type"}),
    "terminal_operations.create_directory": Counterpart("Bash", shell="mkdir -p --"),
    "terminal_operations.run_command": Counterpart(
        "Bash",
        {
            "command": "command",
            "explanation": "description",
            "isBackground": "run_in_background",
        },
    ),
    "terminal_operations.send_input": Counterpart("Bash", {"input": "command"}),
    "todo_operations.add": Counterpart("TodoWrite", {"newTodos": "todos"}),
    "todo_operations.update": Counterpart("TodoWrite", {"todoUpdates": "todos"}),
    "todo_operations.write": Counterpart("TodoWrite", {"todoList": "todos"}),
    "user_collaboration": Counterpart("AskUserQuestion", {"prompt": "question"}),
    "web_operations.fetch": Counterpart("WebFetch", {"url": "url"}),
    "web_operations.research": Counterpart("WebSearch", {"query": "query"}),
    "web_operations.scrape": Counterpart("WebFetch", {"url": "url"}),
    "web_operations.web_search": Counterpart("WebSearch", {"query": "query"}),
}
"""Claude Code's tools by our operations. Hooks get the other operations under our own names."""
_MODES = {
    "ask": "default",
    "ask-all": "default",
    "accept-edits": "acceptEdits",
    "bypass": "bypassPermissions",
}
_STRICTNESS = ("deny", "ask", "", "allow")
_UNCHANGEABLE = "a hook written for Claude Code cannot change the input of this call"


def names_of(subject: str) -> tuple[str, ...]:
    """Claude Code's names for an operation."""
    counterpart = COUNTERPARTS.get(subject)
    tool = (counterpart.tool,) if counterpart else ()
    aliases = (name for name, ours in CLAUDE_TOOLS.items() if subject in ours)
    return tuple(dict.fromkeys((*tool, *aliases)))


def is_of_claude(matcher: str) -> bool:
    """Whether a matcher matches tools of Claude Code, and none of ours."""
    ours = {name for subject in COUNTERPARTS for name in (subject, subject.partition(".")[0])}
    return any(re.fullmatch(matcher, name) for name in CLAUDE_TOOLS) and not any(
        re.fullmatch(matcher, name) for name in ours
    )


def claude_fields(occasion: Occasion) -> Sequence[Mapping[str, object]]:
    """The fields of an event as Claude Code has them; of a call of several files or commands one each."""
    mode = occasion.fields.get("permission_mode", "")
    fields = {**occasion.fields, "permission_mode": _MODES.get(str(mode), mode)}
    counterpart = COUNTERPARTS.get(occasion.subject)
    if counterpart is None or "tool_input" not in fields:
        return (fields,)
    inputs = list(_inputs(counterpart, occasion))
    return [_with_input(fields, counterpart.tool, tool_input) for tool_input in inputs or [{}]]


def _inputs(counterpart: Counterpart, occasion: Occasion) -> Iterator[dict[str, object]]:
    renamed, paths = _renamed(counterpart, occasion), _paths(occasion)
    if counterpart.shell:
        yield {"command": f"{counterpart.shell} {shlex.join(paths)}"}
    elif not counterpart.merged:
        yield renamed
    elif counterpart.tool == "Bash":
        for access in (located.access for located in occasion.accesses):
            if isinstance(access, CommandAccess):
                yield {"command": access.command}
    else:
        for path in paths:
            yield {"file_path": path, **renamed}


def _renamed(counterpart: Counterpart, occasion: Occasion) -> dict[str, object]:
    """The input by Claude Code's names; one file by its real path."""
    tool_input, paths = _input(occasion), _paths(occasion)
    renamed = {
        theirs: tool_input[ours] for ours, theirs in counterpart.names.items() if ours in tool_input
    }
    if "file_path" in renamed and paths:
        renamed["file_path"] = paths[0]
    return renamed | _replacements(tool_input)


def _replacements(tool_input: Mapping[str, object]) -> dict[str, object]:
    """The texts that several replacements remove and insert, each joined to one."""
    entries = tool_input.get("replacements")
    rows = cast("list[dict[str, object]]", entries) if isinstance(entries, list) else []
    if not rows:
        return {}
    pairs = (("oldString", "old_string"), ("newString", "new_string"))
    return {theirs: "\n".join(str(row.get(ours, "")) for row in rows) for ours, theirs in pairs}


def _with_input(
    fields: Mapping[str, object], tool: str, tool_input: dict[str, object]
) -> Mapping[str, object]:
    response: Any = fields.get("tool_response")
    more: dict[str, object] = {}
    if isinstance(response, dict):
        answer = cast("dict[str, object]", response)
        path = {"filePath": tool_input["file_path"]} if "file_path" in tool_input else {}
        output = {"stdout": answer.get("content", ""), "stderr": ""} if tool == "Bash" else {}
        more = {"tool_response": answer | path | output}
    return {**fields, "tool_name": tool, "tool_input": tool_input, **more}


def _input(occasion: Occasion) -> dict[str, object]:
    tool_input = occasion.fields.get("tool_input")
    return cast("dict[str, object]", tool_input) if isinstance(tool_input, dict) else {}


def _paths(occasion: Occasion) -> list[str]:
    """Real paths that a call writes; if it writes none, those that it reads."""
    located = [(a.access, a.location.real) for a in occasion.accesses if a.location is not None]
    written = [real for access, real in located if isinstance(access, Write)]
    read = [real for access, real in located if isinstance(access, Read)]
    return list(dict.fromkeys(written or read))


def together(answers: Sequence[HookAnswer], occasion: Occasion) -> HookAnswer:
    """The answer about our call from the answers of a hook by Claude Code's names."""
    strictest = min(answers, key=lambda answer: _STRICTNESS.index(answer.word))
    texts = {
        name: "\n".join(dict.fromkeys(text for a in answers if (text := str(getattr(a, name)))))
        for name in ("context", "message", "warning", "halt")
    }
    updated = next((a.updated for a in answers if a.updated is not None), None)
    seconds = sum(answer.seconds for answer in answers)
    answer = replace(strictest, seconds=seconds, updated=updated, **texts)  # pyright: ignore[reportArgumentType]
    if updated is None or occasion.subject not in COUNTERPARTS:
        return answer
    restored = _restored(occasion, updated)
    if restored is None:
        return replace(answer, word="deny", reason=_UNCHANGEABLE, updated=None)
    return replace(answer, updated=restored)


def _restored(occasion: Occasion, updated: Mapping[str, object]) -> dict[str, object] | None:
    """The input by our names; None if they cannot express it."""
    counterpart, before = COUNTERPARTS[occasion.subject], _input(occasion)
    inputs = list(_inputs(counterpart, occasion))
    if updated in inputs:
        return before
    if counterpart.merged or counterpart.shell:
        return None
    ours = {theirs: name for name, theirs in counterpart.names.items()}
    restored = {name: value for name, value in before.items() if name not in counterpart.names}
    for name, value in updated.items():
        same = name in ours and inputs[0].get(name) == value
        restored[ours.get(name, name)] = before.get(ours[name], value) if same else value
    return restored
