"""The program in a process of its own, over a workspace and a data folder."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

SECONDS = 50
CONSOLE = (str(Path(sys.executable).with_name("sam-tui")),)
SAFE_MODULE = (sys.executable, "-P", "-m", "sam_tui")
MODULE = (sys.executable, "-m", "sam_tui")


@dataclass(frozen=True)
class Ended:
    """How the program ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Command:
    """Runs sam-tui inside a workspace."""

    folder: Path

    @property
    def workspace(self) -> Path:
        """The working folder."""
        return self.folder / "ws"

    @property
    def data(self) -> Path:
        """Its data folder, given by the environment."""
        return self.folder / "data"

    def __call__(
        self,
        *arguments: str,
        program: tuple[str, ...] = SAFE_MODULE,
        stdin: str = "",
        environ: Mapping[str, str] | None = None,
        stdout: int | IO[bytes] = subprocess.PIPE,
    ) -> Ended:
        """Run to the end."""
        done = subprocess.run(
            [*program, *arguments],
            input=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.workspace,
            env={**os.environ, "SAM_TUI_DATA_DIR": str(self.data), **(environ or {})},
            timeout=SECONDS,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def sam(tmp_path: Path) -> Command:
    """The program in an empty workspace."""
    (tmp_path / "ws").mkdir()
    return Command(tmp_path)
