"""Tools and parts of them as options name them: Claude Code's names and patterns, or our own."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sam_tui.core.authorization.grants.grants import patterns_cover
from sam_tui.core.authorization.network.hosts import host_of
from sam_tui.core.authorization.rules.patterns import CommandPattern, PathPattern, host_covered
from sam_tui.core.authorization.rules.rule import Rule
from sam_tui.core.errors import UsageError
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Question, Reply
from sam_tui.core.tooling.registry import CLAUDE_TOOLS, SERVERS, server_names

if TYPE_CHECKING:
    from sam_tui.core.authorization.commands.reader import CommandReader
    from sam_tui.core.inquiries import Responder

_PART = re.compile(r"(\w[\w.-]*)\((.*)\)", re.DOTALL)
_READING = ("Glob", "Grep", "LS", "NotebookRead", "Read")
_WRITING = ("Edit", "MultiEdit", "NotebookEdit", "Write")
_FORMS = "Bash(npm test), Bash(git log *), Read(docs/**), Edit(//tmp/out/**), WebFetch(domain:host)"


@dataclass(frozen=True, slots=True)
class ToolPattern:
    """One entry of a list of tools.

    ``operations`` are tools or ``tool.operation``; the other fields narrow it.
    """

    text: str
    operations: tuple[str, ...]
    command: CommandPattern | None = None
    line: str = ""
    """The target of one exact command, as approvals name it; empty for other patterns."""
    path: PathPattern | None = None
    host: str = ""

    @classmethod
    def of(cls, text: str, root: str) -> "ToolPattern":
        """From the command line, with paths in ``root``. Raises ``UsageError``."""
        match = _PART.fullmatch(text)
        if match is None:
            if "(" in text:
                raise UsageError(f"{text} names no tool.", hint=f"Such as: {_FORMS}.")
            return cls(text, CLAUDE_TOOLS.get(text, (text,)))
        name, part = match[1], match[2].strip()
        operations = CLAUDE_TOOLS.get(name, (name,))
        if part in ("", "*", "**") or not operations:
            return cls(text, operations)
        if name == "Bash":
            return cls._of_command(text, operations, part)
        if name in ("WebFetch", "WebSearch") and part.startswith("domain:"):
            return cls(text, operations, host=part.removeprefix("domain:"))
        if name in _READING or name in _WRITING:
            kinds = _READING if name in _READING else _WRITING
            return cls(text, _all(kinds), path=_path(text, part, root))
        raise UsageError(f"{text} is not a pattern of this tool.", hint=f"There are: {_FORMS}.")

    @classmethod
    def _of_command(cls, text: str, operations: tuple[str, ...], part: str) -> "ToolPattern":
        if "*" in part:
            return cls(text, operations, _command(text, part))
        return cls(text, operations, CommandPattern((part,), exact=True), line=f"$ {part}")

    @property
    def narrowed(self) -> bool:
        """Whether it names less than whole operations."""
        return bool(self.command or self.path or self.host)

    def names(self, operation: str) -> bool:
        """Whether it speaks of an operation."""
        return any(
            name in (operation, operation.partition(".")[0])
            or (name.startswith(SERVERS) and server_names(name, operation))
            for name in self.operations
        )

    def covers_all(self, request: "ApprovalRequest | Question") -> bool:
        """Whether it names whole operations, a destructive tool of a server by its whole name."""
        if isinstance(request, ApprovalRequest) and request.destructive:
            return request.operation in self.operations
        return not self.narrowed

    def covers(self, target: str) -> bool:
        """Whether one file or address of an approval is named."""
        if self.line:
            return target == self.line
        if self.path:
            return target.startswith("/") and self.path.covers(target)
        return bool(self.host) and "://" in target and host_covered(self.host, host_of(target))

    def rules(self) -> Iterator[Rule]:
        """Yield the rules that refuse it. A path is refused to commands, too."""
        if self.path:
            access = "read" if self.operations == _all(_READING) else "write"
            yield _denial(self.text, path=self.path, access=access)
        elif self.line:
            for words in _simple(self.text, self.line):
                yield _denial(self.text, command=words)
        elif self.command:
            yield _denial(self.text, command=self.command)
        else:
            for operation in self.operations:
                yield _denial(self.text, operation=operation, host=self.host)


def _denial(text: str, **fields: Any) -> Rule:
    return Rule(f"option:{text}", "deny", "session", comment="by an option", **fields)


def _simple(text: str, line: str) -> list[CommandPattern]:
    try:
        return [CommandPattern.of(line.removeprefix("$ "), exact=True)]
    except ValueError as error:
        raise UsageError(f"{text}: {error}.", hint="A rule refuses one simple command.") from None


def _all(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(o for name in names for o in CLAUDE_TOOLS.get(name, ())))


def _command(text: str, part: str) -> CommandPattern:
    """``git:*`` and ``git *`` begin with these words; a star alone between others is any words."""
    begins = part.endswith("*")
    plain = part[:-2].rstrip() if part.endswith((":*", " *")) else part
    try:
        words = shlex.split(plain)
    except ValueError as error:
        raise UsageError(f"{text}: {error}.") from None
    if not words or words == ["*"]:
        raise UsageError(f"{text} names no command.", hint=f"Such as: {_FORMS}.")
    return CommandPattern(tuple("**" if w == "*" else w for w in words), exact=not begins)


def _path(text: str, part: str, root: str) -> PathPattern:
    """``//x`` is absolute, ``/x`` and ``x`` lie in the workspace, and a bare name does at any depth."""
    if part.startswith("//"):
        part = part[1:]
    elif not part.startswith("~"):
        inside = part.removeprefix("./").lstrip("/")
        part = os.path.join(root, inside if "/" in part else f"**/{inside}")
    try:
        return PathPattern.of(part, root=root, home=os.path.expanduser("~"))
    except ValueError as error:
        raise UsageError(f"{text}: {error}.") from None


