"""The worker processes that a driver starts on its own machine, with their command line."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sam_tui.core.ids import mint

_STOP_SECONDS = 10.0


def start_detached(command: Sequence[str]) -> None:
    """Start a program in a session of its own with no output here; it outlives this process."""
    subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=os.sep,
    )


@dataclass(slots=True)
class WorkerCrew:
    """A number of worker processes. A worker that ends is replaced, unless workers keep ending."""

    size: int
    options: Sequence[str]
    environment: Mapping[str, str]
    _running: dict[str, "subprocess.Popen[bytes]"] = field(
        default_factory=dict[str, "subprocess.Popen[bytes]"]
    )
    _started: int = 0

    def start(self) -> None:
        """Start ``size`` workers."""
        for _ in range(self.size):
            self._start()

    def dead(self) -> Sequence[str]:
        """Names of workers that ended since the last call; new ones replace them."""
        names = [name for name, process in self._running.items() if process.poll() is not None]
        for name in names:
            del self._running[name]
            if self._started < self.size * 5:
                self._start()
        return names

    @property
    def exhausted(self) -> bool:
        """Whether all workers ended and no more are started, because they kept ending."""
        return self._started > 0 and not self._running

    def stop(self) -> None:
        """End all workers: SIGTERM, then SIGKILL after ``_STOP_SECONDS``."""
        for process in self._running.values():
            process.send_signal(signal.SIGTERM)
        for process in self._running.values():
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()

    def _start(self) -> None:
        name = mint("worker")
        self._started += 1
        self._running[name] = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", "sam_tui", "worker", "--name", name),
                *("--while-stdin", *self.options),
            ],
            stdin=subprocess.PIPE,  # never written to: it ends when this process does
            stdout=subprocess.DEVNULL,
            env=dict(self.environment),
            start_new_session=True,
            cwd=os.sep,
        )
