import os
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.rehearsal.rehearsal import MOUNTS, Branch, BranchRehearsals
from sam_tui.core.ports.processes.rehearsal import Rehearsed
from sam_tui.core.ports.processes.sandbox import AskOutside, HostTerms, Network, SandboxPlan
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.name_server import NameServer
from tests.fakes.programs import found
from tests.sandbox.hosts_kit import PRELUDE, Answerer, Held, Person

Run = Callable[..., Coroutine[None, None, CommandResult]]
Rehearse = Callable[[str], Coroutine[None, None, Rehearsed]]

DEADLINE = 90.0


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def repository(workspace: Path) -> Iterator[Path]:
    """A repository with a nested one and a hook of the person's."""
    for folder in (workspace, workspace / "sub"):
        folder.mkdir(exist_ok=True)
        subprocess.run([found("git"), "init", "-q", str(folder)], check=True)
    (workspace / ".git/hooks/commit-msg").write_text("#!/bin/sh\n")
    yield workspace


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the workspace: files, a folder in it, and a link, all older than now."""
    folder = tmp_path.resolve() / "outside"
    (folder / "folder").mkdir(parents=True)
    (folder / "victim").write_text("precious\n")
    (folder / "folder" / "inner").write_text("inner\n")
    (folder / "link").symlink_to("victim")
    (folder / "script").write_text("#!/bin/sh\n")
    for path in (folder / "victim", folder / "folder" / "inner", folder / "folder", folder):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return folder


@pytest.fixture
def portrait() -> Callable[[Path], dict[str, tuple[object, ...]]]:
    """Everything that a write could change about a folder and what lies in it."""

    def look(path: Path) -> tuple[object, ...]:
        found = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(found.st_mode) else b""
        attributes = sorted(os.listxattr(path, follow_symlinks=False))
        owner = (found.st_mode, found.st_uid, found.st_gid, found.st_ino, found.st_nlink)
        return (*owner, found.st_mtime_ns, content, attributes, found.st_ctime_ns)

    return lambda folder: {
        str(path.relative_to(folder)): look(path) for path in [folder, *sorted(folder.rglob("*"))]
    }


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox()
    yield made
    made.close()


@pytest.fixture
def run(sandbox: Sandbox, workspace: Path) -> Run:
    """Run a command in the workspace, confined unless told otherwise."""

    async def running(
        command: str,
        *,
        ask: AskOutside | None = None,
        confined: bool = True,
        network: Network = "on",
        limit: float = DEADLINE,
        box: Sandbox | None = None,
    ) -> CommandResult:
        folder = str(workspace)
        return await ShellCommands(box or sandbox).run(
            CommandRequest(
                command,
                folder,
                confined,
                (folder,),
                limit,
                lambda _: None,
                ask=ask,
                network=network,
            )
        )

    return running


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the person's."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


class Service:
    """A stream socket that stands as a file, and what it was told."""

    def __init__(self, address: str) -> None:
        self.heard: list[bytes] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(address)
        self._server.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with client:
                self.heard.append(client.recv(100))

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder with a path short enough for sockets."""
    made = Path(os.path.realpath(tempfile.mkdtemp(prefix="s")))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def service(short_path: Path) -> Iterator[Service]:
    made = Service(str(short_path / "service"))
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[Answerer]:
    """A server of the person's."""
    made = Answerer()
    yield made
    made.close()


@pytest.fixture
def names() -> Iterator[NameServer]:
    """The system's name server."""
    with NameServer() as made:
        yield made


@pytest.fixture
def held(
    run: Callable[..., Coroutine[None, None, CommandResult]],
    workspace: Path,
    names: NameServer,
) -> Iterator[Held]:
    """Run Python, or a command, whose network is held to the hosts that its first run names."""
    box: Sandbox | None = None

    async def running(
        code: str = "",
        *arguments: object,
        hosts: tuple[str, ...] = (),
        local: tuple[str, ...] = (),
        command: str = "",
        says: Person | None = None,
    ) -> CommandResult:
        nonlocal box
        if box is None:
            terms = HostTerms((hosts,), local, resolvers=(names.address,))
            box = Sandbox(SandboxPlan(network="hosts", hosts=terms))
        (workspace / "attempt.py").write_text(PRELUDE + code)
        words = " ".join(f"'{argument}'" for argument in arguments)
        line = command or f"{BARE_PYTHON} -I attempt.py {words}"
        return await run(line, ask=says, box=box)

    yield running
    if box is not None:
        box.close()


WAYS = {"overlay": "an overlay", "bind": "a copy, mounted", "none": "a copy;"}


@pytest.fixture(params=["overlay", "bind", "none"])
def way(request: pytest.FixtureRequest) -> str:
    """Each way to make a branch, the better ones not tried."""
    return request.param


@pytest.fixture
def project(workspace: Path) -> Path:
    (workspace / "src" / "deep").mkdir(parents=True)
    (workspace / "a.txt").write_text("one\ntwo\nthree\n")
    (workspace / "src" / "b.py").write_text("b = 1\n")
    (workspace / "src" / "deep" / "c").write_bytes(b"\0\1")
    (workspace / "link").symlink_to("a.txt")
    return workspace


@pytest.fixture
def branch(sandbox: Sandbox, project: Path, way: str) -> Iterator[Branch]:
    ways = MOUNTS[list(WAYS).index(way) :]
    made = BranchRehearsals(ShellCommands(sandbox), sandbox, ways).open(str(project))
    if not made.detail.startswith(WAYS[way]):
        made.drop()
        pytest.skip(f"this system makes {made.detail}")
    yield made
    made.drop()


@pytest.fixture
def rehearse(branch: Branch, project: Path) -> Rehearse:
    async def running(command: str) -> Rehearsed:
        folder = str(project)
        return await branch.run(
            CommandRequest(command, folder, True, (folder,), 20.0, lambda _: None)
        )

    return running
