"""JSON that somebody wrote: a key that an object has twice is an error, because readers differ about it."""

import json
import re

from sam_tui.core.errors import ConfigurationError

_LONGEST_NAME = 60
_MARK = "\ufeff"
"""The byte order mark with which some editors begin a file."""
_PIECE = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\],]')


class RepeatedKey(ValueError):
    """An object has a key twice; ``line`` (from 1) is that of the second."""

    def __init__(self, key: str, line: int) -> None:
        super().__init__(f"the key “{key[:_LONGEST_NAME]}” is set twice")
        self.line = line


def plain_json(text: str) -> object:
    """The value of a JSON text in which no object has a key twice.

    Raises ``RepeatedKey``, and another ``ValueError`` for a text that is no JSON or nests too deep.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except KeyError:
        raise _repeated(text) from None
    except json.JSONDecodeError as error:
        where = f"at line {error.lineno}, column {error.colno}"
        raise ValueError(f"{error.msg} {where}") from None


def json_of_file(data: str | bytes, path: str, *, hint: str = "") -> object:
    """The value of a JSON file. Raises ``ConfigurationError`` with ``path``, line and ``hint``."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        return plain_json(text.removeprefix(_MARK))
    except RepeatedKey as error:
        raise ConfigurationError(f"{path}:{error.line}: {error}.", hint=hint) from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not valid JSON: it is not UTF-8.", hint=hint) from None
    except ValueError as error:
        raise ConfigurationError(f"{path} is not valid JSON: {error}.", hint=hint) from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise KeyError
    return value


def _repeated(text: str) -> RepeatedKey:
    """The first key of a JSON text that its object has already."""
    objects: list[set[str] | None] = []
    is_key = False
    for piece in _PIECE.finditer(text):
        mark = piece[0]
        if mark in "{[":
            objects.append(set() if mark == "{" else None)
        elif mark in "}]":
            objects.pop()
        elif mark != "," and is_key and (keys := objects[-1]) is not None:
            key: str = json.loads(mark)
            if key in keys:
                return RepeatedKey(key, text.count("\n", 0, piece.start()) + 1)
            keys.add(key)
        is_key = mark in "{,"
    raise AssertionError("no key is there twice")
