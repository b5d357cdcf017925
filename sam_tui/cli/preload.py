"""Modules that the workbench loads ahead of its first answer, part by part."""

import asyncio
import importlib
from collections.abc import Sequence
from functools import partial

from sam_tui.core.events import (
    Answered,
    Event,
    ReasoningStreamed,
    RequestSent,
    TextStreamed,
    TurnFinished,
    TurnStarted,
)
from sam_tui.core.runtime import Runtime

_FOR_ANSWERS = (
    "sam_tui.ui.transcript.stream",
    "sam_tui.ui.transcript.render.code",
    "markdown_it",
)
"""The modules that draw answers. If they were loaded with the first piece, keys would wait 40 ms."""
_FOR_CALLS = (
    "sam_tui.adapters.terminal.emulator.screen",
    "sam_tools.file_operations",
    "sam_tools.terminal_operations",
    "sam_tools.todo_operations",
)
"""The modules that nearly every conversation uses, but not for its first request."""


def load_workbench() -> None:
    """Import what every workbench uses at once. Takes 0.1 s: call it on a thread."""
    for leaf in ("storage", "prompts", "llm.choice", "terminal.commands", "terminal.sessions"):
        importlib.import_module(f"sam_tui.adapters.{leaf}")


def warm(runtime: Runtime) -> None:
    """Load on a thread of its own what the first request needs, and nothing else."""
    if runtime.model is not None:
        from sam_tui.adapters.llm.choice import warm as warm_model

        warm_model(runtime.model)


async def prepare(runtime: Runtime, *, awaited: bool) -> None:
    """Load what the first answer and its calls need, part by part, while nobody waits for an answer.

    ``awaited``: a prompt waits already. Threads take turns, so that each part would delay the request.
    """
    events = runtime.bus.subscribe()
    try:
        drawing, calls = (
            [partial(importlib.import_module, name) for name in names]
            for names in (_FOR_ANSWERS, _FOR_CALLS)
        )
        for part in (*drawing, runtime.commands.warm, *calls):
            awaited = _awaiting(events.drain(), awaited)
            while awaited:
                awaited = _awaiting(await events.batch(), awaited)
            await asyncio.to_thread(part)
    finally:
        events.close()


def _awaiting(events: Sequence[Event], awaited: bool) -> bool:
    """Whether an answer that was asked for has not begun, after these events."""
    for event in events:
        match event:
            case TurnStarted() | RequestSent():
                awaited = True
            case TextStreamed() | ReasoningStreamed() | Answered() | TurnFinished():
                awaited = False
            case _:
                pass
    return awaited
