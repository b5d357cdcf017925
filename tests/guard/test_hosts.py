"""Hosts that commands may reach: entries, lists of several files, scopes, and what is kept of them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.adapters.policy import SandboxTerms, SavedRules
from sam_tui.adapters.policy.files import parse_policy
from sam_tui.adapters.policy.sandbox_settings import merged, sandbox_plan
from sam_tui.core.accesses import CommandAccess, Connect
from sam_tui.core.authorization.network.hosts import HostEntry, family
from sam_tui.core.authorization.policy.lint import lint, lint_hosts
from sam_tui.core.authorization.rules.rule import Rule
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.inquiry import Approval
from sam_tui.core.ports.processes.sandbox import Network
from tests.guard.ward import ALICE, Ward

CONNECT = "commands.connect_outside"


@pytest.mark.requirement("guard:hosts")
@pytest.mark.parametrize(
    ("entry", "host", "port", "covered"),
    [
        ("github.com", "github.com", 443, True),
        ("github.com", "a.github.com", 443, False),
        ("GitHub.com.", "github.com", 22, True),
        ("github.com:443", "github.com", 80, False),
        ("github.com:443", "github.com", None, True),
        ("*.project.test", "files.project.test", 443, True),
        ("*.project.test", "project.test", 443, False),
        ("*.project.test", "evilproject.test", 443, False),
        ("*.project.test", ".project.test", 443, False),
        ("127.0.0.1:5432", "127.0.0.1", 5432, True),
        ("127.0.0.1:5432", "127.0.0.1", 5433, False),
        ("0x7f.1", "127.0.0.1", 1, True),
        ("::ffff:10.0.0.1", "10.0.0.1", 1, True),
        ("[2001:DB8::1]:80", "2001:db8::1", 80, True),
        ("localhost:3000", "127.0.0.1", 3000, True),
        ("localhost", "::1", 3000, True),
        ("localhost", "10.0.0.1", 3000, False),
    ],
)
def test_an_entry_covers_its_host_and_nothing_alike(
    entry: str, host: str, port: int | None, covered: bool
) -> None:
    assert HostEntry.of(entry).covers(host, port) is covered


@pytest.mark.requirement("guard:hosts")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "http://a.b",
        "a..b",
        "-a.b",
        "a.b:0",
        "a.b:70000",
        "*.1.2.3.4",
        "münchen.de",
        "a/b",
    ],
)
def test_what_names_no_host_is_an_error_with_file_and_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        HostEntry.of(text)
    with pytest.raises(ConfigurationError, match="p:2: "):
        parse_policy(f"\nhosts = [{text!r}]", "p", "user", root="/", home="/")


@pytest.mark.requirement("guard:hosts")
@pytest.mark.parametrize("value", ['"github.com"', "[1]", '["*"]', "{}"])
def test_a_list_of_hosts_is_a_list_of_hosts(value: str) -> None:
    with pytest.raises(ConfigurationError, match="p:1: "):
        parse_policy(f"hosts = {value}", "p", "user", root="/", home="/")


@pytest.mark.requirement("guard:hosts")
@pytest.mark.parametrize(
    ("flag", "project", "user", "network", "lists"),
    [
        (None, "", "", "hosts", ((),)),
        (None, "", 'network = "on"', "on", ((),)),
        (None, 'network = "hosts"\nhosts = ["c.d"]', 'network = "on"', "hosts", (("c.d",),)),
        (None, "", 'network = "hosts"\nhosts = ["a.b"]', "hosts", (("a.b",),)),
        ("hosts", "", 'hosts = ["a.b"]', "hosts", (("a.b",),)),
        (None, 'network = "hosts"\nhosts = ["c.d"]', "", "hosts", ((), ("c.d",))),
        (
            None,
            'network = "hosts"\nhosts = ["c.d"]',
            'network = "hosts"\nhosts = ["a.b"]',
            "hosts",
            (("a.b",), ("c.d",)),
        ),
        (None, 'network = "hosts"', 'network = "off"', "off", ((),)),
        (None, 'network = "off"', 'network = "hosts"', "off", ((),)),
        ("on", 'network = "off"', "", "on", ((),)),
        (None, 'hosts = ["c.d"]', 'network = "hosts"', "hosts", ((),)),
    ],
)
def test_a_projects_list_only_tightens(
    flag: Network | None,
    project: str,
    user: str,
    network: Network | None,
    lists: tuple[tuple[str, ...], ...],
) -> None:
    theirs = parse_policy(project, "p", "project", root="/", home="/").sandbox
    mine = parse_policy(user, "u", "user", root="/", home="/").sandbox
    found = merged(SandboxTerms(network=flag), theirs, mine)
    assert (found.network, found.lists) == (network, lists)


@pytest.mark.requirement("guard:hosts")
def test_a_project_turns_no_network_on(ward: Callable[..., Ward]) -> None:
    with pytest.raises(ConfigurationError, match="network cannot be 'on' here"):
        parse_policy('network = "on"', "p", "project", root="/", home="/")


@pytest.mark.requirement("guard:hosts")
def test_rules_join_the_list_or_take_from_it(ward: Callable[..., Ward]) -> None:
    here = ward(
        rules="""
