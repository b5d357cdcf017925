"""The mouse over a terminal: for programs, for marks, for links."""

import pytest
from textual import events

from sam_tui.core.inquiry import Approval
from sam_tui.core.ports.policy import DecisionFilter
from sam_tui.ui.widgets.terminal.view import TerminalView
from tests.ui.driver import Driver, Stage, app_over, driven
from tests.ui.terminals import drag, drawn, in_shell, mouse, shows, type_line

pytestmark = pytest.mark.usefixtures("side_column")


async def heard(me: Driver, view: TerminalView, modes: str) -> None:
    """A program that wants what ``modes`` say, and shows what it hears."""
    await type_line(me, f"stty -echo -icanon; printf '\\e[{modes}h'; clear; cat -v")
    await me.until(lambda: view.session and view.session.activity.state.name == "waiting")


@pytest.mark.requirement("ui:terminal-mouse")
async def test_a_program_that_wants_the_mouse_gets_buttons_drags_and_wheel(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        await heard(me, view, "?1002;1006")
        await drag(me, view, (2, 1), (5, 3))
        mouse(events.MouseDown, view, 0, 0, 3)
        mouse(events.MouseUp, view, 0, 0, 3)
        mouse(events.MouseScrollUp, view, 7, 2)
        wanted = "^[[<0;3;2M^[[<32;6;4M^[[<0;6;4m^[[<2;1;1M^[[<2;1;1m^[[<64;8;3M"
        await me.until(lambda: wanted in drawn(view).replace("\n", ""))
        assert view.marking is None


@pytest.mark.requirement("ui:terminal-mouse")
async def test_shift_keeps_the_mouse_from_the_program(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        await shows(me, view, "\\033[?1002h\\033[?1006hhello")
        await drag(me, view, (0, 0), (4, 0), "shift")
        assert view.session is not None and view.session.selection == "hello"


@pytest.mark.requirement("ui:terminal-mouse")
async def test_the_wheel_is_cursor_keys_on_a_full_screen_and_else_looks_back(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        await heard(me, view, "?1049")
        mouse(events.MouseScrollDown, view, 1, 1)
        await me.until(lambda: "^[[B^[[B^[[B" in drawn(view))
        await me.pilot.press("ctrl+c")
        assert view.session is not None
        view.session.write(b"printf '\\e[?1049l'; seq 200\n")
        await me.until(lambda: "199\n200" in drawn(view))  # the line typed has one of them
        mouse(events.MouseScrollUp, view, 1, 1)
        await me.until(lambda: view.label.endswith("scrolled"))
        mouse(events.MouseScrollDown, view, 1, 1)
        await me.until(lambda: not view.label.endswith("scrolled"))


@pytest.mark.requirement("ui:terminal-selection")
async def test_a_drag_marks_and_copies_with_soft_wraps_joined(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        long = "w" * (view.size.width + 3)
        await shows(me, view, f"ab {long} end\\nsecond")
        await me.until(lambda: "second" in drawn(view))
        await drag(me, view, (3, 0), (5, 2))
        await me.until(lambda: me.app.clipboard == f"{long} end\nsecond")
        assert view.session is not None and view.session.selection == me.app.clipboard
        style = next(s.style for s in view.render_line(2) if s.text.startswith("second"))
        other = next(s.style for s in view.render_line(0) if s.text.startswith("ab"))
        assert style and other and style.bgcolor != other.bgcolor
        view.type(b"\x03")
        assert view.marking is None and view.session.selection == ""


@pytest.mark.requirement("ui:terminal-selection")
async def test_two_clicks_mark_a_word_three_a_line_and_alt_a_block(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        wide = view.size.width
        await shows(me, view, "one two\\nsix ten\\n" + "x" * (wide + 2))
        for _ in range(2):
            mouse(events.MouseDown, view, 5, 0, 1)
            mouse(events.MouseUp, view, 5, 0, 1)
        await me.until(lambda: me.app.clipboard == "two")
        await drag(me, view, (1, 0), (2, 1), "meta")
        assert me.app.clipboard == "ne\nix"
        for _ in range(3):
            mouse(events.MouseDown, view, 0, 3, 1)
            mouse(events.MouseUp, view, 0, 3, 1)
        await me.until(lambda: me.app.clipboard == "x" * (wide + 2))


@pytest.mark.requirement("ui:terminal-audited")
@pytest.mark.requirement("ui:terminal-links")
async def test_a_link_shows_where_it_leads_and_odd_ones_are_asked_about(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        links = "".join(
            f"\\033]8;;{address}\\033\\\\{text}\\033]8;;\\033\\\\ "
            for address, text in (("https://a.invalid/x", "page"), ("file:///etc", "file"))
        )
        await shows(me, view, links)
        mouse(events.MouseMove, view, 1, 0)
        await me.until(lambda: "https://a.invalid/x" in view.label)
        assert any(s.style and s.style.underline for s in view.render_line(0))
        mouse(events.MouseDown, view, 1, 0, 1, held="ctrl")
        await me.until(lambda: me.app.clipboard == "https://a.invalid/x")
        mouse(events.MouseDown, view, 6, 0, 1, held="ctrl")
        await me.until(stage.runtime.inquiries.pending)
        question = stage.runtime.inquiries.pending()[0]
        assert "file:///etc" in str(question.request)
        stage.runtime.inquiries.answer(question.id, Approval("deny"))
        await me.until(lambda: not stage.runtime.inquiries.pending())
        await me.pilot.pause()
        assert me.app.clipboard == "https://a.invalid/x"
        (kept,) = stage.runtime.decisions.page(DecisionFilter(), limit=9)
        assert kept.decision.operation == "open a link"
        assert (kept.decision.outcome, kept.decision.targets) == ("deny", ("file:///etc",))
