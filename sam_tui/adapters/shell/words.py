"""Syntax nodes of words -> the text the shell will see, and whether that is known beforehand."""

import re
from typing import TYPE_CHECKING

from sam_tui.core.ports.policy import Word

if TYPE_CHECKING:
    from tree_sitter import Node

_STATIC_PARTS = {"word", "number", "string_content", "raw_string", "ansi_c_string", "regex"}
_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_QUOTED_ESCAPE = re.compile(r'\\([$`"\\\n])')
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_ANSI_NAMED = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v",
}  # fmt: skip
_BRACES = re.compile(r"(?<!\\)\{[^{}]*(?:,|\.\.)[^{}]*\}")
_UNQUOTED_PATTERN = re.compile(r"(?<!\\)[*?\[]")


def word_of(node: "Node") -> Word:
    """The word that a node stands for."""
    source = text_of(node)
    static, pattern, pieces = True, False, list[str]()
    for part in _parts(node):
        text = text_of(part)
        match part.type:
            case "raw_string":
                pieces.append(text[1:-1])
            case "ansi_c_string":
                pieces.append(_ansi(text[2:-1]))
            case "string":
                inner, static_part = _double_quoted(part)
                pieces.append(inner)
                static = static and static_part
            case "word" | "number" | "regex":
                pattern = pattern or bool(_UNQUOTED_PATTERN.search(text))
                pieces.append(_ESCAPE.sub(lambda m: "" if m[1] == "\n" else m[1], text))
            case _:
                static = False
    if static and _braces(node):
        static = False
    tilde = source.startswith("~")
    return Word("".join(pieces) if static else source, static, pattern, tilde)


def text_of(node: "Node") -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def _parts(node: "Node") -> "list[Node]":
    if node.type in ("concatenation", "command_name"):
        return [part for child in node.children for part in _parts(child)]
    return [node]


def _double_quoted(node: "Node") -> tuple[str, bool]:
    """What stands between double quotes, and whether all of it is known."""
    if any(child.is_named and child.type not in _STATIC_PARTS for child in node.children):
        return text_of(node), False
    # The grammar leaves blanks at the edges out of the content, so the source itself is taken.
    inner = text_of(node)[1:-1]
    return _QUOTED_ESCAPE.sub(lambda m: "" if m[1] == "\n" else m[1], inner), True


def _ansi(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        short, wide, wider, octal, control, named = match.groups()
        try:
            if number := short or wide or wider:
                return chr(int(number, 16))
            if octal:
                return chr(int(octal, 8) & 0xFF)
        except (ValueError, OverflowError):
            return ""
        if control:
            return chr(ord(control) & 0x1F)
        return _ANSI_NAMED.get(named, named)

    return _ANSI.sub(plain, text)


def _braces(node: "Node") -> bool:
    """Whether unquoted braces will become several words."""
    unquoted = "".join(text_of(part) for part in _parts(node) if part.type in ("word", "number"))
    return bool(_BRACES.search(unquoted))
