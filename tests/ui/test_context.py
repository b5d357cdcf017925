"""How much of the model's window is in use, and by what."""

import asyncio

import pytest

from sam_tui.core.ports.model import TextDelta, UsageDelta
from sam_tui.core.usage import Usage
from sam_tui.ui.controllers.window.meter import context_in_words
from sam_tui.ui.screens.dialogs import Picker
from sam_tui.ui.screens.reader import Reader
from tests.fakes.engine_kit import AskableModel, Piece, RawModel, calls
from tests.ui.driver import Driver, Stage, app_over, driven
from tests.ui.test_shown_conversation import choose_first


@pytest.mark.requirement("ui:context")
async def test_the_share_of_the_window_is_the_providers_or_a_marked_estimate(
    stage: Stage, model: RawModel
) -> None:
    model.context_tokens = 200_000
    created = calls(("create_file", {"filePath": "a.txt", "content": "hello"}))
    writing, go_on = asyncio.Event(), asyncio.Event()
    counted = UsageDelta(Usage(input_tokens=33_000, cached_tokens=16_500, output_tokens=1_000))
    model.answers += [[*created, writing, counted], [go_on, TextDelta("made it")]]
    async with driven(app_over(stage), (120, 40)) as me:
        standing = me.app.chat.status.standing
        await me.ready()
        assert standing.figures.context == ""
        await me.send("make a file")
        activity = me.app.chat.status.activity
        await me.until(lambda: activity.phase == "streaming")  # a call that grows is no silence
        writing.set()
        await me.until(lambda: standing.figures.context == "ctx 17%")
        assert standing.figures.cache == "cache 50%"
        go_on.set()
        await me.until(lambda: "made it" in me.transcript() and not me.bench.turns.running)
        assert activity.news > activity.since, "each piece ends a silence"
        assert standing.figures.context.startswith("ctx ~")
        assert standing.figures.context in me.drawn()
        await me.send("/context")
        await me.until(lambda: isinstance(me.app.screen, Reader))
        await me.until(lambda: "200,000" in me.drawn())
        assert "33,000  tokens of the last request, and 1,000 of its answer" in me.drawn()
        for part in ("system prompt", "tools", "your messages", "file_operations.create_file"):
            assert part in me.drawn()
        assert "Always in the context" in me.drawn()
        await me.pilot.press("escape")
        await me.send("/xray")
        await me.until(lambda: isinstance(me.app.screen, Picker) and "#2" in me.drawn())
        await me.pilot.press("enter")
        await me.until(lambda: isinstance(me.app.screen, Reader))
        await me.until(lambda: "bytes" in me.drawn() and "call 2" in me.drawn())
        await me.pilot.press("escape")
        await me.send("/new")
        await me.until(lambda: standing.figures.context == "")
        await choose_first(me, "/resume")
        await me.until(lambda: "made it" in me.transcript())
        assert standing.figures.context.startswith("ctx ~")


