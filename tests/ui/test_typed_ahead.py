"""Prompts typed faster than they are answered: each is stored or waits, whenever one looks."""

import asyncio
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from sam_tui.adapters.llm.scripted import ScriptedModel
from sam_tui.ui.app import SamApp
from sam_tui.ui.driver.output import heed_signals, unheed_signals
from sam_tui.ui.screens.dialogs import Choice, Picker
from sam_tui.ui.widgets.terminal.replay import ReplayView
from tests.ui.driver import Stage, app_over, build_stage, driven
from tests.ui.terminals import LEAVE_CHORD, drawn

PROMPTS = [f"prompt {number}" for number in range(40)]


def typed(app: SamApp, prompts: Sequence[str]) -> None:
    """All keys at once, as the terminal's reading thread passes them on."""
    for key in "".join(f"{prompt}\r" for prompt in prompts):
        name = {"\r": "enter", " ": "space"}.get(key, key)
        app.post_message(events.Key(name, None if key == "\r" else key))


def known(stage: Stage) -> list[str]:
    """What the conversation has of the person's, on disk: said, then waiting."""
    store = stage.runtime.conversations
    latest = store.latest(str(stage.workspace))
    if latest is None:
        return []
    waiting = store.queued(
        latest.id
    )  # first: what leaves the queue meanwhile has been said by then
    said = [message.text for message in store.everything(latest.id) if message.kind == "user"]
    return said + [text for text in waiting if text not in said]


def script() -> ScriptedModel:
    return ScriptedModel([{"text": f"Answer {number}."} for number in range(len(PROMPTS))])


@pytest.mark.requirement("ui:typed-ahead")
async def test_every_prompt_typed_ahead_is_stored_or_waits_and_all_are_answered(
    stage: Stage,
) -> None:
    stage.runtime.use_model(script())
    async with driven(app_over(stage)) as me:
        await me.ready()
        typed(me.app, PROMPTS)

        def all_there() -> bool:
            """Looked at in every pause, not only at the end: nothing is between said and waiting."""
            here = known(stage)
            assert here == PROMPTS[: len(here)]
            waiting = me.app.queue.waiting
            assert waiting == here[len(here) - len(waiting) :]
            return f"Answer {len(PROMPTS) - 1}." in me.transcript()

        await me.until(all_there)
        assert known(stage) == PROMPTS
        assert me.app.queue.waiting == []


@pytest.mark.requirement("ui:typed-ahead")
async def test_what_was_typed_before_the_program_is_told_to_end_is_kept(tmp_path: Path) -> None:
    stage = build_stage(tmp_path, None)
    stage.runtime.use_model(script())
    app = app_over(stage)
    async with driven(app) as me:
        await me.ready()
        await me.send("the first")
        await me.until(lambda: known(stage) == ["the first"])
        typed(app, PROMPTS)
        app.leave(143)
        await me.until(lambda: not app.is_running)
    assert app.return_code == 143
    again = build_stage(tmp_path, None)
    assert known(again) == ["the first", *PROMPTS]
    await again.runtime.close()


@pytest.mark.requirement("ui:typed-ahead")
async def test_a_signal_is_heard_however_many_keys_come_at_once(stage: Stage) -> None:
    app = app_over(stage)
    async with driven(app) as me:
        await me.ready()
        loop = me.app._loop  # pyright: ignore[reportPrivateUsage]
        assert loop is not None
        heed_signals(loop, app.leave)
        try:
            # A socket of its own wakes the loop, and holds some hundred bytes while it is busy.
            keys = threading.Thread(
                target=lambda: [loop.call_soon_threadsafe(lambda: None) for _ in range(5_000)]
            )
            keys.start()
            keys.join()
            os.kill(os.getpid(), signal.SIGTERM)
            await me.until(lambda: not app.is_running)
        finally:
            unheed_signals()
    assert app.return_code == 143


KEYS = {"\r": "enter", " ": "space", "+": "plus", "-": "minus"}


def at_once(app: SamApp, *parts: str | tuple[str, ...]) -> None:
    """Keys by their names in a tuple, else text, all in one piece as from a fast hand or a paste."""
    for part in parts:
        for key in part:
            text = None if isinstance(part, tuple) or key == "\r" else key
            app.post_message(events.Key(KEYS.get(key, key), text))


