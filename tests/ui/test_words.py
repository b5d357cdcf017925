"""What needs no screen: making text fit to draw, slash commands, the words of the status bar."""

import time

import pytest
from textual.app import App, ComposeResult

from sam_tui.core.ids import CallId, InquiryId
from sam_tui.core.usage import Usage
from sam_tui.core.verdict import Decision
from sam_tui.ui import slash
from sam_tui.ui.actions import ACTIONS, spelled
from sam_tui.ui.activity import ActivityLine
from sam_tui.ui.bridge import decision_words
from sam_tui.ui.key_guard import KeyGuard, Patience
from sam_tui.ui.plain import one_line, short_path, visible, visible_line
from sam_tui.ui.widgets.status_bar import (
    Figures,
    Standing,
    StatusBar,
    counted,
    fitted,
    segments,
    spent,
)


@pytest.mark.requirement("ui:nothing-hidden")
def test_what_is_asked_about_shows_every_character_that_draws_nothing() -> None:
    assert visible("rm\u202e \x1b[2Jx\u200b\u3164") == "rm\\u202e \\x1b[2Jx\\u200b\\u3164"
    assert visible("a\nb\tc") == "a\nb\tc"
    assert visible_line("a\nb\u00a0c\r") == "a\\nb\\xa0c\\r"
    assert visible("日本 é [bold]") == "日本 é [bold]"


@pytest.mark.requirement("ui:titles-clean")
def test_a_title_is_one_short_line_without_escapes() -> None:
    assert one_line("a\n\x1b]0;b\x07\u202ec  d") == "a ]0;bc d"
    assert one_line("x" * 500, 10) == "x" * 9 + "…"
    assert one_line("y" * 10, 10) == "y" * 10


@pytest.mark.requirement("ui:status")
def test_a_path_is_shortened_from_its_front() -> None:
    assert short_path("/home/ann/work", "/home/ann") == "~/work"
    assert short_path("/home/annette", "/home/ann") == "/home/annette"
    assert short_path("/a/" + "b" * 40 + "/c", "", 20) == "…/c"
    assert len(short_path("/" + "d" * 80, "", 20)) == 20


@pytest.mark.requirement("ui:slash")
@pytest.mark.parametrize("text", ["/etc/hosts", "/", "hello /new", "/new\nmore", "1/2", "/a.b"])
def test_only_a_line_that_is_a_command_counts_as_one(text: str) -> None:
    assert slash.parse(text) is None


@pytest.mark.requirement("ui:slash")
def test_commands_are_read_with_their_argument_and_completed() -> None:
    command = slash.parse("/Mode accept-edits ")
    assert command is not None and command.action is not None
    assert (command.action.name, command.argument) == ("mode", "accept-edits")
    unknown = slash.parse("/nothing")
    assert unknown is not None and unknown.action is None
    assert slash.completed("/he") == "/help"
    assert slash.completed("/mod") == "/mode"
    assert slash.completed("/zz") == "/zz"
    assert [a.slash for a in slash.matching("/mode")] == ["mode", "model"]


@pytest.mark.requirement("ui:help")
def test_no_two_actions_share_a_key_or_a_command() -> None:
    keys = [key for action in ACTIONS if not action.local for key in action.keys]
    commands = [action.slash for action in ACTIONS if action.slash]
    assert len(set(keys)) == len(keys)
    assert len(set(commands)) == len(commands)
    assert spelled("ctrl+right_square_bracket") == "Ctrl+]"


@pytest.mark.requirement("ui:status")
def test_the_status_tells_what_goes_on() -> None:
    activity = ActivityLine()
    assert activity.words(0) == "starting"
    activity.begin(10.0)
    assert (activity.words(12.0), activity.elapsed(12.5), activity.busy) == ("thinking", 2, True)
    assert activity.words(39.9) == "thinking" and activity.tone(39.9) == "busy"
    assert activity.words(40.0) == "the model has been silent for 30 s, Esc ends the turn"
    assert activity.tone(40.0) == "trouble"
    activity.news = 40.0
    assert activity.words(60.0) == "thinking"
    activity.running[CallId("a")] = "Reading: a.py"
    activity.running[CallId("b")] = "Reading: b.py"
    assert activity.words(12.0) == "Reading: b.py (+1)"
    assert activity.words(99.0) == "Reading: b.py (+1)", "a call may take its time"
    activity.retry(20.0, "busy\x1b")
    assert activity.words(16.6) == "retrying in 3 s: busy"
    assert activity.words(20.2) == "retrying: busy"
    activity.waiting.add(InquiryId("i"))
    assert activity.words(17.0) == "waiting for you"
    assert not activity.busy
    activity.waiting.clear()
    activity.turn_to("cancelling")
    activity.turn_to("streaming")
    assert "cancelling" in activity.words(17.0) or activity.running
    activity.end()
    assert activity.words(17.0) == "ready"
    activity.turn_to("streaming")
    assert activity.words(17.0) == "ready"


