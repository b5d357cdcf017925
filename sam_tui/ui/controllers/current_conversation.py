"""The window's conversations, one tab each, and which of them is displayed."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sam_tui.ui.activity import ActivityLine
from sam_tui.ui.controllers.prompt_queue import PromptQueue
from sam_tui.ui.messages import Signal
from sam_tui.ui.transcript import Transcript
from sam_tui.ui.widgets.status_bar import Figures

if TYPE_CHECKING:
    from textual.worker import Worker

    from sam_tui.core.agent.session import Session
    from sam_tui.core.ids import ConversationId


@dataclass(slots=True, eq=False)
class ConversationTab:
    """A tab: one conversation of the window, or none before its first prompt.

    It holds the conversation's state while another tab is displayed. No two tabs get one ``number``.
    """

    number: int
    transcript: Transcript
    queue: PromptQueue
    activity: ActivityLine = field(default_factory=ActivityLine)
    figures: Figures = field(default_factory=Figures)
    session: "Session | None" = None
    """None before the first prompt, and while the tab only shows another program's conversation."""
    watched: "ConversationId | None" = None
    """The conversation of another program that this tab shows; None if the tab has its own."""
    follower: "Worker[None] | None" = None
    """The worker that shows new messages, or checks whether another program took the conversation over."""
    stored_queue: list[str] = field(default_factory=list[str])
    """The queued prompts that are stored with the conversation."""
    past: list[str] = field(default_factory=list[str])
    """The earlier prompts of the conversation, while another tab is shown."""
    draft: str = ""
    """The unsent text of the prompt, while another tab is shown."""
    title: str = ""
    ended: str = ""
    """How the last turn ended; empty once the person has seen the tab."""

    def begin(self, prompt: str) -> None:
        """A turn begins; the first prompt is the title."""
        self.title = self.title or prompt

    @property
    def conversation(self) -> "ConversationId | None":
        """The conversation, with any writer."""
        return self.watched or (self.session.conversation if self.session is not None else None)


class CurrentConversation:
    """The displayed conversation, and the tabs of all open ones."""

    def __init__(self, tab: ConversationTab) -> None:
        self.tabs = [tab]
        self.tab = tab
        self.changed = Signal()
        self.leaving = Signal()
        """Sent before another tab is shown; ``arrived`` is sent after it."""
        self.arrived = Signal()

    @property
    def session(self) -> "Session | None":
        """None before the first prompt, and while the conversation is only read along."""
        return self.tab.session

    @property
    def id(self) -> "ConversationId | None":
        """The id of the session's conversation."""
        return self.session.conversation if self.session is not None else None

    def show(self, session: "Session | None", tab: ConversationTab | None = None) -> None:
        """Set the session of a tab, by default of the displayed one."""
        tab = tab or self.tab
        tab.session = session
        if tab is self.tab:
            self.changed.send()

    def switch(self, tab: ConversationTab) -> None:
        """Display another tab."""
        if tab is self.tab:
            return
        self.leaving.send()
        self.tab = tab
        self.arrived.send()
        self.changed.send()

    def tab_of(self, conversation: "ConversationId") -> ConversationTab | None:
        """The tab that has a conversation."""
        return next((tab for tab in self.tabs if tab.conversation == conversation), None)

    @property
    def foremost(self) -> ActivityLine:
        """The activity of any tab to report first: a waiting question, else running work."""
        lines = [self.tab.activity, *(tab.activity for tab in self.tabs)]
        return max(lines, key=lambda line: (bool(line.waiting), line.busy))

    def last_answer(self) -> str:
        """The newest answer of the model as text; empty if there is none."""
        messages = self.session.messages if self.session is not None else ()
        answers = (m.text for m in reversed(messages) if m.kind == "assistant" and m.text)
        return next(answers, "")
