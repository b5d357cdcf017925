"""Policy files: what they may say, where an error lies, and how the layers go together."""

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam_tui.adapters.policy import SavedRules
from sam_tui.adapters.policy.files import load_policy, parse_policy
from sam_tui.adapters.policy.layers import AppFolders, make_policy, read_layers
from sam_tui.adapters.shell import BashParser
from sam_tui.core.accesses import CommandAccess, Fetch, Read, Use, Write
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.rules.patterns import CommandPattern, PathPattern
from sam_tui.core.authorization.rules.rule import Layer
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.local_files.bounded import LARGEST_SETTINGS
from sam_tui.core.ports.policy import SavedGrant
from tests.guard.ward import CREATE, RUN, Ward


def rule(**fields: str) -> str:
    """One rule as TOML; ``kind`` is written as ``class``."""
    rows = [f'{"class" if key == "kind" else key} = "{value}"' for key, value in fields.items()]
    return "\n".join(["[[rule]]", *rows, ""])


@pytest.mark.requirement("guard:policy-order")
@pytest.mark.parametrize(
    ("more", "allowed"),
    [
        ("", True),
        ('path = "src"', False),
        ('host = "example.org"', False),
        ('access = "write"', False),
        ('class = "privileged"', True),
        ('command = "id"', False),
    ],
)
def test_a_rule_for_an_operation_allows_a_command_only_where_it_names_nothing_else(
    ward: Callable[..., Ward], more: str, *, allowed: bool
) -> None:
    rule = f'[[rule]]\neffect = "allow"\noperation = "{RUN}"\n{more}\n'
    assert (ward(rules=rule).explain(CommandAccess("sudo id")).outcome == "allow") is allowed


@pytest.mark.requirement("guard:policy-order")
@pytest.mark.parametrize("more", ['command = "cat"', 'class = "read-only"', 'host = "a.test"'])
@pytest.mark.parametrize("effect", ["allow", "deny"])
def test_a_rule_for_commands_or_hosts_says_nothing_of_files(
    ward: Callable[..., Ward], effect: str, more: str
) -> None:
    here = ward(rules=f'[[rule]]\neffect = "{effect}"\npath = "../out/**"\n{more}\n')
    access = Read(f"{here.folder}/out/a", "filePath")
    assert here.explain(access).outcome == ward().explain(access).outcome


@pytest.mark.requirement("guard:policy-order")
@pytest.mark.parametrize(
    "more", ["", 'path = "src"', 'host = "example.org"', 'access = "write"', 'command = "id"']
)
def test_a_rule_holds_for_tools_of_servers_only_where_it_names_nothing_but_them(
    ward: Callable[..., Ward], more: str
) -> None:
    effects: dict[str, Any] = {}
    for effect in ("allow", "deny"):
        here = ward(rules=f'[[rule]]\neffect = "{effect}"\noperation = "mcp__s__t"\n{more}\n')
        effects[effect] = here.explain(Use("s", "t"), operation="mcp__s__t").outcome
    plain = here.explain(Use("s", "t"), operation="mcp__s__other").outcome
    assert plain == "ask"
    assert effects == (
        {"allow": "ask", "deny": "ask"} if more else {"allow": "allow", "deny": "deny"}
    )


@pytest.mark.requirement("guard:command-modes")
@pytest.mark.parametrize(("effect", "outcome"), [("allow", "allow"), ("ask", "deny")])
def test_plan_mode_uses_a_tool_of_a_server_only_where_a_rule_allows_it(
    ward: Callable[..., Ward], effect: str, outcome: str
) -> None:
    here = ward(mode="plan", rules=f'[[rule]]\neffect = "{effect}"\noperation = "mcp__s__t"\n')
    assert here.explain(Use("s", "t"), operation="mcp__s__t").outcome == outcome


