"""Copies of the conversation on show: all of it, or up to a block of the transcript."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sam_tui.core.messages import AssistantMessage, Message, UserMessage
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.transcript.blocks import Block, Card, User
from sam_tui.ui.transcript.render.safe_text import clean

if TYPE_CHECKING:
    from sam_tui.core.ids import ConversationId

_WHOLE = "This is a copy. The original is unchanged; /resume opens it."
_ENDS_HERE = "This is a copy that ends here. The original is unchanged; /resume opens it."


class Forks:
    """Opens copies; the original is unchanged."""

    def __init__(self, context: Context, conversations: Conversations) -> None:
        self._context = context
        self._conversations = conversations

    def whole(self) -> None:
        """Go on in a copy of the conversation on show."""
        conversation = self._conversations.on_show
        if conversation is not None and self._open(conversation, None):
            self._context.notice(_WHOLE)

    def at_block(self) -> None:
        """Go on in a copy that ends at the block under the cursor. A prompt comes back for editing."""
        conversation = self._conversations.on_show
        if conversation is None or self._context.marked_block() is None:
            return
        store = self._context.runtime.conversations
        messages = store.everything(conversation)
        index = self._message_index(messages)
        if index is None:
            self._context.notify("This block belongs to no stored message.", warning=True)
            return
        if self._open(conversation, store.positions(conversation)[index]):
            message = messages[index]
            if isinstance(message, UserMessage):
                self._context.screen.prompt.area.put(message.text)
            self._context.screen.prompt.area.focus()
            self._context.notice(_ENDS_HERE)

    def _open(self, conversation: "ConversationId", at: int | None) -> bool:
        """Open a copy; whether that worked. The transcript shows the error."""
        self._conversations.open(conversation, "fork", at=at)
        return self._conversations.on_show != conversation

    def _message_index(self, messages: Sequence[Message]) -> int | None:
        """The message of the marked block, or of the next above that is one."""
        above, below = self._context.screen.transcript.marked()
        while above:
            block = above.pop()
            text = self._text(block)
            indexes = [i for i, message in enumerate(messages) if _stands_for(message, block, text)]
            # Texts repeat, and the view may lack the beginning: count from the end.
            later = sum(self._text(other) == text for other in below)
            if len(indexes) > later:
                return indexes[-1 - later]
            below.append(block)
        return None

    def _text(self, block: Block) -> str:
        return clean(self._context.screen.transcript.source_of(block)).strip()


def _stands_for(message: Message, block: Block, text: str) -> bool:
    match message, block.content:
        case AssistantMessage(calls=calls), Card(call=call):
            return call in {tool_call.id for tool_call in calls}
        case UserMessage(), User():
            return clean(message.text).strip() == text
        case AssistantMessage(), content if not isinstance(content, Card | User):
            return bool(text) and text in (
                clean(message.text).strip(),
                clean(message.reasoning).strip(),
            )
        case _:
            return False
