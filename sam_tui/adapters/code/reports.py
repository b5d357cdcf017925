"""Converts the output of checkers to diagnostics."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from sam_tui.core.ports.code import Check, Diagnostic

Severity = Literal["error", "warning", "information"]
Report = Callable[[Check, str], Sequence[Diagnostic]]
"""Turns the output of one checker into diagnostics. Raises ``ValueError`` if the output is no report."""

_SEVERITIES: dict[str, Severity] = {
    "error": "error", "fatal": "error", "blocker": "error", "critical": "error", "major": "error",
    "warning": "warning", "minor": "warning", "warn": "warning",
    "information": "information", "info": "information", "note": "information",
    "help": "information", "hint": "information",
}  # fmt: skip
_TSC = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+),(?P<column>\d+)\): (?P<severity>error|warning) "
    r"(?P<code>TS\d+): (?P<message>.+)$"
)
_TSC_GLOBAL = re.compile(r"^(?P<severity>error|warning) (?P<code>TS\d+): (?P<message>.+)$")
_GO = re.compile(
    r"^(?:vet: )?(?P<file>[^\s:][^:]*\.\w+):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<message>.+)$"
)
_SWIFT = re.compile(
    r"^(?P<file>/[^:]+):(?P<line>\d+):(?P<column>\d+): (?P<severity>error|warning|note): (?P<message>.+)$"
)


def ruff(check: Check, output: str) -> list[Diagnostic]:
    """``ruff check --output-format=json-lines``."""
    return [
        Diagnostic(
            _absolute(check, _text(item, "filename")),
            _number(item, "location", "row"),
            _number(item, "location", "column"),
            "error" if str(item.get("code") or "")[:2] in ("", "E9", "F8", "in") else "warning",
            _text(item, "code") or "invalid-syntax",
            _text(item, "message"),
            "ruff",
        )
        for item in _json_lines(output)
        if "filename" in item
    ]


def pyright(check: Check, output: str) -> list[Diagnostic]:
    """``pyright --outputjson``; its lines and columns count from 0."""
    report = _json(output, "{")
    return [
        Diagnostic(
            _absolute(check, _text(item, "file")),
            _number(item, "range", "start", "line") + 1,
            _number(item, "range", "start", "character") + 1,
            _SEVERITIES.get(_text(item, "severity"), "error"),
            _text(item, "rule"),
            _text(item, "message"),
            "pyright",
        )
        for item in _items(report.get("generalDiagnostics"))
    ]


def ty(check: Check, output: str) -> list[Diagnostic]:
    """``ty check --output-format gitlab``."""
    return [
        Diagnostic(
            _absolute(check, _text(item, "location", "path")),
            _number(item, "location", "positions", "begin", "line"),
            _number(item, "location", "positions", "begin", "column"),
            _SEVERITIES.get(_text(item, "severity"), "error"),
            _text(item, "check_name"),
            _text(item, "description").removeprefix(_text(item, "check_name") + ": "),
            "ty",
        )
        for item in _items(_json(output, "["))
    ]


def eslint(check: Check, output: str) -> list[Diagnostic]:
    """``eslint --format json``."""
    return [
        Diagnostic(
            _absolute(check, _text(file, "filePath")),
            _number(item, "line"),
            _number(item, "column"),
            "error" if item.get("severity") == 2 else "warning",
            _text(item, "ruleId"),
            _text(item, "message"),
            "eslint",
        )
        for file in _items(_json(output, "["))
        for item in _items(file.get("messages"))
    ]


def cargo(check: Check, output: str) -> list[Diagnostic]:
    """``cargo check --message-format=json``: one object a line, among others the compiler's."""
    diagnostics: dict[Diagnostic, None] = {}
    for item in _json_lines(output):
        if item.get("reason") != "compiler-message":
            continue
        message = cast("dict[str, object]", item.get("message") or {})
        spans = [span for span in _items(message.get("spans")) if span.get("is_primary")]
        if not spans:
            continue
        diagnostic = Diagnostic(
            _absolute(check, _text(spans[0], "file_name")),
            _number(spans[0], "line_start"),
            _number(spans[0], "column_start"),
            _SEVERITIES.get(_text(message, "level").partition(":")[0], "error"),
            _text(message, "code", "code"),
            _text(message, "message"),
            "cargo",
        )
        diagnostics[diagnostic] = None  # a target may be compiled several times
    return list(diagnostics)


def tsc(check: Check, output: str) -> list[Diagnostic]:
    """``tsc --pretty false``."""
    diagnostics = list(_lines(check, output, _TSC, "tsc"))
    for line in output.splitlines():
        if match := _TSC_GLOBAL.match(line.strip()):
            severity = _SEVERITIES[match["severity"]]
            diagnostics.append(
                Diagnostic("", 0, 0, severity, match["code"], match["message"], "tsc")
            )
    return diagnostics


def go(check: Check, output: str) -> list[Diagnostic]:
    """``go vet``, whose output does not distinguish errors from suspicious code."""
    return list(_lines(check, output, _GO, "go"))


def swift(check: Check, output: str) -> list[Diagnostic]:
    """``swift build``; each finding once, however many targets repeat it."""
    return list(dict.fromkeys(_lines(check, output, _SWIFT, "swift")))


def _lines(
    check: Check, output: str, pattern: re.Pattern[str], source: str
) -> Iterator[Diagnostic]:
    for line in output.splitlines():
        match = pattern.match(line.rstrip())
        if match is None:
            continue
        parts = match.groupdict()
        yield Diagnostic(
            _absolute(check, parts["file"]),
            int(parts["line"]),
            int(parts.get("column") or 0),
            _SEVERITIES[parts.get("severity") or "error"],
            parts.get("code") or "",
            parts["message"],
            source,
        )


def _absolute(check: Check, path: str) -> str:
    return os.path.normpath(os.path.join(check.cwd, path)) if path else ""


def _json(output: str, opening: str) -> Any:
    """The first JSON value of a kind that begins a line; warnings may come before and after it."""
    for match in re.finditer(rf"^{re.escape(opening)}", output, re.MULTILINE):
        try:
            value, _ = json.JSONDecoder().raw_decode(output, match.start())
        except ValueError:
            continue
        return value
    raise ValueError("no JSON in the output")


def _json_lines(output: str) -> Iterator[Mapping[str, object]]:
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield cast("dict[str, object]", value)


def _items(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list; nothing for anything else."""
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", v) for v in cast("list[Any]", value) if isinstance(v, dict)]


def _at(item: object, *keys: str) -> object:
    for key in keys:
        item = cast("dict[str, object]", item).get(key) if isinstance(item, dict) else None
    return item


def _text(item: object, *keys: str) -> str:
    value = _at(item, *keys)
    return str(value) if value is not None else ""


def _number(item: object, *keys: str) -> int:
    value = _at(item, *keys)
    return value if isinstance(value, int) else 0
