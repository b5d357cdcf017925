"""Finds every simple command of a bash text: in pipes, lists, bodies and substitutions."""

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from sam_tui.adapters.shell.syntax import text_of, word_of
from sam_tui.core.ports.policy import Redirection, ShellText, SimpleCommand, Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 65_536
"""The most characters that are parsed; a longer text counts as unparsable."""
_DEEPEST = 200
_MISREAD = re.compile(r"[^\s\\]\\\n\S|\\`|[\r\v\f]|(?:^|[\s;&|()<>{}])\\[ \t]")
r"""Text that the grammar parses differently from the shell: a word that continues on the next line, nested
backquotes, control characters that only the grammar takes for blanks, a word that begins with ``\ ``."""
_RESERVED = frozenset(
    ("{", "}", "(", ")", "!", "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "for",
     "case", "esac", "function")
)  # fmt: skip


@functools.cache
def _parser() -> "Parser":
    """The grammar, loaded with the first text."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class BashParser:
    """The ``ShellParser`` port over tree-sitter-bash."""

    def parse(self, text: str) -> ShellText:
        """The simple commands in ``text``, those of substitutions and function bodies included."""
        if len(text) > LONGEST or "\0" in text:
            return ShellText((), unparsable=True)
        from sam_tui.adapters.shell.syntax import evaluated, overlooked

        tree = _parser().parse(text.encode("utf-8", "replace"))
        walk = _Walk()
        walk.visit(tree.root_node, _Place())
        lost = walk.lost or tree.root_node.has_error or overlooked(tree.root_node)
        unparsable = lost or bool(_MISREAD.search(text))
        functions, evaluates = tuple(walk.functions), evaluated(tree.root_node)
        return ShellText(tuple(walk.commands), unparsable, functions, evaluates)


@dataclass(frozen=True, slots=True)
class _Place:
    """The surroundings of a node: its redirections, the command that feeds its input, its depth."""

    redirections: tuple[Redirection, ...] = ()
    fed_by: int | None = None
    depth: int = 0
    later: tuple[Word, ...] = ()
    """Words of the command that follow a redirection."""


@dataclass(slots=True)
class _Walk:
    """Collects commands in source order."""

    commands: list[SimpleCommand] = field(default_factory=list[SimpleCommand])
    functions: list[str] = field(default_factory=list[str])
    lost: bool = False
    """Whether the text was nested too deep, or some node cannot be part of a command."""

    def visit(self, node: "Node", context: _Place) -> None:
        """Collect the simple commands in a node."""
        if context.depth > _DEEPEST:
            self.lost = True
            return
        context = replace(context, depth=context.depth + 1)
        if context.later and node.type != "command":
            self.lost = True
        _VISITS.get(node.type, _Walk.children)(self, node, context)

    def children(self, node: "Node", context: _Place) -> None:
        for child in node.children:
            if child.is_named:
                self.visit(child, context)

    def function(self, node: "Node", context: _Place) -> None:
        """A name means the function only where nothing decides whether it is defined, and after it."""
        name = node.child_by_field_name("name")
        after = node.next_sibling
        used = (
            any(c.words and c.words[0].text == text_of(name) for c in self.commands)
            if name
            else True
        )
        top = node.parent is not None and node.parent.type == "program"
        if name and top and not used and (after is None or after.type in ("\n", ";")):
            self.functions.append(text_of(name))
        self.children(node, context)

    def loop(self, node: "Node", context: _Place) -> None:
        """The variable of ``for`` and ``select`` is set like any other."""
        variable = node.child_by_field_name("variable")
        if variable is not None:
            self._add(node, [], [(text_of(variable), Word(""))], [], context)
        self.children(node, context)

    def command(self, node: "Node", context: _Place) -> None:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        redirections = list(context.redirections)
        for child in node.children:
            match child.type:
                case "variable_assignment":
                    assignments.append(_assigned(child))
                case "file_redirect" | "herestring_redirect" | "heredoc_redirect":
                    redirections.extend(_redirections(child))
                case "comment":
                    pass
                case _ if child.is_named or child.type not in ("(", ")"):
                    self.lost = (
                        self.lost or child.type == "regex"
                    )  # all up to a blank, operators too
                    words.append(word_of(child))
                case _:
                    pass
        self._add(node, [*words, *context.later], assignments, redirections, context)
        self._substitutions(node, context)

    def declaration(self, node: "Node", context: _Place) -> None:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        for child in node.children:
            if child.type == "variable_assignment":
                name, value = _assigned(child)
                assignments.append((name, value))
                words.append(Word(f"{name}={value.text}", value.static))
            elif child.type == "variable_name" or not child.is_named:
                words.append(Word(text_of(child)))
            else:
                words.append(word_of(child))
        self._add(node, words, assignments, list(context.redirections), context)
        self._substitutions(node, context)

    def assignment(self, node: "Node", context: _Place) -> None:
        nodes = node.children if node.type == "variable_assignments" else [node]
        assignments = [_assigned(n) for n in nodes if n.type == "variable_assignment"]
        self._add(node, [], assignments, list(context.redirections), context)
        self._substitutions(node, context)

    def _add(
        self,
        node: "Node",
        words: list[Word],
        assignments: list[tuple[str, Word]],
        redirections: list[Redirection],
        context: _Place,
    ) -> None:
        if words and words[0].static and words[0].text in _RESERVED:
            self.lost = True
        self.commands.append(
            SimpleCommand(
                tuple(words),
                tuple(assignments),
                tuple(redirections),
                context.fed_by,
                text_of(node),
                _leads(node),
            )
        )

    def _substitutions(self, node: "Node", context: _Place) -> None:
        """Commands inside the words: ``$(…)``, backquotes, ``<(…)``, at any depth."""
        inner = replace(context, redirections=(), fed_by=None, later=())
        for child in node.children:
            if child.type == "command":
                self.visit(child, inner)
            elif child.is_named:
                self._inside(child, inner)

    def _inside(self, node: "Node", context: _Place) -> None:
        if node.type in ("command_substitution", "process_substitution", "subshell"):
            self.children(node, replace(context, depth=context.depth + 1))
            return
        for child in node.children:
            if child.is_named:
                self._inside(child, context)

    def redirected(self, node: "Node", context: _Place) -> None:
        """The redirections of a statement hold for every command of its body."""
        body = node.child_by_field_name("body")
        around: list[Redirection] = []
        later: list[Node] = []
        words: list[Word] = []
        for child in node.children:
            if body is not None and child.id == body.id:
                continue
            if child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                around.extend(_redirections(child))
                later.append(child)
                words.extend(map(word_of, _words_after(child)))
        redirected = replace(
            context, redirections=context.redirections + tuple(around), later=tuple(words)
        )
        before = len(self.commands)
        if body is not None:
            self.visit(body, redirected)
        elif words:
            self._add(node, words, [], list(redirected.redirections), context)
        if not any({*around} <= {*command.redirections} for command in self.commands[before:]):
            self._add(node, [], [], list(redirected.redirections), context)
        for redirect in later:
            feeder = before if len(self.commands) > before else None
            self._after_heredoc(redirect, replace(context, fed_by=feeder))

    def opened(self, node: "Node", context: _Place) -> None:
        """The redirection of a function's body, which is opened with each call."""
        self._add(node, [], [], [*context.redirections, *_redirections(node)], context)
        self._inside(node, replace(context, fed_by=None))

    def _after_heredoc(self, node: "Node", context: _Place) -> None:
        """The rest of the line after ``<<EOF`` (a pipe), and substitutions in the text."""
        for child in node.children:
            if not child.is_named:
                continue
            if child.type in ("pipeline", "command", "redirected_statement", "list"):
                self.visit(child, context)
            else:
                self._inside(child, replace(context, fed_by=None))

    def pipeline(self, node: "Node", context: _Place) -> None:
        fed_by = context.fed_by
        for child in node.children:
            if not child.is_named:
                continue
            before = len(self.commands)
            self.visit(child, replace(context, fed_by=fed_by))
            if len(self.commands) > before:
                fed_by = before


