"""Measures a long run: what the hundredth turn and the two thousandth cost, in time, memory and bytes.

``python -m bench.long [--turns N] [--json FILE] [--strict]``. One process, the assembled runtime, the
scripted model, no limit of context, so that nothing is ever compacted. Times are CPU of a turn at the
median of the 50 before each mark, beside those of the first mark. Every run counts memory as Python
does, which slows all turns alike. The bytes of each request are compared with those of the one before.
"""

import asyncio
import gc
import statistics
import sys
import tempfile
import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, judged, options
from sam_tui.adapters.llm.scripted import ScriptedModel
from sam_tui.adapters.llm.wire import Dialect, RequestWriter
from sam_tui.assembly import Options, build

MARKS = (100, 500, 1_000, 2_000)
AROUND = 50
"""Turns before a mark whose median it is."""
SLOWER = 1.5
"""The most that a turn may cost beside one of the first mark."""
KEPT = 4_096
"""Bytes of memory that a turn may leave behind: two messages of a line each, and what indexes them."""


@dataclass(slots=True)
class BytesSent:
    """What requests had in all, and how much of it was the request before."""

    sent: int = 0
    before: int = 0
    last: bytes = b""

    def add(self, body: bytes) -> None:
        """A request; a closing bracket and brace are at its end."""
        known = self.last[:-2]
        self.sent += len(body)
        self.before += len(known) if body.startswith(known) else 0
        self.last = body


async def measured(folder: Path, turns: int) -> list[Figure]:
    """Run them all; two figures a mark."""
    (folder / "ws").mkdir()
    runtime = build(Options(str(folder / "ws"), str(folder / "data")), {"HOME": str(folder)})
    runtime.use_model(ScriptedModel([{"text": f"Answer {n}."} for n in range(turns)]))
    session = runtime.open_session()
    writer, sent = RequestWriter("bench", Dialect(), {}), BytesSent()
    costs: list[float] = []
    figures: list[Figure] = []
    first, last_turn, last_size = 0.0, 0, 0
    tracemalloc.start()
    for number in range(1, turns + 1):
        begun = time.process_time()
        finished = await session.run(f"Prompt {number}")
        costs.append(time.process_time() - begun)
        if finished.reason != "finished":
            raise SystemExit(f"turn {number} ended as {finished.reason}: {finished.error}")
        # The last answer came after the request.
        sent.add(writer.body(runtime.engine.requests.build(session.messages[:-1])))
        if number not in MARKS:
            continue
        gc.collect()
        size, cost = tracemalloc.get_traced_memory()[0], 1000 * statistics.median(costs[-AROUND:])
        left = (size - last_size) / (number - last_turn)
        first = first or cost
        name = f"turn {number:,}"
        figures.append(Figure(name, cost, "ms", SLOWER, first, f"turn {MARKS[0]}"))
        figures.append(Figure(f"{name}, memory left by each since", left, "bytes", KEPT))
        last_turn, last_size = number, size
    tracemalloc.stop()
    await runtime.close()
    share = f"input bytes that were sent before, {turns:,} turns"
    figures.append(Figure(share, 100 * sent.before / sent.sent, "%", 97, least=True))
    return figures


def main() -> int:
    """Measure, print, and judge."""
    parser = options("Measure a long run.")
    parser.add_argument("--turns", type=int, default=MARKS[-1], help="at least 500")
    given = parser.parse_args()
    if given.turns < MARKS[1]:
        parser.error(f"{MARKS[1]} turns are the fewest that can be compared")
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measured(Path(folder), given.turns))
    return judged("long", figures, given)


if __name__ == "__main__":
    sys.exit(main())
