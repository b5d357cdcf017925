"""The scopes a question offers: what each says is what it then covers, and never more."""

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.adapters.policy import SavedRules
from sam_tui.adapters.shell import BashParser
from sam_tui.adapters.storage import open_storage
from sam_tui.core.accesses import Access, CommandAccess, Fetch, Read, Type, Write
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.grants.grants import Grant, Grants, lies_in, pattern_covers
from sam_tui.core.authorization.grants.scopes import offers
from sam_tui.core.authorization.policy.judgement import Judgement, PolicyState
from sam_tui.core.authorization.rules.patterns import CommandPattern, PathPattern, host_covered
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiry import Approval
from sam_tui.core.ports.policy import LiveGrant
from sam_tui.core.verdict import Decision
from tests.guard.ward import ALICE, CREATE, RUN, Hand, Ward

BOB = ConversationId("bob")
READER = CommandReader(BashParser(), root="/ws", home="/h")


@pytest.mark.requirement("guard:scopes")
async def test_a_question_about_a_path_offers_its_folder_and_about_a_command_its_words(
    ward: Callable[..., Ward], tmp_path: Path
) -> None:
    here = ward(sandboxed=False, saved=SavedRules(str(tmp_path / "cfg"), "/h"))
    await here.decide(Write("../out/a/x", "p"), operation=CREATE)
    assert here.choices() == ["once", "timed", "session", "project", "user"]
    assert here.asked[-1].choices[2].targets == (str(tmp_path / "out/a"),)
    await here.decide(CommandAccess("npm run build -- --x"))
    assert here.choices() == ["once", "timed", "session", "project", "user"]
    assert "npm run build" in here.asked[-1].choices[2].words


@pytest.mark.requirement("guard:scopes")
@pytest.mark.parametrize(
    ("access", "sandboxed"),
    [
        (Write(".git/hooks/pre-commit", "p"), True),
        (Read("../home", "p"), True),
        (Type("s", "ls\r"), False),
    ],
)
async def test_files_that_decide_what_runs_places_above_secrets_and_keys_are_offered_exactly(
    ward: Callable[..., Ward], access: Access, *, sandboxed: bool
) -> None:
    here = ward(sandboxed=sandboxed, trusted=True)
    await here.decide(access, operation=CREATE)
    assert here.choices() == ["once", "timed"]


@pytest.mark.requirement("guard:scopes")
@pytest.mark.parametrize(
    "command",
    ["sudo ls", "rm -rf src", "bash x.sh -c y", "curl https://a.b", "python -c 'x'", "make $X", "if then",
     "a x && b y", "make > ../out/x", "PATH=/x make", "cat .env", "./*.sh", "find . -exec make {} +"],
)  # fmt: skip
async def test_heavy_unknown_and_broad_commands_are_offered_exactly_or_once(
    ward: Callable[..., Ward], command: str
) -> None:
    here = ward(sandboxed=False)
    await here.decide(CommandAccess(command))
    assert here.choices() == ["once", "timed"]


@pytest.mark.requirement("guard:scopes")
async def test_a_folder_that_is_too_broad_is_not_offered(ward: Callable[..., Ward]) -> None:
    here = ward()
    for path in ("../x", "/x", str(here.folder / "home" / "x")):
        await here.decide(Write(path, "p"), operation=CREATE)
        assert here.choices() == ["once", "timed"], path


@pytest.mark.requirement("guard:scopes")
async def test_a_session_scope_lasts_for_its_conversation_and_covers_what_it_says(
    ward: Callable[..., Ward],
) -> None:
    here = ward(sandboxed=False, answers=[Approval("scope", scope="session")])
    assert (await here.decide(CommandAccess("npm run build"))).allowed
    here.clock.time += 1_000_000
    assert (await here.decide(CommandAccess("npm run build -- --watch | tail"))).allowed
    for command in ("npm run test", "npm run build && rm x", "npm run build > ../out/x"):
        assert not (await here.decide(CommandAccess(command))).allowed, command
    assert not (await here.decide(CommandAccess("npm run build"), conversation=BOB)).allowed
    (grant,) = here.grants.current(ALICE)
    assert here.grants.revoke(grant.id)
    assert not (await here.decide(CommandAccess("npm run build"))).allowed


