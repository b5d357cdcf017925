"""Which accesses each form of a rule speaks of: ``rules.txt``. As a program, this writes it.

Below each rule stand the accesses that it restricts where it denies or asks, those that it permits where
it allows, and of commands those of which it permits every part. A line that differs is a promise that
changed.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.policy.files import parse_policy
from sam_tui.adapters.shell import BashParser
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.rules.rule import (
    EFFECTS,
    LAYERS,
    Kind,
    Rule,
    RuleSet,
    Subject,
    ordered,
)

RECORDED = Path(__file__).with_name("rules.txt")
READER = CommandReader(BashParser(), root="/ws", home="/h")
NOW = 1_800_000_000.0
RULES = """
command = "git push" | command = "git push", exact = true | command = "rm"
command = "rm -rf b", exact = true | command = "git push", path = "sub"
command = "touch", path = "sub", access = "write" | command = "curl", host = "a.org" | class = "network"
class = "destructive" | class = "read-only" | class = "workspace-write", path = "sub"
class = "network", host = "*.a.org" | path = "sub" | path = "sub", access = "read"
path = "sub", access = "write" | command = "cat", host = "a.org", path = "sub" | path = "/"
path = "/**/x" | path = "x" | host = "a.org" | host = "*.a.org", operation = "web_operations"
operation = "tool" | operation = "tool.one" | operation = "t*l.one" | operation = "*"
operation = "tool", path = "sub" | operation = "tool", access = "read"
operation = "tool", command = "git push" | operation = "tool", class = "network"
operation = "toolbox", command = "git push" | command = "git push", until = "2020-01-01"
command = "sudo" | class = "privileged" | path = "*" | command = "touch", path = "*"
command = "touch", path = "sub" | operation = "tool", until = "2020-01-01"
operation = "tool", until = "2099-01-01", workspace = "/ws"
"""
"""What a rule names, without its effect."""
COMMANDS = (
    "git push", "git -C x push", "git push origin", "ls", "cat sub/x", "cat sub/x > y", "cat sub/*",
    "rm -rf b", "rm -rf b c", "rm sub/x", "touch sub/x", "touch sub/x y", "touch sub/x sub/y", "touch $X",
    "touch sub/*", "cd -; touch x",
    "curl https://a.org", "curl https://b.a.org", "curl https://a.org http://b.org", "curl -X DELETE https://a.org",
    "cat https://a.org sub/x", "sudo ls", "git push; touch sub/x",
    "curl a.org", "curl https://a.org b.org", "ssh a.org ls", "scp x a.org:",
    "git push && curl https://a.org", "ls | cat sub/x", "PATH=/x git push", "if", "",
)  # fmt: skip


def subjects() -> Iterator[tuple[str, Subject]]:
    """Accesses of every kind, and a few by other tools."""
    one = "tool.one"
    for kind, path in itertools.product(("read", "write"), ("/ws/sub", "/ws/sub/x", "/ws/subx")):
        yield f"{kind} {path}", Subject(one, kind, path)
    for host in ("a.org", "b.a.org", ""):
        yield f"fetch {host or 'anything'}", Subject(one, "fetch", host=host)
    for operation in (one, "tool", "toolbox.one"):
        yield f"use {operation}", Subject(operation, "use")
        yield f"use {operation}, destructive", Subject(operation, "use", destructive=True)
    yield "search b.a.org", Subject("web_operations.search", "fetch", host="b.a.org")
    kinds: tuple[Kind, ...] = ("run", "type")
    for kind in kinds:
        yield f"{kind} unread", Subject(one, kind)
    for command in COMMANDS:
        yield f"run {command!r}", Subject(one, "run", reading=READER.read(command))
    yield "type 'git push'", Subject(one, "type", reading=READER.read("git push"))


def rule_of(fields: str, effect: str = "allow") -> Rule:
    """A rule of a person's file, from its fields on one line."""
    text = "\n".join(["[[rule]]", f'effect = "{effect}"', *fields.split(", ")])
    (rule,) = parse_policy(text, "p", "user", root="/ws", home="/h").rules
    return rule