@pytest.mark.requirement("ui:status")
async def test_what_went_wrong_may_take_the_row_but_for_the_mode() -> None:
    activity = ActivityLine()
    bar = StatusBar(Standing(model="openai/gpt-4o", sandbox="live"), activity)

    class Bare(App[None]):
        def compose(self) -> ComposeResult:
            yield bar

    async with Bare().run_test(size=(80, 24)):
        now = time.monotonic()
        activity.begin(now)
        assert str(bar.render()).endswith("openai/gpt-4o · ↑0 ↓0 – · sandbox: live")
        activity.retry(now + 3, "api.example.org could not answer (500): busy")
        row = str(bar.render())
        assert "could not answer (500): busy" in row
        assert row.endswith(" ask")


@pytest.mark.requirement("ui:cost")
def test_an_unknown_price_is_a_dash_and_never_a_zero() -> None:
    assert spent(Usage(1234, 1000, 0, 56)) == "↑1.2k (1.0k cached) ↓56 –"
    assert spent(Usage(1, 0, 0, 2, cost=0.0)) == "↑1 ↓2 $0.0000"
    assert spent(Usage(1, 0, 0, 2, cost=1.239)) == "↑1 ↓2 $1.24"
    assert [counted(n) for n in (999, 1000, 99_950, 999_949, 999_950)] == [
        "999",
        "1.0k",
        "99k",
        "999k",
        "1.0M",
    ]


@pytest.mark.requirement("ui:status", "ui:sandbox-badge")
def test_the_bar_drops_what_matters_least_and_never_the_mode() -> None:
    standing = Standing(
        home="/root",
        workspace="/root/x",
        model="openai/gpt-4o",
        figures=Figures(Usage(9000, 8000, 0, 9), todos=(1, 3)),
        mode="plan",
        sandbox="none",
    )
    assert [text for _, text, _ in fitted(standing, 500)] == [t for _, t, _ in segments(standing)]
    assert "no sandbox" in [text for _, text, _ in segments(standing)]
    standing.sandbox = "landlock"
    assert "sandbox: landlock" in [text for _, text, _ in segments(standing)]
    for width in range(0, 120):
        texts = [text for _, text, _ in fitted(standing, width)]
        assert "plan" in texts
        assert len(texts) == 1 or sum(len(text) + 3 for text in texts) <= width
    assert "↑9.0k ↓9 –" in [text for _, text, _ in fitted(standing, 58)]


@pytest.mark.requirement("ui:stray-keys")
def test_a_question_is_deaf_at_first_and_again_after_every_key_it_ignored() -> None:
    now = [0.0]
    guard = KeyGuard(Patience(grace=0.4, clock=lambda: now[0]))
    now[0] = 0.3
    assert not guard.hears()
    now[0] = 0.6
    assert not guard.hears()
    now[0] = 1.0
    assert guard.hears()


@pytest.mark.requirement("ui:decisions")
def test_decisions_of_people_and_refusals_are_put_in_words() -> None:
    assert decision_words(Decision("run", "allow", "rule", "inside", "")) == ""
    assert (
        decision_words(Decision("run", "allow", "user", "", "", scope="once"))
        == "You allowed run (once)"
    )
    assert (
        decision_words(Decision("run", "deny", "user", "", "", comment="no"))
        == "You denied run: no"
    )
    assert decision_words(Decision("run", "deny", "mode", "", "plan")) == "run was refused: plan"
    assert "in time" in decision_words(Decision("run", "expired", "rule", "", ""))
    assert "withdrawn" in decision_words(Decision("run", "cancelled", "user", "", ""))
