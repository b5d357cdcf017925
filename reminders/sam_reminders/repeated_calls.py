"""Tells the model that it makes the same call again and again and learns nothing from it."""

from collections import Counter
from collections.abc import Sequence

from sam_tui.core.messages import AssistantMessage, Message, ToolMessage, UserMessage
from sam_tui.core.prompt.reminders import TurnView

LOOP = 4
"""How often the same call with the same result is made before it counts as a loop."""
_LOOKED_AT = 40
"""Messages at the end that are looked at."""


class RepeatedCallsReminder:
    """Fingerprints of calls with their results since the person's last message."""

    name = "repeated_calls"

    def content(self, view: TurnView) -> str | None:
        """Which call repeats, once it does and each few times more; None while none does."""
        if view.new_message:
            return None
        name, times = _most_repeated(view.messages[-_LOOKED_AT:])
        if times < LOOP:
            return None
        return (
            f"{name} was called {times // LOOP * LOOP} times with the same arguments and gave the same"
            " result each time. Calling it again will not change that. Do something else: look at what"
            " the result says, try another way, or tell the person what is missing."
        )


def _most_repeated(messages: Sequence[Message]) -> tuple[str, int]:
    """The call that was made most often with one result, and how often; the empty name for none."""
    arguments: dict[str, str] = {}
    seen: Counter[tuple[str, str, str]] = Counter()
    for message in messages:
        match message:
            case UserMessage():
                seen.clear()
            case AssistantMessage(calls=calls):
                arguments.update({call.id: call.arguments for call in calls})
            case ToolMessage() if message.call_id in arguments:
                seen[message.name, arguments[message.call_id], message.text] += 1
            case _:
                continue
    if not seen:
        return "", 0
    (name, _, _), times = seen.most_common(1)[0]
    return name, times