@pytest.mark.usefixtures("side_column")
@pytest.mark.requirement("ui:typed-behind")
async def test_keys_right_behind_the_key_that_leads_elsewhere_are_for_where_it_leads(
    stage: Stage,
) -> None:
    stage.runtime.use_model(script())
    async with driven(app_over(stage)) as me:
        await me.ready()
        panel, prompt = me.app.chat.terminals, me.app.chat.prompt.area
        await me.until(lambda: panel.shell.session is not None)
        # The list: titles, one behind the other, and the prompt again.
        at_once(me.app, ("ctrl+t",), "amilk and J\rabread\r", ("escape",), "say hello\r")
        await me.until(lambda: known(stage) == ["say hello"])
        session = me.bench.current.session
        assert session is not None
        titles = [item.title for item in stage.runtime.todos.items(session.conversation)]
        assert titles == ["milk and J", "bread"]
        # A tab of its own, and the one clicked: what is typed is that shell's.
        at_once(me.app, ("alt+t",), "echo in$((1+1))new\r")
        await me.until(lambda: len(panel.tabs) == 2 and "in2new" in drawn(panel.current))
        await me.pilot.click(panel, offset=(panel._places[0][0], 0))  # pyright: ignore[reportPrivateUsage] # where a person sees it
        at_once(me.app, "echo in$((1+1))old\r")
        await me.until(lambda: panel.current is panel.shell and "in2old" in drawn(panel.shell))
        assert prompt.text == ""
        # A recording: its keys pause it, the others go on to the prompt.
        (stage.workspace / "one.cast").write_text('{"version": 2, "width": 9, "height": 3}\n')
        at_once(me.app, (*LEAVE_CHORD,))
        await me.send("/replay one.cast")
        await me.until(lambda: isinstance(panel.current, ReplayView) and panel.current.has_focus)
        replay = panel.current
        assert isinstance(replay, ReplayView)
        at_once(me.app, "++-q", "echo clo$((1+1))sed\r")
        await me.until(lambda: "clo2sed" in drawn(panel.current))
        assert replay.playback.speed == 2


CHOICES = [Choice("apple"), Choice("banana"), Choice("bread"), Choice("cherry")]


@pytest.mark.requirement("ui:typed-at-lists")
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        (["down", "enter"], 1),
        (["b", "down", "enter"], 2),
        (["b", "down", "up", "enter", "x"], 1),
        (["up", "pageup", "down", "enter"], 1),
        (["x", "enter", "escape"], None),
    ],
)
async def test_keys_typed_at_a_list_count_in_their_order_also_before_it_is_there(
    stage: Stage, keys: Sequence[str], chosen: int | None, *, loaded: bool
) -> None:
    there = asyncio.Event()
    results: list[int | None] = []

    async def load() -> Sequence[Choice]:
        await there.wait()
        return CHOICES

    async with driven(app_over(stage)) as me:
        await me.ready()
        picker = Picker("choose", load, empty="")
        me.app.push_screen(picker, results.append)
        await me.until(lambda: isinstance(me.app.focused, Input))
        if loaded:
            there.set()
            await me.until(lambda: picker.marked == 0)
        for key in keys:
            me.app.post_message(events.Key(key, key if len(key) == 1 else None))
        if not loaded:
            await me.pilot.pause()
            assert chosen is None or not results
            there.set()
        await me.until(lambda: results)
        assert results == [chosen]


@pytest.mark.usefixtures("side_column")
@pytest.mark.requirement("ui:key-order")
async def test_a_terminal_chosen_right_behind_a_prompt_stays_on_a_narrow_screen(
    stage: Stage,
) -> None:
    stage.runtime.use_model(script())
    async with driven(app_over(stage), size=(45, 24)) as me:
        await me.ready()
        at_once(me.app, "hello\r", ("alt+2",))
        await me.until(lambda: "Answer 0." in me.transcript())
        assert me.app.chat.side_shown


@pytest.mark.requirement("ui:key-order")
async def test_a_prompt_is_sent_where_it_was_typed_whatever_key_comes_right_behind(
    stage: Stage,
) -> None:
    stage.runtime.use_model(script())
    async with driven(app_over(stage)) as me:
        await me.ready()
        prompt, store = me.app.chat.prompt.area, stage.runtime.conversations

        def said() -> list[list[str]]:
            records = store.recent(str(stage.workspace), 9)
            return sorted(
                [m.text for m in store.everything(record.id) if m.kind == "user"]
                for record in records
            )

        # Another conversation, by its key and by a command: what is typed behind is that one's.
        at_once(me.app, "one\r", ("alt+n",), "two\r")
        await me.until(lambda: said() == [["one"], ["two"]] and not me.bench.turns.running)
        at_once(me.app, "/new\r", "three\r")
        await me.until(lambda: said() == [["one"], ["three"], ["two"]])
        # A dialog: its line takes what is typed behind the command or key that opens it.
        for opens in ("/resume\r", ("ctrl+o",)):
            await me.until(lambda: not me.bench.turns.running)
            at_once(me.app, opens, "on")
            await me.until(lambda: me.app.screen is not me.app.chat)
            await me.until(lambda: getattr(me.app.focused, "value", "") == "on")
            assert prompt.text == ""
            at_once(me.app, ("escape",), "back")
            await me.until(lambda: prompt.text == "back")
            prompt.empty()