@pytest.mark.requirement("guard:policy-errors")
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('mode = "ask"\nmod = 1\n', 2, "unknown key “mod”"),
        ('\n[[rule]]\neffect = "allow"\ncomand = "x"\n', 4, "unknown key “comand”"),
        ('[[rule]]\neffect = "permit"\npath = "x"\n', 2, "'permit' is not valid for “effect”"),
        ('[[rule]]\npath = "x"\n', 1, "no “effect”"),
        ('[[rule]]\neffect = "deny"\n', 1, "names nothing"),
        ('[[rule]]\neffect="deny"\npath="x"\n\n[[rule]]\neffect="deny"\nclass="bad"\n', 7, "not valid for"),
        ('[[rule]]\neffect = "deny"\ncommand = "a && b"\n', 3, "without operators"),
        ('[[rule]]\neffect = "deny"\ncommand = "a \'b"\n', 3, "No closing quotation"),
        ('[[rule]]\neffect = "deny"\npath = "x"\nbetween = "9-18"\n', 4, "not like 09:00"),
        ('[[rule]]\neffect = "deny"\npath = "x"\ndays = ["someday"]\n', 4, "not a day of the week"),
        ('[[rule]]\neffect = "deny"\npath = "x"\nuntil = "soon"\n', 4, "not like 2030"),
        ('[[rule]]\neffect = "deny"\npath = "x"\nexact = true\n', 4, "needs a “command”"),
        ('[[rule]]\neffect = "deny"\npath = 3\n', 3, "must be a text"),
        ('[[rule]]\nid = "a b"\neffect = "deny"\npath = "x"\n', 2, "cannot be an id"),
        ('[[rule]]\nid="a"\neffect="deny"\npath="x"\n[[rule]]\nid="a"\neffect="deny"\npath="x"\n', 6,
         "two rules"),
        ('mode = "bypass"\n', 1, "mode cannot be 'bypass'"),
        ("minutes = 0\n", 1, "minutes must be"),
        ('local = ["localhost"]\n', 1, "'localhost' is not a server"),
        ('local = ["http://localhost:80"]\n', 1, "is not a server"),
        ("[rule]\n", 1, "[[rule]]"),
        ("a = \n", 1, "Invalid value"),
        ('x = """\n[[rule]]\nfoo = 1\n"""\n[[rule]]\nbar = 1\n', 1, "unknown key “x”"),
    ],
)  # fmt: skip
def test_whatever_is_not_known_is_an_error_with_file_and_line(
    text: str, line: int, words: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_policy(text, "/c/policy.toml", "user", root="/ws", home="/h")
    assert str(raised.value).startswith(f"/c/policy.toml:{line}: ")
    assert words in str(raised.value)
    assert raised.value.exit_code == 52


@pytest.mark.requirement("guard:policy-errors")
def test_a_file_that_is_none_or_too_long_or_a_link_of_a_project_is_refused(tmp_path: Path) -> None:
    def load(path: Path, layer: Layer) -> None:
        load_policy(str(path), layer, root="/", home="/")

    (tmp_path / "long").write_text("#" * (LARGEST_SETTINGS + 1), encoding="utf-8")
    (tmp_path / "bytes").write_bytes(b"\xff")
    (tmp_path / "target").write_text("", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for name, words in (("long", "longer"), ("bytes", "UTF-8"), ("", "not a regular file")):
        with pytest.raises(ConfigurationError, match=words):
            load(tmp_path / name, "user")
    load(tmp_path / "link", "user")
    with pytest.raises(ConfigurationError):
        load(tmp_path / "link", "project")
    assert not load_policy(str(tmp_path / "none"), "user", root="/", home="/").exists


@pytest.mark.requirement("guard:policy-project")
def test_a_project_only_tightens_until_its_folder_is_trusted(ward: Callable[..., Ward]) -> None:
    rules = rule(effect="allow", path="../out") + rule(effect="deny", path="sub")
    for trusted, outcome in ((False, "ask"), (True, "allow")):
        here = ward(rules=rules, layer="project", trusted=trusted)
        assert here.explain(Write("../out/x", "p"), operation=CREATE).outcome == outcome
        assert here.explain(Write("sub/x", "p"), operation=CREATE).outcome == "deny"


@pytest.mark.requirement("guard:policy-project")
def test_a_project_may_only_set_the_mode_plan_and_rules_without_a_workspace() -> None:
    assert parse_policy('mode = "plan"', "f", "project", root="/", home="/").mode == "plan"
    for text in ('mode = "auto"', 'mode = "bypass"', rule(effect="deny", path="x", workspace="/")):
        with pytest.raises(ConfigurationError):
            parse_policy(text, "f", "project", root="/", home="/")


@pytest.mark.requirement("guard:policy-order")
def test_deny_comes_before_ask_before_allow_before_the_default(ward: Callable[..., Ward]) -> None:
    allow, ask, deny = (rule(effect=effect, path="../out") for effect in ("allow", "ask", "deny"))

    def outcome(text: str) -> tuple[str, str]:
        found = ward(rules=text).explain(Write("../out/x", "p"), operation=CREATE)
        return found.outcome, found.rule

    assert outcome("") == ("ask", "write-outside")
    assert outcome(allow) == ("allow", "user:1")
    assert outcome(allow + ask) == ("ask", "user:2")
    assert outcome(allow + ask + deny) == ("deny", "user:3")
    # A rule that names no path holds for all of them.
    assert outcome(rule(effect="allow", operation=CREATE)) == ("allow", "user:1")


@pytest.mark.requirement("guard:policy-order")
async def test_a_grant_answers_an_ask_rule_and_never_a_deny_rule(ward: Callable[..., Ward]) -> None:
    for effect, outcome in (("ask", "allow"), ("deny", "deny")):
        here = ward(rules=rule(effect=effect, path="../out"))
        here.grants.add("alice", CREATE, f"{here.folder}/out/", seconds=60)  # pyright: ignore[reportArgumentType]
        assert here.explain(Write("../out/x", "p"), operation=CREATE).outcome == outcome


@pytest.mark.requirement("guard:rules-commands")
@pytest.mark.parametrize(
    ("rules", "command", "outcome"),
    [
        (rule(effect="deny", command="git push"), "git push origin main", "deny"),
        (rule(effect="deny", command="git push"), "ls && /opt/x/git push", "deny"),
        (rule(effect="deny", command="git push"), "bash -c 'git push'", "deny"),
        (rule(effect="deny", command="git push ** --force"), "git push o x --force", "deny"),
        (rule(effect="deny", command="git push ** --force"), "git push o x", "allow"),
        (rule(effect="deny", **{"kind": "network"}), "npm install", "deny"),
        (rule(effect="ask", **{"kind": "network"}), "curl https://a.b", "ask"),
        (rule(effect="deny", host="*.evil.com"), "curl https://a.evil.com/x", "deny"),
        (rule(effect="deny", path="sub"), "rm sub/a", "deny"),
        (rule(effect="deny", path="sub", access="write"), "cat sub/a", "allow"),
        (rule(effect="deny", path="sub", access="write"), "cat a > sub/a", "deny"),
        (rule(effect="deny", operation="terminal_operations"), "ls", "deny"),
        (rule(effect="allow", command="git push"), "git push --force", "ask"),
        (rule(effect="allow", command="rm -rf src") , "rm -rf src /", "ask"),
        (rule(effect="allow", command="rm -rf src") + "exact = true\n", "rm -rf src", "allow"),
        (rule(effect="allow", command="rm -rf src") + "exact = true\n", "rm -rf src /", "ask"),
        (rule(effect="allow", **{"kind": "destructive"}), "rm -rf src", "allow"),
        (rule(effect="allow", command="sudo"), "sudo ls", "ask"),
        (rule(effect="allow", command="sudo ls") + "exact = true\n", "sudo ls", "allow"),
    ],
)  # fmt: skip
def test_a_rule_for_commands_decides_by_every_simple_command(
    ward: Callable[..., Ward], rules: str, command: str, outcome: str
) -> None:
    assert ward(rules=rules).explain(CommandAccess(command)).outcome == outcome


@pytest.mark.requirement("guard:rules-commands")
@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("make test", "allow"),
        ("make test && ls", "allow"),
        ("cd sub && make test | tail", "allow"),
        ("timeout 60 make test", "allow"),
        ("make test > log", "allow"),
        ("make test 2>/dev/null", "allow"),
        ("make test && make deploy", "ask"),
        ("make test > ../out/log", "ask"),
        ("make deploy", "ask"),
        ("PATH=/tmp/x:$PATH make test", "ask"),
        ("./make test", "ask"),
        ("make test $X", "ask"),
        ("make test; if then", "ask"),
        ("make test $(make deploy)", "ask"),
    ],
)
def test_without_a_sandbox_an_allow_rule_covers_a_compound_only_as_a_whole(
    ward: Callable[..., Ward], command: str, outcome: str
) -> None:
    here = ward(rules=rule(effect="allow", command="make test"), sandboxed=False)
    assert here.explain(CommandAccess(command)).outcome == outcome


