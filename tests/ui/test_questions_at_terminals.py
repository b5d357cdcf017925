"""Questions that come up beside a terminal: whose the keys are, at every moment of that."""

import asyncio

import pytest
from textual import events

from sam_tui.core.inquiry import ApprovalRequest, Question
from sam_tui.ui.widgets.composer import Composer
from sam_tui.ui.widgets.inquiries.question import ApprovalPanel, InquiryPanel
from sam_tui.ui.widgets.terminal.view import TerminalView
from tests.ui.driver import Stage, app_over, driven
from tests.ui.test_inquiries import REQUEST, ask, panel, shown

pytestmark = pytest.mark.usefixtures("side_column")


@pytest.mark.requirement("ui:keys-stay")
async def test_a_question_does_not_take_the_keys_from_a_terminal_in_use(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.until(lambda: me.app.chat.terminals.shell.session is not None)
        await me.pilot.press("ctrl+right_square_bracket")
        await me.until(lambda: isinstance(me.app.focused, TerminalView))
        asking = ask(me, REQUEST)
        await me.until(lambda: panel(me) is not None)
        await me.pilot.press("1")
        await me.pilot.pause()
        assert isinstance(me.app.focused, TerminalView) and not asking.done()
        await me.pilot.press("ctrl+right_square_bracket", "ctrl+right_square_bracket")
        await me.until(lambda: isinstance(me.app.focused, ApprovalPanel))
        await me.pilot.press("3")
        await asking


@pytest.mark.requirement("ui:keys-stay")
async def test_a_question_leaves_the_keys_to_a_terminal_entered_meanwhile(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.until(lambda: me.app.chat.terminals.shell.session is not None)
        asking = ask(me, REQUEST)
        while panel(me) is None:  # noqa: ASYNC110 # the very moment before it is drawn
            await asyncio.sleep(0)
        me.app.chat.terminals.shell.focus()
        await me.until(lambda: (found := panel(me)) and found.size.height)
        await me.pilot.pause()
        assert isinstance(me.app.focused, TerminalView) and not asking.done()
        await me.pilot.press(*["ctrl+right_square_bracket"] * 2)
        await me.until(lambda: isinstance(me.app.focused, ApprovalPanel))
        await me.pilot.press("3")
        await asking


@pytest.mark.requirement("ui:keys-stay")
@pytest.mark.parametrize("request_", [REQUEST, Question("Which?")])
async def test_a_question_leaves_the_keys_to_a_terminal_entered_right_after_it_took_them(
    stage: Stage, request_: ApprovalRequest | Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        shell = me.app.chat.terminals.shell
        await me.until(lambda: shell.session is not None)
        took = InquiryPanel.take_focus

        def take_and_go_on(found: InquiryPanel) -> None:
            took(found)
            me.app.chat.set_focus(shell)

        monkeypatch.setattr(InquiryPanel, "take_focus", take_and_go_on)
        asking = ask(me, request_)
        await me.until(lambda: (found := panel(me)) and found.size.height and shell.has_focus)
        await me.pilot.pause()
        assert me.app.focused is shell
        asking.cancel()


@pytest.mark.requirement("ui:keys-stay")
async def test_keys_typed_right_behind_the_one_that_leads_from_a_question_to_the_terminal_go_there(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        shell = me.app.chat.terminals.shell
        await me.until(lambda: shell.session is not None)
        asking = ask(me, Question("Which?"))
        found = await shown(me)
        await me.until(lambda: isinstance(me.app.focused, Composer))
        for name in ("ctrl+right_square_bracket", *"echo", "enter"):
            me.app.post_message(events.Key(name, name if len(name) == 1 else None))
        await me.until(lambda: me.app.focused is shell)
        await me.pilot.pause()
        assert found.query_one(Composer).text == "" and not asking.done()
        asking.cancel()
