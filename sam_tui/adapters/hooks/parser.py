"""Reads the text of a hooks file; an unknown part of it is an error that names the place."""

import re
from collections.abc import Collection, Mapping
from typing import Any, cast

from sam_tui.adapters.hooks.claude_calls import is_of_claude, names_of
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.ports.hooks import HOOK_EVENTS, Hook, HookEvent, HookSource
from sam_tui.core.text.json_files import json_of_file

DEFAULT_TIMEOUT = 60.0
LONGEST_TIMEOUT = 600.0
"""The longest time limit of a hook, in seconds."""
MOST_HOOKS = 100
LONGEST_MATCHER = 500

MATCHED: Mapping[HookEvent, tuple[str, ...]] = {
    "PreToolUse": (),
    "PostToolUse": (),
    "SessionStart": ("startup", "resume"),
    "Notification": ("permission_prompt", "question"),
    "PreCompact": ("manual", "auto"),
}
"""Events whose hooks may have a matcher, each with what it may match; operations where there is nothing."""


def parse_hooks(
    text: str, path: str, source: HookSource, left_out: list[str] | None = None
) -> tuple[Hook, ...]:
    """The hooks of a file, as written. Raises ``ConfigurationError`` with file and place.

    A bundle's file is written for other programs: parts without a meaning here are left out, and named
    in ``left_out``.
    """
    data = json_of_file(text, path)
    return _Reader(path, source, [] if left_out is None else left_out).file(data)


def matches(hook: Hook, subject: str) -> bool:
    """Whether a hook matches ``subject``: its name, its tool's, or Claude Code's names for it."""
    if hook.matcher in ("", "*"):
        return True
    names = (subject, subject.partition(".")[0], *names_of(subject))
    return any(re.fullmatch(hook.matcher, name) for name in names)


class _Reader:
    """Reads one file of hooks; a fault is reported with its path in the JSON."""

    def __init__(self, path: str, source: HookSource, left_out: list[str]) -> None:
        self._path = path
        self._left_out = left_out
        self._source: HookSource = source
        self._lenient = source == "bundle"
        self._found: list[Hook] = []

    def file(self, data: Any) -> tuple[Hook, ...]:
        bare = self._lenient and isinstance(data, dict) and "hooks" not in data
        data = {"hooks": cast("object", data)} if bare else cast("object", data)
        top = self._object(data, "the file", ("hooks", "description"))
        events = self._object(top.get("hooks", {}), "hooks", HOOK_EVENTS)
        for event, groups in events.items():
            path = f"hooks.{event}"
            for index, group in enumerate(self._list(groups, path)):
                try:
                    self._group(cast("HookEvent", event), group, f"{path}[{index}]")
                except ConfigurationError as fault:
                    self._leave(fault)
        if len(self._found) > MOST_HOOKS:
            raise self._fault("hooks", f"more than {MOST_HOOKS} hooks", "Keep fewer.")
        return tuple(self._found)

    def _group(self, event: HookEvent, data: object, path: str) -> None:
        group = self._object(data, path, ("matcher", "hooks"))
        matcher = self._matcher(event, group.get("matcher", ""), f"{path}.matcher")
        if "hooks" not in group:
            raise self._fault(path, "“hooks” is missing", "It is a list of commands.")
        for index, entry in enumerate(self._list(group["hooks"], f"{path}.hooks")):
            try:
                self._hook(event, entry, matcher, f"{path}.hooks[{index}]")
            except ConfigurationError as fault:
                self._leave(fault)

    def _leave(self, fault: ConfigurationError) -> None:
        """Note a fault in a file that was written for another program; raise it for any other file."""
        if not self._lenient:
            raise fault
        self._left_out.append(str(fault))

    def _hook(self, event: HookEvent, data: object, matcher: str, path: str) -> None:
        entry = self._object(data, path, ("type", "command", "timeout"))
        if (kind := entry.get("type")) != "command":
            raise self._fault(f"{path}.type", f"{kind!r} is not a kind of hook", "Use “command”.")
        command = entry.get("command")
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            raise self._fault(f"{path}.command", "must be a shell command", "Write it as text.")
        timeout = entry.get("timeout", DEFAULT_TIMEOUT)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float):
            raise self._fault(f"{path}.timeout", "must be a number of seconds", "")
        if not 0 < timeout <= LONGEST_TIMEOUT:
            hint = f"Between 0 and {LONGEST_TIMEOUT:g}."
            self._leave(
                self._fault(f"{path}.timeout", f"{timeout} is not a number of seconds here", hint)
            )
            timeout = LONGEST_TIMEOUT
        at = f"{self._path}: {path}"
        claude = self._lenient or (bool(matcher) and is_of_claude(matcher))
        hook = Hook(event, self._source, command, float(timeout), at, matcher, claude=claude)
        self._found.append(hook)

    def _matcher(self, event: HookEvent, value: object, path: str) -> str:
        if not isinstance(value, str) or len(value) > LONGEST_MATCHER:
            raise self._fault(path, "must be a text", f"At most {LONGEST_MATCHER} characters.")
        if value in ("", "*"):
            return ""
        if event not in MATCHED:
            self._leave(self._fault(path, f"{event} takes no matcher", "Leave it out."))
            return ""
        try:
            re.compile(value)
        except (re.error, RecursionError, OverflowError) as error:
            raise self._fault(path, f"{value!r}: {error}", "It is a regular expression.") from None
        return value

    def _object(self, data: object, path: str, names: Collection[str]) -> Mapping[str, object]:
        if not isinstance(data, dict):
            raise self._fault(path, "must be an object", f"With {', '.join(names)}.")
        fields = cast("dict[str, Any]", data)
        for key in fields:
            if key not in names:
                hint = f"Known: {', '.join(names)}."
                self._leave(self._fault(path, f"unknown key “{key}”", hint))
        return {key: value for key, value in fields.items() if key in names}

    def _list(self, data: object, path: str) -> list[object]:
        if not isinstance(data, list):
            raise self._fault(path, "must be a list", "Put it in brackets.")
        return cast("list[object]", data)

    def _fault(self, path: str, what: str, hint: str) -> ConfigurationError:
        return ConfigurationError(f"{self._path}: {path}: {what}.", hint=hint)
