"""Whatever happens is seen: one event after the other, and what the workbench and a listener make of each.

One app, 1.5 s of CPU.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, get_args

import pytest

from sam_tui.core import events as e
from sam_tui.core.ids import CallId, ConversationId, InquiryId, SessionId
from sam_tui.core.inquiry import ApprovalRequest, Inquiry, Question
from sam_tui.core.messages import AssistantMessage
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.todos.item import Todo
from sam_tui.core.usage import SentPrefix, Usage
from sam_tui.core.verdict import Decision
from sam_tui.ui.controllers.screen.announcements import Announcer
from sam_tui.ui.widgets.status_bar import Figures
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, Stage, app_over, driven

CALL = CallId("c1")
REFUSED = Decision("x.y", "deny", "user", "asked", "not today")
TODOS = (Todo(1, "Paint it", status="completed"), Todo(2, "Dry it"))


@dataclass(frozen=True)
class Row:
    """An event of a conversation, by its class and fields, and whether it can be seen."""

    kind: type
    fields: dict[str, Any]
    seen: Callable[[Driver], bool]


def said(words: str) -> Callable[[Driver], bool]:
    """Whether the transcript has the words."""
    return lambda me: words in me.transcript()


def shown(words: str) -> Callable[[Driver], bool]:
    """Whether the screen has the words."""
    return lambda me: words in me.drawn()


def noted(words: str) -> Callable[[Driver], bool]:
    """Whether a notice over the screen has the words."""
    return lambda me: any(
        words in notice.message
        for notice in me.app._notifications  # pyright: ignore[reportPrivateUsage] # no other way
    )


def doing(words: str) -> Callable[[Driver], bool]:
    """Whether the status says that the agent does it."""
    return lambda me: words in me.app.chat.status.activity.words(0.0)


def _figures(me: Driver) -> Figures:
    return me.app.chat.status.standing.figures


ROWS = [
    Row(e.TurnStarted, {"text": "begin there"}, said("begin there")),
    Row(e.RequestSent, {"step": 1}, doing("thinking")),
    Row(e.TextStreamed, {"text": "half an answer"}, doing("streaming")),
    Row(
        e.ModelRetried,
        {"attempt": 1, "retries": 3, "delay": 2.0, "reason": "too busy", "status": 503},
        lambda me: "too busy" in me.drawn() and "half an answer" not in me.transcript(),
    ),
    Row(e.ReasoningStreamed, {"text": "Let me see."}, said("Let me see.")),
    Row(e.TextStreamed, {"text": "It is blue."}, said("It is blue.")),
    Row(
        e.Answered,
        {"message": AssistantMessage("It is blue."), "usage": Usage(1234, output_tokens=99),
         "prefix": SentPrefix(9000, 90, "the door")},
        lambda me: said("starts again at the door")(me) and _figures(me).usage.output_tokens >= 99,
    ),
    Row(e.Steered, {"text": "and the door"}, said("and the door")),
    Row(
        e.ToolStarted,
        {"call": CALL, "operation": "x.y", "summary": "Looking round", "arguments": "{}"},
        lambda me: doing("Looking round")(me) and shown("Looking round")(me),
    ),
    Row(e.ToolProgressed, {"call": CALL, "text": "at the window\n"}, said("at the window")),
    Row(e.DecisionMade, {"call": CALL, "decision": REFUSED}, said("denied")),
    Row(
        e.HookStarted,
        {"call": CALL, "run": "r", "event": "PreToolUse", "command": "knock"},
        lambda me: "hook: knock" in me.app.chat.status.activity.running.values(),
    ),
    Row(
        e.HookFinished,
        {"call": CALL, "run": "r", "event": "PreToolUse", "command": "knock", "outcome": "agreed",
         "reason": "", "seconds": 0.1},
        lambda me: "hook: knock" not in me.app.chat.status.activity.running.values(),
    ),
    Row(
        e.ToolFinished,
        {"call": CALL, "operation": "x.y", "summary": "Looked round", "ok": True, "text": "all is well",
         "display": (), "seconds": 0.5},
        lambda me: said("all is well")(me) and not me.app.chat.status.activity.running,
    ),
    Row(e.TodosChanged, {"items": TODOS}, shown("Dry it")),
    Row(
        e.Reminded,
        {"name": "repeated_calls", "text": "Stop that.", "digest": "d"},
        noted("repeats a call"),
    ),
    Row(e.HistoryShortened, {"before": 9000, "after": 400, "dropped": 7}, said("7 old messages")),
    Row(e.Noticed, {"level": "warning", "text": "Mind the step."}, said("Mind the step.")),
    Row(
        e.TurnFinished,
        {"reason": "failed", "answer": "", "usage": Usage(), "steps": 1, "error": "It rains.",
         "error_title": "Weather"},
        said("It rains."),
    ),
]  # fmt: skip
ELSEWHERE = {
    e.InquiryOpened, e.InquiryClosed, e.TerminalOpened, e.TerminalPassed, e.TerminalClosed,
    e.WorkflowMoved, e.SubagentStarted,
}  # fmt: skip
"""Of these something real has to be there: questions, terminals, runs, subagents."""


@pytest.mark.requirement("framework:assembled")
async def test_each_event_is_seen_in_the_workbench(stage: Stage, model: RawModel) -> None:
    model.answers += [[TextDelta("Here.")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("first")
        await me.until(lambda: "Here." in me.transcript() and not me.bench.turns.running)
        session = me.bench.current.session
        assert session is not None
        unseen: list[str] = []
        for row in ROWS:
            stage.runtime.bus.publish(row.kind(session.conversation, **row.fields))
            for _ in range(100):
                if row.seen(me):
                    break
                await me.pilot.pause(0.02)
            else:
                unseen.append(row.kind.__name__)
        assert unseen == []
        assert {row.kind for row in ROWS} | ELSEWHERE == set(get_args(e.Event))
        hears_all_that_matters(me, session.conversation)


def hears_all_that_matters(me: Driver, conversation: ConversationId) -> None:
    """What a person who listens is told of what others see."""
    approval = ApprovalRequest("x.y", "Painting: door", ("/door",), "it is outside", "/")
    asked = [
        Inquiry(InquiryId(kind), conversation, CALL, request)
        for kind, request in (
            ("a", approval),
            ("q", Question("Which blue?", choices=("sky", "sea"))),
        )
    ]
    told = {
        e.TurnStarted(conversation, "x"): "Working.",
        e.TodosChanged(conversation, TODOS): "Todo 2 of 2, not-started: Dry it",
        e.TerminalOpened(conversation, SessionId("t")): "The agent opened a terminal",
        e.InquiryOpened(asked[0]): "Approval needed: Painting: door",
        e.InquiryOpened(replace(asked[0], coming=(asked[0],))): "Then: y /door",
        e.InquiryOpened(asked[1]): "2 sea",
        e.TurnFinished(conversation, "finished", "", Usage(), 1): "Done in ",
    }
    announcer = Announcer(me.app.chat)
    for event, words in told.items():
        assert words not in me.transcript()
        announcer.announce(event)
        assert words in me.transcript()
