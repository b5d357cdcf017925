"""Ending what runs in a terminal's foreground without ending the shell: INT, TERM, KILL."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

_RUNGS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@dataclass(slots=True)
class _Job:
    """One process group that had the terminal: its program, what it got last, and when."""

    image: str
    rung: int
    struck: float


class Ladder:
    """Signals whoever has the terminal now, each process group from the first rung on.

    A shell's own loop hands the terminal from one short job to the next. Only an interrupt of a job
    ends the loop with it, and bash loses one that comes while it starts a job, so every new group
    gets an interrupt of its own. The shell gets nothing but interrupts: they end its own loops.
    """

    def __init__(
        self, shell: int, patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._shell = shell
        self._patience = patience
        self._clock = clock
        self._jobs: dict[int, _Job] = {}
        self._late = False

    def strike(self, group: int) -> str:
        """Signal the group that has the terminal, if it is due; 0 is nobody.

        Returns the name of the signal, such as ``TERM``; empty where none was sent.
        """
        if group <= 0:
            return ""
        now, image = self._clock(), _image(group)
        job = self._jobs.get(group)
        if job is None or (image and image != job.image):
            # One that became another program took what came before with it unheeded.
            job = self._jobs[group] = _Job(image, 0, now)
        elif group == self._shell:
            pass
        elif now - job.struck >= self._patience and job.rung + 1 < len(_RUNGS):
            job.rung, job.struck = job.rung + 1, now
        else:
            return ""
        self._late = self._late or group == self._shell
        try:
            os.killpg(group, _RUNGS[job.rung])
        except (ProcessLookupError, PermissionError):
            return ""
        return _RUNGS[job.rung].name.removeprefix("SIG")

    def confirm(self) -> bool:
        """Interrupt the shell, which waits for keys, once more; False when it got no interrupt since.

        bash keeps an interrupt that comes while it goes back to its prompt, and takes it out on the
        next line: its first key is lost. One that comes while it waits for keys clears that.
        """
        late, self._late = self._late, False
        if late:
            os.kill(self._shell, signal.SIGINT)
        return late


def _image(pid: int) -> str:
    """The program that a process runs; empty where that is not told."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""
