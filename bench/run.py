"""Measures start-up, headless runs, tool rounds, memory and sizes, beside baselines of the same minute.

``python -m bench.run [--repeat N] [--json FILE] [--strict]``. Times are medians. Beside them stand
``python -c pass``, a bare Textual app, and a bare client: httpx that asks the same server and runs the same
commands by ``subprocess``. The model is a server on loopback that answers at once.
"""

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.figures import Figure, judged, options
from bench.probes import Interactive, Run, Unmeasurable, interactive, run
from tests.fakes.openai_server import Call, FakeServer, Reply, background

PYTHON = sys.executable
SAM = str(Path(sys.executable).with_name("sam-tui"))
ROUNDS = 20
MOST_ROUND = 4.0
MOST_WAKEUPS = 5
"""A second: it looks at the store twice, and its last thread once."""
BARE_APP = """
from textual.app import App
from textual.widgets import Input
class Bare(App):
    def compose(self):
        yield Input()
Bare().run()
"""
BARE_CLIENT = """
import httpx, json, subprocess, sys
base, rounds = sys.argv[1], int(sys.argv[2])
with httpx.Client() as client:
    messages = []
    for number in range(rounds + 1):
        messages.append({"role": "user", "content": "Say hello."})
        body = {"model": "fake", "stream": True, "messages": messages}
        with client.stream("POST", base + "/chat/completions", json=body) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: {"):
                    json.loads(line[6:])
        if number < rounds:
            subprocess.run(["bash", "-c", f"printf %d {1000 + number:#x}"], capture_output=True)
print("Hello")
"""
PROGRAM = "import runpy; sys.argv[1:] = [{!r}]; runpy.run_module('sam_tui', run_name='__main__')"
ENTRIES = {
    "sam-tui --version": PROGRAM.format("--version"),
    "sam-tui --help": PROGRAM.format("--help"),
    "the core": "import sam_tui.core.runtime",
    "the first frame": "import sam_tui.ui.app",
}


class Bench:
    """One folder, one environment and one server for all measurements."""

    def __init__(self, folder: Path, server: FakeServer, repeat: int) -> None:
        self.server = server
        self.repeat = repeat
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        dropped = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
        self.environment = {k: v for k, v in os.environ.items() if k not in dropped}
        self.environment |= {
            "HOME": str(folder),
            "TERM": "xterm-256color",
            "OPENAI_API_KEY": "none-needed",
        }
        self.model = ("--model", "openai/fake", "--api-base", server.base)

    def run(self, *command: str) -> Run:
        """Run a program to its end."""
        return run(command, cwd=self.workspace, environment=self.environment)

    def interactive(self, *command: str, watch: float = 0.0) -> Interactive:
        """Run a program in a pty until it is usable."""
        return interactive(command, cwd=self.workspace, environment=self.environment, watch=watch)

    def headless(self, replies: Sequence[Reply]) -> Run:
        """One prompt through the command line; the server plays the replies."""
        self.server.replies.extend(replies)
        done = self.run(SAM, "run", "Say hello.", *self.model, "--permission-mode", "auto")
        if "Hello" not in done.output:
            raise Unmeasurable(f"the answer did not arrive: {done.output[-200:]!r}")
        return done

    def client(self, rounds: int) -> Run:
        """A bare client that asks as often and runs as many commands."""
        self.server.replies.extend([Reply(text="Hello.")] * (rounds + 1))
        return self.run(PYTHON, "-c", BARE_CLIENT, self.server.base, str(rounds))

    def rounds(self, count: int) -> Run:
        """A prompt that takes so many shell commands, each with its real output checked."""
        first = len(self.server.requests)
        numbers = [1000 + i for i in range(count)]
        calls = [
            Reply(
                calls=(
                    Call(
                        "terminal_operations",
                        {"operation": "run_command", "command": f"printf %d {number:#x}"},
                        id=f"call_{number}",
                    ),
                )
            )
            for number in numbers
        ]
        done = self.headless([*calls, Reply(text="Hello.")])
        told = {
            message["tool_call_id"]: message["content"]
            for message in self.server.requests[first:][-1].json["messages"]
            if message["role"] == "tool"
        }
        missing = [n for n in numbers if str(n) not in str(told.get(f"call_{n}"))]
        if missing:
            raise Unmeasurable(f"commands without their output: {missing}, told {told}")
        return done


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def startup(bench: Bench) -> list[Figure]:
    """The bare interpreter, --version, a bare Textual app and ours, in turn."""
    bare = ("-c", "pass")
    app = bench.workspace / "bare.py"
    app.write_text(BARE_APP, encoding="utf-8")
    nothing: list[float] = []
    version: list[float] = []
    textual: list[float] = []
    ours: list[float] = []
    for _ in range(bench.repeat):
        nothing.append(bench.run(PYTHON, *bare).wall)
        version.append(bench.run(SAM, "--version").wall)
        textual.append(bench.interactive(PYTHON, str(app)).usable)
        ours.append(bench.interactive(SAM, *bench.model).usable)
    python, app_alone = median(nothing), median(textual)
    return [
        Figure("python -c pass", python, "s"),
        Figure("--version", median(version), "s", 2.5, python, "python"),
        Figure("bare Textual app, usable", app_alone, "s"),
        Figure("first interactive frame", median(ours), "s", 1.4, app_alone, "bare app"),
    ]


