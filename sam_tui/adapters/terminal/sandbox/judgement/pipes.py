"""Named pipes that are opened for reading: handed over once somebody writes, as their reader would wait."""

import os
import select
import threading
from contextlib import suppress

from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import has_signal
from sam_tui.adapters.terminal.sandbox.supervised.run import Watch

_MOST_WAITING = threading.BoundedSemaphore(64)
_MOMENT = 500
"""Milliseconds between two looks at whether the caller is still there."""


def hand_over_pipe(watch: Watch, call: Notification, reading: int, flags: int) -> None:
    """Hand over the reading end of a named pipe, which was opened without waiting, and close it here.

    Raises OSError where too many wait.
    """
    if flags & os.O_NONBLOCK:
        try:
            watch.give(call, reading, flags)
        finally:
            os.close(reading)
        return
    if not _MOST_WAITING.acquire(blocking=False):
        os.close(reading)
        raise OSError(24, "Too many open files")
    threading.Thread(
        target=_wait, args=(watch, call, reading, flags), name="pipe", daemon=True
    ).start()


def _wait(watch: Watch, call: Notification, reading: int, flags: int) -> None:
    """Nothing tells that somebody opened a pipe for writing but an open that waits for it: that is one
    more reader, on a thread of its own. Who has written and left meanwhile is seen at ``reading``."""
    path = f"/proc/self/fd/{reading}"
    opened, opening = os.pipe()

    def open_and_wait() -> None:
        with suppress(OSError):
            os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        os.close(opening)
        _MOST_WAITING.release()

    waiting = threading.Thread(target=open_and_wait, name="pipe-reader", daemon=True)
    waiting.start()
    try:
        poll = select.poll()
        poll.register(reading, select.POLLIN)
        poll.register(opened, select.POLLIN)
        while not poll.poll(_MOMENT) and watch.waits(call):
            if has_signal(call.thread):
                watch.refuse(call, 4)  # EINTR, as an open that waits is interrupted
                return
        file_calls.restore_waiting(reading, flags)
        watch.give(call, reading, flags)
    except OSError:
        return  # the caller is gone
    finally:
        if waiting.is_alive():
            with suppress(OSError):  # a writer for a moment, by which that open ends
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        os.close(opened)
        os.close(reading)
