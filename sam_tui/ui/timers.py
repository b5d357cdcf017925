"""Timers and workers in place of Textual's: its timer may never call, and its worker may never end.

``Timer._run`` skips a call whose time has passed before it reads the clock for the first time: at any
busy moment, for a millisecond. Whatever waits for the call waits forever then. A ``Worker`` that is
cancelled before its task began counts as running forever, and its coroutine is never awaited.
"""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, cast

from textual.message_pump import MessagePump
from textual.widgets import Input
from textual.worker import Worker, WorkerState
from textual.worker_manager import WorkerManager


def still_cursors() -> None:
    """Stop text cursors from blinking: that needs a timer, and moves for people who want no motion."""
    Input.cursor_blink._default = False  # pyright: ignore


class Workers(WorkerManager):
    """A worker manager that also ends workers cancelled before their start."""

    def _remove_worker(self, worker: Worker[Any]) -> None:
        super()._remove_worker(worker)  # pyright: ignore[reportUnknownMemberType]
        if not worker.is_finished:
            work = cast("object", worker._work)  # pyright: ignore
            if inspect.iscoroutine(work):
                work.close()
            worker.state = WorkerState.CANCELLED


def after(pump: MessagePump, seconds: float, action: Callable[[], object]) -> asyncio.TimerHandle:
    """Call ``action`` once in the message loop of ``pump``; the returned handle can cancel it."""
    return asyncio.get_running_loop().call_later(max(0.0, seconds), pump.call_next, action)
