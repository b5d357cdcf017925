"""The totals of a run that its result carries, summed from events."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, cast

from sam_tui.core import events
from sam_tui.core.bus import Subscription
from sam_tui.core.display import Diff
from sam_tui.core.ids import CallId, ConversationId, SessionId
from sam_tui.core.inquiry import Question
from sam_tui.core.messages import ToolCall
from sam_tui.core.text.invisible import foreign_letters
from sam_tui.core.todos.item import Todo
from sam_tui.core.usage import Usage
from sam_tui.core.verdict import Decision

SILENCE_SECONDS = 30.0
"""Seconds without output of the model after which people are told."""


async def batches(
    subscription: Subscription, warn: Callable[[str], None]
) -> AsyncGenerator[list[events.Event]]:
    """Yield the events as they come; ``warn`` is called when the model stays silent for long."""
    limit = None
    while True:
        try:
            async with asyncio.timeout(limit):
                batch = await subscription.batch()
        except TimeoutError:
            warn(
                f"The model has been silent for {SILENCE_SECONDS:.0f} s. Ctrl+C (SIGINT) ends the"
                " run; --request-timeout SECONDS limits how long a model may be silent."
            )
            limit = None
            continue
        last = batch[-1] if batch else None
        awaited = isinstance(
            last, events.RequestSent | events.TextStreamed | events.ReasoningStreamed
        )
        limit = SILENCE_SECONDS if awaited else None
        yield batch


def tool_input(text: str) -> dict[str, object]:
    """The object, or ``{"unparsed": text}`` for anything that is none.

    ``NaN`` and its like become text: Python reads them, JSON has no word for them.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return {"unparsed": text}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"unparsed": text}


@dataclass(frozen=True, slots=True)
class StartedSubagent:
    """The task of a subagent, and the call that started it."""

    call: CallId
    task: str