@pytest.mark.requirement("guard:rules-commands")
def test_a_path_scope_holds_a_command_to_its_folder(ward: Callable[..., Ward]) -> None:
    here = ward(rules=rule(effect="allow", command="touch", path="sub"), sandboxed=False)
    assert here.explain(CommandAccess("touch sub/a")).outcome == "allow"
    assert here.explain(CommandAccess("touch sub/a ./b")).outcome == "ask"
    assert here.explain(CommandAccess("touch sub/../b")).outcome == "ask"


@pytest.mark.requirement("guard:rules-hosts")
def test_hosts_are_named_exactly_or_with_all_below_them(ward: Callable[..., Ward]) -> None:
    here = ward(rules=rule(effect="deny", host="*.a.com") + rule(effect="ask", host="b.com"))
    expected = {
        "https://x.a.com/": "deny",
        "https://a.com/": "allow",
        "https://xa.com/": "allow",
        "https://u:p@x.A.com./": "deny",
        "b.com/x": "ask",
        "https://c.b.com": "allow",
    }
    fetched = {u: here.explain(Fetch(u, "url"), operation="web.fetch").outcome for u in expected}
    assert fetched == expected


@pytest.mark.requirement("guard:rules-windows")
@pytest.mark.parametrize(
    ("window", "moment", "holds"),
    [
        ('between = "09:00-17:00"', datetime(2026, 3, 2, 9, 0), True),
        ('between = "09:00-17:00"', datetime(2026, 3, 2, 17, 0), False),
        ('between = "22:00-06:00"\ndays = ["mon"]', datetime(2026, 3, 3, 5, 59), True),
        ('between = "22:00-06:00"\ndays = ["mon"]', datetime(2026, 3, 2, 5, 59), False),
        ('days = ["sat", "Sunday"]', datetime(2026, 3, 1, 12, 0), True),
        ('days = ["sat", "Sunday"]', datetime(2026, 3, 2, 12, 0), False),
        ('until = "2026-03-02"', datetime(2026, 3, 1, 23, 59), True),
        ('until = "2026-03-02"', datetime(2026, 3, 2, 0, 0), False),
    ],
)
def test_a_rule_holds_in_its_time_window(
    ward: Callable[..., Ward], window: str, moment: datetime, holds: bool
) -> None:
    here = ward(rules=rule(effect="deny", path="sub") + window + "\n")
    here.clock.wall = moment.timestamp()
    assert (here.explain(Read("sub/a", "p")).outcome == "deny") is holds


