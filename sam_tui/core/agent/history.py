"""A conversation's messages: in memory for the loop, on disk before the next step begins."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from sam_tui.core.agent.compaction import Compacted
from sam_tui.core.agent.lease import as_writer
from sam_tui.core.agent.tokens import estimate, total
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    calls_of,
    unanswered,
)
from sam_tui.core.ports.memory import ArchivedChunk
from sam_tui.core.ports.storage import CallDisplay, ConversationStore
from sam_tui.core.prompt.tally import Tally
from sam_tui.core.tooling.executor import CallPlan
from sam_tui.core.usage import Usage

INTERRUPTED = "ERROR: The program ended before this call did. Whether it took effect is not known."
TAKEN_OVER = (
    "ERROR: This conversation was taken over from another program before this call ended there."
    " Whether it took effect is not known."
)
COPIED = (
    "ERROR: This conversation is a copy that was made before this call ended in the original."
    " Whether it took effect is not known."
)


class History:
    """An append-only list that is stored as it grows."""

    def __init__(self, store: ConversationStore, conversation: ConversationId) -> None:
        self._store = store
        self.conversation = conversation
        self._messages: list[Message] = []
        self._tally = self._counted()
        self.tokens = 0
        """The estimated tokens of all messages (``tokens.total``), stored so that no turn counts them."""
        self._calls: set[CallId] = set()
        self._answered: set[CallId] = set()

    def restore(self, plan: Callable[[ToolCall], CallPlan], *, broken: str = INTERRUPTED) -> None:
        """Load the stored messages, and close the calls that were left without a result.

        ``plan`` reads such a call, for the words that people are shown; ``broken`` is its result.
        """
        for message in self._store.messages(self.conversation):
            self._remember(message)
        # A dropped call's id must not come again: its stored result is still read by it.
        everything = self._store.everything(self.conversation)
        self._calls.update(call.id for call in calls_of(everything))
        for call in unanswered(self._messages):
            read = plan(call)
            self.append(
                ToolMessage(
                    call.id,
                    call.name,
                    broken,
                    ok=False,
                    operation=read.key,
                    summary=read.summary,
                )
            )

    @property
    def messages(self) -> Sequence[Message]:
        """The messages that the model is sent, oldest first. Only ``shorten`` replaces its head."""
        return self._messages

    @property
    def tally(self) -> Tally:
        """The counts of the messages that reminders need."""
        return self._tally

    @property
    def call_ids(self) -> set[CallId]:
        """Every call id of this conversation."""
        return self._calls

    def append(self, message: Message, display: CallDisplay | None = None) -> None:
        """Store one message, and the display of its call for people; then add it to the history in
        memory."""
        self._store.append(self.conversation, (message,), display)
        self._remember(message)

    def written(self) -> AbstractAsyncContextManager[None]:
        """A block that is cancelled once another program takes the conversation over."""
        return as_writer(self._store, self.conversation)

    def close(self) -> None:
        """Release the conversation, so that other programs may write to it."""
        self._store.release(self.conversation)

    def moments(self) -> Sequence[float]:
        """Return when each message was stored, in seconds since the epoch."""
        return self._store.moments(self.conversation)

    def shorten(self, compacted: Compacted, archived: Sequence[ArchivedChunk]) -> None:
        """Replace dropped messages by the opening of a compaction, on disk and here."""
        self._store.shorten(
            self.conversation,
            dropped=compacted.kept_from,
            opening=compacted.opening,
            archived=archived,
        )
        self._replace(compacted.apply(self._messages))

    def restore_dropped(self) -> bool:
        """Undo the last compaction, in the store and in memory. False if there is none to undo."""
        if not self._store.restore_dropped(self.conversation):
            return False
        self._replace(self._store.messages(self.conversation))
        return True

    def _replace(self, messages: Sequence[Message]) -> None:
        self._messages[:] = messages
        self._tally = self._counted()
        self.tokens = total(self._messages)

    def _counted(self) -> Tally:
        everything = partial(self._store.everything, self.conversation)
        return Tally(self._messages, earlier=everything)

    def answered_of(self, calls: Sequence[ToolCall]) -> int:
        """The index of the first of these calls that has no result yet."""
        for index, call in enumerate(calls):
            if call.id not in self._answered:
                return index
        return len(calls)

    def add_usage(self, usage: Usage) -> None:
        """Add the usage of a model call."""
        self._store.add_usage(self.conversation, usage)

    def _remember(self, message: Message) -> None:
        self._messages.append(message)
        self.tokens += estimate(message)
        match message:
            case AssistantMessage(calls=calls):
                self._calls.update(call.id for call in calls)
            case ToolMessage(call_id=call_id):
                self._answered.add(call_id)
            case _:
                pass
