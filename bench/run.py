"""Measures start-up, headless runs, tool rounds, memory and sizes, beside baselines of the same minute.

``python bench/run.py [--repeat N] [--json FILE] [--strict]``. Times are medians; a ratio compares
with ``python -c pass`` or with a bare Textual app, so that a slow machine shows in both. The model is
a server on loopback that answers at once. ``--strict`` ends with 1 when a target is missed.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.probes import Interactive, Run, Unmeasurable, interactive, run
from tests.fakes.openai_server import Call, FakeServer, Reply, background

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
SAM = str(Path(sys.executable).with_name("sam-tui"))
ROUNDS = 20
BARE_APP = """
from textual.app import App
from textual.widgets import Input
class Bare(App):
    def compose(self):
        yield Input()
Bare().run()
"""
PROGRAM = "import runpy; sys.argv[1:] = [{!r}]; runpy.run_module('sam_tui', run_name='__main__')"
ENTRIES = {
    "sam-tui --version": PROGRAM.format("--version"),
    "sam-tui --help": PROGRAM.format("--help"),
    "the core": "import sam_tui.core.runtime",
    "the first frame": "import sam_tui.ui.app",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table. ``target`` is the most it may be, ``ratio`` a multiple of ``beside``."""

    name: str
    value: float | None
    unit: str
    target: float | None = None
    ratio: float | None = None
    beside: str = ""

    @property
    def met(self) -> bool:
        """Whether the target is kept; a figure without a value or a target is no miss."""
        return self.value is None or self.target is None or self.value < self.target


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

    def interactive(self, *command: str, settle: float = 0.0, watch: float = 0.0) -> Interactive:
        """Run a program in a pty until it is usable."""
        return interactive(
            command, cwd=self.workspace, environment=self.environment, settle=settle, watch=watch
        )

    def headless(self, replies: Sequence[Reply]) -> Run:
        """One prompt through the command line; the server plays the replies."""
        self.server.replies.extend(replies)
        done = self.run(SAM, "run", "Say hello.", *self.model, "--permission-mode", "auto")
        if "Hello" not in done.output:
            raise Unmeasurable(f"the answer did not arrive: {done.output[-200:]!r}")
        return done

    def rounds(self) -> Run:
        """A prompt that takes ``ROUNDS`` shell commands, each with its real output checked."""
        first = len(self.server.requests)
        numbers = [1000 + i for i in range(ROUNDS)]
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
    return [
        Figure("python -c pass", median(nothing), "s"),
        Figure(
            "--version", median(version), "s", 0.06, median(version) / median(nothing), "python"
        ),
        Figure("bare Textual app, usable", median(textual), "s"),
        Figure(
            "first interactive frame",
            median(ours),
            "s",
            0.3,
            median(ours) / median(textual),
            "bare app",
        ),
    ]


def resting(bench: Bench) -> list[Figure]:
    """Memory and CPU of the workbench that nobody touches."""
    seen = bench.interactive(SAM, *bench.model, settle=4.0, watch=10.0)
    return [
        Figure("idle, 10 s", seen.idle, "% CPU", 0.3),
        Figure("interactive memory", seen.memory, "MB", 105),
    ]


def headless(bench: Bench) -> list[Figure]:
    """A one-line answer, then a prompt with tool rounds."""
    python = [bench.run(PYTHON, "-c", "pass").wall for _ in range(bench.repeat)]
    hello: list[Run] = []
    tools: list[Run] = []
    for _ in range(bench.repeat):
        hello.append(bench.headless([Reply(text="Hello.")]))
        tools.append(bench.rounds())
    wall, cpu = median([r.wall for r in hello]), median([r.cpu for r in hello])
    per_round = 1000 * (median([r.cpu for r in tools]) - cpu) / ROUNDS
    return [
        Figure("headless hello", wall, "s", 0.45, wall / median(python), "python"),
        Figure("headless hello, CPU", cpu, "s"),
        Figure("headless hello, peak memory", median([r.peak for r in hello]), "MB", 90),
        Figure(f"{ROUNDS} tool rounds", median([r.wall for r in tools]), "s", 1.0, None),
        Figure("CPU a tool round", per_round, "ms", 15),
        Figure("tool rounds, peak memory", median([r.peak for r in tools]), "MB"),
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


def table(figures: Sequence[Figure]) -> str:
    """Aligned columns: what, how much, the target, and the ratio."""
    lines = [f"{'':38} {'measured':>14}  {'target':>10}  ratio"]
    for figure in figures:
        target = "" if figure.target is None else f"< {figure.target:g}"
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f} x {figure.beside}"
        mark = "" if figure.met else "  MISSED"
        lines.append(f"{figure.name:38} {shown(figure):>14}  {target:>10}  {ratio}{mark}".rstrip())
    return "\n".join(lines)


def shown(figure: Figure) -> str:
    """The value with as many digits as it is worth."""
    if figure.value is None:
        return "not here"
    digits = {"s": 3, "ms": 1, "MB": 0, "% CPU": 2}.get(figure.unit, 0)
    return f"{figure.value:,.{digits}f} {figure.unit}".rstrip()


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


def machine() -> Mapping[str, Any]:
    """Where it was measured."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description="Measure sam-tui.")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each; the median counts")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench.json", metavar="FILE")
    parser.add_argument("--strict", action="store_true", help="end with 1 when a target is missed")
    options = parser.parse_args()
    where = machine()
    print("  ".join(f"{name} {value}" for name, value in where.items()), flush=True)
    try:
        figures = measure(options.repeat)
    except Unmeasurable as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    print(table(figures))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    rows = [asdict(figure) | {"met": figure.met} for figure in figures]
    options.json.write_text(
        json.dumps({"machine": where, "figures": rows}, indent=1) + "\n", "utf-8"
    )
    print(f"written to {options.json}")
    return int(options.strict and not all(figure.met for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
