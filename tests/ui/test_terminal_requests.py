"""What programs in a terminal ask of the workbench, and what they are told."""

import pytest
from rich.segment import Segment
from rich.style import Style
from textual import constants, events
from textual.color import Color
from textual.strip import Strip

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from sam_tui.core.inquiry import Approval, Inquiry
from sam_tui.core.ports.policy import DecisionFilter
from sam_tui.core.ports.processes.screens import KeyPress
from sam_tui.core.verdict import Decision
from sam_tui.ui.driver import keys, sequences
from sam_tui.ui.driver.keys import KeyParser
from sam_tui.ui.widgets.terminal.cells import with_cursor
from tests.ui.driver import Driver, Heard, Stage, app_over, driven
from tests.ui.terminals import LEAVE_CHORD, drawn, in_shell, shows, type_line

pytestmark = pytest.mark.usefixtures("side_column")

WRITE = "printf '\\e]52;c;%s\\a' $(printf %s {} | base64)"


async def asked(me: Driver, stage: Stage) -> Inquiry:
    """Wait for a question."""
    await me.until(stage.runtime.inquiries.pending)
    return stage.runtime.inquiries.pending()[0]


def logged(stage: Stage) -> list[Decision]:
    """What was decided about clipboard and links, oldest first."""
    found = stage.runtime.decisions.page(DecisionFilter(), limit=99)
    return [entry.decision for entry in reversed(found) if not entry.conversation]


OPENERS = {
    "[": "left_square_bracket",
    "]": "right_square_bracket",
    "\\": "backslash",
    "^": "circumflex_accent",
    "_": "underscore",
}
"""What is a key with Alt only once nothing follows."""


def keys_of(monkeypatch: pytest.MonkeyPatch, sent: str) -> list[events.Key]:
    """What the terminal around told with these bytes, once nothing followed."""
    keys.name_alt_keys()
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 0.0)
    parser = KeyParser()
    told = [*parser.feed(sent), *parser.tick()]
    return [event for event in told if isinstance(event, events.Key)]


@pytest.mark.requirement("ui:terminal-audited")
@pytest.mark.requirement("ui:terminal-clipboard")
async def test_a_program_sets_the_clipboard_once_it_is_allowed_and_then_for_good(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        assert view.session is not None
        for word, answer, kept in (
            ("one", Approval("deny"), ""),
            ("two", Approval("once"), "two"),
            ("three", Approval("scope", scope="always"), "three"),
        ):
            view.session.write(f"{WRITE.format(word)}\n".encode())
            question = await asked(me, stage)
            assert word in str(question.request)
            assert view.has_focus
            stage.runtime.inquiries.answer(question.id, answer)
            await me.until(lambda kept=kept: me.app.clipboard == kept)
            await me.until(lambda: not stage.runtime.inquiries.pending())
        view.session.write(f"{WRITE.format('four')}\n".encode())
        await me.until(lambda: me.app.clipboard == "four")
        assert not stage.runtime.inquiries.pending()
        kept = logged(stage)
        assert [entry.outcome for entry in kept] == ["deny", "allow", "allow"]
        assert {entry.operation for entry in kept} == {"set the clipboard"}
        assert [entry.targets for entry in kept] == [(f"{n} characters",) for n in (3, 3, 5)]
        assert kept[2].scope == "programs in this terminal tab may set it until you quit"
        assert {entry.workspace for entry in kept} == {stage.runtime.workspace.root}


@pytest.mark.requirement("ui:terminal-clipboard")
async def test_reading_the_clipboard_is_asked_every_time(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        me.app.copy_to_clipboard("secret")
        await type_line(me, "stty -echo -icanon; clear; printf '\\e]52;c;?\\a'; cat -v")
        question = await asked(me, stage)
        assert [c.id for c in getattr(question.request, "choices", ())] == ["once"]
        assert "c2VjcmV0" not in drawn(view)
        stage.runtime.inquiries.answer(question.id, Approval("once"))
        await me.until(lambda: "c2VjcmV0" in drawn(view))
        assert [entry.operation for entry in logged(stage)] == ["read the clipboard"]


@pytest.mark.requirement("ui:terminal-keys")
@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("\x1bb", "alt+b"),
        ("\x1bt", "alt+t"),
        ("\x1bT", "alt+shift+t"),
        ("\x1b1", "alt+1"),
        ("\x1b.", "alt+full_stop"),
        ("\x1b<", "alt+less_than_sign"),
        ("\x1b\x7f", "alt+backspace"),
        ("\x1b\r", "alt+enter"),
        ("\x1b ", "alt+space"),
        ("\x1b\x05", "alt+ctrl+e"),
        *((f"\x1b{sign}", f"alt+{name}") for sign, name in OPENERS.items()),
        ("\x1b\t", "alt+tab"),
        ("\x1b\b", "alt+ctrl+h"),
        ("\b", "backspace"),
        ("\x1b", "escape"),
        ("\x1b[1;3D", "alt+left"),
        ("\x1bOP", "f1"),
        ("\x1b[Z", "shift+tab"),
    ],
)
def test_keys_with_alt_are_told_and_reach_the_program_as_they_were_sent(
    sent: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = keys_of(monkeypatch, sent)
    assert [event.key for event in heard] == [key]
    screen = EmulatedScreen(20, 4)
    assert screen.input.key(KeyPress(key, heard[0].character)) == sent.encode()


@pytest.mark.requirement("ui:terminal-alt")
@pytest.mark.parametrize("asked", ["\x1b[>4;2m", "\x1b[>1u", ""])
def test_escape_and_a_key_behind_it_go_in_as_they_came_whatever_the_program_asked_for(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = EmulatedScreen(20, 4)
    screen.feed(asked.encode())
    (key,) = keys_of(monkeypatch, "\x1bx")
    assert screen.input.key(KeyPress(key.key, key.character)) == b"\x1bx"
    # A terminal that tells Alt leaves no doubt.
    (alt,) = keys_of(monkeypatch, "\x1b[120;3u")
    told = {"\x1b[>4;2m": b"\x1b[27;3;120~", "\x1b[>1u": b"\x1b[120;3u", "": b"\x1bx"}
    assert screen.input.key(KeyPress(alt.key, alt.character)) == told[asked]


@pytest.mark.requirement("ui:terminal-alt")
def test_an_escape_waits_for_at_most_25_ms_to_be_more_unless_escdelay_says_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 0.1)
    keys.name_alt_keys()
    assert constants.ESCAPE_DELAY <= 0.025
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 0.07)
    monkeypatch.setenv("ESCDELAY", "70")
    keys.name_alt_keys()
    assert constants.ESCAPE_DELAY == 0.07
    parser = KeyParser()
    assert not list(parser.feed("\x1b")) and parser.waits


