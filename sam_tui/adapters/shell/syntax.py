"""The meaning of syntax nodes: the text of a word, and texts that are computed from variables.

``x='a[$(id)]'; echo $((x))`` runs ``id``: a subscript inside of arithmetic is expanded once more.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from sam_tui.core.ports.policy import Word

if TYPE_CHECKING:
    from tree_sitter import Node


_NAMES = re.compile(rb"[A-Za-z_$`]")
_NUMBER = re.compile(rb"\[(?:-?[0-9]+|@|\*)\]$")
_ARITHMETIC_TEST = re.compile(rb"(?:^|\s)-(?:eq|ne|lt|le|gt|ge|v|R)(?=\s|$)")
_PLAIN_EXPANSION = re.compile(
    rb"\$\{#?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?!$-])(?:\[(?:-?[0-9]+|@|\*)\])?"
    rb"(?:(?:%%?|##?|/|\^\^?|,,?|:?[-+?]).*|:\s*-?[0-9]+(?::\s*-?[0-9]+)?|@[QEAaKkUuL])?\}$",
    re.DOTALL,
)
_KEYS = re.compile(rb"\$\{![A-Za-z_][A-Za-z0-9_]*(?:\[[@*]\]|[@*])\}$")
_HIDDEN = re.compile(rb"(?<!\\)(?:`|\$\(|[<>]\()")
_LITERAL = frozenset(("raw_string", "ansi_c_string", "comment"))
_EXPANDED = ("simple_expansion", "expansion", "command_substitution")


def overlooked(root: "Node") -> bool:
    """Whether the grammar took a command substitution for plain text: ``${x:- `id`}``."""
    return any(_hides(node) for node in _below(root))


def _hides(node: "Node") -> bool:
    if node.children or not node.is_named or not _HIDDEN.search(node.text or b""):
        return False
    if node.type.startswith("heredoc_"):
        return _expands(node)
    return node.type not in _LITERAL


def _expands(node: "Node") -> bool:
    """Whether the shell looks for substitutions in a here-document: where its end is not quoted."""
    while node.parent is not None and node.type != "heredoc_redirect":
        node = node.parent
    starts = [child.text or b"" for child in node.children if child.type == "heredoc_start"]
    return not any(set(start) & set(b"'\"\\") for start in starts)


def evaluated(root: "Node") -> bool:
    """Whether anything below a node is computed from the values of variables."""
    return any(map(_evaluates, _below(root)))


def _below(root: "Node") -> "Iterator[Node]":
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def _evaluates(node: "Node") -> bool:
    test = _EVALUATING.get(node.type)
    return test is not None and test(node, node.text or b"")


def _calculates(_node: "Node", text: bytes) -> bool:
    """Arithmetic with a name in it."""
    return bool(_NAMES.search(text.partition(b"do")[0].removeprefix(b"for")))


def _names_indexes(node: "Node", _text: bytes) -> bool:
    return any((child.text or b"").startswith(b"[") for child in node.children)


def _tested(node: "Node", text: bytes) -> bool:
    """Whether a test evaluates text: ``[[ x -eq 1 ]]`` is arithmetic; ``[ $x ]`` becomes any words."""
    if text.startswith(b"[["):
        return bool(_ARITHMETIC_TEST.search(text))
    if re.search(rb"(?:^|\s)-[vR](?=\s|$)", text):
        return True
    waiting = list(node.children)
    while waiting:
        child = waiting.pop()
        if child.type in _EXPANDED:
            return True
        if child.type != "string":
            waiting.extend(child.children)
    return False


_EVALUATING: "Mapping[str, Callable[[Node, bytes], bool]]" = {
    "arithmetic_expansion": lambda _, text: bool(_NAMES.search(text[1:])),
    "c_style_for_statement": _calculates,
    "compound_statement": lambda _, text: text.startswith(b"((") and bool(_NAMES.search(text)),
    "expansion": lambda _, text: not (_PLAIN_EXPANSION.match(text) or _KEYS.match(text)),
    "subscript": lambda _, text: not _NUMBER.search(text),
    "array": _names_indexes,
    "test_command": _tested,
}
"""By node type, whether a node and its text may run commands when the shell evaluates them."""
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
    """Return the word of a node."""
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
                static &= static_part
            case "word" | "number" | "regex":
                pattern |= bool(_UNQUOTED_PATTERN.search(text))
                pieces.append(_ESCAPE.sub(lambda m: "" if m[1] == "\n" else m[1], text))
            case _:
                static = False
    static = static and not _braces(node)
    return Word("".join(pieces) if static else source, static, pattern)


def text_of(node: "Node") -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def _parts(node: "Node") -> "list[Node]":
    if node.type in ("concatenation", "command_name"):
        return [part for child in node.children for part in _parts(child)]
    return [node]


def _double_quoted(node: "Node") -> tuple[str, bool]:
    """The text between double quotes, and whether all of it is known."""
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
