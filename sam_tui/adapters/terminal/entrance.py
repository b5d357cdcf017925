"""The thread that enters the sandbox and starts one command from in there, now or later."""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from subprocess import Popen

from sam_tui.adapters.terminal.sandbox.entry import restrict
from sam_tui.adapters.terminal.sandbox.kernel import unshare_descriptors

Spawn = Callable[[int, int], "Popen[bytes]"]
"""Starts a command whose input is the first descriptor: it waits there until the second is closed."""


class Entrance:
    """A way in for one command.

    Landlock holds a thread and what it starts, so nothing has to run between fork and exec: the
    start stays a vfork, whose price does not grow with the program's memory, and it is safe beside
    other threads. While that thread lives, though, the command shares its domain and could trace
    it. So the command first waits for the end of a pipe whose other end only this thread holds, in a
    descriptor table of its own: the kernel closes it when the thread is gone, and opens the gate.
    """

    def __init__(self, way: int) -> None:
        self._way = way
        self._given: SimpleQueue[Spawn | None] = SimpleQueue()
        self._started: Popen[bytes] | None = None
        self._failed: OSError | None = None
        self._thread = threading.Thread(target=self._enter, name="confined-start", daemon=True)
        self._thread.start()

    def start(self, spawn: Spawn) -> "Popen[bytes]":
        """Start a command, once. Raises OSError when the sandbox cannot be entered."""
        self._given.put(spawn)
        self._thread.join()
        if self._started is not None:
            return self._started
        raise self._failed or OSError("the thread that starts it died")

    def close(self) -> None:
        """Nothing will be started here."""
        self._given.put(None)
        self._thread.join()

    def _enter(self) -> None:
        try:
            restrict(self._way)
            spawn = self._given.get()
            if spawn is None:
                return
            # Only now: until then the copy would keep open what the program closes meanwhile.
            unshare_descriptors()
            self._started = spawn(*os.pipe())
        except OSError as error:
            self._failed = error