@pytest.mark.requirement("ui:cost")
async def test_open_todos_are_forecast_at_the_cost_of_the_completed_ones(
    stage: Stage, model: RawModel
) -> None:
    """One of four todos is completed for $0.40, so the other three cost about $1.20; then all are."""

    def listed(*statuses: str) -> list[Piece]:
        items = [
            {"id": n, "title": f"Part {n}", "description": "d", "status": status}
            for n, status in enumerate(statuses, 1)
        ]
        return calls(("todo_operations", {"operation": "write", "todoList": items}))

    async def spent(me: Driver, prompt: str, answer: str) -> str:
        await me.send(prompt)
        await me.until(lambda: answer in me.transcript() and not me.bench.turns.running)
        session = me.bench.current.session
        assert session is not None
        words = context_in_words(stage.runtime, session)
        return next((line.strip() for line in words.splitlines() if "spent in this" in line), "")

    paid = UsageDelta(Usage(input_tokens=900, output_tokens=100, cost=0.2))
    open_ones = ["in-progress", "not-started", "not-started"]
    model.answers += [[TextDelta("no price")]]
    model.answers += [[*listed("completed", *open_ones), paid], [TextDelta("one of four"), paid]]
    model.answers += [[*listed(*["completed"] * 4), paid], [TextDelta("four of four"), paid]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        assert await spent(me, "hello", "no price") == ""
        sentence = "$0.40  spent in this conversation; about $1.20 more for 3 open todos of 4"
        assert await spent(me, "begin", "one of four") == sentence
        assert await spent(me, "end", "four of four") == "$0.80  spent in this conversation"


@pytest.mark.requirement("ui:compact", "ui:pins")
async def test_a_compaction_is_looked_at_done_and_undone_and_pins_stand_after_it(
    stage: Stage,
) -> None:
    """One app for /compact, its preview, /pin and the undo: about 1 s of CPU."""
    long = "what was said long ago " * 300
    model = AskableModel(
        *([TextDelta(f"{long} {n}")] for n in ("one", "two")),
        [TextDelta("three")], [TextDelta("four")],
        noted=[TextDelta("Task:\n- keep the parser fast\n")],
    )  # fmt: skip
    stage.runtime.use_model(model)
    async with driven(app_over(stage), (120, 40)) as me:

        def titled(words: str) -> bool:
            return isinstance(me.app.screen, Picker) and words in me.drawn()

        async def prompt(text: str, answer: str) -> None:
            await me.send(text)
            await me.until(lambda: answer in me.transcript() and not me.bench.turns.running)

        await me.ready()
        await me.send("/compact")
        await me.until(lambda: "send a first prompt" in me.transcript())
        await prompt("first", "ago  one")
        await prompt("second", "ago  two")
        await prompt("third", "three")
        await me.send("/pin never touch the <b>lexer</b>")
        await me.until(lambda: "Pinned: never touch" in me.transcript())
        session = me.bench.current.session
        assert session is not None
        whole = list(session.messages)
        await me.send("/compact the names")
        await me.until(lambda: titled("Look at it"))
        assert "Undo" not in me.drawn(), "nothing was compacted yet"
        await me.pilot.press("down", "enter")
        await me.until(lambda: isinstance(me.app.screen, Reader))
        await me.until(lambda: "keep the parser fast" in me.drawn())
        await me.pilot.press("escape")
        await me.until(lambda: titled("Look at it"))
        assert list(session.messages) == whole
        await me.pilot.press("enter")
        await me.until(lambda: "old messages went to the archive" in me.transcript())
        assert len(session.messages) < len(whole)
        await prompt("fourth", "four")
        told = [message.text for message in model.seen[-1]]
        assert any("never touch the <b>lexer</b>" in text for text in told)
        assert any("keep the parser fast" in text for text in told)
        assert not any(text == "first" for text in told)
        await me.send("/compact")
        await me.until(lambda: titled("Undo"))
        await me.pilot.press("up", "enter")
        await me.until(lambda: "The last compaction is undone" in me.transcript())
        assert list(session.messages)[: len(whole)] == whole
        await me.send("/pin")
        await me.until(lambda: titled("unpin it"))
        await me.pilot.press("enter")
        await me.until(lambda: "No longer pinned" in me.transcript())


@pytest.mark.requirement("reminders:choices")
async def test_what_the_model_is_reminded_of_is_listed_read_muted_and_told_again(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [[TextDelta(words)] for words in ("one", "two", "three")]
    async with driven(app_over(stage), (120, 40)) as me:

        async def told_in(mode: str, answer: str) -> int:
            """How often the model was told date and mode, after a prompt in another mode."""
            await me.send(f"/mode {mode}")
            await me.send("go on")
            await me.until(lambda: answer in me.transcript() and not me.bench.turns.running)
            return sum("<userContext>" in message.text for message in model.seen[-1])

        async def picked(*keys: str) -> None:
            await me.send("/reminders")
            await me.until(
                lambda: isinstance(me.app.screen, Picker) and "user_context" in me.drawn()
            )
            await me.pilot.press("enter")
            await me.until(lambda: isinstance(me.app.screen, Picker) and "mute" in me.drawn())
            await me.pilot.press(*keys)

        await me.ready()
        await me.send("/reminders")
        await me.until(lambda: "send a first prompt" in me.transcript())
        assert await told_in("ask-all", "one") == 1
        await picked("enter")
        await me.until(lambda: isinstance(me.app.screen, Reader))
        await me.until(lambda: "userContext" in me.drawn())
        await me.pilot.press("escape")
        await picked("down", "enter")
        await me.until(lambda: "Reminder user_context: muted" in me.transcript())
        assert await told_in("ask", "two") == 1
        await me.send("/reminders")
        await me.until(lambda: "once" in me.drawn() and "muted" in me.drawn())
        await me.pilot.press("escape")
        await picked("down", "down", "enter")
        await me.until(lambda: "Reminder user_context: as usual" in me.transcript())
        assert await told_in("accept-edits", "three") == 2
