"""Measures what a long history costs: requests of 1,000 messages, opening and copying 10,000, searches.

``python -m bench.engine [--conversations N] [--messages N] [--json FILE] [--strict]``. Times are CPU at the
median of some rounds. Neighbours of the same moment do the same with SQLite and ``json`` alone: read and
parse the rows of a conversation, copy them, ask a full-text index of the same words.
"""

import asyncio
import contextlib
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from bench.figures import Figure, judged, options
from sam_tui.adapters.llm.wire import Dialect, RequestWriter
from sam_tui.assembly import Options, build
from sam_tui.core.agent.history import History
from sam_tui.core.ids import CallId, ConversationId, mint_conversation
from sam_tui.core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from sam_tui.core.runtime import Runtime
from tests.fakes.databases import install

ROUNDS = 7
PROMPT = 1_000
"""Messages of the history whose request is built."""
MOST_BUILD = 5.0
"""Milliseconds of CPU that it may take."""


def talk(messages: int, topic: str = "talk") -> list[Message]:
    """A history: prompts, answers with a call, and results of some lines."""
    history: list[Message] = []
    for number in range(0, messages, 4):
        call = CallId(f"{topic}-{number}")
        arguments = json.dumps({"operation": "read_file", "path": f"src/{number}.py"})
        history += [
            UserMessage(f"{topic}: look at part {number} of it"),
            AssistantMessage("I read it.", calls=(ToolCall(call, "file_operations", arguments),)),
            ToolMessage(call, "file_operations", f"line {number} of {topic}\n" * 10, ok=True),
            AssistantMessage(f"Part {number} is as it should be."),
        ]
    return history[:messages]


def stored(runtime: Runtime, messages: Sequence[Message]) -> ConversationId:
    """A new conversation that has these messages."""
    conversation = mint_conversation()
    runtime.conversations.create(conversation, runtime.workspace.root)
    runtime.conversations.add_whole(conversation, [(time.time(), m) for m in messages], ())
    return conversation


def cost(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Milliseconds of CPU, at the median."""
    costs: list[float] = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        costs.append(1000 * (time.process_time() - begun))
    return median(costs)


def requests(runtime: Runtime) -> list[Figure]:
    """A step of a conversation of so many messages: reminders and request, and its bytes."""
    history = History(runtime.conversations, stored(runtime, talk(PROMPT)))
    history.restore(runtime.executor.plan)
    builder = runtime.engine.requests
    wire = RequestWriter("bench", Dialect(), {})

    def step() -> None:
        builder.reminders(history, new_message=False)
        wire.body(builder.build(history.messages))

    begun = time.process_time()
    step()
    first = 1000 * (time.process_time() - begun)
    bodies = [{"role": m.kind, "content": m.text} for m in history.messages]
    parsed = cost(lambda: json.dumps(bodies).encode())
    beside = "json.dumps of these messages"
    name = f"request of {PROMPT:,} messages"
    return [
        Figure(f"{name}, the first", first, "ms", neighbour=parsed, beside=beside),
        Figure(f"{name}, a later one", cost(step), "ms", None, parsed, beside, target=MOST_BUILD),
    ]


def histories(runtime: Runtime, database: str, messages: int) -> list[Figure]:
    """Opening a long conversation, and copying it."""
    conversation = stored(runtime, talk(messages))
    plain = sqlite3.connect(database, isolation_level=None)
    where = "FROM messages WHERE conversation = ?"

    def read() -> list[object]:
        rows = plain.execute(f"SELECT body {where} ORDER BY position", (conversation,))
        return [json.loads(body) for (body,) in rows]

    def copy() -> None:
        plain.execute(f"CREATE TEMP TABLE copy AS SELECT * {where}", (conversation,))
        plain.execute("DROP TABLE copy")

    def opened() -> None:
        runtime.open_session(conversation).close()

    figures = [
        Figure(
            f"{name} {messages:,} messages",
            cost(work),
            "ms",
            most,
            cost(neighbour),
            beside,
            target=t,
        )
        for name, work, most, neighbour, beside, t in (
            ("open", opened, 6.0, read, "SELECT and json.loads", 700.0),
            ("fork", lambda: runtime.fork(conversation), 6.0, copy, "CREATE TABLE AS SELECT", None),
        )
    ]
    plain.close()
    return figures


def searches(runtime: Runtime, folder: Path, conversations: int) -> list[Figure]:
    """A search over many conversations, once the index is up to date."""
    plain = sqlite3.connect(folder / "plain.db", isolation_level=None)
    plain.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
    for number in range(conversations):
        history = talk(20, f"topic{number}")
        stored(runtime, history)
        plain.executemany("INSERT INTO words VALUES (?)", [(m.text,) for m in history])
    begun = time.process_time()
    runtime.sessions.search("topic7", 20)
    indexed = 1000 * (time.process_time() - begun)
    query = (
        "SELECT rowid, snippet(words, 0, '[', ']', '…', 16) FROM words WHERE words MATCH ?"
        " ORDER BY rank LIMIT 500"
    )
    figures = [Figure(f"first search, {conversations:,} conversations", indexed, "ms")]
    one = f"topic{conversations // 2}"
    for name, words, most in (("one matches", one, 20.0), ("all match", "look part", 8.0)):
        asked = " ".join(f'"{word}"*' for word in words.split())
        neighbour = cost(lambda asked=asked: plain.execute(query, (asked,)).fetchall())
        value = cost(lambda words=words: runtime.sessions.search(words, 20))
        figures.append(Figure(f"search, {name}", value, "ms", most, neighbour, "plain FTS5"))
    plain.close()
    return figures


async def measured(folder: Path, conversations: int, messages: int) -> list[Figure]:
    """Everything in one runtime."""
    (folder / "ws").mkdir()
    install()  # a thousand conversations are stored one by one; what is measured is CPU
    runtime = build(Options(str(folder / "ws"), str(folder / "data")), {"HOME": str(folder)})
    with contextlib.ExitStack() as ending:
        ending.callback(runtime.release)
        return [
            *requests(runtime),
            *histories(runtime, str(folder / "data" / "sam.db"), messages),
            *searches(runtime, folder, conversations),
        ]


def main() -> int:
    """Measure, print, and judge."""
    parser = options("Measure requests, opening, copying and searching.")
    parser.add_argument("--conversations", type=int, default=1_000)
    parser.add_argument("--messages", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measured(Path(folder), given.conversations, given.messages))
    return judged("engine", figures, given)


if __name__ == "__main__":
    sys.exit(main())
