"""Measures the conversation pane in a real pty: streaming, key echo, idling, opening a long history.

Run ``python -m bench.stream [scenario ...] [--strict]``. CPU is user and system seconds of the program
under test alone; echo is from the byte written to the pty until the character is read back. Beside the echo
amid a stream stands that of the same program at rest.
"""

import asyncio
import fcntl
import gc
import json
import os
import random
import resource
import select
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.figures import Figure, judged, options

if TYPE_CHECKING:
    from textual.app import App

    from sam_tui.core.messages import Message
    from sam_tui.ui.transcript import Transcript

COLUMNS, ROWS = 120, 40
MOST_ECHO, MOST_IDLE, MOST_MEMORY = 4.0, 0.3, 120.0
SENTENCE = (
    "the agent reads every file and writes a `plan` before **editing** anything in the *workspace* "
    "so that nothing is lost"
)
WORDS = SENTENCE.split(" ")
KEYS = "".join(map(chr, range(0x100, 0x17F)))
"""Typed once each: the input line shows all that was typed, again and again."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What runs in the pty: tokens at a rate, idle seconds, or stored messages."""

    name: str
    tokens: int = 0
    rate: int = 0
    idle: float = 0.0
    messages: int = 0


SCENARIOS = {
    s.name: s
    for s in (
        Scenario("quiet"),
        Scenario("stream-2000", tokens=20_000, rate=2_000),
        Scenario("stream-150", tokens=900, rate=150),
        Scenario("idle", idle=5.0, messages=40),
        Scenario("load-500", messages=500),
    )
}


def tokens(count: int) -> list[str]:
    """Mixed Markdown, a word or a line of code a token."""
    source = random.Random(1)
    made: list[str] = []
    while len(made) < count:
        made.append(f"\n\n## Section {len(made)}\n\n")
        for _ in range(3):
            made += [" " + source.choice(WORDS) for _ in range(60)] + ["\n\n"]
        for _ in range(6):
            words = [source.choice(WORDS) for _ in range(6)]
            made += ["- ", *[f"{word} " for word in words], "\n"]
        made.append("\n```python\n")
        for line in range(15):
            made += ["    ", f"value_{line}", " = ", "compute(", f"{line}", ")\n"]
        made.append("```\n\n")
    return made[:count]


