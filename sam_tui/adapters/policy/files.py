"""Policy files: TOML with rules and a few settings; an unknown key is an error."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from sam_tui.adapters.policy.sandbox_settings import KEYS, UNSAID, SandboxTerms, read_terms
from sam_tui.adapters.policy.turn_limits import KEY as LIMITS
from sam_tui.adapters.policy.turn_limits import NO_LIMITS, TurnLimits, read_limits
from sam_tui.core.authorization.commands.table import (
    COMMAND_CLASSES,
    CommandClass,
    EntryError,
    Program,
    least_classes,
    own_entry,
)
from sam_tui.core.authorization.policy.policy import PERMISSION_MODES, PermissionMode
from sam_tui.core.authorization.rules.patterns import CommandPattern, PathPattern
from sam_tui.core.authorization.rules.rule import EFFECTS, Layer, Rule
from sam_tui.core.authorization.rules.time_windows import Window
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.local_files.bounded import read_settings
from sam_tui.core.text.toml_lines import line_of, toml_table

POLICY_FILE = "policy.toml"
"""The person's policy file, below the settings folder."""
PROJECT_FILE = ".sam/policy.toml"
"""The project's policy file, below the workspace."""
_CORRECT = "Correct the TOML."
_MOST_IGNORED = 5
"""The most unusable parts of a project's policy that are named; the rest is counted."""
T = TypeVar("T")
_MODES: dict[Layer, tuple[PermissionMode, ...]] = {
    "system": ("ask", "ask-all", "accept-edits", "plan", "auto"),
    "user": ("ask", "ask-all", "accept-edits", "plan", "auto"),
    "project": ("plan",),
    "session": ("ask", "ask-all", "accept-edits", "plan", "auto"),
}
"""The modes that the file of each layer may set. Only a command line option sets ``bypass``."""
_TOP_KEYS = ("mode", "modes", "minutes", "local", "rule", "program", LIMITS, *KEYS)
_TEXTS = ("id", "effect", "operation", "path", "access", "command", "class", "host", "workspace",
          "between", "until", "comment")  # fmt: skip
_RULE_KEYS = (*_TEXTS, "days", "exact")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SERVER = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """One layer as written. ``mode`` is empty and ``minutes`` None where the file sets nothing."""

    path: str
    layer: Layer
    rules: tuple[Rule, ...] = ()
    mode: PermissionMode | None = None
    minutes: float | None = None
    exists: bool = False
    sandbox: SandboxTerms = UNSAID
    text: str = field(default="", repr=False)
    local: tuple[str, ...] = ()
    """``host:port`` of servers that the web tools may reach although their addresses are not public."""
    ignored: tuple[str, ...] = ()
    """The parts of a project's file that could not be used, each with file and line."""
    limits: TurnLimits = NO_LIMITS
    programs: Mapping[str, Program] = field(default_factory=dict[str, Program])
    """Programs as the person describes them, by name."""
    least: Mapping[str, CommandClass] = field(default_factory=dict[str, CommandClass])
    """The least command class of programs, by name, as the project sets it."""
    modes: tuple[PermissionMode, ...] = PERMISSION_MODES
    """The modes that may be chosen; only the administrator's file can exclude some."""


def load_policies(
    config_dir: str, workspace: str, home: str, *, vouches: Callable[[bytes], bool]
) -> tuple[PolicyFile, PolicyFile]:
    """The user's and the project's policy. Raises ``ConfigurationError`` with file and line.

    ``vouches`` says whether the person trusts the folder with this project file. Unusable parts of
    it are left out and named, so that no folder keeps the program from starting; the rest of such a
    file allows nothing.
    """
    user = load_policy(os.path.join(config_dir, POLICY_FILE), "user", root=workspace, home=home)
    path = os.path.join(workspace, PROJECT_FILE)
    try:
        text = read_settings(path, root=workspace)
    except ConfigurationError as unreadable:
        vouches(b"")
        return user, PolicyFile(path, "project", exists=True, ignored=(unreadable.explain(),))
    if text is None:
        return user, PolicyFile(path, "project")
    usable = parse_untrusted(text, path, root=workspace, home=home)
    if vouches(text.encode()) and usable.ignored:
        strict = tuple(rule for rule in usable.rules if rule.effect != "allow")
        usable = replace(usable, rules=strict)
    return user, usable


def load_policy(path: str, layer: Layer, *, root: str, home: str) -> PolicyFile:
    """Read one policy file; a missing file has no rules. Raises ``ConfigurationError``."""
    text = read_settings(path, root=root if layer == "project" else "")
    if text is None:
        return PolicyFile(path, layer)
    return parse_policy(text, path, layer, root=root, home=home)


def parse_policy(text: str, path: str, layer: Layer, *, root: str, home: str) -> PolicyFile:
    """The policy that a text holds; ``path`` is for messages. Raises ``ConfigurationError``."""
    return _Reader(text, path, layer, root, home).file(toml_table(text, path, _CORRECT))