@pytest.mark.requirement("guard:scopes-kept")
async def test_a_project_scope_is_written_down_and_holds_in_the_next_program(
    ward: Callable[..., Ward], tmp_path: Path
) -> None:
    saved = SavedRules(str(tmp_path / "cfg"), "/h")
    here = ward(sandboxed=False, saved=saved, answers=[Approval("scope", scope="project")])
    decision = await here.decide(CommandAccess("npm run build"))
    assert decision.allowed
    assert "in this folder" in decision.scope
    again = await here.decide(CommandAccess("npm run build"), conversation=BOB)
    assert again.rule.startswith("user:grant_")
    assert f"in {here.workspace.root}" in again.reason
    assert here.explain(CommandAccess("touch x")).outcome == "ask"
    text = Path(saved.path).read_text(encoding="utf-8")  # noqa: ASYNC240 - a test waits for no one
    assert (
        ward(sandboxed=False, rules=text).explain(CommandAccess("npm run build")).outcome == "allow"
    )
    elsewhere = text.replace(here.workspace.root, str(tmp_path / "out"))
    assert (
        ward(sandboxed=False, rules=elsewhere).explain(CommandAccess("npm run build")).outcome
        == "ask"
    )


@pytest.mark.requirement("guard:scopes")
async def test_a_site_is_offered_and_covers_its_pages_and_no_look_alike(
    ward: Callable[..., Ward],
) -> None:
    rules = '[[rule]]\neffect = "ask"\nhost = "*.example.com"\n'
    here = ward(rules=rules, answers=[Approval("scope", scope="session")])
    fetch = "web_operations.fetch"

    async def allowed(url: str) -> bool:
        return (await here.decide(Fetch(url, "url"), operation=fetch)).allowed

    assert await allowed("https://docs.example.com/a?b=c")
    assert here.asked[-1].choices[-1].targets == ("https://docs.example.com/",)
    assert await allowed("https://docs.example.com/other")
    for url in (
        "http://docs.example.com/",
        "https://docs.example.com:8443/",
        "https://docs.example.com",
        "https://docs.example.com@a.example.com/",
        "https://docs.example.com.evil.example.com/",
        "https://a.example.com/https://docs.example.com/",
    ):
        assert not await allowed(url), url
    for odd in (
        "https://EXAMPLE.example.com/",
        "https://u@b.example.com/",
        "https://b.example.com",
    ):
        await here.decide(Fetch(odd, "url"), operation=fetch)
        assert here.choices() == ["once", "timed"], odd


@pytest.mark.requirement("guard:scopes")
async def test_an_answer_that_was_not_offered_allows_nothing(ward: Callable[..., Ward]) -> None:
    here = ward(answers=[Approval("scope", scope="user"), Approval("scope", scope="everything")])
    for _ in range(2):
        assert not (await here.decide(CommandAccess("sudo ls"))).allowed
    assert here.grants.current() == []


@pytest.mark.requirement("guard:scopes")
async def test_what_a_rule_of_a_file_asks_is_never_offered_for_good(
    ward: Callable[..., Ward], tmp_path: Path
) -> None:
    rules = '[[rule]]\neffect = "ask"\ncommand = "make"\n'
    here = ward(rules=rules, saved=SavedRules(str(tmp_path / "cfg"), "/h"))
    await here.decide(CommandAccess("make deploy"))
    assert here.choices() == ["once", "timed", "session"]


@pytest.mark.requirement("guard:simulator")
async def test_each_scope_says_how_many_past_calls_it_would_have_covered(
    ward: Callable[..., Ward], tmp_path: Path
) -> None:
    storage = open_storage(tmp_path / "data")
    here = ward(sandboxed=False, history=storage.decisions)
    storage.conversations.create(ALICE, here.workspace.root)
    storage.conversations.create(BOB, here.workspace.root)
    storage.conversations.create(ConversationId("far"), str(tmp_path / "out"))
    past = [
        ("$ npm run build", "allow", "user"),
        ("$ npm run build --x", "allow", "rule"),
        ("$ npm run build && ls", "deny", "user"),
        ("$ npm run build && ls", "deny", "user"),
        ("$ npm run test", "allow", "user"),
        ("$ rm x", "deny", "user"),
    ]
    for number, (target, outcome, by) in enumerate(past):
        decision = Decision(RUN, outcome, by, "r", "w", targets=(target,))  # pyright: ignore[reportArgumentType]
        storage.decisions.record(ALICE, CallId(str(number)), decision)
    same = Decision(RUN, "allow", "user", "r", "w", targets=("$ npm run build",))
    other = Decision(CREATE, "allow", "user", "r", "w", targets=("/x",))
    storage.decisions.record(BOB, CallId("x"), same)
    storage.decisions.record(BOB, CallId("y"), other)
    storage.decisions.record(ConversationId("far"), CallId("z"), same)
    await here.decide(CommandAccess("npm run build"))
    once, timed, session = here.asked[-1].choices
    assert (once.covered, once.considered) == (0, 7)
    assert (timed.covered, timed.considered, timed.refused) == (2, 7, 0)
    assert (session.covered, session.considered, session.refused) == (5, 7, 2)
    assert [(call.target, call.refused) for call in session.past] == [
        ("$ npm run build", False),
        ("$ npm run build && ls", True),
        ("$ npm run build && ls", True),
        ("$ npm run build --x", False),
        ("$ npm run build", False),
    ]
    storage.close()