def tools_of(entries: Iterable[str], root: str) -> tuple[str, ...]:
    """The tools and operations that entries are about. Raises ``UsageError``."""
    return tuple(o for entry in entries for o in ToolPattern.of(entry, root).operations)


def refusing(
    disallowed: Sequence[str], only: Sequence[str] | None, root: str
) -> tuple[tuple[str, ...], tuple[Rule, ...]]:
    """Tools that are not offered: those ``disallowed``, and the built-in ones that are not among ``only``;
    and the rules that refuse parts of the others. Raises ``UsageError``."""
    whole: list[str] = []
    rules: list[Rule] = []
    for name in disallowed:
        pattern = ToolPattern.of(name, root)
        if pattern.narrowed or any("." in tool for tool in pattern.operations):
            rules += pattern.rules()
        else:
            whole += pattern.operations
    if only is not None:
        others, parts = _others(only, root)
        whole += others
        rules += parts
    return tuple(dict.fromkeys(whole)), tuple(rules)


def _others(entries: Sequence[str], root: str) -> tuple[list[str], list[Rule]]:
    """Return what ``--tools`` excludes: tools, and rules against the rest of those named in part."""
    if list(entries) == ["default"]:
        return [], []
    from sam_tui.assembly.catalogue import adverts

    catalogue = adverts()
    chosen = tools_of(entries, root)
    heads = {name.partition(".")[0] for name in chosen} & catalogue.keys()
    operations = {
        f"{tool}.{operation}"
        for tool in heads - set(chosen)
        for operation in catalogue[tool].operations
    }
    unnamed = sorted(operations - set(chosen))
    rules = [_denial(f"--tools without {name}", operation=name) for name in unnamed]
    return list(catalogue.keys() - heads), rules


def allowing(names: Iterable[str], root: str) -> "Responder":
    """Return a responder that approves each call that the names cover, once. Raises ``UsageError``."""
    patterns = [ToolPattern.of(name, root) for name in names]

    def respond(inquiry: Inquiry) -> Answer | None:
        request = inquiry.request
        if isinstance(request, ApprovalRequest) and request.revision:
            return None  # no name of a tool says which of its descriptions is meant
        fitting = [pattern for pattern in patterns if pattern.names(request.operation)]
        whole = any(pattern.covers_all(request) for pattern in fitting)
        if isinstance(request, Question):
            return Reply("yes") if whole else None
        covered = [_covered(fitting, target, request.cwd) for target in request.targets]
        return Approval("once") if whole or (covered and all(covered)) else None

    return respond


def _covered(patterns: Sequence[ToolPattern], target: str, cwd: str) -> bool:
    return any(p.covers(target) for p in patterns) or _begins(patterns, target, cwd)


def _begins(patterns: Iterable[ToolPattern], target: str, cwd: str) -> bool:
    """Whether a command begins as patterns allow, with all that it does besides reading."""
    commands = [p.command for p in patterns if p.command and not p.line]
    if not commands or not target.startswith("$ "):
        return False
    return patterns_cover(commands, _reader(cwd).read(target[2:]))


def _reader(cwd: str) -> "CommandReader":
    from sam_tui.adapters.shell import BashParser
    from sam_tui.core.authorization.commands.reader import CommandReader

    return CommandReader(BashParser(), root=cwd, home=os.path.expanduser("~"))
