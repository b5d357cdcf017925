"""Timers, workers and the choice of handlers in place of Textual's.

``Timer._run`` skips a call whose time has passed before it reads the clock for the first time: at any
busy moment, for a millisecond. Whatever waits for the call waits forever then. A ``Worker`` that is
cancelled before its task began counts as running forever, and its coroutine is never awaited. For each
message, Textual searches all classes of a widget for handlers.
"""

import asyncio
import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import FunctionType, MethodType
from typing import Any, cast

from textual.message import Message
from textual.message_pump import MessagePump
from textual.widgets import Input
from textual.worker import Worker, WorkerState
from textual.worker_manager import WorkerManager


def still_cursors() -> None:
    """Stop text cursors from blinking: that needs a timer, and moves for people who want no motion."""
    Input.cursor_blink._default = False  # pyright: ignore


_PUMP: Any = MessagePump
_CALLBACK: Any = importlib.import_module("textual._callback")
_search = _PUMP._get_dispatch_methods
_prevent = MessagePump.prevent
_count = _CALLBACK._count_parameters
_NOTHING = nullcontext()
_REST = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def shorten_dispatch() -> None:
    """Have handlers searched for once for each class, and parameters counted without ``inspect``."""
    _PUMP._get_dispatch_methods = _handlers
    _PUMP.prevent = _prevented
    _CALLBACK._count_parameters = _count_parameters


def _prevented(pump: MessagePump, *messages: type[Message]) -> AbstractContextManager[None]:
    return _prevent(pump, *messages) if messages else _NOTHING


def _handlers(pump: object, name: str, message: Message) -> Iterator[tuple[type, Any]]:
    classes = _classes_with_handlers(type(pump), name, type(message))
    if classes is None:
        yield from _search(pump, name, message)
        return
    for cls, handler in classes:
        if message._no_default_action:  # pyright: ignore[reportPrivateUsage]
            return
        yield cls, cls.__dict__[handler].__get__(pump, cls)


@cache
def _classes_with_handlers(
    pump: type, name: str, message: type
) -> tuple[tuple[type, str], ...] | None:
    """The classes of a widget that have a handler, each with its name there; None if some handlers were
    declared with ``on``: which of them are called depends on the message."""
    classes: list[tuple[type, str]] = []
    for cls in pump.__mro__:
        members = vars(cls)
        if any(issubclass(message, kind) for kind in members.get("_decorated_handlers", ())):
            return None
        handler = f"_{name}" if members.get(f"_{name}") else name
        if (method := members.get(handler)) and not getattr(method, "_textual_on", None):
            classes.append((cls, handler))
    return tuple(classes)


def _count_parameters(callback: Any) -> int:
    """How many parameters a callback has. ``inspect`` makes an object of each of them."""
    is_function = isinstance(callback, FunctionType)
    plain = is_function or isinstance(callback, MethodType)
    called: Any = callback if plain else type(callback).__call__
    code = getattr(called, "__code__", None)
    if code is None or code.co_flags & _REST or hasattr(called, "__wrapped__"):
        return _count(callback)
    return code.co_argcount + code.co_kwonlyargcount - (not is_function)


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