@pytest.mark.requirement("guard:rules-kept")
def test_what_is_kept_goes_to_the_persons_file_once_and_can_be_revoked(tmp_path: Path) -> None:
    saved = SavedRules(str(tmp_path / "c"), "/h", lambda: date(2026, 1, 2))
    by_hand = '# mine\n[[rule]]\nid = "mine"\neffect = "deny"\npath = "x"\n'
    (tmp_path / "c").mkdir()
    Path(saved.path).write_text(by_hand, encoding="utf-8")
    first = saved.add(SavedGrant(RUN, "/ws", command=("npm", "run", 'a"b\\')))
    second = saved.add(SavedGrant(CREATE, path="/data/od*d [x]"))
    assert saved.add(SavedGrant(RUN, "/ws", command=("npm", "run", 'a"b\\'))) == first
    assert Path(saved.path).stat().st_mode & 0o777 == 0o600
    kept = {rule.id: rule for rule in saved.rules()}
    assert set(kept) == {f"user:{first}", f"user:{second}"}
    command, path = kept[f"user:{first}"].command, kept[f"user:{second}"].path
    assert command is not None
    assert path is not None
    assert command.words == ("npm", "run", 'a"b\\')
    assert (path.covers("/data/od*d [x]/y"), path.covers("/data/oddd x/y")) == (True, False)
    assert saved.revoke(first)
    assert not saved.revoke(first)
    assert saved.revoke(f"user:{second}")
    assert Path(saved.path).read_text(encoding="utf-8").strip() == by_hand.strip()


