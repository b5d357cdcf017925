"""Calls after a while, and workers, in place of Textual's: a timer may never call, a worker never end.

``Timer._run`` skips a call whose time has passed before it looks at the clock for the first time. For a
millisecond that is any busy moment, and whatever waits for the call waits for good. A ``Worker`` that is
cancelled before its task began is running for ever, and its coroutine is never awaited.
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
    """Let no line's cursor blink: that is a timer that never rests, and moves for people who want none."""
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
    """Call ``action`` once among the messages of a widget, screen or app; cancel it by what is returned."""
    return asyncio.get_running_loop().call_later(max(0.0, seconds), pump.call_next, action)
