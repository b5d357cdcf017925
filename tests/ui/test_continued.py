"""A conversation that is opened again: what waited, and what it looks like."""

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from sam_tui.core.events import Noticed
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import AssistantMessage, Message, ToolCall, UserMessage
from sam_tui.core.ports.model import TextDelta
from tests.fakes.engine_kit import RawModel, calls
from tests.transcript.hosting import source_text
from tests.ui.driver import Stage, app_over, build_stage, driven
from tests.ui.test_chat import says

SECONDS = 90
UP, ENTER = b"\x1b[A", b"\r"


class RunningWorkbench:
    """A person at a real terminal in which the workbench runs."""

    def __init__(self, program: "subprocess.Popen[bytes]", terminal: int) -> None:
        self.program = program
        self._terminal = terminal

    def sees(self, *texts: str, pressing: bytes = b"") -> None:
        """Wait until each was drawn, in this order; meanwhile a key may be pressed again and again."""
        seen, left = b"", SECONDS
        for text in texts:
            while text.encode() not in seen:
                if select.select([self._terminal], [], [], 1)[0]:
                    seen += os.read(self._terminal, 65536)
                    continue
                left -= 1
                assert left, seen[-2000:]
                self.types(pressing)
            seen = seen.partition(text.encode())[2]

    def types(self, *keys: bytes) -> None:
        """Press keys."""
        for key in keys:
            os.write(self._terminal, key)


