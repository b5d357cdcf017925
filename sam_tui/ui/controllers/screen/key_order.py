"""Handles keys in order: each waits until all effects of the one before have reached the app."""

import asyncio
from collections import deque
from collections.abc import Callable

from textual.app import App
from textual.events import Key, Paste
from textual.message import Message
from textual.message_pump import MessagePump

_LOOK_AGAIN = 0.1
_LONGEST = 5.0
"""The most seconds that keys wait until the widget for an earlier key can handle it."""


class KeyArrived(Message):
    """Follows a key through the message queues, so that it arrives after all messages the key caused."""


class KeyOrder:
    """The key that a widget handles now, and the keys that wait for it.

    Without it the app would handle a later key before an earlier one's effect, because a widget posts
    its request as a message that arrives later.
    """

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._on_way: KeyArrived | None = None
        self._behind: deque[Key | Paste] = deque()
        self._then: Callable[[], object] | None = None

    def waits(self, event: Key | Paste) -> bool:
        """Whether an earlier key is on its way yet: then this one is kept until it has arrived."""
        if self._on_way is not None:
            self._behind.append(event)
        return self._on_way is not None

    def follow(self, widget: MessagePump) -> None:
        """A widget gets a key: send a mark behind it, which follows the key's messages up to the app."""
        self._on_way = mark = KeyArrived()
        widget.call_later(widget.post_message, mark)
        self._look(mark, widget, _LONGEST)

    def _look(self, mark: KeyArrived, widget: MessagePump, left: float) -> None:
        """Post the mark for a widget that is gone or busy for long, so that no key waits for it."""
        if mark is not self._on_way:
            return
        if left > 0 and widget.is_running and widget.is_attached:
            loop = asyncio.get_running_loop()
            loop.call_later(_LOOK_AGAIN, self._look, mark, widget, left - _LOOK_AGAIN)
        else:
            self._app.post_message(mark)

    def arrived(self, mark: KeyArrived) -> Key | Paste | None:
        """The next key to handle, once the mark of the one before has arrived; None if there is none."""
        if mark is self._on_way:
            self._on_way = None
        return self.next()

    def next(self) -> Key | Paste | None:
        """The next key, unless one is still being handled; None if none waits."""
        if self._on_way is not None:
            return None
        if not self._behind and self._then is not None:
            self._then()
        return self._behind.popleft() if self._behind else None

    def once_arrived(self, widget: MessagePump, action: Callable[[], object]) -> None:
        """Do this once every key that came so far has arrived; the last may have gone to this widget."""
        self._then = action
        if self._on_way is None:
            self.follow(widget)