[[rule]]
effect = "allow"
host = "kept.test"
[[rule]]
effect = "allow"
operation = "commands.connect_outside"
host = "*.kept.test"
between = "09:00-18:00"
[[rule]]
effect = "deny"
host = "bad.a.b"
[[rule]]
effect = "ask"
operation = "web_operations"
host = "web.test"
[[rule]]
effect = "deny"
command = "curl"
host = "curl.test"
"""
    )
    terms = SandboxTerms(network="hosts", lists=(("*.a.b",), ("project.test",)))
    plan = sandbox_plan(terms, here.policy(), here.home, local=("db.lan:5432",))
    assert plan.hosts.lists == (("*.a.b", "db.lan:5432", "kept.test"), ("project.test",))
    assert plan.hosts.judged == ("bad.a.b",)
    assert plan.hosts.local == ("db.lan:5432",)


@pytest.mark.requirement("guard:hosts-scopes")
@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("files.example.net", "*.example.net"),
        ("example.org", "*.example.org"),
        ("a.co.uk", "*.a.co.uk"),
        ("me.github.io", "*.me.github.io"),
        ("github.io", ""),
        ("localhost", ""),
        ("8.8.8.8", ""),
    ],
)
def test_a_family_is_one_owners(host: str, shown: str) -> None:
    assert family(host) == shown


SHARED = """
github.io gitlab.io pages.dev workers.dev web.app firebaseapp.com appspot.com vercel.app netlify.app
herokuapp.com amazonaws.com cloudfront.net azurewebsites.net azureedge.net blogspot.com fly.dev
onrender.com ngrok.io ngrok.app ngrok-free.app trycloudflare.com readthedocs.io surge.sh glitch.me
"""
SECOND_LEVELS = "ac co com edu gov go mil ne net nom or org sch"


@pytest.mark.requirement("guard:hosts-scopes")
def test_no_yes_covers_all_that_have_a_name_below_a_domain_of_many_peoples() -> None:
    domains = [*SHARED.split(), *(f"{name}.uk" for name in SECOND_LEVELS.split())]
    assert [family(domain) for domain in domains] == [""] * len(domains)
    assert [family(f"me.{domain}") for domain in domains] == [f"*.me.{d}" for d in domains]


@pytest.mark.requirement("guard:hosts-scopes")
@pytest.mark.parametrize(
    ("scope", "also", "not_these"),
    [
        ("once", (), ("a.b.test:443",)),
        ("timed", ("a.b.test:443",), ("a.b.test:80",)),
        ("session", ("a.b.test:443", "a.b.test:80"), ("c.b.test:443", "b.test:443")),
        ("session-below", ("a.b.test:1", "c.b.test:443"), ("b.test:443", "ab.test:443")),
        ("project", ("a.b.test:443", "a.b.test:80"), ("c.b.test:443",)),
        ("user-below", ("a.b.test:443", "c.d.b.test:443"), ("b.test:443",)),
    ],
)
async def test_a_yes_covers_the_hosts_that_its_words_name(
    ward: Callable[..., Ward],
    tmp_path: Path,
    scope: str,
    also: tuple[str, ...],
    not_these: tuple[str, ...],
) -> None:
    saved = SavedRules(str(tmp_path / "settings"), str(tmp_path / "home"))
    here = ward(saved=saved, answers=[Approval("scope", scope=scope)])
    assert (await here.decide(Connect("a.b.test:443"), operation=CONNECT)).allowed
    assert set(here.choices()) >= {"session", "session-below", "project", "user", "user-below"}
    assert "connect_outside to exactly a.b.test:443, for" in here.asked[0].choices[1].words
    for where in also:
        assert here.explain(Connect(where), operation=CONNECT).outcome == "allow", where
    for where in (*not_these, "elsewhere.test:443", "@a.b.test:443", "the network"):
        assert here.explain(Connect(where), operation=CONNECT).outcome == "ask", where
    assert here.explain(CommandAccess("sudo curl a.b.test")).outcome == "ask"
    if scope.startswith(("project", "user")):
        rule = saved.rules()[0]
        assert rule.host == ("*.b.test" if scope.endswith("below") else "a.b.test")
        assert rule.workspace == (here.workspace.root if scope == "project" else "")
    else:
        assert saved.rules() == ()


@pytest.mark.requirement("guard:hosts-scopes")
@pytest.mark.parametrize(
    "where", ["127.0.0.1:5432", "localhost:80", "[::1]:80", "@x", "the network"]
)
async def test_a_place_of_this_machine_is_offered_exactly(
    ward: Callable[..., Ward], where: str
) -> None:
    here = ward(answers=[Approval("scope", scope="session")])
    assert (await here.decide(Connect(where), operation=CONNECT)).allowed
    assert here.choices() == ["once", "timed", "session"]
    assert here.explain(Connect(where), operation=CONNECT).outcome == "allow"
    assert here.explain(Connect("127.0.0.1:5433"), operation=CONNECT).outcome == "ask"


@pytest.mark.requirement("guard:own-servers")
@pytest.mark.parametrize(
    ("where", "outcome"),
    [
        ("localhost:3000", "allow"),
        ("127.0.0.1:3000", "allow"),
        ("[::1]:3000", "allow"),
        ("localhost:3001", "ask"),
        ("localhost", "ask"),
        ("10.0.0.1:3000", "ask"),
        ("localhost.a.test:3000", "ask"),
    ],
)
def test_only_this_machines_port_of_a_server_of_our_own_is_free(
    ward: Callable[..., Ward], where: str, outcome: str
) -> None:
    guard = ward().guard
    guard.use_policy(replace(guard.policy, serves={3000}.__contains__))
    accesses = guard.locate([Connect(where)])
    assert guard.explain(ALICE, CONNECT, accesses).outcome == outcome


LABELS = st.lists(st.sampled_from(["a", "b", "com", "test", "xn--b"]), min_size=1, max_size=4)


@pytest.mark.requirement("guard:hosts-scopes")
@given(granted=LABELS, wild=st.booleans(), asked=LABELS)
def test_no_entry_covers_a_host_that_it_does_not_end(
    granted: list[str], wild: bool, asked: list[str]
) -> None:
    entry = HostEntry.of(("*." if wild else "") + ".".join(granted))
    covered = entry.covers(".".join(asked), 443)
    if wild:
        assert covered is (len(asked) > len(granted) and asked[-len(granted) :] == granted)
    else:
        assert covered is (asked == granted)


@pytest.mark.requirement("guard:lint")
def test_lint_looks_at_lists_of_hosts_and_at_hosts_that_are_many_peoples() -> None:
    found = lint_hosts("user", "p", ["a.b", "*.b", "a.b:443", "*.github.io", "c.d", "c.d"])
    assert [(f.rule.host, f.fault) for f in found] == [
        ("a.b", "shadowed"),
        ("*.b", "over-broad"),
        ("a.b:443", "shadowed"),
        ("*.github.io", "over-broad"),
        ("c.d", "shadowed"),
    ]
    found = lint_hosts("project", "p", ["x.a.b", "e.f", "a.b:80"], above=["*.a.b", "a.b"])
    assert [(f.rule.host, f.fault) for f in found] == [("e.f", "unreachable")]
    for host, faults in (("*.co.uk", ["over-broad"]), ("*.a.co.uk", []), ("*", ["over-broad"])):
        rule = Rule("user:1", "allow", "user", operation=CONNECT, host=host)
        faulty = lint([rule], secrets=None, protected=(), trusted=True, now=0.0)
        assert [finding.fault for finding in faulty] == faults


@pytest.mark.requirement("guard:hosts-scopes")
async def test_what_was_allowed_for_good_holds_in_the_next_program_as_long_as_it_is_kept(
    ward: Callable[..., Ward], tmp_path: Path
) -> None:
    saved = SavedRules(str(tmp_path / "settings"), str(tmp_path / "home"))
    here = ward(saved=saved, answers=[Approval("scope", scope="project-below")])
    assert (await here.decide(Connect("a.b.test:443"), operation=CONNECT)).allowed
    text = Path(saved.path).read_text(encoding="utf-8")  # noqa: ASYNC240 - a test waits for no one
    later = ward(saved=saved, rules=text)
    assert later.explain(Connect("c.b.test:443"), operation=CONNECT).outcome == "allow"
    terms = SandboxTerms(network="hosts", lists=((),))
    plan = sandbox_plan(terms, later.policy(), later.home)
    assert plan.hosts.lists == ((),), "the guard answers, for it hears when it is taken back"
    assert saved.revoke(saved.rules()[0].id)
    assert later.explain(Connect("c.b.test:443"), operation=CONNECT).outcome == "ask"


@pytest.mark.requirement("guard:hosts")
@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("169.254.169.254:80", "metadata"),
        ("10.0.0.1:1", "private"),
        ("[::1]:1", "loopback"),
        ("/run/user/1000/docker.sock", "containers"),
        ("/run/user/1000/gnupg/S.gpg-agent.ssh", "your keys"),
        ("/tmp/.X11-unix/X0", "your screen"),
        ("@/tmp/.X11-unix/X0", "your screen"),
        ("/run/user/1000/bus", "start programs"),
        ("/tmp/tmux-1000/default", "a program of yours"),
        ("/srv/app.sock", "runs outside the sandbox"),
    ],
)
def test_a_question_about_an_address_or_a_socket_says_what_it_is(
    ward: Callable[..., Ward], where: str, why: str
) -> None:
    explained = ward().explain(Connect(where), operation=CONNECT)
    assert explained.outcome == "ask"
    assert why in explained.reason
