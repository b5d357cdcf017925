"""Several conversations in one window: each has a tab, and turns go on behind. About 3 s of CPU."""

import asyncio
from collections.abc import Sequence

import pytest

from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.controllers.turns import TurnRunner
from tests.fakes.engine_kit import Piece, RawModel, calls
from tests.transcript.hosting import source_text
from tests.ui.driver import Driver, Heard, Stage, app_over, driven
from tests.ui.test_chat import says


def outside(stage: Stage) -> Sequence[Piece]:
    """A call that has to be asked for."""
    path = str(stage.workspace.parent / "outside.txt")
    arguments = {"operation": "create_file", "filePath": path, "content": "x"}
    return calls(("file_operations", arguments))


def told(me: Driver, words: str) -> bool:
    """Whether something was said over the screen."""
    notices = me.app._notifications  # pyright: ignore[reportPrivateUsage] # no other way to see them
    return any(words in notice.message for notice in notices)


def strip(me: Driver) -> str:
    """The row that names the tabs."""
    widget = me.app.chat.strip
    return "" if widget is None or not widget.display else str(widget.render())


@pytest.mark.requirement("ui:conversation-tabs")
async def test_a_turn_goes_on_behind_and_its_tab_says_how_it_stands(
    stage: Stage, model: RawModel
) -> None:
    hold = asyncio.Event()
    model.answers += [[TextDelta("half "), hold, TextDelta("whole")], says("beside")]
    async with driven(app_over(stage)) as me:
        await me.ready()
        assert strip(me) == ""
        await me.send("the long one")
        await me.until(lambda: "half" in me.transcript())
        await me.type("not sent yet")
        await me.pilot.press("alt+n")
        await me.until(lambda: "1 the long one ▸ works" in strip(me))
        assert "2 new" in strip(me)
        assert me.app.chat.prompt.area.text == "" and me.transcript() == ""
        assert me.app.focused is me.app.chat.prompt.area
        await me.send("the short one")
        await me.until(lambda: "beside" in me.transcript())
        first = me.bench.current.tabs[0]
        assert "whole" not in source_text(first.transcript)
        hold.set()
        await me.until(lambda: "1 the long one ✓ done" in strip(me))
        assert "whole" in source_text(first.transcript) and "whole" not in me.transcript()
        await me.pilot.press("f12")
        await me.until(lambda: "half whole" in me.drawn())
        assert me.app.chat.prompt.area.text == "not sent yet"
        assert "done" not in strip(me) and "beside" not in me.drawn()
        ids = {tab.conversation for tab in me.bench.current.tabs}
    assert len(ids) == 2
    texts = [[m.text for m in messages if m.kind == "user"] for messages in model.seen]
    assert texts == [["the long one"], ["the short one"]]


@pytest.mark.requirement("ui:conversation-tabs")
async def test_a_question_waits_in_the_tab_of_who_asks_and_keeps_what_was_written(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [outside(stage), says("after the answer"), says("undisturbed")]
    app = app_over(stage, Heard)
    assert isinstance(app, Heard)
    async with driven(app) as me:
        await me.ready()
        await me.send("write outside")
        await me.until(lambda: "Deny" in me.drawn())
        await me.pilot.press("c")
        await me.pilot.pause()
        await me.pilot.press("b", "e", "c")
        await me.pilot.press("alt+n")
        await me.until(lambda: "1 write outside ? asks" in strip(me))
        assert "Deny" not in me.drawn() and me.app.chat.prompt.display
        assert "? waiting" in [text for text in app.sent if "\x1b]2;" in text][-1]
        await me.pilot.press("1", "escape")
        assert me.app.chat.prompt.area.text == "1", "what is typed here answers nothing there"
        assert me.bench.current.tabs[0].activity.waiting
        await me.pilot.press("f12")
        await me.until(lambda: "bec" in me.drawn())
        await me.pilot.press("escape", "f12", "f12", "escape")
        await me.until(lambda: "after the answer" in me.transcript())
        assert not (stage.workspace.parent / "outside.txt").exists()


@pytest.mark.requirement("ui:conversation-tabs")
async def test_what_queues_todos_and_figures_are_each_tabs_own(
    stage: Stage, model: RawModel
) -> None:
    hold = asyncio.Event()
    todo = {"operation": "write", "todoList": [{"id": 1, "title": "Dig", "status": "not-started"}]}
    model.answers += [
        list(calls(("todo_operations", todo))),
        [hold, TextDelta("dug")],
        says("from the queue"),
    ]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("dig")
        await me.until(lambda: me.bench.current.tab.figures.todos == (0, 1))
        await me.type("then this")
        await me.pilot.press("tab")
        assert me.app.chat.prompt.area.queued == 1
        await me.send("/conversation new")
        await me.until(lambda: len(me.bench.current.tabs) == 2)
        assert me.app.chat.prompt.area.queued == 0 and not me.app.chat.todos.items
        assert me.app.chat.status.standing.figures.todos == (0, 0)
        hold.set()
        first = me.bench.current.tabs[0]
        await me.until(lambda: "from the queue" in source_text(first.transcript))
        await me.send("/conversation 1")
        await me.until(lambda: [item.title for item in me.app.chat.todos.items] == ["Dig"])
        assert me.app.chat.status.standing.figures.todos == (0, 1)
        await me.pilot.press("up", "up")
        assert me.app.chat.prompt.area.text == "then this"


@pytest.mark.requirement("ui:conversation-tabs")
async def test_a_conversation_has_one_tab_and_closing_lets_it_go(
    stage: Stage, model: RawModel
) -> None:
    hold = asyncio.Event()
    model.answers += [says("one"), [hold, TextDelta("two")], says("three")]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("a")
        await me.until(lambda: "one" in me.transcript())
        first = me.bench.conversations.on_show
        assert first is not None
        await me.pilot.press("alt+n")
        me.bench.conversations.open(first)
        assert me.bench.current.tab is me.bench.current.tabs[0], "it is on show where it is"
        await me.pilot.press("f12")
        await me.send("b")
        await me.until(lambda: me.bench.turns.running)
        await me.send("/conversation close")
        await me.until(lambda: told(me, "Esc cancels it first"))
        assert len(me.bench.current.tabs) == 2
        await me.pilot.press("shift+f12")
        await me.send("/model raw")
        await me.until(lambda: told(me, "running in another tab"))
        await me.pilot.press("f12")
        hold.set()
        await me.until(lambda: "two" in me.transcript())
        second = me.bench.conversations.on_show
        await me.until(lambda: not me.bench.turns.running)
        await me.send("/conversation close")
        await me.until(lambda: len(me.bench.current.tabs) == 1)
        assert strip(me) == "" and "one" in me.transcript()
        assert second is not None
        me.bench.conversations.open(second)
        await me.until(lambda: "two" in me.transcript())
        await me.send("/conversation close")
        await me.until(lambda: told(me, "This is the only tab"))


@pytest.mark.requirement("ui:conversation-tabs")
async def test_the_end_of_the_program_waits_for_the_turns_of_all_tabs(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [[TextDelta("a"), asyncio.Event()], [TextDelta("b"), asyncio.Event()]]
    runners: list[TurnRunner] = []
    async with driven(app_over(stage)) as me:
        await me.ready()
        for prompt in ("first", "second"):
            await me.send(prompt)
            await me.until(lambda: me.bench.current.tab.activity.phase == "streaming")
            runners.append(me.bench.turns)
            me.bench.perform("conversation_new")
        assert all(runner.running for runner in runners)
    assert len(set(runners)) == 2 and not any(runner.running for runner in runners)
