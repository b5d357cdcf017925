"""Events as JSON lines: valid whatever is in them, and in Claude's shapes."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.core.display import Diff
from sam_tui.core.errors import (
    BudgetExhausted,
    ConfigurationError,
    ModelAuthError,
    ModelUnavailable,
    SamError,
    StorageError,
    ToolError,
)
from sam_tui.core.events import (
    Answered,
    DecisionMade,
    Event,
    InquiryClosed,
    InquiryOpened,
    ModelRetried,
    Noticed,
    ReasoningStreamed,
    Reminded,
    RequestSent,
    TextStreamed,
    TodosChanged,
    ToolFinished,
    ToolProgressed,
    TurnFinished,
    WorkflowMoved,
)
from sam_tui.core.ids import CallId, ConversationId, InquiryId
from sam_tui.core.inquiry import Inquiry, Question
from sam_tui.core.messages import AssistantMessage, ToolCall
from sam_tui.core.todos.item import Todo
from sam_tui.core.usage import Usage
from sam_tui.core.verdict import Decision
from sam_tui.headless.ledger import CallLedger, tool_input
from sam_tui.headless.lines import Lines, result_line
from sam_tui.headless.outcome import (
    EXIT_CODES,
    RunOutcome,
    outcome_of_error,
    outcome_of_fault,
    outcome_of_turn,
)
from sam_tui.headless.output import HeadlessOutput
from sam_tui.headless.request import HeadlessRequest

C = ConversationId("c1")
CALL = ToolCall(CallId("k1"), "file_operations", '{"operation": "read_file", "filePath": "/x"}')
DENIED = Decision("file_operations.read_file", "deny", "mode", "unattended", "/x is outside")
USAGE = Usage(100, 60, 10, 5)


def told(*events: Event, partial: bool = False) -> tuple[list[dict[str, Any]], CallLedger]:
    ledger = CallLedger(C)
    lines = Lines(C, "m", ledger, HeadlessRequest("", partial_messages=partial))
    out: list[dict[str, Any]] = []
    for event in events:
        ledger.take(event)
        out += lines.of(event)
    return out, ledger


@pytest.mark.requirement("headless:claude-messages")
def test_an_answer_is_an_assistant_message_of_thinking_text_and_tool_use() -> None:
    (line,), _ = told(Answered(C, AssistantMessage("Hi", "hm", (CALL,)), USAGE))
    assert line["type"] == "assistant"
    assert line["message"]["content"] == [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Hi"},
        {
            "type": "tool_use",
            "id": "k1",
            "name": "file_operations",
            "input": {"operation": "read_file", "filePath": "/x"},
        },
    ]
    assert line["message"]["usage"] == {
        "input": 100,
        "cache_read": 60,
        "cache_write": 10,
        "output": 5,
        "input_tokens": 30,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 10,
        "output_tokens": 5,
    }


@pytest.mark.requirement("headless:claude-messages")
def test_a_result_is_a_user_message_with_a_tool_result() -> None:
    (line,), _ = told(
        ToolFinished(C, CallId("k1"), "f.read", "Reading", False, "ERROR: no", (), 0.5)
    )
    assert line["type"] == "user"
    assert line["message"]["content"] == [
        {"type": "tool_result", "tool_use_id": "k1", "content": "ERROR: no", "is_error": True}
    ]


@pytest.mark.requirement("headless:partials")
def test_pieces_are_stream_events_only_when_asked_for() -> None:
    events: list[Event] = [
        RequestSent(C, 1),
        ReasoningStreamed(C, "hm"),
        TextStreamed(C, "H"),
        TextStreamed(C, "i"),
        Answered(C, AssistantMessage("Hi", "hm"), USAGE),
        ToolProgressed(C, CallId("k1"), "out"),
    ]
    quiet, _ = told(*events)
    loud, _ = told(*events, partial=True)

    assert [line["type"] for line in quiet] == ["assistant"]
    stream = [line["event"] for line in loud if line["type"] == "stream_event"]
    assert [event["type"] for event in stream] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert [event["index"] for event in stream if "index" in event] == [0, 0, 0, 1, 1, 1, 1]
    assert "".join(e["delta"].get("text", "") for e in stream if "delta" in e) == "Hi"
    assert loud[-1]["subtype"] == "tool_progress"


@pytest.mark.requirement("headless:stream-json")
def test_what_claude_has_no_word_for_is_a_system_line() -> None:
    question = Inquiry(InquiryId("i"), C, CallId("k1"), Question("Which?"))
    lines, _ = told(
        ModelRetried(C, 1, 5, 0.5, "overloaded", 529),
        DecisionMade(C, CallId("k1"), DENIED),
        TodosChanged(C, (Todo(1, "x"),)),
        Reminded(C, "todo_list", "12345", "abc"),
        WorkflowMoved(C, "run", "step_completed", "look", 7),
        Noticed(C, "warning", "careful"),
        InquiryOpened(question),
        InquiryClosed(C, InquiryId("i"), "unattended"),
    )
    assert [line["subtype"] for line in lines] == [
        "api_retry",
        "permission_decision",
        "todo",
        "reminder",
        "workflow",
        "notice",
        "question",
    ]
    retry, decision, todo, reminder, moved, _, asked = lines
    assert (retry["attempt"], retry["retry_delay_ms"], retry["error_status"]) == (1, 500, 529)
    assert decision["tool"] == "file_operations.read_file"
    assert (decision["decision"], decision["rule"], decision["source"]) == (
        "deny",
        "unattended",
        "mode",
    )
    assert todo["items"][0]["title"] == "x"
    assert (reminder["kind"], reminder["tokens"], reminder["hash"]) == ("todo_list", 2, "abc")
    assert asked["outcome"] == "unattended"
    assert (moved["execution_id"], moved["change"], moved["step"], moved["seq"]) == (
        "run", "step_completed", "look", 7,
    )  # fmt: skip


@pytest.mark.requirement("headless:json")
def test_the_ledger_adds_up_what_the_result_tells() -> None:
    diff = Diff("src/a.py", "@@", 1, 0)
    _, ledger = told(
        RequestSent(C, 1),
        Answered(C, AssistantMessage("", calls=(CALL,)), USAGE),
        DecisionMade(C, CallId("k1"), DENIED),
        InquiryClosed(C, InquiryId("i"), "unattended"),
        ToolFinished(C, CallId("k2"), "f", "s", True, "ok", (diff, diff), 0.1),
        ToolFinished(
            C, CallId("k3"), "f", "s", False, "no", (Diff("b", "", 1, 1, made=False),), 0.1
        ),
        ToolFinished(
            C, CallId("k4"), "f", "s", False, "1", (Diff("c", "", 1, 1, note="new"),), 0.1
        ),
        RequestSent(C, 2),
        Answered(C, AssistantMessage("Done"), USAGE),
        TurnFinished(C, "finished", "Done", USAGE, 2),
    )
    line = result_line(C, ledger, RunOutcome("error_blocked", "Done", "Blocked", "why"))
    assert line["num_turns"] == 2
    assert line["usage"]["input"] == 200
    assert line["files_changed"] == ["src/a.py", "c"]
    assert line["permission_denials"][0]["tool_name"] == "file_operations"
    assert line["permission_denials"][0]["tool_input"]["filePath"] == "/x"
    assert (line["is_error"], line["exit_code"], line["result"]) == (True, 3, "Done")
    assert ledger.unattended == 1


@pytest.mark.requirement("headless:stream-json")
@given(st.text(st.characters(exclude_categories=())), st.text())
def test_every_line_is_one_line_of_valid_json_whatever_is_in_it(text: str, arguments: str) -> None:
    call = ToolCall(CallId("k"), "t", arguments)
    stream = io.StringIO()
    out = HeadlessOutput(stream)
    for line in told(
        Answered(C, AssistantMessage(text, calls=(call,)), USAGE),
        TextStreamed(C, text),
        partial=True,
    )[0]:
        out.line(line)
    written = stream.getvalue()
    assert written.isascii()
    for line in written.splitlines():
        json.loads(line, parse_constant=pytest.fail)


@pytest.mark.requirement("headless:claude-messages")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ('{"a": NaN}', {"a": "NaN"}),
        ("[1]", {"unparsed": "[1]"}),
        ('{"a": ', {"unparsed": '{"a": '}),
        ("[" * 100_000, {"unparsed": "[" * 100_000}),
    ],
)
def test_arguments_become_an_object_that_json_can_hold(text: str, value: dict[str, Any]) -> None:
    assert tool_input(text) == value


@pytest.mark.requirement("headless:exit-codes")
def test_the_exit_code_follows_from_the_subtype_alone() -> None:
    for subtype, code in EXIT_CODES.items():
        assert RunOutcome(subtype, "any", "title", "text").exit_code == code
        assert result_line("", CallLedger(), RunOutcome(subtype))["exit_code"] == code
    assert set(EXIT_CODES.values()) == {0, 1, 2, 3, 41, 52, 53, 65, 70, 75, 130, 143}


@pytest.mark.requirement("headless:exit-codes")
@pytest.mark.parametrize(
    ("error", "subtype"),
    [
        (ToolError("x"), "error_during_execution"),
        (ModelAuthError("x"), "error_auth"),
        (ConfigurationError("x"), "error_configuration"),
        (BudgetExhausted("x", limit="turns"), "error_max_turns"),
        (BudgetExhausted("x", limit="cost"), "error_max_cost"),
        (StorageError("x"), "error_internal"),
        (ModelUnavailable("x"), "error_unavailable"),
    ],
)
def test_an_error_ends_with_its_own_exit_code(error: SamError, subtype: str) -> None:
    outcome = outcome_of_error(error)
    assert outcome.subtype == subtype
    assert outcome.exit_code == error.exit_code
    turn = TurnFinished(C, "failed", "", USAGE, 1, "x", "t", error.exit_code)
    assert outcome_of_turn(turn, unattended=0).exit_code == error.exit_code


@pytest.mark.requirement("headless:blocked")
def test_a_finished_turn_is_blocked_exactly_when_something_had_nobody_to_answer() -> None:
    finished = TurnFinished(C, "finished", "I could not.", USAGE, 1)
    assert outcome_of_turn(finished, unattended=0) == RunOutcome("success", "I could not.")
    blocked = outcome_of_turn(finished, unattended=1)
    assert (blocked.subtype, blocked.answer) == ("error_blocked", "I could not.")
    limit = TurnFinished(C, "limit", "", USAGE, 1, "x", "t", 53)
    assert outcome_of_turn(limit, unattended=1).subtype == "error_max_turns"
    assert outcome_of_fault(ValueError(), str).exit_code == 70
