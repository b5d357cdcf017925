"""One confined run, entered now or prepared for the next command; and a trial run, which writes inside
and outside to find out whether commands can be confined at all."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass

from sam_tui.adapters.terminal.confinement.rulesets import Rules, linked_repositories
from sam_tui.adapters.terminal.processes.launch import HeldStart, Launch, start
from sam_tui.adapters.terminal.sandbox.supervision import Held
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.sandbox import AskOutside, Network, OutsideAccess


@dataclass(frozen=True, slots=True)
class Wanted:
    """The terms of a run: writable real folders, whom to ask, the network, further readable folders."""

    writable: tuple[str, ...]
    ask: AskOutside | None = None
    network: Network = "on"
    readable: tuple[str, ...] = ()

    @property
    def folders(self) -> tuple[str, ...]:
        """The writable folders, with git directories that lie elsewhere."""
        return (*self.writable, *linked_repositories(self.writable))


@dataclass(frozen=True, slots=True)
class Supervised:
    """The rules of a supervised run, and how to report its session and its end to the supervisor.

    ``finish`` waits for the answers about its writes to places that later run.
    """

    rules: Rules
    begin: Callable[[int], None]
    finish: Callable[[], Coroutine[None, None, None]]


class ConfinedRun:
    """One confined run: its entry descriptor, or the words before its command line."""

    def __init__(
        self,
        handle: Held,
        release: Callable[[], None],
        *,
        supervised: Supervised | None = None,
        prefix: tuple[str, ...] = (),
        passed: tuple[int, ...] = (),
        ends_whole: bool = False,
    ) -> None:
        self.handle = handle
        self._supervised = supervised
        self.prefix = prefix
        self.passed = passed
        self.ends_whole = ends_whole
        """Whether the kernel ends all processes with the first, in a process namespace."""
        self.ready: HeldStart | None = None
        """A process that has already entered the sandbox and waits for the command."""
        self._release: Callable[[], None] | None = release

    @property
    def supervised(self) -> bool:
        """Whether a supervisor follows it."""
        return self._supervised is not None

    @property
    def rules(self) -> Rules | None:
        """The rules of the run if a supervisor watches it, else None."""
        return None if self._supervised is None else self._supervised.rules

    @property
    def descriptor(self) -> int | None:
        """The descriptor through which a terminal enters, for ``PtyLaunch``."""
        return None if self.prefix else self.handle.descriptor

    def held_start(self) -> HeldStart | None:
        """Return the start of the command, for one use; None if the words before its command line
        confine it.
        """
        if self.prefix:
            return None
        held_start, self.ready = self.ready, None
        return held_start or HeldStart(self.handle.descriptor)

    def begin(self, session: int) -> None:
        """Report the session that the command leads."""
        if self._supervised is not None:
            self._supervised.begin(session)

    async def finish(self) -> None:
        """Wait for the answers about the run's writes to places that later run."""
        if self._supervised is not None:
            await self._supervised.finish()

    def close(self) -> None:
        """End the run: it asks no more questions, and its list of refusals is complete."""
        if self.ready is not None:
            self.ready.close()
        release, self._release = self._release, None
        if release is not None:
            release()


class PreparedRun:
    """At most one run that was prepared in advance, in case the next one has the same terms."""

    def __init__(self) -> None:
        self._ready: tuple[object, ConfinedRun] | None = None

    @property
    def waiting(self) -> bool:
        """Whether a prepared run waits."""
        return self._ready is not None

    def keep(self, terms: object, confined_run: ConfinedRun) -> None:
        """Keep a run that waits for its command, inside the sandbox."""
        confined_run.ready = HeldStart(confined_run.handle.descriptor)
        self._ready = (terms, confined_run)

    def take(self, terms: object, rules: Rules) -> ConfinedRun | None:
        """The waiting run if its terms and rules are these; any other is closed."""
        ready, self._ready = self._ready, None
        if ready is None:
            return None
        known_terms, confined_run = ready
        lives = (
            confined_run.handle.lives
            and confined_run.ready is not None
            and confined_run.ready.waits
        )
        if lives and confined_run.rules == rules and known_terms == terms:
            return confined_run
        confined_run.close()
        return None

    def drop(self) -> None:
        """Close the prepared run."""
        ready, self._ready = self._ready, None
        if ready is not None:
            ready[1].close()


