"""Output gathered for a moment: a terminal hands it out in small pieces, which are dear to look at."""

import asyncio
from collections.abc import Callable

_MOMENT = 0.004
"""Seconds that pieces are gathered after the first, which is passed on at once."""
_MOST = 256 * 1024
"""Bytes that are passed on without waiting for the moment to end."""
_FLOOD = 32 * 1024
"""Bytes of one moment that make a flood."""


class Gathering:
    """Passes pieces of output on: the first after a rest at once, those close behind it together.

    ``flooded`` is called when so much came in a moment that somebody else should read.
    """

    def __init__(self, deliver: Callable[[bytes], None], flooded: Callable[[], None]) -> None:
        self._deliver = deliver
        self._flooded = flooded
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        """Another piece came."""
        if self._timer is None:
            self._timer = self._loop.call_later(_MOMENT, self._due)
            self._deliver(data)
            return
        self._pieces.append(data)
        self._size += len(data)
        if self._size >= _MOST:
            self._pass_on()

    def finish(self) -> None:
        """Nothing more will come: pass on what is left."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._pass_on()

    def _due(self) -> None:
        self._timer = None
        if self._size >= _FLOOD:
            self._flooded()
        elif self._pieces:
            self._timer = self._loop.call_later(_MOMENT, self._due)
            self._pass_on()

    def _pass_on(self) -> None:
        if self._pieces:
            data = b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._deliver(data)
