"""What each event comes to where nobody looks at a screen: JSON lines, progress, transcript, editors."""

import json
from typing import get_args

import pytest

from sam_tui.acp_agent.updates import SessionUpdates
from sam_tui.core import events as e
from sam_tui.core.ids import CallId, ConversationId, InquiryId, SessionId
from sam_tui.core.inquiry import ApprovalRequest, Inquiry, Question
from sam_tui.core.messages import AssistantMessage, ToolCall
from sam_tui.core.todos.item import Todo
from sam_tui.core.usage import Usage
from sam_tui.core.verdict import Decision
from sam_tui.headless.ledger import CallLedger, progress_of
from sam_tui.headless.lines import Lines
from sam_tui.headless.request import HeadlessRequest
from sam_tui.headless.transcript import event_lines

C, CHILD = ConversationId("c"), ConversationId("sub")
CALL, QUESTION, APPROVAL = CallId("k"), InquiryId("q"), InquiryId("a")
APPROVED = ApprovalRequest("x.y", "Painting", ("/door",), "outside", "/")
DENIED = Decision("x.y", "deny", "user", "asked", "not today", scope="this call")
ANSWER = AssistantMessage("It is blue.", calls=(ToolCall(CALL, "x.y", "{}"),))

TABLE: list[tuple[e.Event, str, str, str, str, str]] = [
    (e.TurnStarted(C, "go"), "go", "", "", "> go", ""),
    (e.RequestSent(C, 1), "message_start", "", "", "", ""),
    (e.TextStreamed(C, "It is"), "It is", "", "", "", "It is"),
    (e.ReasoningStreamed(C, "Hm"), "Hm", "", "", "", "Hm"),
    (e.ModelRetried(C, 1, 3, 2.0, "busy", 503), "api_retry", "retrying (1/3) in 2 s: busy",
     "retrying (1/3) in 2 s: busy", "! retrying in 2 s: busy", "[busy: trying again, 1 of 3]"),
    (e.Answered(C, ANSWER, Usage(7)), "It is blue.", "", "", "It is blue.", "tool_call"),
    (e.ToolStarted(C, CALL, "x.y", "Painting", "{}"), "", "", "Painting", "", "in_progress"),
    (e.ToolProgressed(C, CALL, "half"), "half", "", "", "", "half"),
    (e.InquiryOpened(Inquiry(APPROVAL, C, CALL, APPROVED)), "", "", "",
     "? x.y asks for /door", ""),
    (e.InquiryOpened(Inquiry(QUESTION, C, CALL, Question("Which?"))), "", "asked: Which?",
     "asked: Which?", "", ""),
    (e.InquiryClosed(C, QUESTION, "unattended"), "unattended", "", "", "", ""),
    (e.DecisionMade(C, CALL, DENIED), "permission_decision", "refused: x.y: not today (asked)",
     "refused: x.y: not today (asked)", "denied: this call", ""),
    (e.ToolFinished(C, CALL, "x.y", "Painted", ok=False, text="no brush", display=(), seconds=1.0),
     "no brush", "", "failed: Painted: no brush", "✗ Painted (1.0 s)", "failed"),
    (e.Steered(C, "and now"), "and now", "", "", "", ""),
    (e.TodosChanged(C, (Todo(1, "Dry it"),)), "Dry it", "", "", "", "Dry it"),
    (e.Reminded(C, "pins", "text", "d"), "reminder", "", "", "", ""),
    (e.HistoryShortened(C, 9, 4, 2), "compaction", "", "", "", ""),
    (e.TerminalOpened(C, SessionId("t")), "", "", "", "", ""),
    (e.TerminalPassed(C, SessionId("t"), "person"), "", "", "", "", ""),
    (e.TerminalClosed(C, SessionId("t"), 0), "", "", "", "", ""),
    (e.SubagentStarted(C, CALL, CHILD, "look"), "subagent", "", "", "", ""),
    (e.WorkflowMoved(C, "x", "started", "s", 1), "workflow", "", "", "", ""),
    (e.HookStarted(C, CALL, "r", "Stop", "knock"), "hook_started", "", "", "", ""),
    (e.HookFinished(C, CALL, "r", "Stop", "knock", "agreed", "", 0.1), "hook_response", "", "", "", ""),
    (e.Noticed(C, "info", "by the way"), "by the way", "", "info: by the way", "! info: by the way",
     "[info: by the way]"),
    (e.Noticed(None, "warning", "careful"), "careful", "warning: careful", "warning: careful",
     "! warning: careful", "[warning: careful]"),
    (e.TurnFinished(C, "failed", "", Usage(), 1, "It rains.", "Weather"), "", "", "",
     "! Weather: It rains.", ""),
]  # fmt: skip
"""Each event, and a word of what it comes to: as JSON lines, as progress, with ``--verbose``, in a
transcript, for an editor; nothing where it is empty."""


@pytest.mark.requirement("framework:assembled")
def test_each_event_comes_to_what_is_promised() -> None:
    request = HeadlessRequest("go", partial_messages=True, hook_events=True, replay=True)
    ledger, updates = CallLedger(C), SessionUpdates(C, "/", live_terminals=False)
    lines = Lines(C, "m", ledger, request)
    for event, *expected in TABLE:
        ledger.take(event)
        told = [
            json.dumps(lines.of(event), ensure_ascii=False),
            "\n".join(progress_of(event, verbose=False)),
            "\n".join(progress_of(event, verbose=True)),
            "\n".join(event_lines(event)),
            "\n".join(update.model_dump_json(by_alias=True) for update in updates.of(event)),
        ]
        for words, text in zip(expected, told, strict=True):
            assert words in text, event
            assert words or text in ("", "[]"), event
        assert ledger.terminals == ([SessionId("t")] if told_open(event) else []), event
    assert {type(event) for event, *_ in TABLE} == set(get_args(e.Event))
    assert (ledger.unattended, ledger.turns, ledger.usage.input_tokens) == (1, 1, 7)
    assert (ledger.last_text, [item.title for item in ledger.todos]) == ("It is blue.", ["Dry it"])
    assert [denial["operation"] for denial in ledger.denials] == ["x.y"]
    assert ledger.finished is not None
    child = e.Answered(CHILD, AssistantMessage("Its own."), Usage(5))
    ledger.take(child)
    assert (ledger.usage.input_tokens, ledger.last_text) == (12, "It is blue.")
    assert {line["parent_tool_use_id"] for line in lines.of(child)} == {CALL}
    assert not lines.of(e.Noticed(ConversationId("other"), "error", "not ours"))


def told_open(event: e.Event) -> bool:
    """Whether the terminal is open after an event."""
    return isinstance(event, e.TerminalOpened | e.TerminalPassed)
