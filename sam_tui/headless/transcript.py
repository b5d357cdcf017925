"""Prints a turn as plain text while it runs, as the workbench would show it."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import TextIO

from sam_tui.core import events
from sam_tui.core.display import Diff, Display, Table, Terminal, Text, Todos
from sam_tui.core.inquiry import ApprovalRequest
from sam_tui.core.messages import AssistantMessage, Message, ToolMessage, UserMessage
from sam_tui.core.runtime import Runtime
from sam_tui.headless.output import HeadlessOutput

_MARKS = {"completed": "x", "in-progress": ">", "blocked": "!", "not-started": " "}


async def tell_turn(runtime: Runtime, prompt: str, out: TextIO) -> int:
    """Run one prompt and write its transcript to ``out``; returns the exit code of the turn."""
    output = HeadlessOutput(out)
    subscription = runtime.bus.subscribe()
    session = runtime.open_session()
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(session.run(prompt))
        ended = False
        while not ended:
            for event in await subscription.batch():
                foreign = events.conversation_of(event) not in (None, session.conversation)
                if foreign and not isinstance(event, events.InquiryOpened | events.DecisionMade):
                    continue  # a subagent's: its summary is printed when its call ends
                ended = ended or isinstance(event, events.TurnFinished)
                for line in event_lines(event):
                    output.text(line)
    return turn.result().exit_code


def event_lines(event: events.Event) -> Iterator[str]:
    """The lines of one event; most have none."""
    match event:
        case events.TurnStarted(text=text):
            yield f"> {text}"
            yield ""
        case events.Answered(message=message) if message.text.strip():
            yield message.text.strip()
            yield ""
        case events.InquiryOpened(inquiry=inquiry) if isinstance(inquiry.request, ApprovalRequest):
            yield f"? {inquiry.request.operation} asks for {', '.join(inquiry.request.targets)}"
            yield from (f"  letters: {words}" for words in inquiry.request.letters)
            yield f"  {inquiry.request.why}"
        case events.DecisionMade(decision=decision) if decision.by == "user":
            yield f"  {'allowed' if decision.allowed else 'denied'}: {decision.scope}"
        case events.ToolFinished(
            ok=ok, summary=summary, seconds=seconds, display=display, text=text
        ):
            yield f"{'✓' if ok else '✗'} {summary} ({seconds:.1f} s)"
            yield from (f"  {line}" for line in _shown(display, text if not ok else ""))
            yield ""
        case events.ModelRetried(delay=delay, reason=reason):
            yield f"! retrying in {delay:g} s: {reason}"
        case events.Noticed(level=level, text=text):
            yield f"! {level}: {text}"
        case events.TurnFinished(error=error, error_title=title) if error:
            yield f"! {title}: {error}"
        case _:
            return


def stored_lines(message: Message) -> Iterator[str]:
    """The lines of a stored message; a reminder has none."""
    match message:
        case UserMessage(text=text):
            yield from (f"> {text}", "")
        case AssistantMessage(text=text) if text.strip():
            yield from (text.strip(), "")
        case ToolMessage(name=name, text=text, ok=ok, summary=summary):
            yield f"{'✓' if ok else '✗'} {summary or name}"
            yield from (f"  {line}" for line in text.splitlines())
            yield ""
        case _:
            return


def _shown(displays: Sequence[Display], fault: str) -> Iterator[str]:
    for display in displays:
        match display:
            case Diff(path=path, unified=unified):
                yield path
                yield from unified.splitlines()
            case Terminal(output=printed):
                yield from printed.splitlines()
            case Todos(items=items):
                yield from (f"[{_MARKS[item.status]}] {item.title}" for item in items)
            case Table(columns=columns, rows=rows):
                yield from (" | ".join(row) for row in (columns, *rows))
            case Text(text=text):
                yield from text.splitlines()
    if fault and not displays:
        yield from fault.splitlines()
