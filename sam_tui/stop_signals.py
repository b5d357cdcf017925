"""The signals that end a server: the first in order, a second one at once."""

import asyncio
import os
import signal
from collections.abc import Coroutine, Generator
from contextlib import contextmanager

from sam_tui import signals

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_stop() -> Generator[asyncio.Event]:
    """An event that the first signal sets; a second one ends the process at once.

    A SIGHUP that the caller ignores on purpose (nohup) stays ignored.
    """
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        if stopped.is_set():
            os._exit(1)
        stopped.set()

    numbers = [n for n in _SIGNALS if n != signal.SIGHUP or not signals.ignored(n)]
    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        yield stopped
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def until_stopped(work: Coroutine[object, object, object], stopped: asyncio.Event) -> None:
    """Do the work of a server to its end, or until it shall stop."""
    loop = asyncio.get_running_loop()
    tasks = (
        loop.create_task(work, name="serving"),
        loop.create_task(stopped.wait(), name="stopping"),
    )
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