@pytest.mark.requirement("guard:rules-kept")
@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.text("ab #\"'\\[\n", max_size=6)), max_size=5))
def test_revoking_takes_out_its_rule_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[bool, str]]
) -> None:
    saved = SavedRules(str(tmp_path_factory.mktemp("c")), "/h")
    ids = [
        saved.add(SavedGrant(RUN, comment=text, host=f"h{n}"))
        for n, (_, text) in enumerate(entries)
    ]
    for (gone, _), identifier in zip(entries, ids, strict=True):
        if gone:
            assert saved.revoke(identifier)
    left = [i for (gone, _), i in zip(entries, ids, strict=True) if not gone]
    assert [rule.id for rule in saved.rules()] == [f"user:{i}" for i in left]


@pytest.mark.requirement("guard:policy-layers")
def test_the_layers_of_a_workspace_become_one_policy(tmp_path: Path) -> None:
    for name in ("ws/.sam", "cfg", "home", "data"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "cfg/policy.toml").write_text(
        'mode = "auto"\nminutes = 30\n' + rule(effect="allow", path="~/notes"), encoding="utf-8"
    )
    (tmp_path / "ws/.sam/policy.toml").write_text(
        "minutes = 10\n" + rule(effect="allow", path="../data2"), encoding="utf-8"
    )
    environ = {"HOME": str(tmp_path / "home"), "SAM_TUI_CONFIG_DIR": str(tmp_path / "cfg")}
    places = AppFolders.of(environ, str(tmp_path / "data"))
    workspace = Workspace.open(str(tmp_path / "ws"))
    layers = read_layers(places, workspace.root)
    assert (layers.mode(None), layers.mode("plan"), layers.seconds) == ("auto", "plan", 600.0)
    policy = make_policy(layers, places, workspace, mode=None, sandboxed=True, parser=BashParser())
    assert [rule.layer for rule in policy.rules.rules] == ["user"]
    assert (policy.mode, policy.trusted) == ("auto", False)
    layers.trust.trust(workspace.root)
    again = read_layers(places, workspace.root)
    policy = make_policy(again, places, workspace, mode=None, sandboxed=True, parser=BashParser())
    assert [rule.layer for rule in policy.rules.rules] == ["user", "project"]
    assert policy.trusted
    assert again.project.exists


@pytest.mark.requirement("guard:policy-errors")
@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, f"minutes = {'9' * 5000}", "a = 1\na = 2"]
)
def test_a_file_that_the_parser_gives_up_on_is_an_error_like_any(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"policy\.toml"):
        parse_policy(text, "policy.toml", "project", root="/ws", home="/h")


@pytest.mark.requirement("guard:rules-properties")
def test_no_pattern_takes_long_however_many_stars_it_has() -> None:
    deep = "/ws/" + "/".join(["a" * 60] * 60)
    for text in ("/ws/" + "**/a*/" * 30 + "b", "/ws/" + "*a" * 40 + "b", "/ws/" + "**/" * 60 + "b"):
        assert not PathPattern.of(text, root="/ws", home="/h").covers(deep)
    words = ["a"] * 2000
    assert not CommandPattern.of("** a " * 20 + "b").covers(words)
    assert CommandPattern.of("** a " * 20).covers(words)
