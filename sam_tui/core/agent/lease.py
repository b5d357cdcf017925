"""The right to write to a conversation: work ends where another program takes it, and follows it there."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from itertools import takewhile

from sam_tui.core.errors import ConversationTakenOver, UsageError
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import Message
from sam_tui.core.ports.storage import ConversationStore

LOOK = 0.5
"""Seconds between two reads of the store, because SQLite does not notify other processes."""


async def taken_over(
    store: ConversationStore, conversation: ConversationId
) -> ConversationTakenOver:
    """Wait until another process takes over the conversation; the error names that process."""
    while True:
        await asyncio.sleep(LOOK)
        lost = store.lost(conversation)
        if lost is not None:
            return lost


@asynccontextmanager
async def as_writer(store: ConversationStore, conversation: ConversationId) -> AsyncGenerator[None]:
    """Run a block that writes. Raises ``ConversationTakenOver``, at the latest with its next write."""
    task = asyncio.current_task()
    assert task is not None
    cancelled_before = task.cancelling()
    takeovers: list[ConversationTakenOver] = []

    async def look() -> None:
        takeovers.append(await taken_over(store, conversation))
        task.cancel()

    watch = asyncio.get_running_loop().create_task(look(), name="taken-over")
    try:
        yield
    except asyncio.CancelledError:
        # The person may have cancelled as well: that goes on.
        if not takeovers or task.uncancel() > cancelled_before:
            raise
        raise takeovers[0] from None
    except ConversationTakenOver:
        if takeovers:
            task.uncancel()
        raise
    finally:
        watch.cancel()


async def histories(
    store: ConversationStore, conversation: ConversationId
) -> AsyncGenerator[Sequence[Message]]:
    """Yield all messages, now and after every change. Reads alone.

    Raises ``UsageError`` once the conversation is deleted.
    """
    version = None
    while True:
        record = store.find(conversation)
        if record is None and version is not None:
            raise UsageError(f"Conversation {conversation} was deleted.")
        if record is not None and (record.messages, record.updated_at) != version:
            version = record.messages, record.updated_at
            yield store.everything(conversation)
        await asyncio.sleep(LOOK)


async def followed(
    store: ConversationStore, conversation: ConversationId
) -> AsyncGenerator[Sequence[Message]]:
    """Yield the messages, then new ones, each once. Reads alone.

    Of a history that took the place of another under this id, those after their common beginning.
    Raises ``UsageError`` once the conversation is deleted.
    """
    yielded: Sequence[Message] = ()
    async with aclosing(histories(store, conversation)) as changes:
        async for history in changes:
            pairs = zip(yielded, history, strict=False)
            common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            yielded = history
            if history[common:]:
                yield history[common:]
