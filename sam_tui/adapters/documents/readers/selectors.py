"""CSS selectors -> XPath: tags, ids, classes, attributes, combinators, and the usual positions.

Enough for scraping, and nothing a model writes reaches XPath unquoted.
"""

import re
from dataclasses import dataclass

from sam_tui.core.errors import ToolError
from sam_tui.core.text.plain import gist, printable

_NAME = r"[A-Za-z_][\w-]*"
_ATTRIBUTE = re.compile(rf"(?P<path>.*\S)\s*@\s*(?P<attribute>{_NAME})", re.S)
_PIECE = re.compile(
    rf"""(?P<tag>{_NAME}|\*)
    | \#(?P<id>[\w-]+)
    | \.(?P<class>[\w-]+)
    | \[\s*(?P<attr>[A-Za-z_:][\w:.-]*)\s*(?:(?P<op>[~|^$*]?=)\s*
        (?P<value>"[^"]*"|'[^']*'|[^\]\s"']+)\s*)?\]
    | :(?P<pseudo>first-child|last-child|only-child|first-of-type|last-of-type|empty
        |nth-child|nth-of-type|not)(?:\((?P<argument>[^()]*)\))?""",
    re.VERBOSE,
)
_COMBINATOR = re.compile(r"\s*([>+~])\s*|\s+")
_AXES = {
    " ": "descendant::",
    ">": "child::",
    "~": "following-sibling::",
    "+": "following-sibling::*[1]/self::",
}
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Selector:
    """A parsed selector. ``attribute`` is the attribute to return; empty for the element's text."""

    xpath: str
    attribute: str

    @classmethod
    def parse(cls, text: str) -> "Selector":
        """Parse a selector. Raises ``ToolError`` that points at the faulty part."""
        if len(text) > _LONGEST:
            raise ToolError(f"A selector has {len(text)} characters, at most {_LONGEST}.")
        split = _ATTRIBUTE.fullmatch(text.strip())
        path = split["path"] if split else text.strip()
        paths = [_path(part.strip()) for part in _alternatives(path)]
        return cls(" | ".join(paths), split["attribute"].lower() if split else "")


_PLAIN_PSEUDO_CLASSES = {
    "first-child": "not(preceding-sibling::*)",
    "last-child": "not(following-sibling::*)",
    "only-child": "not(preceding-sibling::*) and not(following-sibling::*)",
    "first-of-type": "not(preceding-sibling::{same})",
    "last-of-type": "not(following-sibling::{same})",
    "empty": "not(node())",
}
"""Pseudo-classes without an argument as XPath conditions; ``{same}`` is the name of the element."""


def _alternatives(path: str) -> list[str]:
    """Split at commas that stand outside brackets, parentheses and quotes."""
    parts = re.findall(r"""(?:\[[^\]]*\]|\([^)]*\)|"[^"]*"|'[^']*'|[^,])+""", path)
    if ",".join(parts) != path or not parts:
        raise _unknown(path, 0)
    return parts


def _path(text: str) -> str:
    at, axis, steps = 0, "/" + _AXES[" "], ""
    while True:
        step, at = _compound(text, at)
        steps += axis + step
        if at == len(text):
            return steps
        gap = _COMBINATOR.match(text, at)
        if gap is None:
            raise _unknown(text, at)
        axis, at = "/" + _AXES[gap[1] or " "], gap.end()


def _compound(text: str, at: int) -> tuple[str, int]:
    """One element's conditions: ``tag#id.class[attribute]:position``."""
    tag, conditions, start = "*", "", at
    while (piece := _PIECE.match(text, at)) is not None:
        if piece["tag"]:
            if at != start:
                raise _unknown(text, at)
            tag = piece["tag"].lower()
        else:
            conditions += f"[{_condition(piece, tag, text)}]"
        at = piece.end()
    if at == start:
        raise _unknown(text, at)
    # A position counts among all children, so the tag is a condition like the others.
    return ("*" if tag == "*" else f"*[self::{tag}]") + conditions, at


def _condition(piece: re.Match[str], tag: str, text: str) -> str:
    if piece["id"]:
        return f"@id={_quoted(piece['id'])}"
    if piece["class"]:
        return _word("class", piece["class"])
    if piece["attr"]:
        return _attribute(piece)
    name, argument = piece["pseudo"], (piece["argument"] or "").strip()
    same = "*" if tag == "*" else f"*[self::{tag}]"
    if name in _PLAIN_PSEUDO_CLASSES:
        return _PLAIN_PSEUDO_CLASSES[name].format(same=same)
    if name == "not":
        inner, end = _compound(argument, 0)
        if end != len(argument):
            raise _unknown(text, piece.start())
        return f"not(self::{inner})"
    among = "*" if name == "nth-child" else same
    return _nth(argument, f"(count(preceding-sibling::{among}) + 1)", text, piece.start())


def _attribute(piece: re.Match[str]) -> str:
    name, raw = piece["attr"].lower(), piece["value"]
    if raw is None:
        return f"@{name}"
    value = raw[1:-1] if raw[:1] in "\"'" else raw
    quoted, length = _quoted(value), len(value)
    match piece["op"]:
        case "=":
            return f"@{name}={quoted}"
        case "~=":
            return _word(name, value)
        case "|=":
            return f"@{name}={quoted} or starts-with(@{name}, {_quoted(value + '-')})"
        case _ if not value:
            return "false()"
        case "^=":
            return f"starts-with(@{name}, {quoted})"
        case "$=":
            return f"substring(@{name}, string-length(@{name}) - {length - 1}) = {quoted}"
        case _:
            return f"contains(@{name}, {quoted})"


def _nth(argument: str, position: str, text: str, at: int) -> str:
    usual = {"odd": "2n+1", "even": "2n"}.get(argument, argument).replace(" ", "")
    if usual.isdigit():
        return f"{position} = {int(usual[:9])}"
    form = re.fullmatch(r"(?P<step>[0-9]{0,6})n(?:\+(?P<first>[0-9]{1,6}))?", usual)
    if form is None:
        raise _unknown(text, at)
    step, first = int(form["step"] or 1), int(form["first"] or 0)
    if step == 0:
        return f"{position} = {first}"
    return f"{position} >= {first} and ({position} - {first}) mod {step} = 0"


def _word(name: str, value: str) -> str:
    return f"contains(concat(' ', normalize-space(@{name}), ' '), {_quoted(f' {value} ')})"


def _quoted(value: str) -> str:
    """An XPath string: XPath 1.0 has no escapes, so text with both quotes is put together."""
    if "'" not in value:
        return f"'{value}'"
    return "concat(" + ', "\'", '.join(f"'{part}'" for part in value.split("'")) + ", '')"


def _unknown(text: str, at: int) -> ToolError:
    remainder = printable(text[at : at + 40]) or "its end"
    return ToolError(
        f"The selector {gist(text, 80)!r} is not understood at {remainder!a}.",
        hint='Write CSS such as "h2.title", "a[href^=http]@href", "table tr:nth-child(2) > td".',
    )