@pytest.mark.requirement("ui:terminal-clipboard")
def test_within_tmux_the_clipboard_is_set_in_its_form_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    assert sequences.clipboard_sequences("hé") == ["\x1b]52;c;aMOp\a"]
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    assert sequences.clipboard_sequences("hé")[1] == "\x1bPtmux;\x1b\x1b]52;c;aMOp\a\x1b\\"


@pytest.mark.requirement("ui:terminal-colours")
async def test_a_program_is_told_the_colours_it_is_drawn_in(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        answers: list[bytes] = []
        assert view.session is not None
        screen = view.session.screen
        screen.reply = answers.append  # pyright: ignore[reportAttributeAccessIssue]
        for name in ("sam", "sam-light"):
            me.app.theme = name
            await me.pilot.pause()
            ground = Color.parse(me.app.current_theme.background or "")
            red = me.app.ansi_theme.ansi_colors[1]
            answers.clear()
            screen.feed(b"\x1b]11;?\x07\x1b]4;1;?\x07")  # pyright: ignore
            told = b"".join(answers).decode()
            assert "rgb:{0:02x}{0:02x}/{1:02x}{1:02x}/{2:02x}{2:02x}".format(*ground.rgb) in told
            assert "rgb:{0:02x}{0:02x}/{1:02x}{1:02x}/{2:02x}{2:02x}".format(*red) in told
            style = next(s.style for s in view.render_line(0))
            assert style and style.bgcolor and style.bgcolor.triplet == ground.rgb


@pytest.mark.requirement("ui:terminal-told")
async def test_focus_is_told_to_a_program_that_asked(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        await type_line(me, "stty -echo -icanon; clear; printf '\\e[?1004h'; cat -v")
        await me.until(lambda: view.session and view.session.activity.state.name == "waiting")
        status = me.app.chat.status
        assert "Ctrl+] twice leaves" in str(status.render())
        await me.pilot.press(*LEAVE_CHORD)
        await me.until(lambda: "^[[O" in drawn(view))
        assert "Ctrl+]" not in str(status.render())
        await me.pilot.press(LEAVE_CHORD[0])
        await me.until(lambda: "^[[O^[[I" in drawn(view))


@pytest.mark.requirement("ui:terminal-told")
async def test_the_windows_title_follows_the_program_where_the_keys_go(
    stage: Stage,
) -> None:
    app = app_over(stage, Heard)
    assert isinstance(app, Heard)
    sent = app.sent
    async with driven(app) as me:
        view = await in_shell(me)
        await shows(me, view, "\\033]2;a\\tbuild\\007x")
        await me.until(lambda: any("\x1b]2;abuild\x07" in s for s in sent))
        assert next(s for s in sent if "2;" in s).startswith("\x1b[22;2t")
        await me.pilot.press(*LEAVE_CHORD)
        await me.until(lambda: "\x1b]2;sam\x07" in sent)
        assert view.label == "abuild"
    assert sent[-1] == "\x1b[23;2t"


@pytest.mark.requirement("ui:terminal-cursor")
async def test_the_cursor_has_the_programs_shape_and_blinks_only_with_the_keys(
    stage: Stage,
) -> None:
    row = Strip([Segment("ab ", Style())])
    assert [s.style.reverse for s in with_cursor(row, 1, "block") if s.text == "b" and s.style]
    for shape in ("underline", "bar"):
        under = [s.style.underline for s in with_cursor(row, 1, shape) if s.text == "b" and s.style]
        assert under == [True]
    assert with_cursor(row, 2, "bar").text == "ab▏"
    lit = [
        s.style for s in with_cursor(row, 1, "block", (255, 128, 0)) if s.text == "b" and s.style
    ]
    assert [str(style.bgcolor.name) for style in lit if style.bgcolor] == ["#ff8000"]
    assert not lit[0].reverse
    wide = Strip([Segment("a漢❤️b", Style())])
    for column, covered in ((0, "a"), (1, "漢"), (2, "漢"), (3, "❤️"), (5, "b")):
        cursor = with_cursor(wide, column, "block")
        assert cursor.text == wide.text
        assert [s.text for s in cursor if s.style and s.style.reverse] == [covered]
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        await shows(me, view, "\\033[3 qx")
        view.stir()
        assert view._blinker is not None  # pyright: ignore[reportPrivateUsage]
        await me.pilot.press(*LEAVE_CHORD)
        await me.until(lambda: view._blinker is None)  # pyright: ignore[reportPrivateUsage]
        assert not any(s.style and s.style.underline for s in view.render_line(1))
