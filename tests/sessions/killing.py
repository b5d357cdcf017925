"""Kills programs at random statements of what a conversation writes; counts what was lost or torn.

``python -P -m tests.sessions.killing FOLDER KILLS SEED`` prints the counts as JSON. What returned is
acknowledged over a pipe: after the kill the conversation is as it was then, or with the next write whole.
"""

import json
import os
import random
import signal
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.core.display import Text
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    dump_message,
)
from sam_tui.core.ports.memory import ArchivedChunk
from sam_tui.core.ports.storage import CallDisplay
from sam_tui.core.todos.item import Todo
from sam_tui.core.usage import Usage

CALL = CallId("call_1")
Write = Callable[[Storage, ConversationId], object]


@dataclass
class Tally:
    """What kills did. ``lost`` and ``torn`` are to be 0."""

    kills: int = 0
    lost: int = 0
    torn: int = 0
    broken: int = 0


class Counted(sqlite3.Connection):
    """A connection that ends the process before a statement."""

    left = 0

    def execute(self, *arguments):  # pyright: ignore
        """Count, then run it."""
        Counted.left -= 1
        if Counted.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*arguments)  # pyright: ignore


def _shorten(storage: Storage, talk: ConversationId) -> None:
    chunk = ArchivedChunk(talk, 1, 1.0, 2.0, "part", ("prompt",), (("user", "prompt"),))
    opening = [ReminderMessage("thread_summary", "short")]
    storage.conversations.shorten(talk, dropped=2, opening=opening, archived=[chunk])


WRITES: tuple[Write, ...] = (
    lambda s, c: s.conversations.create(c, "/w"),
    lambda s, c: s.conversations.keep_queued(c, ["prompt"]),
    lambda s, c: s.conversations.append(c, [ReminderMessage("r", "x"), UserMessage("prompt")]),
    lambda s, c: s.conversations.keep_queued(c, []),
    lambda s, c: s.conversations.append(
        c, [AssistantMessage("I look", calls=(ToolCall(CALL, "run", "{}"),))]
    ),
    lambda s, c: s.results.save(c, CALL, "long " * 200_000),
    lambda s, c: s.conversations.append(
        c, [ToolMessage(CALL, "run", "ok", ok=True)], CallDisplay(CALL, 1.0, (Text("ok"),))
    ),
    lambda s, c: s.todos.save(c, [Todo(1, "Do it")]),
    lambda s, c: s.conversations.add_usage(c, Usage(10, 0, 0, 5)),
    lambda s, c: s.conversations.keep_pins(c, ["never push"]),
    lambda s, c: s.notices.add(c, "info", "Pinned: never push"),
    _shorten,
    lambda s, c: s.conversations.append(c, [AssistantMessage("Done.")]),
    lambda s, c: s.conversations.fork(c, ConversationId(f"{c}-copy"), at=2),
    lambda s, c: s.conversations.restore_dropped(c),
)


def state(storage: Storage, talk: ConversationId) -> str:
    """All that is stored of a conversation and its copy, without ids and times."""
    parts: list[object] = []
    for conversation in (talk, ConversationId(f"{talk}-copy")):
        store, record = storage.conversations, storage.conversations.find(conversation)
        parts.append([
            record and (record.messages, record.title, record.usage.input_tokens),
            [dump_message(message) for message in store.messages(conversation)],
            [dump_message(message) for message in store.everything(conversation)],
            [str(display) for display in store.call_displays(conversation).values()],
            [store.pins(conversation), store.queued(conversation)],
            [(notice.above, notice.text) for notice in storage.notices.load(conversation)],
            len(storage.results.load(conversation, CALL) or ""),
            [todo.title for todo in storage.todos.load(conversation)],
            len(storage.archive.search([conversation], "prompt", hint="", limit=9)),
        ])
    return json.dumps(parts)


def _child(folder: Path, talk: ConversationId, statement: int, pipe: int) -> None:
    storage = open_storage(folder)
    Counted.left = statement
    for write in WRITES:
        write(storage, talk)
        os.write(pipe, b".")
    os._exit(0)


def killed(folder: Path, kills: int, seed: int) -> Tally:
    """Kill so many; in a process that has one thread and has opened nothing."""
    chance, tally = random.Random(seed), Tally()
    expected: list[str] = []
    with open_storage(folder / "reference") as storage:
        talk = ConversationId("c")
        expected.append(state(storage, talk))
        for write in WRITES:
            write(storage, talk)
            expected.append(state(storage, talk))
    most = 200
    connect = sqlite3.connect
    sqlite3.connect = lambda *a, **k: connect(*a, factory=Counted, **k)  # pyright: ignore
    for number in range(100 * kills):
        if tally.kills == kills:
            break
        talk, statement = ConversationId(f"c{number}"), chance.randint(1, most)
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            _child(folder / "data", talk, statement, theirs)
        os.close(theirs)
        _, status = os.waitpid(child, 0)
        acknowledged = len(os.read(ours, 1000))
        os.close(ours)
        if not os.WIFSIGNALED(status):
            most = statement - 1  # it came to its end before
            continue
        tally.kills += 1
        with open_storage(folder / "data") as storage:
            now = state(storage, talk)
            if now not in expected[acknowledged : acknowledged + 2]:
                tally.torn += now not in expected
                tally.lost += now in expected
            if tally.kills % 50 in (0, 12):
                tally.broken += storage.database.query("PRAGMA quick_check") != [("ok",)]
    return tally


if __name__ == "__main__":
    print(json.dumps(asdict(killed(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))))
