"""A repository, tasks for scripted models, the fleet commands in processes, and a PostgreSQL of our own."""

import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SECONDS = 150
POSTGRES = Path("/usr/lib/postgresql/15/bin")


@dataclass(frozen=True)
class Hangar:
    """Where a fleet works: its repository, its data folder, its queues."""

    folder: Path
    url: str = ""

    @property
    def workspace(self) -> Path:
        """The repository."""
        return self.folder / "ws"

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.folder / "data"

    def prepare(self) -> "Hangar":
        """A repository with one commit."""
        for name in ("ws", "tmp"):
            (self.folder / name).mkdir()
        (self.workspace / "a.txt").write_text("one\ntwo\nthree\n")
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
            who = ("-c", "user.name=n", "-c", "user.email=e@x")
            subprocess.run(["git", *who, *words], cwd=self.workspace, check=True)
        return self

    def task(self, id: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
        """A task whose model plays these steps."""
        path = self.folder / f"{id}.json"
        path.write_text(json.dumps(steps))
        return {"id": id, "prompt": f"Do {id}.", "model": f"scripted:{path}", **more}

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """A command of sam-tui, begun."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "sam_tui", *arguments, "--data-dir", str(self.data)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.workspace,
            env={
                **os.environ,
                "TMPDIR": str(self.folder / "tmp"),
                **({"SAM_TUI_DATABASE_URL": self.url} if self.url else {}),
            },
        )

    def begin(self, tasks: Sequence[dict[str, Any]], *options: str) -> "subprocess.Popen[str]":
        """A fleet of these tasks, begun."""
        path = self.folder / "tasks.jsonl"
        path.write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
        return self.start("fleet", "run", str(path), "--json", *options)

    def call(self, *arguments: str) -> str:
        """What a command printed; it must end well."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, err
        return out

    def processes(self, *words: str) -> list[int]:
        """Processes of this data folder with these words on their command lines."""
        found: list[int] = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if str(self.data) in line and all(word in line for word in words):
                found.append(int(path.parent.name))
        return found


def ended(process: "subprocess.Popen[str]") -> tuple[int, dict[str, Any], str]:
    """The exit code of a fleet, its report, and what it said."""
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, json.loads(out) if out else {}, err


def creates(name: str, text: str = "made\n") -> dict[str, Any]:
    """A step that makes a file."""
    arguments = {"operation": "create_file", "filePath": name, "content": text}
    return {"calls": [{"name": "file_operations", "arguments": arguments}]}


@pytest.fixture
def hangar(tmp_path: Path) -> Hangar:
    """A repository and a data folder with SQLite queues."""
    return Hangar(tmp_path).prepare()


@pytest.fixture(scope="session")
def postgres() -> Generator[str]:
    """The address of a PostgreSQL server that runs for these tests alone."""
    if not (POSTGRES / "initdb").exists():
        pytest.skip("PostgreSQL 15 of Debian's packages is not installed")
    user: int | None = None
    if os.geteuid() == 0:  # it refuses to run as root
        names = [n for n in ("postgres", "nobody") if n in {p.pw_name for p in pwd.getpwall()}]
        user = pwd.getpwnam(names[0]).pw_uid
    with tempfile.TemporaryDirectory(prefix="sam-tui-pg-") as folder:
        if user is not None:
            os.chown(folder, user, -1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": folder}
        data = f"{folder}/data"
        words = [
            "--auth=trust",
            "--username=fleet",
            "--no-sync",
            "--locale=C",
            "--encoding=SQL_ASCII",
        ]
        made = subprocess.run(
            [POSTGRES / "initdb", "-D", data, *words],
            user=user,
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            pytest.skip(f"PostgreSQL cannot be set up here: {made.stderr[-300:]}")
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c fsync=off -k {folder}"
        control = [POSTGRES / "pg_ctl", "-D", data, "-w"]
        subprocess.run(
            [*control, "-l", f"{folder}/log", "-o", options, "start"],
            user=user,
            env=environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        try:
            yield f"postgresql://fleet@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run(
                [*control, "-m", "immediate", "stop"],
                user=user,
                env=environment,
                cwd=folder,
                stdout=subprocess.DEVNULL,
                check=True,
            )


def kill(pids: Sequence[int]) -> None:
    """End processes as a power cut would."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
