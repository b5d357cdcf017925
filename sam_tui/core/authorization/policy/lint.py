"""Faults of a valid policy: rules that never decide, and rules that allow too much."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sam_tui.core.authorization.commands.table import builtin_table
from sam_tui.core.authorization.network.hosts import ANY, HostEntry, shared, with_port
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.authorization.policy.judgement import CONNECT
from sam_tui.core.authorization.rules.patterns import CommandPattern, host_covered
from sam_tui.core.authorization.rules.rule import Layer, Rule, ordered

Fault = Literal["shadowed", "unreachable", "over-broad"]


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A fault of a rule. ``why`` says how to mend it."""

    rule: Rule
    fault: Fault
    why: str


def lint(
    rules: Sequence[Rule],
    *,
    secrets: Secrets | None,
    protected: Sequence[str],
    trusted: bool,
    now: float,
) -> list[LintFinding]:
    """All findings, rule by rule in the order of evaluation."""
    findings: list[LintFinding] = []
    sequence = ordered(rules)
    for index, rule in enumerate(sequence):
        findings.extend(_covered(rule, sequence[:index]))
        findings.extend(_dead(rule, protected, trusted=trusted, now=now))
        if rule.effect == "allow":
            findings.extend(_broad(rule, secrets))
    return findings


def lint_hosts(
    layer: Layer, source: str, entries: Sequence[str], *, above: Sequence[str] | None = None
) -> list[LintFinding]:
    """The findings on a list of hosts. ``above`` is the list that holds as well, where there is one."""
    findings: list[LintFinding] = []
    parsed = [HostEntry.of(text) for text in entries]
    wider = None if above is None else [HostEntry.of(text) for text in above]
    for index, entry in enumerate(parsed):
        named = with_port(entry.host, entry.port) if entry.port else entry.host
        rule = Rule(f"{layer}:hosts", "allow", layer, source, operation=CONNECT, host=named)
        if (holder := _holder(index, parsed)) is not None:
            why = f"{entries[holder]} covers it; remove one"
            findings.append(LintFinding(rule, "shadowed", why))
        if wider is not None and not any(_overlap(entry, other) for other in wider):
            why = "your own list of hosts does not contain it"
            findings.append(LintFinding(rule, "unreachable", why))
        if why := _broad_host(entry.host):
            findings.append(LintFinding(rule, "over-broad", why))
    return findings


def _holder(index: int, entries: Sequence[HostEntry]) -> int | None:
    """The index of an equal earlier or a wider entry, which makes this entry needless."""
    entry = entries[index]
    for number, other in enumerate(entries):
        same = other == entry and number < index
        if same or (other != entry and _entry_within(entry, other)):
            return number
    return None


def _entry_within(narrow: HostEntry, wide: HostEntry) -> bool:
    return (wide.port is None or wide.port == narrow.port) and _host_within(narrow.host, wide.host)


def _overlap(left: HostEntry, other: HostEntry) -> bool:
    ports = None in (left.port, other.port) or left.port == other.port
    return ports and (_host_within(left.host, other.host) or _host_within(other.host, left.host))


def covers(wide: Rule, narrow: Rule) -> bool:
    """Whether every access that ``narrow`` speaks of is surely spoken of by ``wide``, at any time."""
    return (
        wide.window.always
        and wide.workspace in ("", narrow.workspace)
        and _operation_within(narrow.operation, wide.operation)
        and wide.access in ("", narrow.access)
        and wide.kind in (None, narrow.kind)
        and _hosts_within(narrow, wide)
        and _command_within(narrow, wide)
        and _path_within(narrow, wide)
    )


def _covered(rule: Rule, before: Sequence[Rule]) -> Iterator[LintFinding]:
    """The first earlier rule that always decides first."""
    for other in before:
        if not covers(other, rule):
            continue
        if other.effect == rule.effect:
            why = f"{other.id} ({other.source}) says the same before it; remove one of them"
            yield LintFinding(rule, "shadowed", why)
        else:
            why = f"{other.id} ({other.source}) decides “{other.effect}” before it"
            yield LintFinding(rule, "unreachable", why)
        return


