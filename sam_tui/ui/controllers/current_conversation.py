"""Which conversation is on show."""

from typing import TYPE_CHECKING

from sam_tui.core.agent.tokens import context_parts, text_tokens, total
from sam_tui.ui.messages import Signal

if TYPE_CHECKING:
    from sam_tui.core.agent.session import Session
    from sam_tui.core.ids import ConversationId
    from sam_tui.core.runtime import Runtime
    from sam_tui.core.usage import Usage


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


def context_share(runtime: "Runtime", session: "Session | None", usage: "Usage") -> str:
    """How much of the model's window a request took with its answer; ``~`` where that is estimated."""
    model = session.model if session is not None else None
    window = runtime.engine.room.context(model) if model is not None else None
    if session is None or not window:
        return ""
    counted = usage.input_tokens + usage.output_tokens
    used = counted or text_tokens(runtime.engine.requests.fixed_text) + total(session.messages)
    return f"ctx {'' if counted else '~'}{round(100 * used / window)}%"


def context_in_words(runtime: "Runtime", session: "Session") -> str:
    """What the next request is made of, part by part."""
    requests, model = runtime.engine.requests, session.model
    window = runtime.engine.room.context(model) if model is not None else None
    parts = context_parts(requests.system, requests.tools_json, session.messages)
    used = sum(part.tokens for part in parts)
    lines = [f"{used:>9,}  tokens in all, estimated at four bytes each"]
    if window:
        lines.append(
            f"{window:>9,}  tokens that {model.name if model else ''} takes: {used / window:.0%}"
        )
    lines.append("")
    lines += [
        f"{part.tokens:>9,}  {part.tokens / max(1, used):>4.0%}  {part.name}"
        + (f" ({part.count})" if part.count > 1 else "")
        for part in parts
    ]
    lines += [
        "",
        "Pinned: system prompt and tools. When it no longer fits, the oldest messages leave first,",
        "calls together with their results; recall_history still finds them.",
    ]
    return "\n".join(lines)
