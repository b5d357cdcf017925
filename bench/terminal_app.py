"""Measures the workbench with a terminal in it, in a real pty: idling, and key echo amid a flood.

``python -m bench.terminal_app [--megabytes N] [--idle SECONDS] [--json FILE]``. CPU is that of the
program alone; echo is from the byte written to the pty until the character is drawn in the prompt,
while a shell in the pane prints the file; its speed stands beside a bare read of the same file.
"""

import argparse
import fcntl
import json
import os
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.terminal import bare

COLUMNS, ROWS = 160, 45
PROMPT = b"ready>"
KEYS = "".join(map(chr, range(0x100, 0x17F)))
"""Typed once each: the prompt shows all that was typed, again and again."""
_PATIENCE = 120.0
_CHORD = b"\x1d"


@dataclass(slots=True)
class Near:
    """The pty's near side."""

    master: int
    process: int
    seen: bytearray = field(default_factory=bytearray)

    def read(self, seconds: float) -> bool:
        """Take what is drawn within some seconds; False when nothing was."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.seen = self.seen[-4096:] + os.read(self.master, 65_536)
        return True

    def until(self, wanted: bytes, seconds: float) -> bool:
        """Read until something is drawn."""
        deadline = time.perf_counter() + seconds
        while wanted not in self.seen:
            left = deadline - time.perf_counter()
            if left <= 0 or not self.read(left):
                return False
        return True

    def rest(self, seconds: float) -> None:
        """Read on for some seconds."""
        deadline = time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            self.read(left)

    def type(self, keys: bytes) -> None:
        """Type."""
        os.write(self.master, keys)

    def cpu(self) -> float:
        """CPU seconds of the program so far."""
        return cpu_of(self.process)


def cpu_of(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2]
    used = fields.split()
    return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


def start(argv: tuple[str, ...], folder: Path) -> Near:
    """A program in a pty, with a home of its own."""
    home, workspace = folder / "home", folder / "workspace"
    home.mkdir()
    workspace.mkdir()
    (home / ".bashrc").write_text(f"PS1='{PROMPT.decode()} '\n", encoding="utf-8")
    process, master = os.forkpty()
    if process == 0:
        os.environ |= {
            "HOME": str(home),
            "XDG_DATA_HOME": str(folder / "data"),
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
        }
        os.environ.pop("TMUX", None)
        os.chdir(workspace)
        os.execvp(argv[0], argv)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    return Near(master, process)


def workbench(folder: Path) -> Near:
    """The workbench in a workspace of its own, with a shell on show."""
    near = start((sys.executable, "-m", "sam_tui"), folder)
    near.until(b"todos", _PATIENCE)
    near.rest(2)
    near.type(b"\x1b")  # the choice of a model, where there is none
    near.rest(1)
    near.type(_CHORD)  # a shell starts when it is first looked at
    if not near.until(PROMPT, _PATIENCE):
        raise RuntimeError(f"no shell came up: {bytes(near.seen)[-300:]!r}")
    near.type(_CHORD * 2)
    near.rest(1)
    return near


def idle(near: Near, seconds: float) -> float:
    """Percent of a core that the workbench uses while nothing happens."""
    near.rest(2)
    before = near.cpu()
    near.rest(seconds)
    return 100 * (near.cpu() - before) / seconds


def flooded(near: Near, material: Path) -> tuple[float, list[float]]:
    """Megabytes a second of a ``cat`` in the pane, and the echoes meanwhile in milliseconds."""
    near.type(_CHORD)
    near.rest(0.5)
    near.type(f"cat {material}; echo d''one-with-it\r".encode())
    begun = time.perf_counter()
    near.type(_CHORD + _CHORD)
    near.rest(0.3)
    echoes: list[float] = []
    for key in KEYS:
        if b"done-with-it" in near.seen:
            break
        wanted, pressed = key.encode(), time.perf_counter()
        near.type(wanted)
        if near.until(wanted, 2.0):
            echoes.append(1000 * (time.perf_counter() - pressed))
        near.rest(0.03)
    near.until(b"done-with-it", _PATIENCE)
    speed = material.stat().st_size / 1e6 / (time.perf_counter() - begun)
    return speed, sorted(echoes)


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="measure the workbench with a terminal in it")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--idle", type=float, default=10.0)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        line = b"%7d the agent reads every file and writes a plan before editing anything here\n"
        text = b"".join(line % number for number in range(12_000))
        material = folder / "material"
        material.write_bytes(text * (options.megabytes * 1_000_000 // len(text) + 1))
        near = workbench(folder)
        try:
            figures = {"idle_cpu_percent": round(idle(near, options.idle), 2)}
            # The same moment, because other work on the machine only ever takes away.
            plain, used = bare(material), near.cpu()
            speed, echoes = flooded(near, material)
            figures |= {
                "bare_read_mb_s": round(plain, 1),
                "cat_mb_s": round(speed, 1),
                "cat_cpu_ms_per_mb": round(
                    1000 * (near.cpu() - used) / (material.stat().st_size / 1e6), 1
                ),
                "echoed": len(echoes),
            }
            if echoes:
                figures["echo_p50_ms"] = round(echoes[len(echoes) // 2], 1)
                figures["echo_p95_ms"] = round(echoes[int(len(echoes) * 0.95)], 1)
        finally:
            os.kill(near.process, signal.SIGTERM)
            os.waitpid(near.process, 0)
            os.close(near.master)
    for name, value in figures.items():
        print(f"{name:<20}{value:>10}")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
