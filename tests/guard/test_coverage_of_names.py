"""What names of hosts, rules and patterns cover, whole: ``coverage_of_names.txt``.

Run as a program, this writes it.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.policy.files import parse_policy
from sam_tui.core.authorization.network.addresses import refusal
from sam_tui.core.authorization.network.hosts import (
    HostEntry,
    HostLists,
    address_of,
    connected,
    entries_of,
    family,
    host_of,
    host_of_text,
    loopback,
    shared,
    split_port,
    with_port,
)
from sam_tui.core.authorization.network.services import given_away
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.authorization.policy.lint import covers, lint, lint_hosts
from sam_tui.core.authorization.rules.patterns import CommandPattern, PathPattern, host_covered
from sam_tui.core.authorization.rules.rule import Rule, ordered

RECORDED = Path(__file__).with_name("coverage_of_names.txt")
TEXTS = """
a.org A.Org a.org. a.org:443 a.org:0 a.org:65535 a.org:65536 a.org:x a.org:123456 *.a.org *.a.org:80
.a.org * *:80 b.a.org c.b.a.org xa.org a org _a.org -a.org a-.org a..org a.co.uk x.a.co.uk co.uk
com.au x.uk github.io me.github.io x.me.github.io localhost localhost:80 a.localhost 127.0.0.1
127.0.0.1:80 127.1 0x7f.1 0177.0.0.1 2130706433 10.0.0.1 8.8.8.8 8.8.8.8:53 1.2.3 1.2.3.4.5
256.1.1.1 0x7g 0x7f a.0x7f a.1 127.a 127.0.0 0.0.0.0 [::1] [::1]:80 ::1 ::1:80 :: [::]
::ffff:127.0.0.1 [::ffff:8.8.8.8]:53 2001:4860:4860::8888 fe80::1 fc00::1 ff02::1 64:ff9b::8.8.8.8
2002:7f00:1:: 100.64.0.1 169.254.169.254 192.0.2.1 198.18.0.1 224.0.0.1 255.255.255.255 @name /run/s
the network é.org xn--a.org https://a.org/x https://u:p@A.org:8443/x?y#z http://[::1]:80/x
x=https://a.org/ ://a.org é://a.org a-b://c.d https://a.org\\b.org https://a.org?x https://a.org#x
https://a.org.:1 connect\\sto\\sa.org:443 connect\\sto\\sa.org connect\\sto\\s@x:1
connect\\sto\\s/s:1 connect\\sto\\s[::1]:80 127.0.0.1:2375 localhost:631 x.127.0.0.1 127.0.0.1.x
a.org:080 [a.org]:80 [a.org a.org] 1.1.1.1. 0 1 .
"""
"""``\\s`` is a blank."""
RULES = (
    "deny", "deny; operation=notes", "deny; operation=notes.*", "deny; operation=notes.add",
    "deny; operation=notesx.add", "deny; operation=*", "deny; path=src", "deny; path=src/a",
    "deny; path=src/*.py", "deny; path=*.py", "deny; path=a.py", "deny; path=srcx", "deny; path=/",
    "deny; path=src; access=write", "deny; path=src; access=read",
    "deny; access=write; operation=notes", "deny; command=git push",
    "deny; command=git push origin", "deny; command=git *", "deny; command=git push; exact=true",
    "deny; command=git push; path=src", "deny; command=git ** x", "deny; class=network",
    "deny; class=network; command=git push", "deny; class=network; path=src",
    "deny; class=privileged", "deny; host=a.org", "deny; host=*.a.org", "deny; host=b.a.org",
    "deny; host=*", "deny; host=.a.org", "deny; host=a.org; command=curl",
    "deny; path=src; between=09:00-17:00", "deny; path=src; until=2020-01-01",
    "deny; path=src; until=2100-01-01", "deny; path=src; workspace=/ws",
    "deny; path=src; workspace=/nowhere/at/all", "deny; operation=notes.add; path=src",
    "deny; path=src; workspace=/",
)  # fmt: skip
BROAD = (
    "deny; path=/own/x", "allow; path=~/.config", "allow; path=~/.ssh",
    "allow; path=/", "allow; path=/srv", "allow; path=/srv/a", "allow; path=/srv/*",
    "allow; path=~", "allow; path=~/notes", "allow; path=/h/..", "allow; path=*.py",
    "allow; path=/own/x", "allow; path=/own", "allow; path=/own/x; access=read",
    "allow; path=/ownx", "allow; path=/own/x; command=cat", "allow; command=bash",
    "allow; command=bash x", "allow; command=bash -c", "allow; command=bash -e",
    "allow; command=make -c", "allow; command=python", "allow; command=python -m x",
    "allow; command=ssh", "allow; command=eval", "allow; command=source", "allow; command=.",
    "allow; command=. x", "allow; command=xargs", "allow; command=env A=b", "allow; command=make",
    "allow; command=*", "allow; command=l? x", "allow; command=[ab]",
    "allow; command=bash; exact=true", "allow; command=python -c; exact=true",
    "allow; class=privileged", "allow; class=destructive", "allow; class=network",
    "allow; class=privileged; command=sudo ls", "allow; host=*", "allow; host=*.org",
    "allow; host=*.co.uk", "allow; host=.github.io", "allow; host=github.io", "allow; host=*.a.org",
    "allow; operation=notes.add", "allow; operation=mcp__*", "allow; operation=mcp__",
    "allow; operation=*", "allow; operation=mcp__a", "allow; operation=mcp__a__*",
    "allow; path=~; command=bash; class=privileged",
)  # fmt: skip
LISTS = (
    ("a.org", "a.org"), ("a.org", "*.org"), ("a.org:80", "a.org"), ("a.org", "a.org:80"),
    ("b.a.org", "*.a.org"), ("*.b.a.org", "*.a.org:80"), ("*.b.a.org", "*.a.org"), ("*", "a.org"),
    ("a.org:80", "a.org:81"), ("*.github.io",), ("127.0.0.1:80", "127.0.0.1"), ("8.8.8.8", "*"),
    ("b.a.org:80", "*.a.org:80"),
)  # fmt: skip
WORDS = (
    "git", "git push", "git push origin", "git -C x push", "/usr/bin/git push", "git -n -C x push",
    "gitx push", "git pull push", "git x y x", "git x", "", "git --a=b push", "git -a push o",
)  # fmt: skip
PATTERNS = (
    "git", "git push", "git *", "git ** x", "git p?sh", "**", "git [p]ush origin", "*t push",
)  # fmt: skip
REALS = (
    "/ws/src", "/ws/src/a.py", "/ws/src/b/a.py", "/ws/srcx", "/ws/a.py", "/", "/h", "/h/x", "/ws",
    "/ws/src/b", "/ws/src/b/c/a.py", "/x.py/a",
)  # fmt: skip
PATHS = (
    "src", "src/", "./src", "src/*.py", "src/**", "src/**/a.py", "src/*", "*.py", "a.py", "~",
    "~/x", "~x", "/", "/*", "..", ".", "src/[ab]/*", "/ws/s?c", " ", "src/**/**",
)  # fmt: skip


def tried(call: Callable[[], object]) -> str:
    """What a call returns, or why it refuses."""
    try:
        return str(call())
    except ValueError as error:
        return f"no: {error}"


def host_lines() -> Iterator[str]:
    """What each text is as a host, an address and a target."""
    texts = [text.replace("\\s", " ") for text in TEXTS.split()]
    entries: list[HostEntry] = []
    for text in texts:
        entry = tried(lambda text=text: HostEntry.of(text))
        if not entry.startswith("no"):
            entries.append(HostEntry.of(text))
        address = address_of(text)
        yield f"{text}: {entry.removeprefix('HostEntry')}"
        if address is not None:
            refused = refusal(address) or "public"
            yield f"    address {address} {refused}, loopback {loopback(str(address))}"
        name = tried(lambda text=text: host_of_text(text))
        yield f"    name {name}, family {family(text) or 'none'}, shared {shared(text)}, {split_port(text)}"
        more = f"host {host_of(text)!r}, reached {connected(text)}, rule {entries_of(text)}"
        yield f"    {more}, gives {given_away(f'connect to {text}') or 'nothing'}"
    for entry in dict.fromkeys(entries):
        port = entry.port or 80
        held = [text for text in texts if entry.covers(text)]
        other = [text for text in texts if entry.covers(text, 80)]
        on_80 = "all" if other == held else other
        yield f"{with_port(entry.host, port)} covers {' '.join(held)}; on 80 {on_80}"
        ruled = [text for text in texts if host_covered(entry.host, text)]
        yield f"    as a rule {' '.join(ruled)}"
    lists = HostLists([["*.a.org", "10.0.0.1", "8.8.8.8"], ["*"]], ["b.a.org"], ["c.b.a.org"])
    for text in texts:
        held = (
            tried(lambda text=text: lists.hold(text)),
            tried(lambda text=text: lists.hold(text, 80)),
        )
        kept = [
            a
            for a in ("8.8.8.8", "10.0.0.1", "10.0.0.2", "127.0.0.1", "::1")
            if lists.keep(text, a)
        ]
        yield f"{text} held {held}, kept {kept}"


def rule_of(row: str) -> Rule:
    """The rule of ``effect; key=value; …``."""
    effect, *fields = row.split("; ")
    lines = ["[[rule]]", f'effect = "{effect}"']
    for field in fields:
        key, _, value = field.partition("=")
        lines.append(f"{key} = {value}" if value == "true" else f'{key} = "{value}"')
    text = "\n".join([*lines, "" if fields else 'operation = "x.y"'])
    return parse_policy(text, "p.toml", "user", root="/ws", home="/h").rules[0]


def found(rules: list[Rule], *, trusted: bool = True, now: float = 1_800_000_000.0) -> list[str]:
    """What is wrong with rules."""
    faults = lint(rules, secrets=Secrets("/h"), protected=("/own",), trusted=trusted, now=now)
    return [f"{fault.fault}: {fault.why}" for fault in faults]


def rule_lines() -> Iterator[str]:
    """Which rules each covers, and what is wrong with each, and with both of two lists of hosts."""
    rules = {row: rule_of(row) for row in RULES}
    for row, wide in rules.items():
        covered = [str(n) for n, narrow in enumerate(rules.values()) if covers(wide, narrow)]
        yield f"{row}: “{wide.words}” covers {' '.join(covered)}"
        yield f"    alone {found([wide])}"
        order = [f"{rule.effect} {rule.layer}" for rule in ordered([wide, rule_of("ask; path=x")])]
        yield f"    before others {found([wide, rule_of('allow; command=git push origin x')])} {order}"
    yield from (f"{row}: {found([rule_of(row)])}" for row in BROAD)
    for layer in ("project", "user"):
        for effect in ("allow", "deny"):
            text = f'[[rule]]\neffect = "{effect}"\npath = "src"\n'
            read = [*parse_policy(text, "p", layer, root="/ws", home="/h").rules]
            yield f"{effect} of {layer}: {found(read, trusted=False)} {found(read)}"
    ending = rule_of("deny; path=src; until=2100-01-01")
    end = ending.window.until or 0.0
    yield f"at its end: {[found([ending], now=end + seconds) for seconds in (-1, 0, 1)]}"
    for entries in LISTS:
        for above in (None, [], ["a.org"], ["*.org:80"], ["*.a.org", "8.8.8.8:53"]):
            faults = lint_hosts("project", "p:1", entries, above=above)
            said = [f"{f.rule.words} {f.rule.source} {f.fault}: {f.why}" for f in faults]
            yield f"{entries} below {above}: {said}"


def pattern_lines() -> Iterator[str]:
    """What patterns of commands and paths name."""
    for text in PATTERNS:
        for exact in (False, True):
            one = CommandPattern.of(text, exact=exact)
            covered = [words for words in WORDS if one.covers(words.split())]
            named = [words for words in WORDS if one.names(words.split())]
            others = (CommandPattern.of(t, exact=e) for t in PATTERNS for e in (False, True))
            inside = [f"{o.text}{'!' if o.exact else ''}" for o in others if one.within(o)]
            yield f"{one.text}{'!' if exact else ''} covers {covered} names {named} within {inside}"
    for text in (
        "",
        "a && b",
        "a ; b",
        "a > b",
        "'a",
        "a '&&' b",
        "a | b",
        "a || b",
        "a & b",
        "a < b",
        "'a b' c",
    ):
        yield f"{text!r} is {tried(lambda text=text: CommandPattern.of(text).text)}"
    patterns: list[PathPattern] = []
    for text in PATHS:
        read = tried(lambda text=text: PathPattern.of(text, root="/ws", home="/h"))
        yield f"{text!r} {read.removeprefix('PathPattern')}"
        if not read.startswith("no"):
            patterns.append(PathPattern.of(text, root="/ws", home="/h"))
    for one in patterns:
        covered = [real for real in REALS if one.covers(real)]
        inside = [other.text for other in patterns if one.within(other)]
        yield f"{one.text} covers {covered} within {inside}"


def lines() -> list[str]:
    """All that is recorded."""
    return [*host_lines(), *rule_lines(), *pattern_lines()]


@pytest.mark.requirement("guard:rules-properties", "guard:hosts", "guard:lint")
def test_each_name_covers_what_is_recorded() -> None:
    assert lines() == RECORDED.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORDED.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
