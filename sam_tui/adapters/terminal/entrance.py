"""The thread that enters the sandbox and starts one command from in there, now or later."""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

from sam_tui.adapters.terminal.sandbox.entry import restrict
from sam_tui.adapters.terminal.sandbox.kernel import unshare_descriptors

Started = TypeVar("Started")


class HeldStart:
    """A way in for one command.

    Landlock holds a thread and what it starts, so nothing has to run between fork and exec: the
    start stays a vfork, whose price does not grow with the program's memory, and it is safe beside
    other threads. While that thread lives, though, the command shares its domain and could trace
    it. So the command first waits for the end of a pipe whose other end only this thread holds, in a
    descriptor table of its own: the kernel closes it when the thread is gone, and opens the gate.
    """

    def __init__(self, descriptor: int) -> None:
        self._way = descriptor
        self._given: SimpleQueue[Callable[[int, int], None] | None] = SimpleQueue()
        self._news = SimpleQueue[bool]()
        """Whether the command was started; False follows in any case when the thread ends."""
        self._failed: OSError | None = None
        self._thread = threading.Thread(target=self._enter, name="confined-start", daemon=True)
        self._thread.start()

    @property
    def waits(self) -> bool:
        """Whether the thread is still there: it ends by itself when it cannot enter."""
        return self._thread.is_alive()

    def start(
        self, spawn: Callable[[int, int], Started], ready: Callable[[Started], None]
    ) -> Started:
        """Start a command, once. Raises OSError when the sandbox cannot be entered.

        ``spawn`` makes the first descriptor its input, and has it wait until the second is closed.
        ``ready`` is called, out here, while it waits.
        """
        started: list[Started] = []
        opened = SimpleQueue[None]()

        def enter(gate: int, control: int) -> None:
            started.append(spawn(gate, control))
            self._news.put(True)
            opened.get()

        self._given.put(enter)
        try:
            if self._news.get():
                ready(started[0])
        finally:
            opened.put(None)
            self._thread.join()
        if started:
            return started[0]
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
            spawn(*os.pipe())
        except OSError as error:
            self._failed = error
        finally:
            self._news.put(False)