def _dead(
    rule: Rule, protected: Sequence[str], *, trusted: bool, now: float
) -> Iterator[LintFinding]:
    if rule.window.until is not None and rule.window.until <= now:
        yield LintFinding(rule, "unreachable", "it has expired; remove it")
    if rule.workspace and not os.path.isdir(rule.workspace):
        yield LintFinding(rule, "unreachable", f"there is no folder {rule.workspace}")
    if rule.layer == "project" and rule.effect == "allow" and not trusted:
        yield LintFinding(
            rule,
            "unreachable",
            "a project only tightens until its folder is trusted (sam-tui trust)",
        )
    if rule.effect == "allow" and rule.access != "read" and _lies_in(rule, protected):
        yield LintFinding(rule, "unreachable", "the program's own data is never written")


def _lies_in(rule: Rule, folders: Sequence[str]) -> bool:
    """Whether it is about files of one of the folders alone."""
    fixed = _fixed_path(rule)
    return any(f"{fixed}/".startswith(f"{folder}/") for folder in folders if fixed)


def _fixed_path(rule: Rule) -> str:
    """Return the beginning, up to its first wildcard, of the path of a rule about files."""
    return rule.path.fixed if rule.path and not rule.about_commands else ""


def _broad(rule: Rule, secrets: Secrets | None) -> Iterator[LintFinding]:
    whys = (
        _broad_kind(rule),
        _broad_command(rule.command),
        _broad_path(rule, secrets),
        _broad_host(rule.host),
        _broad_operation(rule),
    )
    yield from (LintFinding(rule, "over-broad", why) for why in whys if why)


def _broad_kind(rule: Rule) -> str:
    heavy = rule.kind in ("privileged", "destructive") and rule.command is None
    return f"it allows every {rule.kind} command; name commands" if heavy else ""


def _broad_path(rule: Rule, secrets: Secrets | None) -> str:
    fixed = _fixed_path(rule)
    if fixed and rule.path and not rule.path.tail and fixed.count("/") < 2:
        return f"it covers everything below {fixed}"
    return f"secrets lie below {fixed}" if fixed and secrets and secrets.above(fixed) else ""


def _broad_host(host: str) -> str:
    if host == ANY:
        return "it covers every host"
    below = host.lstrip("*.")
    anybody = host.startswith(("*.", ".")) and shared(below)
    return f"anybody can register names below {below}" if anybody else ""


def _broad_operation(rule: Rule) -> str:
    if rule.operation.startswith("mcp__"):
        every = rule.operation.strip("_*") == "mcp"
        return "it covers every tool of every server; name a server" if every else ""
    named = rule.path or rule.command or rule.kind or rule.host
    return "" if named else f"it allows {rule.operation} on anything; name a path"


def _broad_command(pattern: CommandPattern | None) -> str:
    if pattern is None:
        return ""
    first = pattern.words[0]
    if set(first) & set("*?["):
        return "its first word is a pattern, so it covers any program"
    if pattern.exact:
        return ""
    program = builtin_table().program(first)
    runs_text = program.shell or program.interpreter
    if pattern.words[1:2] in (("-c",), ("-e",)) and runs_text:
        return f"{first} {pattern.words[1]} runs any text; name a script"
    runs_others = first in ("ssh", "eval", "source", ".") or program.wraps
    if pattern.words[1:] or not (runs_text or runs_others):
        return ""
    return f"{first} runs anything; name what it runs"


def _operation_within(narrow: str, wide: str) -> bool:
    if not wide or narrow == wide or wide == "*":
        return True
    return bool(narrow) and narrow.startswith(wide.removesuffix(".*").removesuffix("*") + ".")


def _host_within(narrow: str, wide: str) -> bool:
    return narrow == wide or host_covered(wide, narrow.removeprefix("*."))


def _hosts_within(narrow: Rule, wide: Rule) -> bool:
    if not wide.host:
        return True
    return bool(narrow.host) and _host_within(narrow.host, wide.host)


def _command_within(narrow: Rule, wide: Rule) -> bool:
    if wide.command is None:
        return not (wide.kind is None and wide.path is not None and narrow.about_commands)
    return narrow.command is not None and narrow.command.within(wide.command)


def _path_within(narrow: Rule, wide: Rule) -> bool:
    if wide.path is None:
        return True
    return narrow.path is not None and narrow.path.within(wide.path)