_VISITS: "Mapping[str, Callable[[_Walk, Node, _Place], None]]" = {
    "command": _Walk.command,
    "declaration_command": _Walk.declaration,
    "unset_command": _Walk.declaration,
    "variable_assignment": _Walk.assignment,
    "variable_assignments": _Walk.assignment,
    "redirected_statement": _Walk.redirected,
    "pipeline": _Walk.pipeline,
    "function_definition": _Walk.function,
    "for_statement": _Walk.loop,
    "file_redirect": _Walk.opened,
}
"""The function that collects from a node, by the node's type; for other types the children are visited."""


def _leads(node: "Node") -> bool:
    """Whether a command belongs to a chain of ``&&`` that reaches the end of the text."""
    while (above := node.parent) is not None and above.type in ("list", "redirected_statement"):
        if any(child.type == "||" for child in above.children):
            return False
        node = above
    if above is None or above.type != "program":
        return False
    after = node.next_sibling
    while after is not None and after.type in ("comment", "\n", ";"):
        after = after.next_sibling
    return after is None


def _words_after(node: "Node") -> "list[Node]":
    """Words of the command that the grammar takes for part of a redirection: ``rm 2>&1 -rf x``."""
    if node.type == "file_redirect":
        return node.children_by_field_name("destination")[1:]
    return [
        word
        for child in node.children
        for word in ([child] if child.type in _WORDS else _words_after(child))
        if node.type == "heredoc_redirect"
    ]


_WORDS = frozenset((
    "word", "number", "string", "raw_string", "ansi_c_string", "concatenation", "expansion",
    "simple_expansion", "command_substitution", "process_substitution", "brace_expression",
    "translated_string", "arithmetic_expansion",
))  # fmt: skip


def _assigned(node: "Node") -> tuple[str, Word]:
    name = node.child_by_field_name("name")
    value = node.child_by_field_name("value")
    return (
        text_of(name).partition("[")[0] if name else "",
        word_of(value) if value else Word(""),
    )


def _redirections(node: "Node") -> list[Redirection]:
    """The files of a redirection node; ``2>&1`` names none."""
    if node.type == "herestring_redirect":
        return []
    if node.type == "heredoc_redirect":
        files = [child for child in node.children if child.type == "file_redirect"]
        return [*chain.from_iterable(map(_redirections, files))]
    operator = next((c.type for c in node.children if not c.is_named), "")
    target = _redirected_to(node)
    if target is None or _duplicates(operator, target):
        return []
    return [Redirection(operator, word_of(target))]


def _duplicates(operator: str, target: "Node") -> bool:
    """Whether a redirection names another descriptor instead of a file."""
    return operator in (">&", "<&", ">&-", "<&-") and _is_descriptor(target)


def _redirected_to(node: "Node") -> "Node | None":
    named = [c for c in node.children if c.is_named and c.type != "file_descriptor"]
    return node.child_by_field_name("destination") or (named[-1] if named else None)


def _is_descriptor(target: "Node") -> bool:
    return target.type == "number" or text_of(target).rstrip("-").isdigit()
