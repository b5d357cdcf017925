"""/xray: the model calls of the conversation on show, each opened as it was sent."""

from functools import partial
from typing import TYPE_CHECKING

from sam_tui.core.agent.calls.xray import call_line, xray
from sam_tui.ui.controllers.context import Context, Option
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
    options: list[Option] = [
        (
            Choice(one_line(call_line(call), 100), one_line(call.prefix.culprit, 40)),
            partial(_show, context, conversation, call),
        )
        for call in reversed(context.runtime.calls.calls(conversation))
    ]
    context.pick("look at a model call", options, empty="This conversation has no model calls yet.")


def _show(context: Context, conversation: "ConversationId", call: "ModelCall") -> None:
    request = context.runtime.calls.request(conversation, call.number)
    if request is None:
        context.notice("This call is no longer stored.")
        return
    from sam_tui.ui.screens.reader import Reader, whole

    text = context.runtime.executor.shield.redact(xray(call, request))
    context.app.push_screen(Reader(f"call {call.number}", whole(text)))
