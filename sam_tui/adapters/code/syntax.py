"""Syntax checks that need no program: Python by the compiler at hand, JSON and TOML by their parsers."""

import json
import threading
import tomllib
import warnings

from sam_tui.core.ports.code import Diagnostic

_MOST_BYTES = 2_000_000
# Files that are called JSON and may hold comments.
_COMMENTED = ("tsconfig", "jsconfig", ".eslintrc", "devcontainer", "settings.json", "launch.json")
_filters = threading.Lock()


def inspected(path: str, data: bytes) -> list[Diagnostic] | None:
    """What is wrong with the syntax of a file; None where nothing here can tell."""
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
        # Compiled, never run. Warnings are the business of linters.
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
    """The place that tomllib puts at the end of its messages."""
    words = text.rstrip(")").replace(",", "").split()
    if "line" in words and "column" in words:
        line, column = words[words.index("line") + 1], words[words.index("column") + 1]
        if line.isdigit() and column.isdigit():
            return int(line), int(column)
    return 0, 0


def _found(path: str, line: int, column: int, message: str, source: str) -> Diagnostic:
    return Diagnostic(path, line, column, "error", "syntax", message, source)