@contextmanager
def started(folder: Path, script: object, *words: str) -> Generator[RunningWorkbench]:
    """The workbench over a scripted model; it is killed at the end, as by kill -9."""
    (folder / "script.json").write_text(json.dumps(script))
    (folder / "ws").mkdir(exist_ok=True)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (30, 110))
    place = ["-C", str(folder / "ws"), "--data-dir", str(folder / "data")]
    model = ["--model", f"scripted:{folder / 'script.json'}"]
    program = subprocess.Popen(
        [sys.executable, "-P", "-m", "sam_tui", *place, *model, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "SHELL": "/bin/sh"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield RunningWorkbench(program, ours)
    finally:
        program.kill()
        program.wait()
        os.close(ours)


async def stored(folder: Path) -> tuple[Sequence[Message], Sequence[str]]:
    """What the last conversation has, and the prompts that wait in it."""
    stage = build_stage(folder, None)
    store = stage.runtime.conversations
    latest = store.latest(str(stage.workspace))
    assert latest is not None
    found = store.everything(latest.id), store.queued(latest.id)
    await stage.runtime.close()
    return found


def typed(messages: Sequence[Message]) -> list[str]:
    """What the person said."""
    return [message.text for message in messages if message.kind == "user"]


@pytest.mark.requirement("ui:queue-kept")
async def test_a_queued_prompt_outlives_a_kill_and_is_sent_only_by_the_person(
    tmp_path: Path,
) -> None:
    endless = [{"rate": 200, "text": "word " * 20_000}]
    with started(tmp_path, endless, "go") as me:
        me.sees("word word")
        me.types(b"second thing", ENTER)
        me.sees("↳")
        me.types(b"third thing", ENTER)
        while (await stored(tmp_path))[1] != ["second thing", "third thing"]:
            me.sees("word")
    with started(tmp_path, [{"text": "heard you"}], "-c") as me:
        me.sees("were not sent before", "third thing")
        messages, waiting = await stored(tmp_path)
        assert (typed(messages), waiting) == (["go"], ["second thing", "third thing"])
        me.types(UP)
        me.sees("heard you", pressing=ENTER)
    messages, waiting = await stored(tmp_path)
    assert (typed(messages), waiting) == (["go", "third thing"], ["second thing"])


@pytest.mark.requirement("ui:queue-kept")
async def test_what_waited_comes_back_with_its_conversation_alone(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [says("one"), says("two")]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("first")
        await me.until(lambda: "one" in me.transcript() and not me.bench.turns.running)
        session = me.bench.current.session
        assert session is not None
        stage.runtime.conversations.keep_queued(session.conversation, ["left over"])
        me.bench.conversations.open(session.conversation)
        await me.until(lambda: "↳ left over" in me.drawn())
        await me.send("/new")
        await me.until(lambda: "↳ left over" not in me.drawn())
        me.bench.conversations.open(session.conversation)
        await me.send("second")
        await me.until(lambda: "two" in me.transcript() and not me.bench.turns.running)
        assert [m.text for m in model.seen[-1] if m.kind == "user"] == ["first", "second"]
        await me.pilot.press("escape")
        assert me.app.chat.prompt.area.text == "left over"
        assert not stage.runtime.conversations.queued(session.conversation)


@pytest.mark.requirement("ui:queue-kept")
async def test_a_conversation_with_nothing_but_a_waiting_prompt_is_kept(stage: Stage) -> None:
    store, only = stage.runtime.conversations, ConversationId("only")
    root = stage.runtime.workspace.root
    store.create(only, root)
    store.keep_queued(only, ["say \ud800 it"])
    assert store.queued(only) == ["say \ufffd it"]
    assert not store.remove_unused(before=float("inf"))
    latest = store.latest(root)
    assert latest is not None and latest.id == only
    store.keep_queued(only, [])
    assert store.remove_unused(before=float("inf")) == [only]
    await stage.runtime.close()


@pytest.mark.requirement("ui:resume")
async def test_a_call_that_a_crash_cut_is_told_in_words(stage: Stage) -> None:
    session = stage.runtime.open_session()
    read = '{"operation": "read_file", "filePath": "notes.md"}'
    cut = AssistantMessage("", calls=(ToolCall(CallId("c1"), "file_operations", read),))
    stage.runtime.conversations.append(session.conversation, [UserMessage("look"), cut])
    async with driven(app_over(stage, conversation=session.conversation)) as me:
        await me.ready()
        await me.until(lambda: "[file_operations.read_file]" in me.transcript())
        assert "Reading: notes.md" in me.transcript() and "{" not in me.transcript()


@pytest.mark.requirement("ui:resume")
async def test_a_conversation_looks_the_same_when_it_is_opened_again(
    stage: Stage, model: RawModel
) -> None:
    (stage.workspace / "notes.md").write_text("milk\n")
    read = {"operation": "read_file", "filePath": "notes.md"}
    model.answers += [
        calls(("file_operations", read)),
        says("done"),
        [TextDelta("so far"), asyncio.Event()],
        says("last"),
    ]
    async with driven(app_over(stage)) as me:

        def looks() -> list[str]:
            text = me.transcript()
            return text[text.index("> look") :].splitlines()

        await me.ready()
        await me.send("look")
        await me.until(lambda: "done" in me.transcript() and not me.bench.turns.running)
        session = me.bench.current.session
        assert session is not None
        await me.send("/pin never push")
        await me.send("stop here")
        await me.until(lambda: "so far" in me.transcript())
        await me.pilot.press("escape")
        await me.until(lambda: "Cancelled." in me.transcript() and not me.bench.turns.running)
        await me.send("go on")
        await me.until(lambda: "last" in me.transcript() and not me.bench.turns.running)
        await me.send("/layout narrow")
        live = looks()
        for _ in range(2):
            me.bench.conversations.open(session.conversation)
            assert live == looks(), "what the program said stands at its place"
        assert not [m for m in model.seen[-1] if "Cancelled." in m.text or "Pinned:" in m.text]
        await me.send("/fork")
        await me.until(lambda: me.bench.current.id != session.conversation)
        assert live == looks()[: len(live)]
        await me.pilot.press("alt+n")
        stage.runtime.bus.publish(Noticed(me.bench.current.tabs[0].conversation, "info", "Psst."))
        await me.until(lambda: "Psst." in source_text(me.bench.current.tabs[0].transcript))
        assert "Psst." not in me.transcript(), "it belongs to the other tab"
    first = [line.split()[0] for line in live if line.startswith(("[", ">"))]
    assert first[:3] == [">", "[user_context]", "[file_operations.read_file]"]
    assert not any("{" in line for line in live)
    assert [line for line in live if line in ("Pinned: never push", "Cancelled.")] == [
        "Pinned: never push",
        "Cancelled.",
    ]
