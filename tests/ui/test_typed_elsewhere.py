"""Text that is typed or pasted while something else than an input has the keys."""

import pytest
from textual import events
from textual.widgets import Input

from sam_tui.ui.screens.settings import TourScreen
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Stage, app_over, driven
from tests.ui.test_chat import says
from tests.ui.test_inquiries import REQUEST, ask, shown

LINES = "\n".join(f"line {number}" for number in range(500))
TYPED = "just check ok? Ja"


def strike(text: str) -> list[events.Key]:
    """The keys of a text, as a terminal's reading thread passes them on."""
    return [events.Key("space" if char == " " else char, char) for char in text]


@pytest.mark.requirement("ui:typed-elsewhere")
async def test_what_is_typed_and_pasted_into_the_transcript_stands_in_the_prompt_in_its_order(
    stage: Stage, model: RawModel
) -> None:
    model.answers.append(says("read"))
    async with driven(app_over(stage)) as me:
        await me.ready()
        chat = me.app.chat
        await me.pilot.click("#transcript")
        assert chat.transcript.has_focus
        for event in (*strike(TYPED), events.Paste(LINES), *strike("end")):
            me.app.post_message(event)
        await me.until(lambda: chat.prompt.area.whole == f"{TYPED}{LINES}end")
        await me.pilot.press("enter")
        await me.until(lambda: "read" in me.transcript())
        chat.set_focus(None)
        me.app.post_message(events.Paste("nowhere"))
        await me.until(lambda: chat.prompt.area.text == "nowhere")


@pytest.mark.requirement("ui:typed-elsewhere")
async def test_the_todo_list_keeps_its_own_keys_and_loses_no_other_text(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        chat = me.app.chat
        await me.pilot.press("ctrl+t", "a", *"own", "enter")
        await me.until(lambda: "own" in [item.title for item in chat.todos.items])
        assert chat.todos.has_focus and not chat.prompt.area.text
        for event in strike("we do"):
            me.app.post_message(event)
        await me.until(lambda: chat.prompt.area.text == "we do")
        chat.todos.focus()
        await me.until(lambda: chat.todos.has_focus)
        me.app.post_message(events.Paste(" it"))
        await me.until(lambda: chat.prompt.area.text == "we do it")


@pytest.mark.requirement("ui:typed-elsewhere")
async def test_beside_a_question_and_under_a_dialog_without_a_line_text_waits_in_the_prompt(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        chat = me.app.chat
        asking = ask(me, REQUEST)
        await shown(me)
        me.app.post_message(events.Paste("to the panel, "))
        await me.until(lambda: chat.prompt.area.text == "to the panel, ")
        chat.set_focus(chat.transcript)
        for event in strike("yes "):
            me.app.post_message(event)
        await me.until(lambda: chat.prompt.area.text == "to the panel, yes ")
        assert not asking.done()
        asking.cancel()
        await me.until(lambda: chat.prompt.display)
        me.app.action_perform("tour")
        await me.until(lambda: isinstance(me.app.screen, TourScreen))
        me.app.post_message(events.Paste("or no"))
        await me.until(lambda: chat.prompt.area.text == "to the panel, yes or no")


@pytest.mark.requirement("ui:typed-elsewhere")
async def test_the_line_of_a_dialog_takes_what_is_typed_and_all_lines_of_a_paste(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.pilot.press("f1")
        await me.until(lambda: isinstance(me.app.focused, Input))
        line = me.app.focused
        assert isinstance(line, Input)
        for event in (*strike("to "), events.Paste("the\r\n\nprompt\n"), *strike(" leads")):
            me.app.post_message(event)
        await me.until(lambda: line.value == "to the prompt leads")
        assert not me.app.chat.prompt.area.text


@pytest.mark.requirement("ui:cancelled-output")
async def test_the_output_of_a_cancelled_call_stays_on_show_and_in_the_conversation(
    stage: Stage, model: RawModel
) -> None:
    command = {"operation": "run_command", "command": "echo got this far; sleep 1000"}
    model.answers.append(calls(("terminal_operations", command)))
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("go")
        await me.until(lambda: "got this far\n" in me.transcript() or "far" in me.drawn())
        await me.until(lambda: me.drawn().count("got this far") > 1)
        await me.pilot.press("escape")
        await me.until(lambda: "Cancelled." in me.transcript())
        session = me.bench.current.session
        assert session is not None
        result = next(message for message in session.messages if message.kind == "tool")
        assert "Its output until then:\ngot this far" in result.text
        assert "until then:\ngot this far" in me.transcript()
