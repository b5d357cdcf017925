"""The ``Checkers`` port: checks of the code by a workspace's own tools."""

import json
import os
import threading
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress

from sam_tui.adapters.code.projects import KINDS, command_of, program_of, tasks
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import Check, CheckPlan, Diagnostic

_MOST_BYTES = 2_000_000
# Files that are called JSON and may hold comments.
_COMMENTED = ("tsconfig", "jsconfig", ".eslintrc", "devcontainer", "settings.json", "launch.json")
_filters = threading.Lock()


def inspected(path: str, data: bytes) -> list[Diagnostic] | None:
    """The syntax errors of a file; None if there is no check for it here."""
    if len(data) > _MOST_BYTES:
        return None
    name = path.rpartition("/")[2]
    if name.endswith((".py", ".pyi")):
        return _python(path, data)
    if name.endswith(".json") and not name.startswith(_COMMENTED):
        return _json(path, data)
    if name.endswith(".toml"):
        return _toml(path, data)
    return None


def _python(path: str, data: bytes) -> list[Diagnostic]:
    try:
        # Compiled, never run. Warnings are left to linters.
        with _filters, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        message = error.msg or "invalid syntax"
        return [_found(path, error.lineno or 0, error.offset or 0, message, "python")]
    except (ValueError, RecursionError, MemoryError) as error:
        return [_found(path, 0, 0, str(error) or type(error).__name__, "python")]
    return []


def _json(path: str, data: bytes) -> list[Diagnostic]:
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        return [_found(path, error.lineno, error.colno, error.msg, "json")]
    except (ValueError, RecursionError) as error:
        return [_found(path, 0, 0, str(error), "json")]
    return []


def _toml(path: str, data: bytes) -> list[Diagnostic]:
    try:
        tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        text = str(error)
        line, column = _stated(text)
        return [_found(path, line, column, text, "toml")]
    return []


def _stated(text: str) -> tuple[int, int]:
    """The line and column that tomllib puts at the end of its messages."""
    words = text.rstrip(")").replace(",", "").split()
    if "line" in words and "column" in words:
        line, column = words[words.index("line") + 1], words[words.index("column") + 1]
        if line.isdigit() and column.isdigit():
            return int(line), int(column)
    return 0, 0


def _found(path: str, line: int, column: int, message: str, source: str) -> Diagnostic:
    return Diagnostic(path, line, column, "error", "syntax", message, source)


_REPORTS = {kind.name: kind.report for kind in KINDS}


class WorkspaceCheckers:
    """Finds the checkers of one workspace, and runs none of them. ``root`` is its real path."""

    def __init__(self, root: str) -> None:
        self._root = root

    def plan(self, paths: Sequence[str]) -> CheckPlan:
        """The checks for files, given as call arguments; without paths for the whole workspace."""
        files = tuple(self._real_paths(paths))
        checks: list[Check] = []
        missing: dict[str, None] = {}
        for task in tasks(self._root, files):
            if any(c.cwd == task.folder and c.name == task.kind.instead_of for c in checks):
                continue
            program = program_of(task.kind, task.folder, self._root)
            if program:
                checks.append(Check(task.kind.name, command_of(task, program), task.folder))
            else:
                name = task.kind.program or task.kind.name
                missing[f"{task.kind.name} ({task.marker} asks for it, no {name} found)"] = None
        names = {check.name for check in checks}
        reasons = [text for text in missing if not _needless(text, names)]
        return CheckPlan(tuple(checks), tuple(reasons), tuple(kind.name for kind in KINDS))

    def _real_paths(self, paths: Sequence[str]) -> Iterator[str]:
        for path in paths:
            # A path that cannot be located has no checker; the guard refuses to read it, and says why.
            with suppress(OSError, ValueError):
                yield os.path.realpath(os.path.join(self._root, os.path.expanduser(path)))

    def read(self, check: Check, output: str) -> Sequence[Diagnostic]:
        """Return the findings of a checker. Raises ``ToolError`` for output that is no report."""
        try:
            return _REPORTS[check.name](check, output)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise ToolError(f"{check.name} printed no report that can be read: {error}.") from error

    def inspect(self, path: str, data: bytes) -> Sequence[Diagnostic] | None:
        """The problems that a syntax check without a program finds; None if there is no check for such
        files."""
        return inspected(path, data)


def _needless(text: str, running: set[str]) -> bool:
    """One type checker for Python is enough."""
    return text.startswith("pyright ") and "ty" in running