@dataclass
class Ledger:
    """A ledger that remembers what it was shown, and what was taken back elsewhere."""

    shown: list[Sequence[LiveGrant]] = field(default_factory=list[Sequence[LiveGrant]])
    gone: frozenset[str] = frozenset()

    def publish(self, grants: Sequence[LiveGrant]) -> None:
        """Remember."""
        self.shown.append(grants)

    def revoked(self) -> frozenset[str]:
        """What was taken back."""
        return self.gone


@pytest.mark.requirement("guard:grants-elsewhere")
def test_a_grant_that_is_taken_back_elsewhere_ends_here() -> None:
    ledger = Ledger()
    grants = Grants(Hand(), ledger)
    grant = grants.add(ALICE, CREATE, "/x/", seconds=10)
    assert [entry.id for entry in ledger.shown[-1]] == [grant.id]
    assert grants.find(ALICE, CREATE, "/x/y") == grant
    ledger.gone = frozenset([grant.id])
    assert grants.find(ALICE, CREATE, "/x/y") is None
    assert ledger.shown[-1] == []


NAMES = st.sampled_from(["a", "ab", "b", "*", "..", "a*"])
PATHS = st.lists(st.sampled_from(["a", "ab", "b", "x.pem"]), min_size=1, max_size=4)


@pytest.mark.requirement("guard:rules-properties")
@given(folder=PATHS, path=PATHS)
def test_a_path_without_a_pattern_covers_itself_and_what_lies_below(
    folder: list[str], path: list[str]
) -> None:
    pattern = PathPattern.of("/" + "/".join(folder), root="/", home="/h")
    assert pattern.covers("/" + "/".join(path)) is (path[: len(folder)] == folder)


@pytest.mark.requirement("guard:rules-properties")
@given(
    parts=st.lists(st.sampled_from(["a", "*", "?", "**", "b*", "[ab]"]), min_size=1, max_size=4),
    path=PATHS,
)
def test_a_pattern_never_covers_more_than_the_folder_before_it(
    parts: list[str], path: list[str]
) -> None:
    pattern = PathPattern.of("/top/" + "/".join(parts), root="/", home="/h")
    assert not pattern.covers("/" + "/".join(path))
    if pattern.covers("/top/" + "/".join(path)):
        assert pattern.covers("/top/" + "/".join([*path, "below"]))


@pytest.mark.requirement("guard:rules-properties")
@given(pattern=st.lists(st.sampled_from(["a", "b", "*", "**", "c*"]), min_size=1, max_size=4),
       words=st.lists(st.sampled_from(["a", "b", "cc", "d"]), max_size=5))  # fmt: skip
def test_a_command_pattern_covers_by_words_and_within_is_sound(
    pattern: list[str], words: list[str]
) -> None:
    wide = CommandPattern(tuple(pattern))
    if wide.covers(words):
        assert wide.covers([*words, "more"])
    if words and CommandPattern(tuple(words)).within(wide):
        assert wide.covers([*words, "x", "y"])
    assert CommandPattern(tuple(pattern), exact=True).within(wide)


@pytest.mark.requirement("guard:rules-properties")
@given(st.lists(st.sampled_from(["a", "b", "evil", "com"]), min_size=1, max_size=4))
def test_a_host_pattern_covers_whole_labels_only(labels: list[str]) -> None:
    host = ".".join(labels)
    assert host_covered("*.b.com", host) is (len(labels) > 2 and labels[-2:] == ["b", "com"])
    assert host_covered(host.upper(), host + ".")


WORDS = st.lists(st.sampled_from(["npm", "run", "build", "--x", "test", "rm", "-rf", "/", "&&", "|", ">",
                                  "sudo",
                                  "$(id)", ";", "ls", "../x"]), min_size=1, max_size=8)  # fmt: skip


