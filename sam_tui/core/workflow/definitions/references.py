"""``@{...}`` in prompts and inputs: its grammar, and how it is filled in.

``@{params.goal}``, ``@{outputs.design.summary}``, ``@{outputs.plan.tasks.0.title}``,
``@{item.title}`` and, in guards, ``@{output.tests.passed}``. A string that is one reference keeps
the value's type; inside other text values are written as text, lists and objects as JSON. A ``?`` at
the end makes it optional: nothing where the value is not there. Without it, a missing value is an
error that names the reference.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

MOST_FILLED = 4_000_000
"""The most characters of a value with its references replaced: one can name a long text repeatedly."""
ROOTS = ("params", "outputs", "item", "inputs", "output", "failure")
_REFERENCE = re.compile(r"@\{([^{}\n]{1,200})\}")
_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_/-]*")


class ReferenceMissing(ValueError):
    """A value that a reference names is not there, or the reference is no reference."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A parsed reference: where it starts and the path from there."""

    text: str
    root: str
    path: tuple[str, ...]
    optional: bool


def parse_reference(text: str) -> Reference:
    """Parse the inside of ``@{...}``. Raises ``ReferenceMissing`` for any other text."""
    stripped = text.strip()
    optional = stripped.endswith("?")
    parts = stripped.removesuffix("?").split(".")
    if parts[0] not in ROOTS or len(parts) < 2 or not all(map(_PART.fullmatch, parts[1:])):
        raise ReferenceMissing(
            f"@{{{text}}} is not a reference; write @{{params.name}} or @{{outputs.step.field}}"
        )
    return Reference(text, parts[0], tuple(parts[1:]), optional)


def references(value: object) -> Iterator[Reference]:
    """Every reference within a value. Raises ``ReferenceMissing`` for a malformed one."""
    if isinstance(value, str):
        for match in _REFERENCE.finditer(value):
            yield parse_reference(match[1])
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from references(inner)
    elif isinstance(value, Sequence):
        for inner in cast("Sequence[Any]", value):
            yield from references(inner)


def fill(value: object, scope: Mapping[str, object]) -> Any:
    """The value with its references replaced. Raises ``ReferenceMissing``, also beyond ``MOST_FILLED``."""
    return _Filling(scope).value(value)


def fill_text(text: str, scope: Mapping[str, object]) -> str:
    """A text with its references replaced, always as text. Raises as ``fill``."""
    return _Filling(scope).text(text)


class _Filling:
    """The references of one value, and how many more characters they may add."""

    def __init__(self, scope: Mapping[str, object]) -> None:
        self._scope = scope
        self._left = MOST_FILLED

    def value(self, value: object) -> object:
        if isinstance(value, str):
            whole = _REFERENCE.fullmatch(value.strip())
            return self._look_up(whole[1])[0] if whole else self.text(value)
        if isinstance(value, Mapping):
            return {k: self.value(v) for k, v in cast("Mapping[str, Any]", value).items()}
        if isinstance(value, Sequence):
            return [self.value(v) for v in cast("Sequence[Any]", value)]
        return value

    def text(self, text: str) -> str:
        return _REFERENCE.sub(lambda match: self._look_up(match[1])[1], text)

    def _look_up(self, reference: str) -> tuple[object, str]:
        value = look_up(parse_reference(reference), self._scope)
        text = _text(value)
        self._left -= len(text)
        if self._left < 0:
            raise ReferenceMissing(
                f"@{{{reference}}} is too much: references come to {MOST_FILLED} characters at most"
            )
        return value, text


def look_up(reference: Reference, scope: Mapping[str, object]) -> object:
    """The value that a reference names; None for an optional reference without a value."""
    value: object = scope.get(reference.root)
    for part in reference.path:
        value = _step(value, part)
        if value is _MISSING:
            break
    if value is not _MISSING and value is not None:
        return value
    if reference.optional or (value is None and reference.root in ("params", "item")):
        return None
    raise ReferenceMissing(f"@{{{reference.text}}} has no value")


_MISSING = object()


def _step(value: object, part: str) -> object:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(part, _MISSING)
    if isinstance(value, Sequence) and not isinstance(value, str) and part.isdecimal():
        items = cast("Sequence[Any]", value)
        return items[int(part)] if int(part) < len(items) else _MISSING
    return _MISSING


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
