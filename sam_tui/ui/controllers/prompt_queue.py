"""The queue of prompts that wait above the prompt until they are sent."""

from collections.abc import Sequence

from sam_tui.ui.messages import Signal
from sam_tui.ui.widgets.prompt import PromptBox


class PromptQueue:
    """Shows the waiting prompts of the displayed conversation, and returns them for editing."""

    def __init__(self, box: PromptBox, *, on_show: bool = True) -> None:
        self._box = box
        self._on_show = on_show
        self.waiting: list[str] = []
        """Prompts to deliver at the next step of the turn, or one after the other after its end."""
        self.later: list[str] = []
        """Prompts to send once a turn has ended and ``waiting`` is empty, oldest first."""
        self._unsent: list[str] = []
        """Prompts of an earlier run of the program; they are sent only on request."""
        self.changed = Signal()

    @property
    def all(self) -> list[str]:
        """All waiting prompts, in order."""
        return [*self._unsent, *self.waiting, *self.later]

    def add(self, text: str, *, later: bool = False) -> None:
        """Queue a prompt; with ``later`` it is sent at the end of the turn."""
        (self.later if later else self.waiting).append(text)
        self._show()

    def take_first(self) -> str:
        """Remove the oldest, which is being sent, and return it. Empty when none waits."""
        source = self.waiting or self.later
        text = source.pop(0) if source else ""
        self._show()
        return text

    def hold(self, unsent: Sequence[str]) -> None:
        """Show prompts that were never sent, until the person takes them back."""
        self._unsent = list(unsent)
        self._show()

    def take_back(self) -> bool:
        """Put all waiting prompts before the text of the prompt; whether there were any.

        While another conversation is displayed they stay here, unsent.
        """
        texts, area = self.all, self._box.area
        if not self._on_show:
            self.waiting, self.later = [], []
            self.hold(texts)
        if not texts or not self._on_show:
            return False
        area.put("\n".join([*texts, area.text] if area.text else texts))
        self._unsent, self.waiting, self.later = [], [], []
        self._show()
        return True

    def take_last(self) -> None:
        """Put the newest into the prompt, to be edited."""
        texts = self.later or self.waiting or self._unsent
        if texts:
            self._box.area.put(texts.pop())
            self._show()

    def show(self, on_show: bool) -> None:
        """Show the queue above the prompt, or no longer."""
        self._on_show = on_show
        self._show()

    def _show(self) -> None:
        if self._on_show:
            self._box.show_queue([*self._unsent, *self.waiting], self.later)
        self.changed.send()
