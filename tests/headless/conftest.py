"""The program in a process of its own, a workspace to run it in, and scripts for its model."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SECONDS = 50
Step = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output, every line of it an object."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        """The one result, which is the last line and agrees with the exit code."""
        results = [line for line in self.lines if line["type"] == "result"]
        assert len(results) == 1
        assert self.lines[-1] == results[0]
        assert results[0]["exit_code"] == self.code
        return results[0]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """The lines of one type or, for system lines, subtype."""
        return [x for x in self.lines if x["type"] == kind or x.get("subtype") == kind]


@dataclass(frozen=True)
class Program:
    """Runs sam-tui in a workspace with its own data folder."""

    folder: Path

    @property
    def workspace(self) -> Path:
        """Where it works."""
        return self.folder / "ws"

    def script(self, *steps: Step) -> str:
        """The name of a model that plays these steps."""
        path = self.folder / "script.json"
        path.write_text(json.dumps(steps), encoding="utf-8")
        return f"scripted:{path}"

    def command(self, *arguments: str, python: Sequence[str] = ()) -> list[str]:
        """The command line of ``sam-tui run``."""
        data = str(self.folder / "data")
        program = [sys.executable, *python, "-P", "-m", "sam_tui"]
        return [*program, "run", "-C", str(self.workspace), "--data-dir", data, *arguments]

    def run(self, *arguments: str, stdin: str = "", python: Sequence[str] = ()) -> Ended:
        """Run to the end."""
        done = subprocess.run(
            self.command(*arguments, python=python),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def stream(self, *arguments: str, stdin: str = "") -> Ended:
        """Run to the end in stream-json."""
        return self.run("--output-format", "stream-json", *arguments, stdin=stdin)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a stream-json run; standard input stays open and silent."""
        return subprocess.Popen(
            self.command("--output-format", "stream-json", *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """The program over an empty workspace."""
    (tmp_path / "ws").mkdir()
    return Program(tmp_path)


def call(tool: str, operation: str, **arguments: Any) -> Step:
    """A tool call of a step."""
    return {"name": tool, "arguments": {"operation": operation, **arguments}}


def shell(command: str) -> Step:
    """A step that runs a command."""
    return {"calls": [call("terminal_operations", "run_command", command=command)]}


def alive(pid: int) -> bool:
    """Whether the process still runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
