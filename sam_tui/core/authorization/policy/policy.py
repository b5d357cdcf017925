"""The judgement of each access before anyone is asked: allow, ask or deny, and by which rule.

Order: hard protected, secrets, plan mode, deny rules (system, user, project, session), bypass mode, ask
rules, allow rules, the class of a command, grants (looked at by the guard), the mode's default.
"""

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sam_tui.core.accesses import (
    CommandAccess,
    Connect,
    Fetch,
    LocatedAccess,
    Read,
    Type,
    Use,
    Write,
)
from sam_tui.core.authorization.commands.parts import CommandReading
from sam_tui.core.authorization.network.hosts import CONNECTION, connected, host_of
from sam_tui.core.authorization.policy.access_stages import (
    FETCH_STAGES,
    NETWORK_STAGES,
    PATH_STAGES,
    SOCKET_STAGES,
    USE_STAGES,
)
from sam_tui.core.authorization.policy.command_stages import COMMAND_STAGES
from sam_tui.core.authorization.policy.judgement import (
    PERMISSION_MODES,
    AccessCase,
    Judgement,
    PermissionMode,
    PolicyState,
    Stage,
    TraceStep,
)
from sam_tui.core.authorization.rules.rule import Kind, Rule, RuleSet, Subject, ordered
from sam_tui.core.errors import UsageError

__all__ = [
    "PERMISSION_MODES",
    "Judgement",
    "PermissionMode",
    "Policy",
    "TraceStep",
    "own_folders",
]


@dataclass(frozen=True, slots=True)
class Policy(PolicyState):
    """The rules of one runtime, and how they are put to an access."""

    def judge(self, located: LocatedAccess, operation: str = "") -> Judgement:
        """Decide one access by rules and mode. Grants are the guard's business."""
        case, stages = self._case(located, operation)
        for _, stage in stages:
            judgement = stage(self, case)
            if judgement is not None:
                return judgement
        return case.deny("unlocated", "the path could not be resolved")

    def readings(self, accesses: Sequence[LocatedAccess]) -> list[CommandReading | None]:
        """Return the reading of each command among the accesses; None for one that could not be parsed."""
        return [self.judge(a).reading for a in accesses if isinstance(a.access, CommandAccess)]

    def trace(self, located: LocatedAccess, operation: str = "") -> tuple[TraceStep, ...]:
        """The stages up to the one that decided, with the outcome of each."""
        case, stages = self._case(located, operation)
        steps: list[TraceStep] = []
        for name, stage in stages:
            judgement = stage(self, case)
            if judgement is not None:
                words = f"{judgement.rule}: {judgement.reason}"
                return (*steps, TraceStep(name, judgement.outcome, words))
            steps.append(TraceStep(name, "", "nothing to say"))
        return (*steps, TraceStep("located", "deny", "unlocated: the path could not be resolved"))

    def trace_words(self, accesses: Sequence[LocatedAccess], operation: str) -> tuple[str, ...]:
        """Return the stage that asks about the first such access, and the stages before it."""
        for located in accesses:
            *before, last = self.trace(located, operation)
            if last.outcome == "ask":
                silent = ", ".join(step.stage for step in before)
                return f"{last.stage}: {last.detail}", f"nothing to say before it: {silent}"
        return ()

    def in_mode(self, mode: PermissionMode) -> "Policy":
        """Return the same policy in another mode. Raises ``UsageError`` for one that is not on offer."""
        if mode not in self.modes:
            raise UsageError(
                f"The administrator of this machine does not allow the mode {mode!r}.",
                hint=f"One of: {', '.join(self.modes)}.",
            )
        return replace(self, mode=mode)

    def with_rules(self, rules: Sequence[Rule]) -> "Policy":
        """The same policy with more rules."""
        return replace(self, rules=RuleSet(ordered((*self.rules.rules, *rules))))

    def _case(
        self, located: LocatedAccess, operation: str
    ) -> tuple[AccessCase, tuple[tuple[str, Stage], ...]]:
        now = self.clock()
        match located.access:
            case Read() | Write() if located.location is not None:
                kind: Kind = "write" if isinstance(located.access, Write) else "read"
                real = located.location.real
                return AccessCase(Subject(operation, kind, real), located, now, real), PATH_STAGES
            case CommandAccess(command=command, cwd=cwd):
                subject = Subject(operation, "run", reading=self._read(command, cwd))
                target = self._command(command, cwd)
                return AccessCase(subject, located, now, target), COMMAND_STAGES
            case Type(session=session, keys=keys):
                subject = Subject(operation, "type", reading=self._typed(keys))
                target = f"keys {keys!r} in {session}"
                return AccessCase(subject, located, now, target), COMMAND_STAGES
            case Fetch(url=url):
                host = host_of(url if "://" in url else f"https://{url}")
                subject = Subject(operation, "fetch", host=host)
                return AccessCase(subject, located, now, url), FETCH_STAGES
            case Connect(where=where) if located.location is not None:
                subject = Subject(operation, "write", where)
                return AccessCase(subject, located, now, f"{CONNECTION}{where}"), SOCKET_STAGES
            case Connect(where=where):
                target = f"{CONNECTION}{where}"
                subject = Subject(operation, "fetch", host=connected(target)[0])
                return AccessCase(subject, located, now, target), NETWORK_STAGES
            case Use(destructive=destructive):
                subject = Subject(operation, "use", destructive=destructive)
                return AccessCase(subject, located, now, operation), USE_STAGES
            case _:
                return AccessCase(Subject(operation, "read"), located, now, ""), ()

    def _command(self, command: str, cwd: str) -> str:
        """A command as a grant names it: with its folder, for there the same words may do otherwise."""
        root = self.roots[0] if self.roots else ""
        real = os.path.realpath(os.path.join(root, os.path.expanduser(cwd))) if cwd else root
        return f"$ {command}" if real == root else f"$ cd {shlex.quote(real)} && {command}"

    def _read(self, command: str, cwd: str) -> CommandReading | None:
        return self.reader.read(command, cwd) if self.reader else None

    def _typed(self, keys: str) -> CommandReading | None:
        """The reading of typed keys as command lines. A last line without Enter is read too, as Enter may
        follow alone."""
        lines = _entered(keys)
        return self.reader.read(lines) if self.reader and lines.strip() else None


_LINE_KEYS = str.maketrans(dict.fromkeys("\r\x03\x0b\x0f\x15\x17", "\n"))
"""Keys that run a line of a shell or delete part of it: Enter, Ctrl+C, Ctrl+K, Ctrl+O, Ctrl+U, Ctrl+W."""
_RUBBED_OUT = re.compile(r"[^\n\x08\x7f][\x08\x7f]")
_BACKSPACES = str.maketrans("", "", "\x08\x7f")
"""Deletes backspaces, which have no effect at the beginning of a line."""


def _entered(keys: str) -> str:
    """Return the lines that keys produce at a prompt, as far as a line editor can be foretold."""
    lines, count = keys.translate(_LINE_KEYS), 1
    while count:
        lines, count = _RUBBED_OUT.subn("", lines)
    return lines.translate(_BACKSPACES)


def own_folders(*folders: str) -> tuple[str, ...]:
    """Real paths of the program's own folders (data, settings), for ``Policy.protected``."""
    return tuple(os.path.realpath(folder) for folder in folders if folder)
