"""What a permission could be stretched to: another folder, session, link or time, or past its end."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.adapters.policy import FileLedger, SavedRules
from sam_tui.adapters.shell import BashParser
from sam_tui.core.accesses import CommandAccess, Type, Use, Write
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.grants.scopes import command_prefix
from sam_tui.core.authorization.rules.patterns import CommandPattern
from sam_tui.core.clock import SystemClock
from sam_tui.core.inquiry import Approval
from tests.guard.ward import ALICE, CREATE, RUN, Hand, Ward

READER = CommandReader(BashParser(), root="/ws", home="/h")
SEND = "terminal_operations.send_input"


@pytest.mark.requirement("guard:grant-key")
async def test_a_command_that_was_allowed_in_one_folder_is_asked_in_another(
    ward: Callable[..., Ward],
) -> None:
    here = ward(sandboxed=False, answers=[Approval("timed"), Approval("timed")])
    assert (await here.decide(CommandAccess("./build.sh"))).allowed
    assert (await here.decide(CommandAccess("./build.sh", "."))).rule.startswith("grant:")
    assert (await here.decide(CommandAccess("./build.sh", "sub"))).allowed
    assert here.asked[-1].targets == (f"$ cd {here.workspace.root}/sub && ./build.sh",)
    (here.folder / "ws/way").symlink_to(here.folder / "out")
    assert not (await here.decide(CommandAccess("./build.sh", "way"))).allowed
    assert len(here.asked) == 3


@pytest.mark.requirement("guard:grant-key")
async def test_a_tool_of_a_server_that_is_called_as_a_folder_here_is_granted_as_a_tool(
    ward: Callable[..., Ward], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ward(answers=[Approval("timed")])
    monkeypatch.chdir(here.folder / "ws")
    tool = "mcp__notes__add"
    (here.folder / "ws" / tool).mkdir()
    assert (await here.decide(Use("notes", "add"), operation=tool)).allowed
    again = await here.decide(Use("notes", "add"), operation=tool)
    assert again.rule.startswith("grant:") and len(here.asked) == 1


@pytest.mark.requirement("guard:grant-key")
async def test_keys_that_were_allowed_in_one_session_are_asked_in_another(
    ward: Callable[..., Ward],
) -> None:
    here = ward(sandboxed=False, answers=[Approval("timed")])
    assert (await here.decide(Type("term_1", "y\r"), operation=SEND)).allowed
    assert (await here.decide(Type("term_1", "y\r"), operation=SEND)).allowed
    assert not (await here.decide(Type("term_2", "y\r"), operation=SEND)).allowed
    assert [question.targets for question in here.asked] == [
        ("keys 'y\\r' in term_1",),
        ("keys 'y\\r' in term_2",),
    ]


@pytest.mark.requirement("guard:scopes")
async def test_words_that_a_command_begins_with_do_not_open_what_is_only_allowed_exactly(
    ward: Callable[..., Ward],
) -> None:
    here = ward(sandboxed=False, answers=[Approval("scope", scope="session")])
    first = await here.decide(CommandAccess("npm run build"))
    (words,) = (c.words for c in here.asked[0].choices if c.id == "session")
    assert first.allowed and first.scope == words  # as it was offered, for the log and the history
    assert (await here.decide(CommandAccess("npm run build x"))).allowed
    assert not (await here.decide(CommandAccess("npm run build .env"))).allowed
    assert here.choices() == ["once", "timed"]
    assert not (await here.decide(Write(str(here.folder / "out/npm"), "outside"))).allowed


@pytest.mark.requirement("guard:grants-properties")
def test_a_granted_folder_that_a_link_leads_elsewhere_by_now_is_handed_to_nobody(
    tmp_path: Path,
) -> None:
    grants = Grants(Hand())
    folder, other = tmp_path / "out/deep/in", tmp_path / "other/in"
    for place in (folder, other):
        place.mkdir(parents=True)
    grants.add(ALICE, CREATE, f"{folder}/", seconds=60)
    assert grants.real_paths(ALICE, CREATE) == (str(folder),)
    (tmp_path / "out/deep").rename(tmp_path / "out/gone")
    (tmp_path / "out/deep").symlink_to(tmp_path / "other")
    assert grants.real_paths(ALICE, CREATE) == ()


@pytest.mark.requirement("guard:rules-kept")
async def test_what_was_allowed_for_good_ends_in_a_running_program_once_it_is_revoked(
    ward: Callable[..., Ward], tmp_path: Path
) -> None:
    store = SavedRules(str(tmp_path / "cfg"), "/h")
    here = ward(sandboxed=False, saved=store, answers=[Approval("scope", scope="user")])
    assert (await here.decide(CommandAccess("npm run build"))).allowed
    rule = (await here.decide(CommandAccess("npm run build"))).rule
    assert rule.startswith("user:grant_")
    elsewhere = SavedRules(str(tmp_path / "cfg"), "/h")
    assert elsewhere.revoke(rule)
    assert not (await here.decide(CommandAccess("npm run build"))).allowed
    assert here.guard.policy.rules.saved_ids() == frozenset()


@pytest.mark.requirement("guard:rules-kept")
async def test_a_file_that_cannot_be_read_for_a_moment_takes_nothing_back(
    ward: Callable[..., Ward], tmp_path: Path
) -> None:
    store = SavedRules(str(tmp_path / "cfg"), "/h")
    here = ward(sandboxed=False, saved=store, answers=[Approval("scope", scope="user")])
    assert (await here.decide(CommandAccess("npm run build"))).allowed
    Path(store.path).write_text("not = [toml", encoding="utf-8")  # noqa: ASYNC240 - nobody waits
    assert (await here.decide(CommandAccess("npm run build"))).allowed
    Path(store.path).unlink()  # noqa: ASYNC240 - nobody waits
    assert not (await here.decide(CommandAccess("npm run build"))).allowed


@pytest.mark.requirement("guard:timed")
def test_the_time_that_the_machine_sleeps_counts_for_a_grant() -> None:
    which = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    before = time.clock_gettime(which)
    assert before <= SystemClock().monotonic() <= time.clock_gettime(which)


@pytest.mark.requirement("guard:scopes")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("uv run python -c 'x'", ()),
        ("uv run python tool.py --x", ("uv", "run", "python", "tool.py")),
        ("npm run bash x", ()),
        ("poetry run pytest -q", ("poetry", "run", "pytest")),
        ("taskset 1 make", ()),
        ("script -c make", ()),
        ("vim -c q x", ()),
    ],
)
def test_the_words_of_a_scope_never_end_at_a_program_that_runs_any_other(
    command: str, words: tuple[str, ...]
) -> None:
    assert command_prefix(READER.read(command).parts[-1]) == words


@pytest.mark.requirement("guard:grants-properties")
@pytest.mark.parametrize(
    ("granted", "command", "covered"),
    [
        ("chmod", "chmod +x a; ls", True),
        ("chmod", "chmod -R 777 .", False),
        ("chmod", "chmod +x a > b", False),
        ("chmod", "chmod +x a; date", True),
        ("chmod", "ls", False),
        ("date", "date -s 1", False),
        ("apt", "apt install x", False),
    ],
)
def test_words_that_were_granted_cover_nothing_that_destroys_or_changes_the_system(
    granted: str, command: str, covered: bool
) -> None:
    grants = Grants(Hand())
    pattern = CommandPattern.of(granted)
    grants.add(ALICE, RUN, f"{granted} ...", seconds=60, pattern=pattern)
    grant = grants.find(ALICE, RUN, f"$ {command}", READER.read(command))
    assert (grant is not None) is covered


@pytest.mark.requirement("guard:rules-commands")
@pytest.mark.parametrize(
    "command",
    ["git -C x push", "git -c a=b push -f", "git --no-pager push", "git -C x -c a.b=c push",
     "/usr/bin/git -P push"],
)  # fmt: skip
def test_a_rule_that_forbids_a_command_is_not_passed_by_options_before_its_words(
    ward: Callable[..., Ward], command: str
) -> None:
    here = ward(rules='[[rule]]\neffect = "deny"\ncommand = "git push"\n')
    assert here.explain(CommandAccess(command)).outcome == "deny"
    assert here.explain(CommandAccess("git -C x commit -m push")).outcome == "allow"
    allowed = ward(rules='[[rule]]\neffect = "allow"\ncommand = "git push"\n', sandboxed=False)
    assert allowed.explain(CommandAccess(command)).outcome == "ask"
    assert not CommandPattern.of("git push").covers(command.split())


@pytest.mark.requirement("guard:scopes")
async def test_a_grant_for_a_folder_is_not_one_for_its_neighbour_of_another_spelling(
    ward: Callable[..., Ward],
) -> None:
    here = ward(answers=[Approval("scope", scope="session")])
    (here.folder / "out/a").mkdir()
    assert (await here.decide(Write("../out/a/x", "p"), operation=CREATE)).allowed
    (here.folder / "out/link").symlink_to("a")
    assert (await here.decide(Write("../out/link/x", "p"), operation=CREATE)).allowed
    (here.folder / "out/a/up").symlink_to("..")
    for path in (
        "../out/A/x",
        "../out/ab/x",
        "../out/a/../x",
        "../out/a/up/x",
        "../out/a /x",
        "../out/a\n/x",
    ):
        assert not (await here.decide(Write(path, "p"), operation=CREATE)).allowed, path
    assert not (await here.decide(Write("../out/a/x", "p"), operation=RUN)).allowed


@pytest.mark.requirement("guard:scopes")
async def test_a_place_that_later_runs_is_opened_by_a_grant_for_itself_and_by_none_for_its_folder(
    ward: Callable[..., Ward],
) -> None:
    here = ward()
    for name, allowed in (("sub/", False), ("sub/.envrc", True)):
        here.grants.add(ALICE, CREATE, f"{here.workspace.root}/{name}", seconds=60)
        assert (await here.decide(Write("sub/.envrc", "p"), operation=CREATE)).allowed is allowed


@pytest.mark.requirement("guard:grants-elsewhere")
def test_other_programs_list_what_is_granted_after_every_change_of_it(tmp_path: Path) -> None:
    grants = Grants(SystemClock(), FileLedger(str(tmp_path)))
    elsewhere = FileLedger(str(tmp_path))

    def listed() -> list[tuple[str, int | None]]:
        return [(grant.target, grant.uses) for grant in elsewhere.all()]

    grants.add(ALICE, CREATE, "/for-good", seconds=60)
    twice = grants.add(ALICE, CREATE, "/twice", seconds=60, uses=2)
    assert listed() == [("/for-good", None), ("/twice", 2)]
    grants.use(twice)
    assert listed() == [("/for-good", None), ("/twice", 1)]
    assert grants.revoke(grants.current(ALICE)[0].id)
    assert listed() == [("/twice", 1)]
    grants.use(grants.current(ALICE)[0])
    assert listed() == []


@pytest.mark.requirement("guard:outside-asks")
async def test_what_becomes_of_a_link_is_a_matter_of_the_link_and_not_of_where_it_leads(
    ward: Callable[..., Ward],
) -> None:
    here = ward()
    (here.folder / "ws/way").symlink_to(here.folder / "out/x")
    assert (await here.decide(Write("way", "path", follow=False))).rule == "inside-workspace"
    assert not (await here.decide(Write("way", "path"))).allowed
