"""Where a shell text works out what a variable holds, which may then run a command.

``x='a[$(id)]'; echo $((x))`` runs ``id``: a subscript inside of arithmetic is expanded once more.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

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
    """Whether a substitution stands where the grammar saw plain text: ``${x:- `id`}``."""
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
    """Whether anything below a node is worked out from what variables hold."""
    return any(map(_evaluates, _below(root)))


def _below(root: "Node") -> "Iterator[Node]":
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def _evaluates(node: "Node") -> bool:
    text = node.text or b""
    match node.type:
        case "arithmetic_expansion" | "c_style_for_statement":
            inner = text.partition(b"do")[0] if node.type.startswith("c_") else text[1:]
            return bool(_NAMES.search(inner.removeprefix(b"for")))
        case "compound_statement":
            return text.startswith(b"((") and bool(_NAMES.search(text))
        case "expansion":
            return not (_PLAIN_EXPANSION.match(text) or _KEYS.match(text))
        case "subscript":
            return not _NUMBER.search(text)
        case "array":
            return any((child.text or b"").startswith(b"[") for child in node.children)
        case "test_command":
            return _tested(node, text)
        case _:
            return False


def _tested(node: "Node", text: bytes) -> bool:
    """``[[ x -eq 1 ]]`` is arithmetic; ``[ $x ]`` becomes whatever words the variable holds."""
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
