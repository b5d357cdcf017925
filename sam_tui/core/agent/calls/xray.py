"""One model call in words: times and cost, the request part by part, and the answer."""

from datetime import datetime

from sam_tui.core.agent.tokens import context_parts, estimate, text_tokens
from sam_tui.core.messages import AssistantMessage, Message, ReminderMessage, ToolMessage
from sam_tui.core.ports.calls import ModelCall, SentRequest


def call_line(call: ModelCall) -> str:
    """A call in one line."""
    usage = call.usage
    cached = (
        f" ({usage.cached_tokens / usage.input_tokens:.0%} cached)" if usage.input_tokens else ""
    )
    money = "–" if usage.cost is None else f"${usage.cost:.4f}"
    words = (
        f"#{call.number}  {datetime.fromtimestamp(call.at):%m-%d %H:%M:%S}  {call.model}"
        f"  in {usage.input_tokens:,}{cached}  out {usage.output_tokens:,}  {money}"
        f"  {call.seconds:.1f} s"
    )
    return f"{words}  FAILED" if call.fault else words


def xray(call: ModelCall, request: SentRequest) -> str:
    """All data of a call. Texts of models and tools are raw: display them as text, not markup."""
    usage, prefix = call.usage, call.prefix
    share = f"{prefix.same / prefix.size:.1%}" if prefix.size else "–"
    lines = [
        call_line(call),
        f"first piece after {call.first:.2f} s, all after {call.seconds:.2f} s",
        f"input {usage.input_tokens:,} tokens, of them {usage.cached_tokens:,} from the provider's cache"
        f" and {usage.cache_write_tokens:,} written to it; output {usage.output_tokens:,},"
        f" of them {usage.reasoning_tokens:,} reasoning",
        f"{prefix.same:,} of {prefix.size:,} bytes ({share}) were in the request before",
        *([f"first block that differs: {prefix.culprit}"] if prefix.culprit else []),
        *([f"it failed: {call.fault}"] if call.fault else []),
        *([f"its answer called: {', '.join(call.tools)}"] if call.tools else []),
        "",
        "tokens by part, estimated at four bytes each:",
    ]
    parts = context_parts(request.system, request.tools_json, request.messages)
    lines += [
        f"{part.tokens:>9,}  {part.name}" + (f" ({part.count})" if part.count > 1 else "")
        for part in parts
    ]
    lines += ["", f"──── system prompt, {text_tokens(request.system):,} tokens", request.system]
    lines += ["", f"──── tools, {text_tokens(request.tools_json):,} tokens", request.tools_json]
    for index, message in enumerate(request.messages, start=1):
        lines += [
            "",
            f"──── {index} {_kind(message)}, {estimate(message):,} tokens",
            _text(message),
        ]
    lines += ["", "──── what came back: milliseconds, kind, text", request.stream or "(not kept)"]
    return "\n".join(lines)


def _kind(message: Message) -> str:
    match message:
        case ReminderMessage(name=name):
            return f"REMINDER {name}"
        case ToolMessage(name=name):
            return f"result of {message.operation or name}"
        case _:
            return message.kind


def _text(message: Message) -> str:
    if not isinstance(message, AssistantMessage):
        return message.text
    calls = [f"[calls {call.name} {call.arguments}]" for call in message.calls]
    reasoning = [f"[reasoning] {message.reasoning}"] if message.reasoning else []
    return "\n".join([*reasoning, *([message.text] if message.text else []), *calls])
