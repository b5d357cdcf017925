"""The subscribers of events. Publishing never waits; a slow subscriber gets merged text."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from sam_tui.core.events import Event, ReasoningStreamed, TextStreamed, ToolProgressed


class Subscription:
    """One subscriber's queue: everything, in order; pieces of one stream joined while it waits."""

    def __init__(self, forget: Callable[["Subscription"], None]) -> None:
        self._queue: deque[Event] = deque()
        self._ready = asyncio.Event()
        self._forget = forget

    def put(self, event: Event) -> None:
        """Add an event, joined to the last one where both are pieces of one stream."""
        joined = _join(self._queue[-1], event) if self._queue else None
        if joined is not None:
            self._queue[-1] = joined
            return
        self._queue.append(event)
        self._ready.set()

    def drain(self) -> list[Event]:
        """All queued events at once; an empty list if there are none."""
        batch = list(self._queue)
        self._queue.clear()
        self._ready.clear()
        return batch

    async def batch(self) -> list[Event]:
        """Wait for at least one event, then return all queued events."""
        await self._ready.wait()
        return self.drain()

    def close(self) -> None:
        """Receive no more events."""
        self._forget(self)


class Bus:
    """Delivers events on one loop's thread, in the order of publication."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self.listeners: list[Callable[[Event], None]] = []
        """Called with every event at once; they must neither wait nor raise."""

    def subscribe(self) -> Subscription:
        """Return a new queue that receives everything published from now on."""
        subscription = Subscription(self._subscriptions.remove)
        self._subscriptions.append(subscription)
        return subscription

    def publish(self, event: Event) -> None:
        """Hand the event to every subscriber. Call it on the loop's thread."""
        for subscription in self._subscriptions:
            subscription.put(event)
        for listener in self.listeners:
            listener(event)


def _join(last: Event, new: Event) -> Event | None:
    """Two adjacent pieces of the same stream as one event; None if they do not belong together."""
    match last, new:
        case (TextStreamed(), TextStreamed()) | (ReasoningStreamed(), ReasoningStreamed()):
            same = last.conversation == new.conversation
        case ToolProgressed(), ToolProgressed():
            same = last.call == new.call
        case _:
            return None
    return replace(last, text=last.text + new.text) if same else None