def conversation(messages: int) -> "list[Message]":
    """Questions and answers in turn."""
    from sam_tui.core.messages import AssistantMessage, UserMessage

    source, text = random.Random(2), tokens(2_000)
    found: list[Message] = []
    for _ in range(messages // 2):
        start = source.randrange(1_500)
        found.append(UserMessage("what does it do? " * 5))
        found.append(AssistantMessage("".join(text[start : start + 400])))
    return found


def used() -> float:
    """CPU seconds of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def mark(path: str, text: str = "") -> None:
    """Tell the other side of the pty, by a file, that a point was reached."""
    Path(path).write_text(text, encoding="utf-8")


async def stream(transcript: "Transcript", made: list[str], rate: int) -> None:
    """Hand tokens over at a rate, as they are due."""
    given, begun = 0, time.perf_counter()
    while given < len(made):
        due = min(len(made), int((time.perf_counter() - begun) * rate) + 1)
        for token in made[given:due]:
            transcript.stream_text(token)
        given = due
        await asyncio.sleep(0.005)
    transcript.end_answer()


async def drive(
    app: "App[None]", transcript: "Transcript", scenario: Scenario, report: str
) -> dict[str, float]:
    """Act out the scenario; returns what was measured inside."""
    figures: dict[str, float] = {}
    messages = conversation(scenario.messages)
    await asyncio.sleep(0.3)
    begun, cpu = time.perf_counter(), used()
    if messages:
        transcript.load(messages)
        drawn = asyncio.Event()
        app.call_after_refresh(drawn.set)
        await drawn.wait()
        figures |= {"open_s": time.perf_counter() - begun, "open_cpu_s": used() - cpu}
    mark(f"{report}.ready")
    if scenario.idle:
        await asyncio.sleep(0.5)
        cpu = used()
        await asyncio.sleep(scenario.idle)
        figures["idle_cpu_percent"] = 100 * (used() - cpu) / scenario.idle
    made = tokens(scenario.tokens)
    begun, cpu = time.perf_counter(), used()
    if made:
        await stream(transcript, made, scenario.rate)
        wall, cpu = time.perf_counter() - begun, used() - cpu
        figures |= {"wall_s": wall, "cpu_s": cpu, "cpu_percent": 100 * cpu / wall}
    else:
        await asyncio.sleep(2)
    mark(f"{report}.done")
    await asyncio.sleep(0.2)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures | {"draws": transcript.draws, "rss_mb": peak}


def run_child(scenario: Scenario, report: str) -> None:
    """The program under test: a transcript over an input line."""
    from textual.app import App, ComposeResult
    from textual.widgets import Input

    from sam_tui.ui.transcript import Transcript

    class Host(App[None]):
        CSS = "Transcript { height: 1fr; } Input { dock: bottom; }"

        def compose(self) -> ComposeResult:
            yield Transcript()
            yield Input()

        def on_mount(self) -> None:
            line = self.query_one(Input)
            line.cursor_blink = False
            line.focus()
            gc.collect()
            gc.freeze()
            gc.set_threshold(50_000, 20, 100)
            self.run_worker(self.act())

        async def act(self) -> None:
            transcript = self.query_one(Transcript)
            figures = await drive(self, transcript, scenario, report)
            mark(report, json.dumps(figures))
            self.exit()

    Host().run()


def profiled(scenario: Scenario, report: str) -> None:
    """The child under cProfile; the table goes beside the report."""
    import cProfile
    import pstats

    profile = cProfile.Profile()
    profile.runcall(run_child, scenario, report)
    with Path(f"{report}.profile").open("w", encoding="utf-8") as out:
        pstats.Stats(profile, stream=out).sort_stats("tottime").print_stats(45)
        pstats.Stats(profile, stream=out).sort_stats("cumulative").print_stats(60)


class Screen:
    """The pty's near side: types keys, and times until they come back."""

    def __init__(self, master: int) -> None:
        self._master = master
        self.received = 0
        self.echoes: list[float] = []

    def read_until(self, found: Callable[[bytes], bool], seconds: float) -> bool:
        """Read what the program draws until ``found`` says so of a chunk and what came before it."""
        tail, deadline = b"", time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            if not select.select([self._master], [], [], left)[0]:
                break
            try:
                chunk = os.read(self._master, 65_536)
            except OSError:
                return False
            self.received += len(chunk)
            tail = tail[-8:] + chunk
            if found(tail):
                return True
        return False

    def type(self, key: str) -> None:
        """Type a key and wait for its echo, at most two seconds."""
        wanted = key.encode()
        begun = time.perf_counter()
        os.write(self._master, wanted)
        if self.read_until(lambda data: wanted in data, 2.0):
            self.echoes.append(1_000 * (time.perf_counter() - begun))


def measure(scenario: Scenario, *, profile: bool = False) -> dict[str, object]:
    """Run one scenario in a pty of its own."""
    with tempfile.TemporaryDirectory() as folder:
        report = f"{folder}/report"
        process, master = os.forkpty()
        if process == 0:
            os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            # Textual's screen clock: at its usual 60 a key pressed amid a stream waits up to 33 ms.
            os.environ.setdefault("TEXTUAL_FPS", "240")
            (profiled if profile else run_child)(scenario, report)
            os._exit(0)
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        screen = Screen(master)
        while not Path(f"{report}.ready").exists():
            screen.read_until(lambda _: False, 0.05)
        typed = 0
        while not Path(f"{report}.done").exists():
            if not scenario.idle:
                screen.type(KEYS[typed % len(KEYS)])
                typed += 1
            screen.read_until(lambda _: False, 0.12)
        while os.waitpid(process, os.WNOHANG)[0] == 0:
            screen.read_until(lambda _: False, 0.1)
        figures: dict[str, object] = {**asdict(scenario)}
        figures |= {k: round(v, 3) for k, v in json.loads(Path(report).read_text("utf-8")).items()}
        if profile:
            sys.stderr.write(Path(f"{report}.profile").read_text("utf-8"))
        os.close(master)
    echoes = sorted(screen.echoes)
    if echoes:
        figures |= {
            "keys": typed,
            "echoed": len(echoes),
            "echo_p50_ms": round(echoes[len(echoes) // 2], 1),
            "echo_p95_ms": round(echoes[int(len(echoes) * 0.95)], 1),
            "echo_max_ms": round(echoes[-1], 1),
        }
    figures["pty_kb"] = screen.received // 1024
    return figures


def figures_of(measured: Mapping[str, Mapping[str, object]]) -> list[Figure]:
    """What was measured, with what is promised of it."""
    figures: list[Figure] = []
    quiet = number(measured, "quiet", "echo_p95_ms")
    for name in measured:
        if name.startswith("stream"):
            echo, most = number(measured, name, "echo_p95_ms"), MOST_ECHO
            figures.append(Figure(f"{name}: echo, p95", echo, "ms", most, quiet, "at rest"))
            per_token = number(measured, name, "cpu_s") or 0.0
            cost = 1_000 * per_token / SCENARIOS[name].tokens
            figures.append(Figure(f"{name}: CPU a token", cost, "ms"))
    figures += [
        Figure(label, number(measured, name, key), unit, most)
        for name, label, key, unit, most in (
            ("quiet", "at rest: echo, p95", "echo_p95_ms", "ms", None),
            ("idle", "idle: CPU", "idle_cpu_percent", "% CPU", MOST_IDLE),
            ("load-500", "500 messages: opened", "open_s", "s", None),
            ("load-500", "500 messages: memory", "rss_mb", "MB", MOST_MEMORY),
        )
        if name in measured
    ]
    return figures


def number(measured: Mapping[str, Mapping[str, object]], name: str, key: str) -> float | None:
    """One value of one scenario; None where it was not measured."""
    value = measured.get(name, {}).get(key)
    return float(value) if isinstance(value, int | float) else None


def main() -> int:
    """Run the scenarios named, or all."""
    parser = options("Measure the conversation pane.")
    parser.add_argument("scenarios", nargs="*", help=f"of {', '.join(SCENARIOS)}; else all")
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    measured = {
        name: measure(SCENARIOS[name], profile=given.profile)
        for name in given.scenarios or SCENARIOS
    }
    return judged("stream", figures_of(measured), given)


if __name__ == "__main__":
    sys.exit(main())
