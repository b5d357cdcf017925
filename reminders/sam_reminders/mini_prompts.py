"""Keeps the person's standing instructions in view: seed 004, MiniPromptReminderInjector."""

from sam_tui.core.ports.prompts import PromptLibrary
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.tooling.neutralization import neutralise


class MiniPromptsReminder:
    """The mini prompts that are on, from the second user message on."""

    name = "mini_prompts"

    def __init__(self, library: PromptLibrary) -> None:
        self._library = library

    def content(self, view: TurnView) -> str | None:
        """All that are on, by their order, between ``<miniPromptReminder>`` tags, or None."""
        if _first_turn(view):
            return None
        texts = [prompt.content for prompt in self._library.enabled_mini(view.conversation)]
        if not texts:
            return None
        body = neutralise("\n\n".join(texts))
        body = body.replace("</miniPromptReminder", "<\\/miniPromptReminder")
        return (
            "<miniPromptReminder>\nThe person's standing instructions. They hold for this message as"
            f" for every other:\n\n{body}\n\nFollow them exactly, before any habit of your own.\n"
            "</miniPromptReminder>"
        )


def _first_turn(view: TurnView) -> bool:
    """Whether the message being answered is the conversation's first; a new one is not stored yet."""
    tally = view.tally
    return not tally.compacted and tally.prompts + view.new_message <= 1
