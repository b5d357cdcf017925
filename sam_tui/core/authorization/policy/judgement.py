"""The basis of a judgement: the mode, the rules, the places, and the case that is judged."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

from sam_tui.core.accesses import LocatedAccess, Location
from sam_tui.core.authorization.commands.parts import CommandReading
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.authorization.rules.rule import Rule, RuleSet, Subject
from sam_tui.core.verdict import DecidedBy

PermissionMode = Literal["ask", "ask-all", "accept-edits", "plan", "auto", "bypass"]
"""ask: what the rules do not allow is asked. ask-all: so is every write, and every command that does
more than read. accept-edits: as ask, but plain file commands inside the workspace do not ask where there
is no sandbox. plan: nothing is changed, and only commands that surely read run. auto: inside the sandbox
nothing asks, and what would be asked is refused. bypass: nothing asks and commands run without the
sandbox; what is protected or denied stays so."""
PERMISSION_MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The decision of the policy on one access. ``target`` is the name that a grant for it would have.

    ``reading`` is there for commands. With ``plain`` false only the exact target may be granted.
    """

    outcome: Literal["allow", "ask", "deny"]
    by: DecidedBy
    rule: str
    reason: str
    target: str = ""
    reading: CommandReading | None = None
    plain: bool = True


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One stage of a judgement: its name, its outcome (empty if undecided), and the reason."""

    stage: str
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class PolicyState:
    """The standing part of every judgement.

    ``sandboxed``: whether the kernel confines commands, or how to find out when the first is judged.
    """

    mode: PermissionMode
    sandboxed: bool | Callable[[], bool]
    protected: tuple[str, ...]
    """Real paths of the program's own data, which no rule opens for writing."""
    secrets: Secrets | None = None
    rules: RuleSet = field(default_factory=RuleSet)
    reader: CommandReader | None = None
    """Parses commands; if None, every command counts as one that writes."""
    trusted: bool = False
    """Whether the person trusts the workspace; then reads outside are not asked."""
    roots: tuple[str, ...] = ()
    """Real paths of the workspace and the added folders."""
    clock: Callable[[], float] = time.time
    shared: tuple[str, ...] = ()
    """Real paths below ``protected`` that may be read like any other: skills and scripts of hooks."""
    unwatched: bool | Callable[[], bool] = False
    """Whether commands are limited to a list of hosts but nothing can watch their connections."""

    url_refusal: Callable[[str], str] = lambda _: ""
    """The reason why the URL guard refuses a URL; empty if it permits the URL."""

    modes: tuple[PermissionMode, ...] = PERMISSION_MODES
    """The modes that may be chosen; the administrator's policy can exclude some."""
    watched: Callable[[], bool] = lambda: False
    """Whether a command's reads are judged while it runs."""
    serves: Callable[[int], bool] = lambda _: False
    """Whether a command or session of this program listens on a port of this machine."""

    def own_folder(self, real: str) -> str:
        """The program's own folder that a real path lies in, or nothing."""
        return next((p for p in self.protected if real == p or real.startswith(p + "/")), "")

    def shares(self, real: str) -> bool:
        """Whether a path of the program's own data may be read like any path outside."""
        return any(real == folder or real.startswith(folder + "/") for folder in self.shared)

    @property
    def confined(self) -> bool:
        """Whether the kernel confines commands."""
        return self.sandboxed() if callable(self.sandboxed) else self.sandboxed

    @property
    def blind(self) -> bool:
        """Whether the network has to be asked for command by command."""
        return self.unwatched() if callable(self.unwatched) else self.unwatched

    def inside(self, real: str) -> bool:
        """Whether a real path lies in the workspace or an added folder."""
        return any(
            real == root or real.startswith(root if root.endswith("/") else root + "/")
            for root in self.roots
        )


@dataclass(frozen=True, slots=True)
class AccessCase:
    """One access with the facts that the stages decide by."""

    subject: Subject
    located: LocatedAccess
    now: float
    target: str

    @property
    def where(self) -> Location:
        """The location of a file access."""
        assert self.located.location is not None
        return self.located.location

    @property
    def writes(self) -> bool:
        """Whether it is a write."""
        return self.subject.kind == "write"

    def allow(self, rule: str, reason: str, by: DecidedBy = "rule") -> Judgement:
        """An allowance of this case."""
        return Judgement("allow", by, rule, reason, self.target, self.subject.reading)

    def ask(self, rule: str, reason: str, *, plain: bool = True) -> Judgement:
        """A question about this case."""
        return Judgement("ask", "rule", rule, reason, self.target, self.subject.reading, plain)

    def deny(self, rule: str, reason: str, by: DecidedBy = "rule") -> Judgement:
        """A refusal of this case."""
        return Judgement("deny", by, rule, reason, self.target, self.subject.reading)


READ = "commands.read_outside"
"""The operation of a command's read: outside the workspace, or of a secret file inside."""
CHANGE = "commands.change_outside"
"""The operation of a command's write, deletion, rename or change of metadata, as rules name it."""
CONNECT = "commands.connect_outside"
"""The operation of a command's connection."""
Stage = Callable[[PolicyState, AccessCase], Judgement | None]


def rule_reason(rule: Rule) -> str:
    """Return why a rule decided, for people."""
    remark = f" ({rule.comment})" if rule.comment else ""
    return f"{rule.layer} policy: {rule.words}{remark}"


def denied_by_rule(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Deny rules: system, user, project, session."""
    rule = state.rules.restricting("deny", case.subject, case.now)
    return case.deny(rule.id, rule_reason(rule)) if rule else None


def asked_by_rule(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Ask rules."""
    rule = state.rules.restricting("ask", case.subject, case.now)
    return case.ask(rule.id, rule_reason(rule)) if rule else None


def bypassed(state: PolicyState, case: AccessCase) -> Judgement | None:
    """Bypass ends the questions."""
    if state.mode != "bypass":
        return None
    return case.allow("mode:bypass", "the mode allows everything", "mode")


def refused_by_plan(case: AccessCase, what: str) -> Judgement:
    """The refusal of plan mode."""
    return case.deny("mode:plan", f"plan mode: {what} is off", "mode")