def resting(bench: Bench) -> list[Figure]:
    """Memory and CPU of the workbench that nobody touches."""
    seen = bench.interactive(SAM, *bench.model, watch=10.0)
    return [
        Figure("idle, 10 s", seen.idle, "% CPU", 0.3),
        Figure("idle, wake-ups a second", seen.wakeups, "", MOST_WAKEUPS),
        Figure("interactive memory", seen.memory, "MB", 105),
    ]


def headless(bench: Bench) -> list[Figure]:
    """A one-line answer, then a prompt with tool rounds."""
    hello: list[Run] = []
    first: list[Run] = []
    tools: list[Run] = []
    bare: list[Run] = []
    bare_tools: list[Run] = []
    for _ in range(bench.repeat):
        hello.append(bench.headless([Reply(text="Hello.")]))
        bare.append(bench.client(0))
        first.append(bench.rounds(1))
        tools.append(bench.rounds(ROUNDS))
        bare_tools.append(bench.client(ROUNDS))
    walls = [median([r.wall for r in runs]) for runs in (hello, bare, tools, bare_tools)]
    cpus = [median([r.cpu for r in runs]) for runs in (hello, bare, tools, bare_tools)]
    once = median([r.cpu for r in first])
    further = (cpus[2] - once) * 1000 / (ROUNDS - 1)
    theirs = (cpus[3] - cpus[1]) * 1000 / ROUNDS
    peaks = [median([r.peak for r in runs]) for runs in (hello, tools)]
    return [
        Figure("headless hello", walls[0], "s", 2.0, walls[1], "bare client"),
        Figure("headless hello, CPU", cpus[0], "s", 2.0, cpus[1], "bare client"),
        Figure("headless hello, peak memory", peaks[0], "MB", 90),
        Figure(f"{ROUNDS} tool rounds", walls[2], "s", 3.0, walls[3], "bare client"),
        # A tool is loaded by the first call that names it: that is paid once.
        Figure("CPU of the first tool round", (once - cpus[0]) * 1000, "ms"),
        Figure("CPU a further tool round", further, "ms", MOST_ROUND, theirs, "bare client"),
        Figure("tool rounds, peak memory", peaks[1], "MB"),
    ]


def sizes(bench: Bench) -> list[Figure]:
    """What the model is sent before anybody said anything."""
    request = bench.server.requests[0].json
    system = sum(
        len(encoded(m)) for m in request["messages"] if m["role"] in ("system", "developer")
    )
    schemas = len(encoded(request["tools"]))
    return [
        Figure("system prompt", system, "bytes"),
        Figure("tool schemas", schemas, "bytes"),
        Figure("system prompt + schemas", system + schemas, "bytes", 32_000),
    ]


def encoded(value: Any) -> bytes:
    """As it goes over the wire."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def modules(bench: Bench) -> list[Figure]:
    """How many modules each way in has loaded when it is done."""
    figures: list[Figure] = []
    for name, code in ENTRIES.items():
        counted = f"import atexit, sys; atexit.register(lambda: print(len(sys.modules))); {code}"
        output = bench.run(PYTHON, "-P", "-c", counted).output
        figures.append(Figure(f"modules loaded: {name}", int(output.split()[-1]), ""))
    return figures


def measure(repeat: int) -> list[Figure]:
    """Everything, in a folder and against a server of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        background([]) as server,
    ):
        bench = Bench(Path(folder), server, repeat)
        # Once unmeasured: bytecode is written, files come into the cache.
        bench.headless([Reply(text="Hello.")])
        bench.interactive(SAM, *bench.model)
        figures = [*startup(bench), *headless(bench), *resting(bench)]
        return [*figures, *sizes(bench), *modules(bench)]


def main() -> int:
    """Measure, print, and judge."""
    parser = options("Measure sam-tui.")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each; the median counts")
    given = parser.parse_args()
    try:
        figures = measure(given.repeat)
    except Unmeasurable as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return judged("run", figures, given)


if __name__ == "__main__":
    sys.exit(main())
