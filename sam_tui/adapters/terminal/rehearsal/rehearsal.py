"""Rehearsals: a command runs on a branch of the workspace, and its changes are committed or dropped."""

import asyncio
import functools
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.run import ConfinedRun
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.rehearsal.branch import NOT_MOUNTED, Mount
from sam_tui.adapters.terminal.rehearsal.commit import commit
from sam_tui.adapters.terminal.rehearsal.differences import (
    Differing,
    copied_layer,
    differences,
    snapshot,
    upper_layer,
)
from sam_tui.adapters.terminal.sandbox.kernel.protected_paths import kept_within
from sam_tui.adapters.terminal.sandbox.supervised.free_reads import Reads
from sam_tui.adapters.terminal.sandbox.supervision import Held
from sam_tui.core.errors import ToolError
from sam_tui.core.local_files.real_paths import RealPaths
from sam_tui.core.ports.processes.rehearsal import Rehearsed
from sam_tui.core.ports.processes.sandbox import AskOutside, OutsideAccess, OutsideAnswer
from sam_tui.core.ports.processes.terminals import CommandRequest
from sam_tui.core.text.plain import escaped
from sam_tui.folders import IMPORT_ROOT

_LARGEST_COPY = 1 << 30
_START = (
    "import sys; sys.path.append(sys.argv[1]);"
    " from sam_tui.adapters.terminal.rehearsal.branch import main; main()"
)
MOUNTS: tuple[Mount, ...] = ("overlay", "bind")
_WORDS = {
    "overlay": "an overlay over the workspace",
    "bind": "a copy, mounted where the workspace is",
    "none": "a copy; paths that name the workspace itself are refused",
}


class BranchRehearsals:
    """The ``BranchRehearsals`` port: branches of workspaces, for commands of one sandbox.

    ``ways`` are the kinds of mount to try in turn; if none works, a branch is a plain copy.
    """

    def __init__(
        self, commands: ShellCommands, sandbox: Sandbox, ways: tuple[Mount, ...] = MOUNTS
    ) -> None:
        self._commands = commands
        self._sandbox = sandbox
        self._ways = ways

    def open(self, workspace: str) -> "Branch":
        """Begin a branch of a folder. Raises ``ToolError`` if it is too large, or cannot be confined."""
        if self._sandbox.confinement.kind not in ("live", "landlock", "bubblewrap"):
            raise ToolError("Rehearsals need a system that can confine commands.")
        real = os.path.realpath(workspace)
        if secret_paths := kept_within(self._sandbox.secrets, (real,), RealPaths()):
            raise ToolError(
                f"Commands cannot be rehearsed here: {escaped(secret_paths[0])} is in the "
                "workspace, and a copy would expose it.",
                hint="Start in a subfolder.",
            )
        return Branch(self._commands, real, self._sandbox, self._ways)


