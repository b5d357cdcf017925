"""Sending, queueing, cancelling; conversations, models and modes."""

import asyncio
from collections.abc import Callable

import pytest
from textual.widgets import OptionList, Static

from sam_tui.core.errors import ModelAuthError, WorkspaceError
from sam_tui.core.ports.model import TextDelta, UsageDelta
from sam_tui.core.runtime import Runtime
from sam_tui.core.usage import Usage
from sam_tui.ui import theme
from sam_tui.ui.actions import ACTIONS, palette_actions
from sam_tui.ui.app import SamApp
from sam_tui.ui.screens.dialogs import HelpScreen, Picker
from sam_tui.ui.screens.failure import FailureScreen
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Stage, app_over, build_stage, driven

SIZES = [(80, 24), (120, 40), (200, 50)]


def says(text: str) -> list[TextDelta]:
    return [TextDelta(text)]


@pytest.mark.usefixtures("side_column")
@pytest.mark.requirement("ui:send", "ui:no-markup")
async def test_a_prompt_is_sent_and_answered_as_plain_text(stage: Stage, model: RawModel) -> None:
    async with driven(app_over(stage), SIZES[0]) as me:
        await me.ready()
        for number, size in enumerate(SIZES):
            model.answers.append([TextDelta(f"{number} is "), TextDelta("[bold]42[/bold] [/nope]")])
            await me.pilot.resize_terminal(*size)
            await me.send(f"What is [red]{number}[/red]?")
            await me.until(lambda n=number: f"{n} is [bold]42[/bold] [/nope]" in me.transcript())
            await me.until(lambda: not me.bench.turns.running)
            assert f"[red]{number}[/red]" in me.transcript()
            assert me.app.chat.prompt.area.text == ""


@pytest.mark.requirement("ui:early-prompt")
async def test_what_is_typed_before_the_runtime_is_ready_is_kept_and_done(
    stage: Stage, model: RawModel
) -> None:
    model.answers.append(says("early bird"))
    gate = asyncio.Event()

    async def start(progress: Callable[[str], None]) -> Runtime:
        progress("loading the model")
        await gate.wait()
        return stage.runtime

    app = SamApp(start, workspace=str(stage.workspace))
    async with driven(app) as me:
        await me.until(lambda: "loading" in app.chat.status.activity.words(0))
        await me.send("hello")
        assert app.queue.waiting == ["hello"]
        await me.send("/mode plan")
        await me.send("/theme sam-light")
        await me.until(lambda: app.theme == theme.LIGHT.name)
        await me.pilot.press("shift+tab")
        await me.until(lambda: "still starting" in str(app.chat.status.render()))
        assert stage.runtime.mode == "ask"
        gate.set()
        await me.until(lambda: "early bird" in me.transcript())
        assert app.queue.waiting == []
        assert stage.runtime.mode == "plan"


@pytest.mark.requirement("ui:queue")
async def test_prompts_typed_while_a_turn_runs_are_sent_in_order(
    stage: Stage, model: RawModel
) -> None:
    hold = asyncio.Event()
    model.answers += [[hold, TextDelta("one")], says("two"), says("three")]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("first")
        await me.until(lambda: me.bench.turns.running)
        await me.send("second")
        await me.send("third")
        queued = me.app.chat.query_one("#queued", Static)
        assert queued.display and "second" in str(queued.render())
        hold.set()
        await me.until(lambda: "three" in me.transcript())
        assert not queued.display
        seen = [[m.text for m in messages if m.kind == "user"] for messages in model.seen]
        assert seen[-1] == ["first", "second", "third"]


