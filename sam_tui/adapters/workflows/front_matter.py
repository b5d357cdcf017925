"""Markdown with YAML front matter -> plain values, each with the line it stands on.

Anchors, aliases, tags and doubled keys are refused: a definition is data, and small.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import yaml

LARGEST = 256_000
"""The most bytes of a definition file."""
_DEEPEST = 30
_MOST_VALUES = 5_000
"""The most values of a front matter; reading one takes 0.1 ms or more."""
_LONGEST_NUMBER = 60
"""The most characters of a number, because long ones in YAML's base 60 take long to read."""
_PLAIN = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")

Place = tuple[str | int, ...]


class FrontMatterFault(ValueError):
    """The fault of a file, and its line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values above the text, the text, and the line of every value by its place."""

    fields: Mapping[str, Any]
    body: str
    lines: Mapping[Place, int]


class _Loader(yaml.SafeLoader):
    """Plain values only; a date stays the text that it was."""

    depth = values = 0
    """The nesting depth of the present value, and the number of values read so far."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse nodes that could make a small file large."""
        peek: Any = getattr(self, "peek_event")  # noqa: B009 # untyped in the library
        event: Any = peek()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise FrontMatterFault(
                "anchors and aliases are not supported", _line_of(event.start_mark)
            )
        if self.depth > _DEEPEST:
            raise FrontMatterFault("nested too deep", _line_of(event.start_mark))
        if self.values >= _MOST_VALUES:
            text = f"the front matter has more than {_MOST_VALUES} values"
            raise FrontMatterFault(text, _line_of(event.start_mark))
        self.depth += 1
        self.values += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def save_possible_simple_key(self) -> None:
        """Refuse brackets before the tokens behind them are read, each more slowly than the last."""
        if self.flow_level > _DEEPEST:
            raise FrontMatterFault("nested too deep", self.line + 1)
        super().save_possible_simple_key()  # pyright: ignore[reportUnknownMemberType] # untyped


def read_front_matter(text: str) -> FrontMatter:
    """The parts of a definition file. Raises ``FrontMatterFault``."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        raise FrontMatterFault("the file must begin with a line of ---", 1)
    end = next((i for i, line in enumerate(lines[1:], 1) if line.strip() in ("---", "...")), None)
    if end is None:
        raise FrontMatterFault("the front matter has no closing ---", len(lines))
    # One empty line in place of the opening mark, so that lines count from the file's first.
    source = "\n".join(["", *lines[1:end]])
    line_numbers: dict[Place, int] = {}
    fields = _fields(source, line_numbers)
    return FrontMatter(fields, "\n".join(lines[end + 1 :]).strip("\n"), line_numbers)


def _fields(source: str, line_numbers: dict[Place, int]) -> dict[str, Any]:
    """The values of the YAML text; notes the line of each. Raises ``FrontMatterFault``."""
    try:
        node = _compose(source)
        fields: Any = {} if node is None else _value(node, (), line_numbers)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FrontMatterFault(
            f"the YAML is invalid: {error.problem or error}", _line_of(mark) if mark else 1
        ) from None
    except yaml.YAMLError as error:
        raise FrontMatterFault(f"the YAML is invalid: {error}", 1) from None
    if not isinstance(fields, dict):
        raise FrontMatterFault("the front matter must be a mapping", 2)
    return cast("dict[str, Any]", fields)


def _compose(source: str) -> Any:
    """The tree of nodes, by the library's parser in C where that has no fault to find: it takes a tenth
    of the time. Everything else is read, and refused, by the one in Python."""
    kind: Any = getattr(yaml, "CSafeLoader", None)
    if kind is not None:
        with suppress(yaml.YAMLError):
            if _is_plain(kind, source):
                return _composed(kind(source))
    return _composed(_Loader(source))


def _composed(loader: Any) -> Any:
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def _is_plain(kind: Any, source: str) -> bool:
    """Whether nothing in it could make a small file large; parsing stops at what could."""
    depth = 0
    for count, event in enumerate(cast("Iterator[Any]", yaml.parse(source, kind))):  # pyright: ignore[reportUnknownMemberType]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            return False
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST or count > _MOST_VALUES:
            return False
    return True


def _value(node: Any, path: Place, line_numbers: dict[Place, int]) -> Any:
    line_numbers[path] = _line_of(node.start_mark)
    if not isinstance(node, yaml.ScalarNode) and str(node.tag) not in _PLAIN:
        raise FrontMatterFault(f"the tag {node.tag} is not supported", line_numbers[path])
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            if not isinstance(key_node, yaml.ScalarNode) or key in mapping:
                text = (
                    f"the key {key!r} appears twice" if key in mapping else "a key must be a text"
                )
                raise FrontMatterFault(text, _line_of(key_node.start_mark))
            mapping[key] = _value(value_node, (*path, key), line_numbers)
            line_numbers[(*path, key)] = _line_of(key_node.start_mark)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, i), line_numbers) for i, item in enumerate(node.value)]
    return _scalar(node, line_numbers[path])


def _scalar(node: Any, line: int) -> Any:
    kind = str(node.tag).removeprefix("tag:yaml.org,2002:")
    text = str(node.value)
    match kind:
        case "str" | "timestamp" | "value" | "merge":
            return text
        case "null":
            return None
        case "bool":
            return text.lower() in ("true", "yes", "on")
        case "int" | "float":
            return _number(kind, node, line)
        case _:
            raise FrontMatterFault(f"the tag {node.tag} is not supported", line)


def _number(kind: str, node: Any, line: int) -> Any:
    if len(node.value) > _LONGEST_NUMBER:
        raise FrontMatterFault(f"a number has at most {_LONGEST_NUMBER} characters", line)
    loader = yaml.SafeLoader("")
    try:
        return (
            loader.construct_yaml_int(node) if kind == "int" else loader.construct_yaml_float(node)
        )
    except (ValueError, OverflowError):
        raise FrontMatterFault(f"{node.value!r} is not a number", line) from None
    finally:
        loader.dispose()  # pyright: ignore[reportUnknownMemberType] # untyped


def _line_of(mark: Any) -> int:
    return int(mark.line) + 1
