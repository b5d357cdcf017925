"""A conversation as another program goes on with it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from sam_tui.core.agent.writing import LOOK
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import Message
from sam_tui.core.ports.storage import ConversationStore


async def followed(
    store: ConversationStore, conversation: ConversationId, *, yielded: int = 0
) -> AsyncGenerator[Sequence[Message]]:
    """The messages beyond the first ``yielded``, then those that come, for ever. Reads alone."""
    stored = -1
    while True:
        record = store.find(conversation)
        if record is not None and record.messages != stored:
            stored = record.messages
            history = store.everything(conversation)
            if len(history) > yielded:
                yield history[yielded:]
            yielded = len(history)
        await asyncio.sleep(LOOK)
