"""/xray: the model calls of the displayed conversation, each opened as it was sent."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice

if TYPE_CHECKING:
    from sam_tui.core.ids import ConversationId
    from sam_tui.core.ports.calls import ModelCall


def show_calls(context: Context, current: CurrentConversation) -> None:
    """Let the person pick a call, and show all of it."""
    conversation = current.id
    if conversation is None:
        context.notice("/xray needs a conversation: send a first prompt to begin one.")
        return
    from sam_tui.core.agent.calls.xray import call_line

    calls = list(reversed(context.runtime.calls.calls(conversation)))

    async def load() -> Sequence[Choice]:
        return [_choice(call) for call in calls]

    def preview(index: int) -> list[str]:
        culprit = calls[index].prefix.culprit
        lines = ["", one_line(call_line(calls[index]), 160)]
        return [*lines, f"first block that differs: {one_line(culprit, 80)}"] if culprit else lines

    context.pick_loaded(
        "look at a model call",
        load,
        lambda index: _show(context, conversation, calls[index]),
        empty="This conversation has no model calls yet.",
        preview=preview,
    )


def _choice(call: "ModelCall") -> Choice:
    """Return a row that fits 80 columns; the rest of the call is shown below the list."""
    usage = call.usage
    money = "–" if usage.cost is None else f"${usage.cost:.4f}"
    words = [
        f"#{call.number}  {datetime.fromtimestamp(call.at):%H:%M:%S}",
        f"in {usage.input_tokens:,}  out {usage.output_tokens:,}  {money}",
        *(["FAILED"] if call.fault else []),
    ]
    return Choice("  ".join(words), one_line(call.model, 24))


def _show(context: Context, conversation: "ConversationId", call: "ModelCall") -> None:
    request = context.runtime.calls.request(conversation, call.number)
    if request is None:
        context.notice("This call is no longer stored.")
        return
    from sam_tui.core.agent.calls.xray import xray
    from sam_tui.ui.screens.reader import Reader, whole

    text = context.runtime.executor.shield.redact(xray(call, request))
    context.app.push_screen(Reader(f"call {call.number}", whole(text)))