@pytest.mark.requirement("ui:queue")
async def test_up_takes_the_last_queued_prompt_back_for_editing(
    stage: Stage, model: RawModel
) -> None:
    hold = asyncio.Event()
    model.answers += [[hold, TextDelta("one")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("first")
        await me.until(lambda: me.bench.turns.running)
        await me.send("second")
        await me.pilot.press("up")
        assert me.app.chat.prompt.area.text == "second"
        assert me.app.queue.waiting == []
        hold.set()


@pytest.mark.requirement("ui:cancel", "ui:queue")
async def test_escape_cancels_the_turn_and_brings_queued_prompts_back(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [[TextDelta("part"), asyncio.Event()], says("again")]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("first")
        await me.until(lambda: "part" in me.transcript())
        await me.send("second")
        await me.type("draft")
        await me.pilot.press("escape")
        await me.until(lambda: not me.bench.turns.running and "Cancelled." in me.transcript())
        assert me.app.chat.prompt.area.text == "second\ndraft"
        assert me.app.chat.status.activity.phase == "ready"
        await me.pilot.press("enter")
        await me.until(lambda: "again" in me.transcript())


@pytest.mark.requirement("ui:cancel")
async def test_ctrl_c_cancels_then_clears_then_asks_before_it_quits(
    stage: Stage, model: RawModel
) -> None:
    model.answers.append([asyncio.Event()])
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("first")
        await me.until(lambda: me.bench.turns.running)
        await me.type("draft")
        await me.pilot.press("ctrl+c")
        await me.until(lambda: not me.bench.turns.running)
        assert me.app.chat.prompt.area.text == "draft"
        await me.pilot.press("ctrl+c")
        assert me.app.chat.prompt.area.text == ""
        await me.pilot.press("ctrl+c")
        assert "again to quit" in me.app.chat.status.notice
        assert me.app.is_running
        await me.pilot.press("up")
        assert me.app.chat.prompt.area.text == "draft"
        await me.pilot.press("ctrl+c", "ctrl+c")
        await me.until(lambda: me.app._exit)  # pyright: ignore[reportPrivateUsage]
        assert me.app.return_code == 0


@pytest.mark.requirement("ui:errors")
async def test_a_failed_turn_says_what_to_do_and_the_conversation_goes_on(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [[ModelAuthError("No key.", hint="Set A_KEY.")], says("better")]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("first")
        await me.until(lambda: "Set A_KEY." in me.transcript())
        assert ModelAuthError.title in me.transcript()
        await me.send("second")
        await me.until(lambda: "better" in me.transcript())


@pytest.mark.requirement("ui:start-failure")
async def test_a_failed_start_explains_itself_and_ends_with_its_exit_code(stage: Stage) -> None:
    async def start(_: Callable[[str], None]) -> Runtime:
        raise WorkspaceError("[b]/nowhere[/b] is gone.", hint="Choose another.")

    app = SamApp(start, workspace="/nowhere")
    async with driven(app) as me:
        await me.until(lambda: isinstance(app.screen, FailureScreen))
        shown = str(app.screen.query_one(Static).render())
        assert "[b]/nowhere[/b] is gone." in shown and "Choose another." in shown
        await me.pilot.press("x")
    assert app.return_code == WorkspaceError.exit_code
    await stage.runtime.close()  # no app took it


@pytest.mark.requirement("ui:multiline")
async def test_the_prompt_takes_many_lines_grows_to_ten_and_holds_a_large_paste(
    stage: Stage, model: RawModel
) -> None:
    model.answers.append(says("read"))
    text = "\n".join(f"line {n} [x]" for n in range(3000))
    async with driven(app_over(stage)) as me:
        await me.ready()
        area = me.app.chat.prompt.area
        await me.pilot.press("a", "shift+enter", "b", "alt+enter", "c", "ctrl+j", "d")
        assert area.text == "a\nb\nc\nd"
        assert area.content_size.height == 4
        area.put("")
        area.insert(text)
        await me.pilot.pause()
        assert area.content_size.height == 10
        await me.pilot.press("enter")
        await me.until(lambda: "read" in me.transcript())
        assert [m.text for m in model.seen[0] if m.kind == "user"] == [text]


@pytest.mark.requirement("ui:history")
async def test_up_and_down_go_through_earlier_prompts_and_back_to_the_draft(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [says("a"), says("b")]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("one")
        await me.send("two")
        await me.type("draft")
        area = me.app.chat.prompt.area
        await me.pilot.press("up")
        assert area.text == "two"
        await me.pilot.press("up")
        assert area.text == "one"
        await me.pilot.press("up")
        assert area.text == "one"
        await me.pilot.press("down", "down")
        assert area.text == "draft"


@pytest.mark.requirement("ui:help")
async def test_the_help_lists_every_action_and_every_action_can_be_done(stage: Stage) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        await me.pilot.press("question_mark")
        await me.until(lambda: isinstance(me.app.screen, HelpScreen))
        shown = "\n".join(str(s.render()) for s in me.app.screen.query(Static))
        for action in (a for a in ACTIONS if a.listed):
            assert action.title in shown and action.help in shown
        await me.pilot.press("escape")
        await me.until(lambda: me.app.screen is me.app.chat)
        bound = {action.name for action in ACTIONS if not action.local}
        assert bound <= me.bench.actions
        titles = {action.title for action in palette_actions()}
        assert {a.title for a in ACTIONS if a.name in ("new", "model", "quit", "todos")} <= titles


@pytest.mark.requirement("ui:slash")
async def test_an_unknown_command_is_not_sent_and_can_be_mended(
    stage: Stage, model: RawModel
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("/modle x")
        assert me.app.chat.prompt.area.text == "/modle x"
        assert not me.bench.turns.running and model.seen == []


@pytest.mark.requirement("ui:mode")
async def test_the_mode_changes_by_command_and_by_key(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("/mode plan")
        assert (stage.runtime.mode, me.app.chat.status.standing.mode) == ("plan", "plan")
        await me.pilot.press("shift+tab")
        assert stage.runtime.mode == "ask"
        await me.send("/mode")
        await me.until(lambda: isinstance(me.app.screen, Picker))
        await me.until(lambda: me.app.screen.query_one(OptionList).option_count == 5)
        await me.pilot.press("a", "u", "t", "o", "enter")
        await me.until(lambda: stage.runtime.mode == "auto")


@pytest.mark.requirement("ui:model-picker")
async def test_without_a_model_one_is_chosen_and_what_waited_is_sent(stage: Stage) -> None:
    stage.runtime.model = None
    async with driven(app_over(stage, prompt="hello")) as me:
        await me.until(lambda: isinstance(me.app.screen, Picker))
        options = me.app.screen.query_one(OptionList)
        await me.until(lambda: options.option_count)
        await me.pilot.press(*"scripted", "enter")
        await me.until(lambda: stage.runtime.model is not None)
        await me.until(lambda: "hello" in me.transcript())
        assert stage.runtime.model is not None
        assert me.app.chat.status.standing.model == stage.runtime.model.name
        await me.pilot.press("escape")
        await me.until(lambda: not me.bench.turns.running)


@pytest.mark.requirement("ui:model-named")
async def test_a_model_is_used_by_its_name_and_the_picker_says_how(stage: Stage) -> None:
    stage.runtime.model = None
    async with driven(app_over(stage)) as me:
        await me.until(lambda: isinstance(me.app.screen, Picker))
        options = me.app.screen.query_one(OptionList)
        await me.until(lambda: options.option_count)
        note = me.app.screen.query_one(".note", Static)
        assert note.display and "OPENAI_API_KEY" in str(note.content)
        await me.pilot.press(*"nothing such")
        await me.until(lambda: not options.option_count)
        words = str(note.content)
        assert "Nothing matches." in words and "/model provider/name" in words
        await me.pilot.press("escape")
        await me.send("/model scripted:/nowhere.json")
        await me.until(lambda: "The script /nowhere.json is not there" in me.transcript())
        assert stage.runtime.model is None
        await me.send("/model scripted")
        await me.until(lambda: stage.runtime.model is not None)


@pytest.mark.requirement("ui:resume")
async def test_an_earlier_conversation_is_picked_and_goes_on(stage: Stage, model: RawModel) -> None:
    model.answers += [
        [*says("the first answer"), UsageDelta(Usage(10, 0, 0, 5, cost=0.5))],
        says("elsewhere"),
        says("the end"),
    ]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("remember [this]")
        await me.until(lambda: "first answer" in me.transcript() and not me.bench.turns.running)
        await me.until(lambda: me.app.chat.status.standing.figures.usage.cost == 0.5)
        await me.send("/new")
        assert me.transcript() == ""
        assert me.app.chat.status.standing.figures.usage == Usage()
        await me.send("something else")
        await me.until(lambda: "elsewhere" in me.transcript() and not me.bench.turns.running)
        await me.send("/resume some")
        await me.until(lambda: "agent: elsewhere" in me.drawn() and "remember" not in me.drawn())
        await me.pilot.press(*["backspace"] * 4, *"remember")
        await me.until(lambda: "agent: the first answer" in me.drawn())
        assert "you: remember [this]" in me.drawn()
        await me.pilot.press("enter")
        await me.until(lambda: "the first answer" in me.transcript())
        assert me.app.chat.status.standing.figures.usage.cost == 0.5
        await me.pilot.press("up")
        assert me.app.chat.prompt.area.text == "remember [this]"
        me.app.chat.prompt.area.put("")
        await me.send("go on")
        await me.until(lambda: "the end" in me.transcript())
        asked = [m.text for m in model.seen[-1] if m.kind in ("user", "assistant")]
        assert asked == ["remember [this]", "the first answer", "go on"]


@pytest.mark.requirement("ui:resume")
async def test_opening_a_conversation_makes_none_and_a_foreign_one_is_refused(
    stage: Stage,
) -> None:
    async with driven(app_over(stage, conversation=None)) as me:
        await me.ready()
        assert list(stage.runtime.conversations.recent(None, 10)) == []


@pytest.mark.requirement("ui:copy")
async def test_the_last_answer_is_copied_as_the_model_wrote_it(
    stage: Stage, model: RawModel
) -> None:
    model.answers.append(says("**bold** answer"))
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("say")
        await me.until(lambda: "answer" in me.transcript() and not me.bench.turns.running)
        await me.send("/copy")
        assert me.app.clipboard == "**bold** answer"


@pytest.mark.requirement("ui:todos-live")
async def test_the_todo_list_follows_the_agent(stage: Stage, model: RawModel) -> None:
    todos = [
        {"id": 1, "title": "Read [it]", "description": "d", "status": "in-progress"},
        {"id": 2, "title": "Write", "description": "d", "status": "not-started"},
    ]
    model.answers += [
        calls(("todo_operations", {"operation": "write", "todoList": todos})),
        says("ok"),
        says("fresh"),
    ]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("plan it")
        await me.until(lambda: len(me.app.chat.todos.items) == 2)
        panel = me.app.chat.todos
        await me.until(lambda: "0 of 2" in str(panel.border_subtitle))
        assert "◐ Read [it]" in str(panel.query_one(Static).render())
        assert me.app.chat.status.standing.figures.todos == (0, 2)
        await me.until(lambda: not me.bench.turns.running)
        await me.send("/new")
        assert panel.items == ()


@pytest.mark.requirement("ui:send")
async def test_leaving_in_the_middle_of_a_turn_keeps_what_was_said(
    stage: Stage, model: RawModel
) -> None:
    model.answers.append([TextDelta("half an answer"), asyncio.Event()])
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("long work")
        await me.until(lambda: "half an answer" in me.transcript())
        session = me.bench.current.session
        assert session is not None
        await me.pilot.press("ctrl+q")
    again = build_stage(stage.workspace.parent, RawModel())
    kept = again.runtime.conversations.messages(session.conversation)
    assert [m.text for m in kept if m.kind == "user"] == ["long work"]
    await again.runtime.close()
