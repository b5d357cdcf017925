"""Calls after a while, in place of Textual's one-shot timers, which may never call.

``Timer._run`` skips a call whose time has passed before it looks at the clock for the first time. For a
millisecond that is any busy moment, and whatever waits for the call waits for good.
"""

import asyncio
from collections.abc import Callable

from textual.message_pump import MessagePump


def after(pump: MessagePump, seconds: float, action: Callable[[], object]) -> asyncio.TimerHandle:
    """Call ``action`` once among the messages of a widget, screen or app; cancel it by what is returned."""
    return asyncio.get_running_loop().call_later(max(0.0, seconds), pump.call_next, action)