def parse_untrusted(text: str, path: str, *, root: str, home: str) -> PolicyFile:
    """The usable part of a project's policy: each setting and rule is judged by itself."""
    ignored: list[str] = []
    try:
        table = toml_table(text, path, _CORRECT)
    except ConfigurationError as broken:
        table, ignored = {}, [broken.explain()]
    policy = _Reader(text, path, "project", root, home, ignored).file(table)
    reported = ignored[:_MOST_IGNORED]
    if len(ignored) > len(reported):
        reported.append(f"{path}: {len(ignored) - len(reported)} more.")
    return replace(policy, ignored=tuple(reported))


@dataclass(frozen=True, slots=True)
class _Reader:
    text: str
    path: str
    layer: Layer
    root: str
    home: str
    ignored: list[str] | None = None
    """Collects faults; with None a fault is raised as an error."""

    def file(self, table: Mapping[str, Any]) -> PolicyFile:
        used = {
            key: value
            for key, value in table.items()
            if key not in ("rule", "program")
            and self._usable(lambda reader: self._settings(reader), {key: value})
        }
        policy = replace(self._settings(used), rules=self._rules(table.get("rule", [])))
        return self._with_programs(policy, table.get("program", []))

    def _with_programs(self, policy: PolicyFile, entries: object) -> PolicyFile:
        """The policy with its entries about programs; a project can only make judgements stricter."""
        programs: dict[str, Program] = {}
        least: dict[str, CommandClass] = {}

        def add(numbered: tuple[int, object]) -> None:
            index, entry = numbered
            try:
                if self.layer == "project":
                    least.update(least_classes(entry))
                else:
                    programs.update(own_entry(entry))
            except EntryError as error:
                raise self._fault(str(error), ("program", index, error.key), "") from None

        self._each("program", entries, add)
        return replace(policy, programs=programs, least=least)

    def _each(self, key: str, entries: object, add: Callable[[tuple[int, object]], None]) -> None:
        """Call ``add`` with each table of an array and its number."""

        def add_all(entries: object) -> None:
            if not isinstance(entries, list):
                raise self._fault(f"{key}s are written as [[{key}]]", (key,), "Use two brackets.")
            for numbered in enumerate(cast("list[object]", entries)):
                self._usable(add, numbered)

        self._usable(add_all, entries)

    def _usable(self, read: Callable[[T], object], value: T) -> bool:
        """Whether it can be read. Raises ``ConfigurationError`` where faults are not only noted."""
        try:
            read(value)
        except ConfigurationError as fault:
            if self.ignored is None:
                raise
            self.ignored.append(fault.explain())
            return False
        return True

    def _rules(self, entries: object) -> tuple[Rule, ...]:
        rules: dict[str, Rule] = {}

        def add(numbered: tuple[int, Any]) -> None:
            index, entry = numbered
            rule = self._rule(index, entry)
            if rule.id in rules:
                name = rule.id.partition(":")[2]
                raise self._fault(f"two rules are called “{name}”", ("rule", index, "id"), "")
            rules[rule.id] = rule

        self._each("rule", entries, add)
        return tuple(rules.values())

    def _settings(self, table: Mapping[str, object]) -> PolicyFile:
        for key in table:
            if key not in _TOP_KEYS:
                raise self._fault(f"unknown key “{key}”", (key,), f"Known: {', '.join(_TOP_KEYS)}.")
        return PolicyFile(
            self.path,
            self.layer,
            (),
            self._mode(table),
            self._minutes(table),
            True,
            read_terms(table, self.layer, self._fault),
            self.text,
            self._local(table),
            limits=read_limits(table, self._fault),
            modes=self._modes(table),
        )

    def _modes(self, table: Mapping[str, object]) -> tuple[PermissionMode, ...]:
        if "modes" not in table:
            return PERMISSION_MODES
        if self.layer != "system":
            hint = "Only the administrator's file can; “mode” sets the mode you start with."
            raise self._fault("your file cannot limit the modes", ("modes",), hint)
        entries = cast("list[object]", table["modes"] if isinstance(table["modes"], list) else [])
        if not entries or any(mode not in PERMISSION_MODES for mode in entries):
            hint = f"Write some of: {', '.join(PERMISSION_MODES)}."
            raise self._fault("modes is a list of modes", ("modes",), hint)
        return tuple(mode for mode in PERMISSION_MODES if mode in entries)

    def _mode(self, table: Mapping[str, object]) -> PermissionMode | None:
        mode = table.get("mode")
        if mode is None:
            return None
        allowed = _MODES[self.layer]
        if mode not in allowed:
            why = "bypass needs the flag --permission-mode bypass. " if mode == "bypass" else ""
            hint = f"{why}A {self.layer} policy may set: {', '.join(allowed)}."
            raise self._fault(f"mode cannot be {mode!r} here", ("mode",), hint)
        return mode

    def _local(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        entries = table.get("local", [])
        if "local" in table and self.layer == "project":
            raise self._fault("a project cannot open servers", ("local",), "Your own policy can.")
        named = cast("list[Any]", entries) if isinstance(entries, list) else [entries]
        for name in named:
            if not isinstance(name, str) or not _SERVER.fullmatch(name):
                hint = 'Write host and port: local = ["localhost:3000", "[::1]:8080"].'
                raise self._fault(f"{name!r} is not a server", ("local",), hint)
        return tuple(named)

    def _minutes(self, table: Mapping[str, object]) -> float | None:
        minutes = table.get("minutes")
        if minutes is None:
            return None
        if (
            isinstance(minutes, bool)
            or not isinstance(minutes, int | float)
            or not 0 < minutes <= 1440
        ):
            raise self._fault("minutes must be a number up to 1440", ("minutes",), "")
        return float(minutes)

    def _rule(self, index: int, entry: object) -> Rule:
        if not isinstance(entry, dict):
            raise self._fault("a rule is a table", ("rule", index), "Write [[rule]] above it.")
        fields = cast("dict[str, object]", entry)
        for key, value in fields.items():
            at = ("rule", index, key)
            if key not in _RULE_KEYS:
                hint = f"Known: {', '.join(_RULE_KEYS)}."
                raise self._fault(f"unknown key “{key}” in a rule", at, hint)
            if wrong := _wrong_kind(key, value):
                raise self._fault(f"“{key}” must be {wrong}", at, "")
        self._check(index, fields)
        return self._build(index, fields)

    def _check(self, index: int, fields: Mapping[str, Any]) -> None:
        choices: tuple[tuple[str, tuple[str, ...]], ...] = (
            ("effect", EFFECTS),
            ("access", ("read", "write")),
            ("class", COMMAND_CLASSES),
        )
        for key, allowed in choices:
            value = fields.get(key, allowed[0])
            if value not in allowed:
                hint = f"One of: {', '.join(allowed)}."
                raise self._fault(f"{value!r} is not valid for “{key}”", ("rule", index, key), hint)
        if "effect" not in fields:
            raise self._fault("the rule has no “effect”", ("rule", index), "allow, ask or deny.")
        if not {"operation", "path", "command", "class", "host"} & set(fields):
            hint = "Name an operation, a path, a command, a class or a host."
            raise self._fault("the rule names nothing", ("rule", index), hint)
        if not _NAME.fullmatch(fields.get("id", "x")):
            hint = "Use letters, digits, dots, dashes and underscores."
            raise self._fault(f"{fields['id']!r} cannot be an id", ("rule", index, "id"), hint)
        if "exact" in fields and "command" not in fields:
            raise self._fault("“exact” needs a “command”", ("rule", index, "exact"), "")
        if self.layer == "project" and "workspace" in fields:
            where = ("rule", index, "workspace")
            raise self._fault("a project's rules hold in the project", where, "Remove the key.")

    def _build(self, index: int, fields: Mapping[str, Any]) -> Rule:
        workspace = os.path.expanduser(fields.get("workspace", ""))
        base = workspace or self.root
        number = line_of(self.text, ("rule", index))
        return Rule(
            id=f"{self.layer}:{fields.get('id', index + 1)}",
            effect=fields["effect"],
            layer=self.layer,
            source=f"{self.path}:{number}",
            operation=fields.get("operation", ""),
            path=self._made(
                index, "path", fields, lambda text: PathPattern.of(text, root=base, home=self.home)
            ),
            access=fields.get("access", ""),
            command=self._made(
                index,
                "command",
                fields,
                lambda text: CommandPattern.of(text, exact=fields.get("exact", False)),
            ),
            kind=fields.get("class"),
            host=fields.get("host", "").lower(),
            workspace=os.path.realpath(workspace) if workspace else "",
            window=self._window(index, fields),
            comment=fields.get("comment", ""),
        )

    def _made(
        self, index: int, key: str, fields: Mapping[str, Any], make: Callable[[str], Any]
    ) -> Any:
        if key not in fields:
            return None
        try:
            return make(fields[key])
        except (ValueError, re.error) as error:
            raise self._fault(f"{fields[key]!r}: {error}", ("rule", index, key), "") from None

    def _window(self, index: int, fields: Mapping[str, Any]) -> Window:
        days = fields.get("days", [])
        if not all(isinstance(day, str) for day in days):
            raise self._fault("“days” must be a list of days", ("rule", index, "days"), "")
        try:
            return Window.of(fields.get("between", ""), tuple(days), fields.get("until", ""))
        except ValueError as error:
            key = next(k for k in ("between", "until", "days") if k in fields)
            raise self._fault(str(error), ("rule", index, key), "") from None

    def _fault(self, what: str, at: tuple[str | int, ...], hint: str) -> ConfigurationError:
        return ConfigurationError(f"{self.path}:{line_of(self.text, at)}: {what}.", hint=hint)


def _wrong_kind(key: str, value: object) -> str:
    """The expected kind of a value, in words; empty if the value is of that kind."""
    if key == "exact":
        return "" if isinstance(value, bool) else "true or false"
    if key == "days":
        return "" if isinstance(value, list) else "a list of days"
    return "" if isinstance(value, str) and value.strip() else "a text"
