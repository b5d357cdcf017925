"""Keeps what the person pinned before the model, whatever leaves its context."""

from collections.abc import Callable, Sequence

from sam_tui.core.ids import ConversationId
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.tooling.neutralization import neutralise


class PinsReminder:
    """The pins of a conversation, in their order. They are the person's own words."""

    name = "pins"

    def __init__(self, pins: Callable[[ConversationId], Sequence[str]]) -> None:
        self._pins = pins

    def content(self, view: TurnView) -> str | None:
        """All pins between ``<pinned>`` tags; None where the model read the same before.

        What was said stays in the history; a compaction takes it away, and it is said anew.
        """
        last = view.tally.last(self.name)
        pins = [
            neutralise(pin).replace("</pinned", "<\\/pinned")
            for pin in self._pins(view.conversation)
        ]
        if not pins:
            return (
                "<pinned>\nNothing is pinned any more.\n</pinned>"
                if last and _LEAD in last
                else None
            )
        text = "\n".join(["<pinned>", _LEAD, *(f"- {pin}" for pin in pins), "</pinned>"])
        return None if text == last else text


_LEAD = "What the person pinned. It holds until they take it back:"