class Branch:
    """The ``Rehearsal`` port on an overlay where the kernel permits one, else on a copy."""

    def __init__(
        self,
        commands: ShellCommands,
        workspace: str,
        sandbox: Sandbox,
        ways: tuple[Mount, ...],
    ) -> None:
        self._commands = commands
        self._workspace = workspace
        self._sandbox = sandbox
        self._start = snapshot(workspace)
        self._folder = os.path.realpath(tempfile.mkdtemp(prefix="sam-tui-rehearsal-"))
        for name in ("upper", "work", "scratch"):
            os.mkdir(os.path.join(self._folder, name))
        shutil.copystat(workspace, self._at("upper"))
        try:
            # Only a supervisor judges names, and it does not see mounts.
            self._mount: Mount = self._choose(() if self._holds_secrets() else ways)
            if self._mount != "overlay":
                self._copy()
        except BaseException:
            self.drop()
            raise
        self._changes: list[Differing] = []
        self._stamps: list[tuple[int, ...]] = []

    @property
    def detail(self) -> str:
        """How the branch is made, in words."""
        return _WORDS[self._mount]

    async def run(self, request: CommandRequest) -> Rehearsed:
        """Run a command on the copy; the result has all changes since the rehearsal began."""
        if not self._folder:
            raise ToolError("The rehearsal is over.", hint="Begin a new one.")
        cwd = self._place(request.cwd)
        if self._mount == "none":
            # Without a mount, the supervisor refuses the command every file outside of the branch.
            copy = (self._at("copy"),)
            ask = functools.partial(self._asked, request.ask)
            only = replace(request, cwd=cwd, writable=copy, ask=ask, confined=True)
            result = await self._commands.run(only)
        else:
            network = self._sandbox.network(request.network)
            words = self._words(self._mount, cwd, network=network)
            confined_run = ConfinedRun(Held(-1), _nothing, prefix=words)
            result = await self._commands.run_held(
                replace(request, cwd=self._folder, ask=None), confined_run
            )
        self._changes = await asyncio.to_thread(self._look)
        self._stamps = list(map(_stamp, self._changes))
        return Rehearsed(result, tuple(differing.change for differing in self._changes))

    def commit(self) -> None:
        """Make the changes real. Raises ``ToolError``, changing nothing, when the workspace changed."""
        now = snapshot(self._workspace)
        if now != self._start:
            other = escaped(sorted(now.items() ^ self._start.items())[0][0])
            raise ToolError(
                f"The workspace changed since the rehearsal began: {other}.",
                hint="Drop it and rehearse again.",
            )
        if [_stamp(differing) for differing in self._changes] != self._stamps:
            raise ToolError(
                "Processes of the command were still running, so the changes are no longer "
                "those shown.",
                hint="Drop it and rehearse again.",
            )
        commit(self._workspace, self._changes)
        self.drop()

    def drop(self) -> None:
        """Discard the branch."""
        folder, self._folder = self._folder, ""
        if folder:
            # The overlay's own work folder cannot even be listed as it is.
            with suppress(OSError):
                os.chmod(os.path.join(folder, "work", "work"), 0o700)
            shutil.rmtree(folder, onerror=_open_and_retry)

    def _place(self, cwd: str) -> str:
        """The folder in which a command starts: the branch, if it has another path than the workspace."""
        real = os.path.realpath(cwd)
        inside = real == self._workspace or real.startswith(f"{self._workspace}/")
        if inside and self._mount == "none":
            return self._at("copy") + real[len(self._workspace) :]
        return real

    def _look(self) -> list[Differing]:
        if self._mount == "overlay":
            layer = upper_layer(self._at("upper"), self._workspace)
        else:
            layer = copied_layer(self._at("copy"), self._workspace)
        return differences(layer, self._workspace)

    def _holds_secrets(self) -> bool:
        """Whether the workspace has a file with a secret name whose reading can be asked about."""
        if self._sandbox.confinement.kind != "live":
            return False
        reads = Reads(self._sandbox.reads(), (self._workspace,))
        return any(reads.secret(f"{self._workspace}/{path}") for path in self._start)

    async def _asked(self, ask: AskOutside | None, access: OutsideAccess) -> bool | OutsideAnswer:
        """Ask about a read of a secret as one of the workspace. Changes of the copy are asked about all
        together when they are applied; any other access outside is refused."""
        if access.kind != "read" or ask is None:
            return access.planted
        copy = self._at("copy")
        inside = access.path.startswith(f"{copy}/")
        path = self._workspace + access.path[len(copy) :] if inside else access.path
        return await ask(replace(access, path=path))

    def _at(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _choose(self, ways: tuple[Mount, ...]) -> Mount:
        """The best kind of mount that works here; the trial leaves nothing behind."""
        below = _mounts_below(self._workspace)
        os.mkdir(self._at("copy"))
        for mode in ways:
            if below and mode == "overlay":
                continue
            tried = subprocess.run(
                [*self._words(mode, "/"), "/bin/true"], capture_output=True, check=False, timeout=30
            )
            if tried.returncode == 0:
                return mode
            if tried.returncode != NOT_MOUNTED:
                raise ToolError(f"Rehearsals do not work here: {tried.stderr.decode().strip()}")
        if self._sandbox.confinement.kind != "live":
            raise ToolError("Rehearsals need a system that can mount a copy or supervise commands.")
        return "none"

    def _words(self, mount: Mount, cwd: str, *, network: str = "on") -> tuple[str, ...]:
        terms = {
            "mount": mount,
            "workspace": self._workspace,
            "cwd": cwd,
            "secrets": self._sandbox.secrets,
            "opened": self._sandbox.opened,
            "network": network,
            **{name: self._at(name) for name in ("upper", "work", "scratch", "copy")},
        }
        return (sys.executable, "-I", "-S", "-c", _START, IMPORT_ROOT, json.dumps(terms))

    def _copy(self) -> None:
        size = sum(stamp[1] for stamp in self._start.values())
        if size > _LARGEST_COPY:
            raise ToolError(f"The workspace is too large to copy for a rehearsal ({size} bytes).")
        shutil.copytree(
            self._workspace,
            self._at("copy"),
            symlinks=True,
            dirs_exist_ok=True,
            copy_function=_clone,
        )


def _stamp(differing: Differing) -> tuple[int, ...]:
    """A value that differs once the new state of a path has changed."""
    if differing.source is None:
        return ()
    try:
        status = os.lstat(differing.source)
    except OSError:
        return (0,)
    return (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _nothing() -> None:
    """Do nothing: there is nothing to release."""


def _mounts_below(folder: str) -> bool:
    """Whether other file systems are mounted below a folder; an overlay would not show them."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
        points = [line.split()[4] for line in mounts]
    return any(point.startswith(f"{folder}/") for point in points)


def _clone(source: str, target: str) -> str:
    """Copy a file, sharing its blocks where the file system can."""
    status = os.lstat(source)
    if stat.S_ISREG(status.st_mode):
        shutil.copyfile(source, target)
        shutil.copystat(source, target)
        if os.geteuid() == 0:
            os.chown(target, status.st_uid, status.st_gid)
    return target


def _open_and_retry(act: Callable[..., object], path: str, _: object) -> None:
    """Retry in a folder that the command made unreadable, so that it is removed as well."""
    with suppress(OSError):
        os.chmod(os.path.dirname(path), 0o700)
        os.chmod(path, 0o700)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            act(path)
