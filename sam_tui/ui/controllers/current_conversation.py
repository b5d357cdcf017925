"""Which conversation is on show."""

from typing import TYPE_CHECKING

from sam_tui.ui.messages import Signal

if TYPE_CHECKING:
    from sam_tui.core.agent.session import Session
    from sam_tui.core.ids import ConversationId


class CurrentConversation:
    """Everybody looks here for it; whoever opens conversations says which it is."""

    def __init__(self) -> None:
        self.changed = Signal()
        """Sent whenever another conversation is on show."""
        self.session: Session | None = None
        """None before the first prompt, and while it is only read along."""

    @property
    def id(self) -> "ConversationId | None":
        """The id of the session's conversation."""
        return self.session.conversation if self.session is not None else None

    def show(self, session: "Session | None") -> None:
        """This one is on show now."""
        self.session = session
        self.changed.send()

    def last_answer(self) -> str:
        """The newest answer of the model, as it wrote it; empty when there is none."""
        messages = self.session.messages if self.session is not None else ()
        answers = (m.text for m in reversed(messages) if m.kind == "assistant" and m.text)
        return next(answers, "")