_MOST = 20
_PRINTED = re.compile(
    r"(?P<before>[^\n]*?)[:\]] ?(?:\[Errno (?:13|30|1)\] )?"
    r"(?:Permission denied|Read-only file system|Operation not permitted)(?:: (?P<after>[^\n]*))?"
)
_QUOTED = re.compile(r"['\"‘`](/[^'\"’\n]+)['\"’]")
_BARE = re.compile(r"(?:^|[\s:])(/[^\s:'\"]+)")
_DELETES = re.compile(r"\b(?:remove|unlink|rmdir|delete)\b")
_METADATA = re.compile(r"\b(?:mode|permissions|ownership|owner|timestamp|times|touch|attribute)\b")
_RENAMES = re.compile(r"\b(?:move|rename)\b")


def refusals(confined_run: ConfinedRun, output: str, code: int | None) -> tuple[OutsideAccess, ...]:
    """Return each refused access once. One read from output alone has no process, and may be wrong."""
    if confined_run.supervised or not code:
        return tuple(confined_run.handle.refused)
    return printed_refusals(output)


def printed_refusals(output: str) -> tuple[OutsideAccess, ...]:
    """The accesses that messages such as ``sh: /etc/x: Permission denied`` mention."""
    refusals: dict[OutsideAccess, None] = {}
    for match in _PRINTED.finditer(output):
        line = match["before"] or ""
        after = match["after"] or ""
        paths = _QUOTED.findall(after) or _QUOTED.findall(line) or _BARE.findall(line)
        paths = paths or _BARE.findall(after)
        if paths:
            refusals[_access(line, paths)] = None
        if len(refusals) >= _MOST:
            break
    return tuple(refusals)


def _access(line: str, paths: list[str]) -> OutsideAccess:
    if _RENAMES.search(line) and len(paths) > 1:
        return OutsideAccess("rename", paths[0], to=paths[1])
    if _DELETES.search(line):
        return OutsideAccess("delete", paths[0])
    if _METADATA.search(line):
        return OutsideAccess("metadata", paths[0])
    return OutsideAccess("write", paths[-1])


_SECONDS = 20.0
"""A time limit that no working machine reaches, however busy it is."""
_COMMAND = 'echo in > in && cat in && mkdir d && rmdir d && ! echo out > "$OUTSIDE/out"'


def fault(hold: Callable[[tuple[str, ...]], ConfinedRun | None]) -> str:
    """Return why a command cannot run as ``hold`` confines it, given folders that it may write to;
    empty when it can, writes there and is refused outside. Takes some milliseconds; never raises."""
    try:
        folder = os.path.realpath(tempfile.mkdtemp(prefix="sam-tui-probe-"))
    except OSError as error:
        return f"no temporary folder can be made ({error.strerror})"
    try:
        inside, outside = (os.path.join(folder, name) for name in ("inside", "outside"))
        os.mkdir(inside)
        os.mkdir(outside)
        confined_run = hold((inside,))
        if confined_run is None:
            return ""
        try:
            return _tried(confined_run, inside, outside)
        finally:
            confined_run.close()
    except ToolError as error:
        return str(error).rstrip(".")
    except OSError as error:
        return str(error.strerror)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tried(confined_run: ConfinedRun, inside: str, outside: str) -> str:
    with tempfile.TemporaryFile() as output:
        launch = Launch(
            _COMMAND,
            inside,
            {"PATH": os.environ.get("PATH", os.defpath), "OUTSIDE": outside, "LC_ALL": "C"},
            output.fileno(),
            confined_run.prefix,
            confined_run.passed,
        )
        process = start(launch, confined_run.held_start(), confined_run.begin)
        try:
            code = process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"a command did not end within {_SECONDS:g} s"
        output.seek(0)
        lines = output.read(4096).decode(errors="replace").strip().splitlines()
    if os.path.exists(os.path.join(outside, "out")):
        return "a command wrote outside its folders"
    if code != 0:
        return (
            f"a command failed inside its folders ({lines[-1] if lines else f'exit code {code}'})"
        )
    return ""