def named(rule: Rule) -> Iterator[str]:
    """What is recorded of a rule."""
    yield rule.words
    about = [
        w for w, is_so in (("commands", rule.about_commands), ("hosts", rule.about_hosts)) if is_so
    ]
    yield f"  speaks of {' and '.join(about) or 'neither commands nor hosts'}"
    fits: dict[str, list[str]] = {}
    alone = RuleSet((rule,))
    for name, subject in subjects():
        if rule.restricts(subject, NOW):
            fits.setdefault("restricts", []).append(name)
        if rule.permits(subject, NOW):
            fits.setdefault("permits", []).append(name)
            assert alone.permitting(subject, NOW) is rule
        elif alone.permitting(subject, NOW) is rule:
            fits.setdefault("permits by parts", []).append(name)
        if alone.unlocks(subject, NOW) is rule:
            fits.setdefault("unlocks", []).append(name)
    yield from (f"  {how}: {', '.join(names)}" for how, names in fits.items())


def lines() -> Iterator[str]:
    """All that is recorded."""
    for line in RULES.strip().splitlines():
        for fields in line.split(" | "):
            yield from named(rule_of(fields))


@pytest.mark.requirement("guard:rules-commands", "guard:rules-hosts", "guard:rules-properties")
def test_each_form_of_a_rule_speaks_of_the_accesses_that_are_recorded() -> None:
    assert [*lines()] == RECORDED.read_text(encoding="utf-8").splitlines()


@pytest.mark.requirement("guard:policy-order")
def test_rules_apply_by_effect_then_by_layer_then_as_written() -> None:
    pairs = [*itertools.product(EFFECTS, LAYERS)]
    rules = [
        Rule(f"{effect} {layer} {number}", effect, layer, operation="x")
        for number in (1, 2)
        for effect, layer in reversed(pairs)
    ]
    expected = [
        f"{effect} {layer} {number}"
        for effect in ("deny", "ask", "allow")
        for layer in ("system", "user", "project", "session")
        for number in (1, 2)
    ]
    assert [rule.id for rule in ordered(rules)] == expected
    first = {
        effect: [
            getattr(
                RuleSet.of(some, workspace="/ws", trusted=True).restricting(effect, ANY, NOW),
                "id",
                "",
            )
            for some in (rules, rules[:1], ())
        ]
        for effect in EFFECTS
    }
    assert first == {
        "deny": ["deny system 1", "", ""],
        "ask": ["ask system 1", "", ""],
        "allow": ["allow system 1", "allow session 1", ""],
    }


ANY = Subject("x", "read", "/ws/a")


@pytest.mark.requirement("guard:policy-order")
def test_a_folder_that_nobody_trusts_only_tightens_and_rules_of_other_folders_are_left_out() -> (
    None
):
    rules = [
        Rule(f"{effect} {layer} {where}", effect, layer, operation="x", workspace=where)
        for effect in EFFECTS
        for layer in LAYERS
        for where in ("", "/ws", "/elsewhere")
    ]

    def accepted(*, trusted: bool) -> set[str]:
        return {rule.id for rule in RuleSet.of(rules, workspace="/ws", trusted=trusted).rules}

    here = {rule.id for rule in rules if rule.workspace != "/elsewhere"}
    assert accepted(trusted=True) == here
    assert accepted(trusted=False) == here - {"allow project ", "allow project /ws"}


@pytest.mark.requirement("guard:rules-commands")
def test_a_command_is_allowed_by_the_rule_of_its_last_part_where_each_part_has_one() -> None:
    asking = rule_of('operation = "terminal_operations"', "ask")
    allowing = [rule_of(f'command = "{word}"') for word in ("touch", "make", "curl")]
    rules = RuleSet((asking, rule_of('command = "rm"', "deny"), *allowing))
    said = {
        command: (rule.words if (rule := rules.permitting(run(command), NOW)) else "")
        for command in (
            "touch a", "touch a; make", "make && touch a", "ls; make; cat a", "ls", "ls > a", "make; rm a",
            "rm a; make", "make > a",
        )
    }  # fmt: skip
    touch, make = "allow command touch", "allow command make"
    assert said == {
        "touch a": touch, "touch a; make": make, "make && touch a": touch, "ls; make; cat a": make,
        "ls": "", "ls > a": "", "make; rm a": "", "rm a; make": "", "make > a": make,
    }  # fmt: skip


def run(command: str) -> Subject:
    """A command that the agent runs."""
    return Subject("terminal_operations.run_command", "run", reading=READER.read(command))


if __name__ == "__main__":
    RECORDED.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
