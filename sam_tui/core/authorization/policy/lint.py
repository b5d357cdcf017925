"""What is wrong with a policy that is valid: rules that never decide, and rules that allow too much."""

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
    """One fault of one rule. ``why`` says what to do about it."""

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
        for number, other in enumerate(parsed):
            same = other == entry and number < index
            if same or (other != entry and _entry_within(entry, other)):
                findings.append(
                    LintFinding(rule, "shadowed", f"{entries[number]} holds it; remove one")
                )
                break
        if wider is not None and not any(_overlap(entry, other) for other in wider):
            findings.append(
                LintFinding(rule, "unreachable", "your own list of hosts does not hold it")
            )
        if entry.host.startswith("*.") and shared(entry.host[2:]):
            findings.append(
                LintFinding(rule, "over-broad", f"anybody has names below {entry.host[2:]}")
            )
    return findings


def _entry_within(narrow: HostEntry, wide: HostEntry) -> bool:
    return (wide.port is None or wide.port == narrow.port) and _host_within(narrow.host, wide.host)


def _overlap(left: HostEntry, other: HostEntry) -> bool:
    ports = None in (left.port, other.port) or left.port == other.port
    return ports and (_host_within(left.host, other.host) or _host_within(other.host, left.host))


def covers(wide: Rule, narrow: Rule) -> bool:
    """Whether every access that ``narrow`` speaks of is surely spoken of by ``wide``, at any time."""
    return (
        wide.window.always
        and (not wide.workspace or wide.workspace == narrow.workspace)
        and _operation_within(narrow.operation, wide.operation)
        and (not wide.access or wide.access == narrow.access)
        and (wide.kind is None or wide.kind == narrow.kind)
        and (not wide.host or (bool(narrow.host) and _host_within(narrow.host, wide.host)))
        and _command_within(narrow, wide)
        and _path_within(narrow, wide)
    )


def _covered(rule: Rule, before: Sequence[Rule]) -> Iterator[LintFinding]:
    """The first rule that always decides in its place."""
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
        yield LintFinding(rule, "unreachable", "its time is over; remove it")
    if rule.workspace and not os.path.isdir(rule.workspace):
        yield LintFinding(rule, "unreachable", f"there is no folder {rule.workspace}")
    if rule.layer == "project" and rule.effect == "allow" and not trusted:
        yield LintFinding(
            rule,
            "unreachable",
            "a project only tightens until its folder is trusted (sam-tui trust)",
        )
    fixed = rule.path.fixed if rule.path and not rule.about_commands else ""
    inside = any(fixed == folder or fixed.startswith(folder + "/") for folder in protected)
    if rule.effect == "allow" and fixed and inside and rule.access != "read":
        yield LintFinding(rule, "unreachable", "the program's own data is never written")


def _broad(rule: Rule, secrets: Secrets | None) -> Iterator[LintFinding]:
    if rule.kind in ("privileged", "destructive") and rule.command is None:
        yield LintFinding(rule, "over-broad", f"it allows every {rule.kind} command; name commands")
    if rule.command is not None and (why := _broad_command(rule.command)):
        yield LintFinding(rule, "over-broad", why)
    if rule.path is not None and rule.path.fixed and not rule.about_commands:
        if not rule.path.tail and rule.path.fixed.count("/") < 2:
            yield LintFinding(rule, "over-broad", f"it covers everything below {rule.path.fixed}")
        elif secrets is not None and secrets.above(rule.path.fixed):
            yield LintFinding(rule, "over-broad", f"secrets lie below {rule.path.fixed}")
    if rule.host == ANY:
        yield LintFinding(rule, "over-broad", "it covers every host")
    elif rule.host.startswith(("*.", ".")) and shared(rule.host.lstrip("*.")):
        why = f"anybody has names below {rule.host.lstrip('*.')}"
        yield LintFinding(rule, "over-broad", why)
    named = rule.path or rule.command or rule.kind or rule.host
    if rule.operation.startswith("mcp__"):
        if rule.operation.strip("_*") == "mcp":
            yield LintFinding(
                rule, "over-broad", "it covers every tool of every server; name a server"
            )
    elif not named:
        yield LintFinding(
            rule, "over-broad", f"it allows {rule.operation} on anything; name a path"
        )


def _broad_command(pattern: CommandPattern) -> str:
    first = pattern.words[0]
    if set(first) & set("*?["):
        return "its first word is a pattern, so it covers any program"
    if pattern.exact:
        return ""
    program = builtin_table().program(first)
    runs_text = program.shell or program.interpreter
    if (runs_text or program.wraps) and len(pattern.words) == 1:
        return f"{first} runs anything; name what it runs"
    if runs_text and pattern.words[1:2] and pattern.words[1] in ("-c", "-e"):
        return f"{first} {pattern.words[1]} runs any text; name a script"
    if first in ("ssh", "eval", "source", ".") and len(pattern.words) == 1:
        return f"{first} runs anything; name what it runs"
    return ""


def _operation_within(narrow: str, wide: str) -> bool:
    if not wide or narrow == wide or wide == "*":
        return True
    return bool(narrow) and narrow.startswith(wide.removesuffix(".*").removesuffix("*") + ".")


def _host_within(narrow: str, wide: str) -> bool:
    return narrow == wide or host_covered(wide, narrow.removeprefix("*."))


def _command_within(narrow: Rule, wide: Rule) -> bool:
    if wide.command is None:
        return not (wide.kind is None and wide.path is not None and narrow.about_commands)
    return narrow.command is not None and narrow.command.within(wide.command)


def _path_within(narrow: Rule, wide: Rule) -> bool:
    if wide.path is None:
        return True
    return narrow.path is not None and narrow.path.within(wide.path)