@pytest.mark.requirement("guard:grants-properties")
@given(WORDS)
def test_a_pattern_grant_never_covers_a_command_it_does_not_begin(words: list[str]) -> None:
    pattern = CommandPattern(("npm", "run"))
    reading = READER.read(" ".join(words))
    if pattern_covers(pattern, reading):
        active = [part for part in reading.parts if not part.calm]
        assert active
        assert all(part.words[:2] == ("npm", "run") for part in active)
        assert ">" not in words
        assert not reading.holds("destructive")
        assert not reading.holds("privileged")


@pytest.mark.requirement("guard:grants-properties")
@given(seconds=st.floats(0, 100), uses=st.one_of(st.none(), st.integers(1, 4)),
       steps=st.lists(st.tuples(st.floats(0, 40), st.booleans()), max_size=8))  # fmt: skip
def test_a_grant_ends_with_its_time_or_its_last_use_whichever_is_first(
    seconds: float, uses: int | None, steps: list[tuple[float, bool]]
) -> None:
    clock = Hand()
    grants = Grants(clock)
    grants.add(ALICE, CREATE, "/x", seconds=seconds, uses=uses)
    begun, left = clock.time, uses
    for wait, use in steps:
        clock.time += wait
        found = grants.find(ALICE, CREATE, "/x")
        alive = clock.time < begun + seconds and (left is None or left > 0)
        assert (found is not None) is alive
        if found is not None and use:
            grants.use(found)
            left = None if left is None else left - 1


@pytest.mark.requirement("guard:grants-properties")
@given(
    target=st.sampled_from(["/a", "/a/b", "$ make", "keys 'x'"]),
    asked=st.text("/ab$ mke'x", max_size=8),
)
def test_an_exact_grant_covers_its_target_and_paths_below_it_alone(target: str, asked: str) -> None:
    covered = Grant("g", ALICE, RUN, target, 1.0).covers(RUN, asked)
    assert covered is (asked == target or (target[0] == "/" and asked.startswith(target + "/")))


PIECES = st.lists(
    st.sampled_from(["https://", "http://", "a.com", ":80", "/", "@", "b.com", "?", "#", ".", "\\", "x"]),
    max_size=7,
)  # fmt: skip


KINDS = st.sampled_from(["nothing", "file", "folder"])


@pytest.mark.requirement("guard:grants-properties")
@given(before=KINDS, after=KINDS, asked=st.sampled_from(["", "/in", "/in/deep", "x", "/../x"]))
def test_a_counted_grant_is_as_wide_as_its_words_whatever_the_path_becomes(
    before: str, after: str, asked: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(os.path.realpath(folder)) / "place"

        def become(kind: str) -> None:
            if place.is_dir():
                place.rmdir()
            place.unlink(missing_ok=True)
            if kind == "file":
                place.touch()
            elif kind == "folder":
                place.mkdir()

        become(before)
        question = Judgement("ask", "rule", "outside", "it lies outside", str(place))
        offered = offers(CREATE, (question,), PolicyState("ask", True, ()), seconds=60, keeps=False)
        timed = next(offer for offer in offered if offer.choice.id == "timed")
        grants = Grants(Hand())
        for target in timed.targets:
            grants.add(ALICE, CREATE, target, seconds=60)
        become(after)
        wide = f"all of {place}," in timed.choice.words
        assert wide is (before == "folder")
        assert wide or f"exactly {place}," in timed.choice.words
        covered = grants.find(ALICE, CREATE, os.path.normpath(f"{place}{asked}")) is not None
        assert covered is (asked == "" or (wide and asked.startswith("/in")))
        handed = grants.real_paths(ALICE, CREATE)
        assert handed == ((str(place),) if wide or after != "folder" else ())


@pytest.mark.requirement("guard:grants-properties")
@given(granted=PIECES, target=PIECES)
def test_a_grant_on_a_path_or_a_site_reaches_no_other_path_or_site(
    granted: list[str], target: list[str]
) -> None:
    held, asked = "".join(granted), "".join(target)
    if not lies_in(held, asked) or held == asked:
        return
    if held.startswith("/"):
        assert asked.startswith(held.rstrip("/") + "/")
        return
    one, other = urlsplit(held), urlsplit(asked)
    assert (one.scheme, one.netloc) == (other.scheme, other.netloc)
    assert one.path == "/"
