"""Rules of a policy: their condition, effect and source, and the order in which they apply."""

import fnmatch
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sam_tui.core.authorization.commands.parts import CommandPart, CommandReading
from sam_tui.core.authorization.commands.table import CommandClass
from sam_tui.core.authorization.rules.patterns import CommandPattern, PathPattern, host_covered
from sam_tui.core.authorization.rules.time_windows import Window
from sam_tui.core.ports.policy import SavedGrant

Effect = Literal["deny", "ask", "allow"]
EFFECTS: tuple[Effect, ...] = ("deny", "ask", "allow")
"""All effects, in the order in which rules are applied."""
Layer = Literal["system", "user", "project", "session"]
LAYERS: tuple[Layer, ...] = ("system", "user", "project", "session")
Kind = Literal["read", "write", "run", "type", "fetch", "use"]


@dataclass(frozen=True, slots=True)
class Subject:
    """The access that a rule is matched against, with its operation."""

    operation: str
    kind: Kind
    path: str = ""
    reading: CommandReading | None = None
    """The parsed command, for ``run``."""
    host: str = ""
    destructive: bool = False
    """Whether the server declares its tool destructive, for ``use``."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. Everything it names must fit; fields left open fit anything. It names at least an
    operation, a path, a command, a class or a host.

    ``id`` is unique within a policy, ``source`` is ``file:line``. ``workspace`` is the real path of
    the folder it holds in, or empty.
    """

    id: str
    effect: Effect
    layer: Layer
    source: str = ""
    operation: str = ""
    path: PathPattern | None = None
    access: Literal["", "read", "write"] = ""
    command: CommandPattern | None = None
    kind: CommandClass | None = None
    host: str = ""
    workspace: str = ""
    window: Window = field(default_factory=Window)
    comment: str = ""

    @property
    def words(self) -> str:
        """The rule in one line, for people."""
        named = [
            self.operation,
            f"command {self.command.text}" if self.command else "",
            f"{self.kind} commands" if self.kind else "",
            f"path {self.path.text}" if self.path else "",
            f"host {self.host}" if self.host else "",
            f"({self.access} only)" if self.access else "",
            f"in {self.workspace}" if self.workspace else "",
            "at certain times" if not self.window.always else "",
        ]
        return f"{self.effect} " + ", ".join(part for part in named if part)

    @property
    def about_commands(self) -> bool:
        """Whether it speaks of commands."""
        return self.command is not None or self.kind is not None

    @property
    def about_hosts(self) -> bool:
        """Whether it can speak of an address or a connection."""
        return not (self.about_commands or self.path or self.access)

    def concerns(self, operation: str) -> bool:
        """Whether it speaks of an operation."""
        return not self.operation or _operation_fits(self.operation, operation)

    def restricts(self, subject: Subject, now: float) -> bool:
        """Whether a deny or ask rule applies: one named thing of the access is enough."""
        if not self._holds(subject, now):
            return False
        match subject.kind:
            case "read" | "write":
                return self._covers_file(subject)
            case "run" | "type":
                return self._restricts_command(subject)
            case "fetch":
                return self._covers_host(subject)
            case "use":  # of servers one can name no more than the tools
                return self._names_operations_alone()

    def permits(self, subject: Subject, now: float) -> bool:
        """Whether an allow rule covers the whole access; commands are ``permits_part`` by part."""
        if not self._holds(subject, now):
            return False
        match subject.kind:
            case "read" | "write":
                return self._covers_file(subject)
            case "fetch":
                return self._covers_host(subject)
            case "use" if subject.destructive and self.operation != subject.operation:
                return False  # a pattern does not say what its tools do
            case "run" | "type" | "use":
                return self._names_operations_alone()

    def permits_part(self, part: CommandPart, subject: Subject, now: float) -> bool:
        """Whether an allow rule covers one simple command: its words, and every path it names."""
        if not (self.about_commands and self._holds(subject, now)):
            return False
        return self._covers_words(part) and self._covers_targets(part)

    def _covers_words(self, part: CommandPart) -> bool:
        if self.command and not self.command.covers(part.words):
            return False
        if self.kind:
            return part.heaviest == self.kind
        # A prefix says nothing about the options that make a command heavy.
        exact = self.command is not None and self.command.exact
        return exact or part.heaviest not in ("destructive", "privileged")

    def _covers_targets(self, part: CommandPart) -> bool:
        """Whether the rule covers every host and path that the command names."""
        if self.host and not (part.hosts and all(host_covered(self.host, h) for h in part.hosts)):
            return False
        return not self.path or all(
            path.real and not path.pattern and self.path.covers(path.real) for path in part.paths
        )

    def _holds(self, subject: Subject, now: float) -> bool:
        return self.concerns(subject.operation) and self.window.open(now)

    def _names_operations_alone(self) -> bool:
        return not (self.about_commands or self.path or self.host or self.access)

    def _covers_file(self, subject: Subject) -> bool:
        if self.about_commands or self.host or self.access not in ("", subject.kind):
            return False
        return not self.path or self.path.covers(subject.path)

    def _covers_host(self, subject: Subject) -> bool:
        return self.about_hosts and (not self.host or host_covered(self.host, subject.host))

    def _restricts_command(self, subject: Subject) -> bool:
        reading = subject.reading
        if not (self.about_commands or self.path or self.host):
            return not self.access
        if reading is None:
            return False
        return any(self._restricts_part(part) for part in reading.parts)

    def _restricts_part(self, part: CommandPart) -> bool:
        if self.command and not self.command.names(part.words):
            return False
        if self.kind and self.kind not in part.classes:
            return False
        if self.access == "write" and part.calm:
            return False
        return self._names_target(part)

    def _names_target(self, part: CommandPart) -> bool:
        """Whether the rule covers any host and any path that the command names."""
        if self.host and not any(
            host_covered(self.host, host) for host in (*part.hosts, *part.peers)
        ):
            return False
        return not self.path or any(
            path.real and self.path.covers(path.real) for path in part.paths
        )


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules of a runtime in the order in which they apply."""

    rules: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, rules: Iterable[Rule], *, workspace: str, trusted: bool) -> "RuleSet":
        """The rules that apply in this workspace. Until the folder is trusted, rules of the project can
        only tighten."""
        accepted = [
            rule
            for rule in rules
            if (not rule.workspace or rule.workspace == workspace)
            and (trusted or rule.layer != "project" or rule.effect != "allow")
        ]
        return cls(ordered(accepted))

    def restricting(self, effect: Effect, subject: Subject, now: float) -> Rule | None:
        """The first rule with this effect that matches the subject."""
        for rule in self.rules:
            if rule.effect == effect and rule.restricts(subject, now):
                return rule
        return None

    def permitting(self, subject: Subject, now: float) -> Rule | None:
        """The rule that allows the access as a whole, or that allows its heaviest part."""
        for rule in self.rules:
            if rule.effect == "allow" and rule.permits(subject, now):
                return rule
        reading = subject.reading
        if reading is None or not reading.saveable or subject.kind != "run":
            return None
        return self._permitting_parts(reading.parts, subject, now)

    def _permitting_parts(
        self, parts: Sequence[CommandPart], subject: Subject, now: float
    ) -> Rule | None:
        """The rule of the last part that changes something; None unless each such part has one."""
        permitting: Rule | None = None
        for part in parts:
            if part.calm and not any(path.writes for path in part.paths):
                continue
            permitting = self._permitting_part(part, subject, now)
            if permitting is None:
                return None
        return permitting

    def _permitting_part(self, part: CommandPart, subject: Subject, now: float) -> Rule | None:
        for rule in self.rules:
            if rule.effect == "allow" and rule.permits_part(part, subject, now):
                return rule
        return None

    def saved_ids(self) -> frozenset[str]:
        """Return the ids of the rules that the person allowed for good in a question."""
        return frozenset(rule.id for rule in self.rules if rule.id.startswith(SAVED_PREFIX))

    def without(self, identifiers: Collection[str]) -> "RuleSet":
        """A copy without the rules of these ids."""
        return RuleSet(tuple(rule for rule in self.rules if rule.id not in identifiers))

    def unlocks(self, subject: Subject, now: float) -> Rule | None:
        """The person's own rule that opens a secret place: it must name a path, and not all of them."""
        for rule in self.rules:
            if rule.effect != "allow" or rule.layer == "project" or rule.path is None:
                continue
            if (rule.path.fixed != "/" or rule.path.tail) and rule.permits(subject, now):
                return rule
        return None


SAVED_PREFIX = "user:grant_"
"""The prefix of the id of a rule that was saved from a question."""


def saved_rule(saved: SavedGrant, identifier: str) -> Rule:
    """Return the rule of a saved permission."""
    return Rule(
        f"user:{identifier}",
        "allow",
        "user",
        "just now",
        operation=saved.operation,
        path=PathPattern(saved.path, saved.path) if saved.path else None,
        command=CommandPattern(saved.command) if saved.command else None,
        host=saved.host,
        workspace=saved.workspace,
        comment=saved.comment,
    )


def ordered(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Deny before ask before allow; within them system, user, project, session; then as written."""
    return tuple(
        sorted(rules, key=lambda rule: (EFFECTS.index(rule.effect), LAYERS.index(rule.layer)))
    )


def _operation_fits(pattern: str, operation: str) -> bool:
    """A whole name, a pattern of it, or the tool's name alone."""
    return (
        pattern == operation
        or fnmatch.fnmatchcase(operation, pattern)
        or operation.startswith(pattern + ".")
    )