class CallLedger:
    """Totals of one run; ``take`` every event in order.

    Usage, changes and refusals of its subagents count for the run; their answers, plans and outcomes do
    not. Other conversations are ignored.
    """

    def __init__(self, conversation: ConversationId | None = None) -> None:
        self.started = monotonic()
        self.conversation = conversation
        """The conversation of the run; None before it is known."""
        self.todos: tuple[Todo, ...] = ()
        self.finished: events.TurnFinished | None = None
        self.unattended = 0
        self.turns = 0
        """The number of model calls."""
        self._earlier = 0
        """Model calls of earlier turns, if an answer is requested again or a goal is pursued."""
        self.usage = Usage()
        self.unpriced = 0
        """The number of answers whose cost is unknown: ``usage`` has the cost of the others."""
        self.last_text = ""
        self.files_changed: list[str] = []
        self.denials: list[dict[str, object]] = []
        self.terminals: list[SessionId] = []
        self._api_seconds = 0.0
        self._asked_at: float | None = None
        self._calls: dict[CallId, ToolCall] = {}
        self._subagents: dict[ConversationId, StartedSubagent] = {}

    def begin_again(self) -> None:
        """Count the next turn of the same conversation from nothing."""
        self.started = monotonic()
        self.finished, self._asked_at = None, None
        self.unattended = self.turns = self._earlier = self.unpriced = 0
        self.usage, self._api_seconds = Usage(), 0.0
        self.last_text = ""
        self.files_changed, self.denials = [], []

    def take(self, event: events.Event) -> None:
        """Count an event of this run; ignore others."""
        if not self.concerns(event):
            return
        self._count(event)
        if events.conversation_of(event) == self.conversation:
            self._follow(event)

    def concerns(self, event: events.Event) -> bool:
        """Whether an event belongs to this run: its conversation, its subagents, or no conversation."""
        whose = events.conversation_of(event)
        return whose is None or whose == self.conversation or whose in self._subagents

    def subagent(self, event: events.Event) -> StartedSubagent | None:
        """The subagent that an event belongs to; None for the run's own."""
        whose = events.conversation_of(event)
        return self._subagents.get(whose) if whose is not None else None

    def _count(self, event: events.Event) -> None:
        """Add usage, calls and decisions of the conversation and its subagents."""
        match event:
            case events.SubagentStarted(call=call, child=child, task=task):
                self._subagents[child] = StartedSubagent(call, task)
            case events.Answered(message=message, usage=usage):
                self.usage = self.usage.plus(usage)
                self.unpriced += usage.cost is None
                self._calls.update({call.id: call for call in message.calls})
            case events.ToolFinished():
                self._tool_finished(event)
            case events.DecisionMade():
                self._decided(event)
            case events.InquiryClosed(outcome="unattended"):
                self.unattended += 1
            case events.TerminalOpened(session=session):
                self.terminals.append(session)
            case events.TerminalClosed(session=session) if session in self.terminals:
                self.terminals.remove(session)
            case _:
                pass

    def _follow(self, event: events.Event) -> None:
        """Count an event of the conversation itself."""
        match event:
            case events.RequestSent(step=step):
                self.turns = self._earlier + step
                self._asked_at = monotonic()
            case events.ModelRetried():
                self._stop_asking()
            case events.Answered(message=message):
                self._stop_asking()
                self.last_text = message.text or self.last_text
            case events.TodosChanged(items=items):
                self.todos = items
            case events.TurnFinished():
                self._stop_asking()
                self._earlier = self.turns
                self.finished = event
            case _:
                pass

    @property
    def milliseconds(self) -> int:
        """Since the run began."""
        return round((monotonic() - self.started) * 1000)

    @property
    def api_milliseconds(self) -> int:
        """Spent waiting for the model."""
        return round(self._api_seconds * 1000)

    def tool_name(self, call: CallId, otherwise: str) -> str:
        """The name by which the model called."""
        entry = self._calls.get(call)
        return entry.name if entry else otherwise

    def _stop_asking(self) -> None:
        if self._asked_at is not None:
            self._api_seconds += monotonic() - self._asked_at
            self._asked_at = None

    def _tool_finished(self, event: events.ToolFinished) -> None:
        changed = (d.path for d in event.display if isinstance(d, Diff) and d.made)
        self.files_changed.extend(p for p in changed if p not in self.files_changed)

    def _decided(self, event: events.DecisionMade) -> None:
        if event.decision.allowed:
            return
        call, subagent = self._calls.get(event.call), self.subagent(event)
        self.denials.append({
            "tool_name": call.name if call else event.decision.operation,
            "tool_use_id": event.call,
            "parent_tool_use_id": subagent.call if subagent else None,
            "tool_input": tool_input(call.arguments) if call else {},
            "operation": event.decision.operation,
            "rule": event.decision.rule,
            "reason": event.decision.reason,
        })


def progress_of(event: events.Event, *, verbose: bool) -> list[str]:
    """Lines for an event. Refusals, warnings and waits always, the rest only when it was asked for."""
    match event:
        case events.DecisionMade(decision=decision) if not decision.allowed:
            return _refusal(decision)
        case events.InquiryOpened(inquiry=inquiry) if isinstance(inquiry.request, Question):
            return [f"asked: {inquiry.request.prompt}"]
        case events.Noticed(level=level, text=text) if verbose or level != "info":
            return [f"{level}: {text}"]
        case events.ModelRetried(attempt=attempt, retries=retries, delay=delay, reason=reason):
            return [f"retrying ({attempt}/{retries}) in {delay:g} s: {reason}"]
        case _:
            return _details(event) if verbose else []


def _refusal(decision: Decision) -> list[str]:
    """Lines for a refused call, with the letters of its targets that look like others."""
    letters = [words for target in decision.targets for words in foreign_letters(target)]
    line = f"refused: {decision.operation}: {decision.reason} ({decision.rule})"
    return [line, *(f"  letters: {words}" for words in letters)]


def _details(event: events.Event) -> list[str]:
    """Lines that are printed only on request."""
    match event:
        case events.ToolStarted(summary=summary):
            return [summary]
        case events.ToolFinished(ok=False, summary=summary, text=text):
            return [f"failed: {summary}: {text.partition(chr(10))[0][:200]}"]
        case _:
            return []
