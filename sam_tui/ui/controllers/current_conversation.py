"""Which conversation is on show."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sam_tui.core.agent.session import Session
    from sam_tui.core.ids import ConversationId


class CurrentConversation:
    """Everybody looks here for it; whoever opens conversations says which it is."""

    def __init__(self) -> None:
        self._watchers: list[Callable[[], object]] = []
        self.session: Session | None = None
        """None before the first prompt, and while it is only read along."""

    @property
    def id(self) -> "ConversationId | None":
        """The id of the session's conversation."""
        return self.session.conversation if self.session is not None else None

    def watch(self, changed: Callable[[], object]) -> None:
        """Have this called whenever another conversation is on show."""
        self._watchers.append(changed)

    def show(self, session: "Session | None") -> None:
        """This one is on show now."""
        self.session = session
        for changed in self._watchers:
            changed()

    def last_answer(self) -> str:
        """The newest answer of the model, as it wrote it; empty when there is none."""
        messages = self.session.messages if self.session is not None else ()
        answers = (m.text for m in reversed(messages) if m.kind == "assistant" and m.text)
        return next(answers, "")
