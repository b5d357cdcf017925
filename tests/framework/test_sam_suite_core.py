"""spec/sam.md 10.4: what SAM's later unit tests asked of its agent core, asked of this one."""

import json
import tempfile
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.llm.failures import FailureSource, ProviderRefusal, failure
from sam_tui.adapters.llm.wire import Dialect, chat_messages
from sam_tui.adapters.storage import open_storage
from sam_tui.adapters.storage.conversations import UNREADABLE
from sam_tui.core.agent.compaction import compact
from sam_tui.core.agent.retry import RetryPolicy
from sam_tui.core.agent.summary import find_task, merge, parse, render, summarise
from sam_tui.core.agent.tokens import estimate, total
from sam_tui.core.errors import ModelAuthError, ModelLimited, ModelUnavailable
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    dump_message,
    load_message,
)
from tests.fakes.openai_server import Call, FakeServer, Reply
from tests.framework.bench import LISTED, Bench
from tests.framework.conftest import Opened
from tests.framework.rows import Rows

pytestmark = pytest.mark.requirement("framework:sam-suite")

Row = Callable[[], None]
CORE: Rows[Row] = Rows()
STORED = ConversationId("c")
HISTORY_ENOUGH = 8_000


def asks(*ids: str, text: str = "", name: str = "file_operations") -> AssistantMessage:
    """An answer with a call for each id."""
    return AssistantMessage(text, calls=tuple(ToolCall(CallId(i), name, '{"a":1}') for i in ids))


def told(identifier: str, text: str = "done", name: str = "file_operations") -> ToolMessage:
    """The result of a call."""
    return ToolMessage(CallId(identifier), name, text, ok=True)


def summary_of(messages: list[Message]) -> str:
    """The summary of what left, as the model reads it."""
    return render(summarise(messages), 8_000)


def read_back(*messages: Message) -> list[Message]:
    """The history as the next call reads it, after it was stored."""
    with tempfile.TemporaryDirectory() as folder, closing(open_storage(Path(folder))) as storage:
        storage.conversations.create(STORED, "/w")
        storage.conversations.append(STORED, messages)
        return storage.conversations.messages(STORED)


@CORE.add("10.4-pairs-a-whole-history-stays")
def _whole() -> None:
    messages: list[Message] = [UserMessage("a"), asks("tc1"), told("tc1"), AssistantMessage("b")]
    assert read_back(*messages) == messages


@CORE.add("10.4-pairs-a-result-without-a-call-goes")
def _no_call() -> None:
    assert read_back(UserMessage("a"), told("missing")) == [UserMessage("a")]


@CORE.add("10.4-pairs-an-orphaned-call-gets-a-result")
def _orphan() -> None:
    asked = asks("tc_orphan", "tc_valid")
    kept = read_back(UserMessage("a"), asked, told("tc_valid"), UserMessage("b"))
    assert kept[1:3] == [asked, told("tc_valid")]
    assert kept[3] == ToolMessage(CallId("tc_orphan"), "file_operations", UNREADABLE, ok=False)


@CORE.add("10.4-pairs-a-result-before-its-call-goes")
def _before() -> None:
    kept = read_back(told("tc1"), asks("tc1", text="b"))
    assert not any(isinstance(message, ToolMessage) for message in kept)


@CORE.add("10.4-tokens-of-two-short-messages")
def _tokens() -> None:
    assert 10 < total([UserMessage("Hello world"), AssistantMessage("Hi there!")]) < 25


@CORE.add("10.4-tokens-of-a-call-without-text")
def _call_tokens() -> None:
    assert estimate(asks("tc1")) > 4


@CORE.add("10.4-truncate-what-fits-stays")
def _fits() -> None:
    messages = [UserMessage("a"), AssistantMessage("b")]
    assert compact(messages, 100_000).apply(messages) == messages


@CORE.add("10.4-truncate-nothing-stays-nothing")
def _nothing() -> None:
    assert compact([], 100_000).apply([]) == []


@CORE.add("10.4-summary-of-a-long-dropped-request")
def _long() -> None:
    request = "Please rebuild the parser so that nested lists are read. " * 200
    messages: list[Message] = [UserMessage(request), *[AssistantMessage("x" * 4000)] * 9]
    messages += [UserMessage("go on"), AssistantMessage("ok")]
    shorter = compact(messages, HISTORY_ENOUGH)
    first = shorter.apply(messages)[0]
    assert isinstance(first, ReminderMessage)
    assert "<thread_summary>" in first.text
    assert "Current task: Please rebuild the parser" in first.text


@CORE.add("10.4-summary-keeps-the-first-of-ten-requests")
def _original() -> None:
    text = summary_of([UserMessage(f"Request number {n}") for n in range(1, 11)])
    assert "[original] Request number 1\n" in text
    assert text.count("[original]") == 1
    assert "Request number 10" in text


@CORE.add("10.4-summary-counts-three-calls")
def _counts() -> None:
    text = summary_of([asks("a", "b", "c"), told("a"), told("b"), told("c")])
    assert "Tool usage:\n- file_operations: 3 calls" in text


@CORE.add("10.4-summary-keeps-hash-and-subject-of-a-commit")
def _commit() -> None:
    name = "terminal_operations"
    output = told("a", "[main abc1234] Add message validator\n 1 file changed", name)
    text = summary_of([asks("a", name=name), output])
    assert "Git commits:\n- abc1234: Add message validator" in text


@CORE.add("10.4-summary-is-read-back")
def _read_back() -> None:
    text = (
        "<thread_summary>\nCurrent task: x\nGit commits:\n- abc1234: First commit\n"
        "- def5678: Second commit\nFiles:\n- a.py\nTool usage:\n- file_operations: 5 calls\n"
        "</thread_summary>"
    )
    found = parse(text)
    assert found.commits == ("abc1234: First commit", "def5678: Second commit")
    assert (found.files, found.tools) == (("a.py",), {"file_operations": 5})


@CORE.add("10.4-summary-is-merged-with-the-one-before")
def _merged() -> None:
    old = parse("Git commits:\n- abc1234: Old\nTool usage:\n- file_operations: 3 calls")
    name = "terminal_operations"
    new = summarise([asks("a", name=name), told("a", "[main def5678] New", name)])
    both = merge(old, new)
    assert both.commits == ("abc1234: Old", "def5678: New")
    assert both.tools == {"file_operations": 3, "terminal_operations": 1}


@CORE.add("10.4-task-is-the-long-request-behind-a-yes")
def _yes() -> None:
    request = "Rewrite the whole storage layer so that it uses one file and one writer."
    assert find_task([request, "yes"]) == request


@CORE.add("10.4-task-is-a-long-request-itself")
def _itself() -> None:
    request = "Rewrite the whole storage layer so that it uses one file and one writer."
    assert (
        find_task(["Something else that is also rather long, fifty at least.", request]) == request
    )


@CORE.add("10.4-json-helpers-find-the-paths-of-a-call")
def _paths() -> None:
    arguments = {"path": "a.py", "old_path": "old.py", "new_path": 'new "x".py', "message": "hi"}
    call = ToolCall(CallId("a"), "file_operations", json.dumps(arguments))
    found = summarise([AssistantMessage("", calls=(call,)), told("a")])
    assert found.files == ("a.py", "old.py", 'new "x".py')
    broken = ToolCall(CallId("b"), "file_operations", '{"path": "a.py"')
    assert summarise([AssistantMessage("", calls=(broken,))]).files == ()


@CORE.add("10.4-rate-limits-are-waited-out-up-to-a-cap")
def _waits() -> None:
    policy = RetryPolicy()
    limited = ModelLimited("x", status=429)
    waits = [policy.delay(n, limited) for n in range(1, 21)]
    assert waits[:5] == [15, 30, 60, 120, 300]
    assert waits[9] == waits[19] == max(wait or 0 for wait in waits) == 300
    assert policy.delay(21, limited) is None and policy.attempts(limited) == 21
    # Far beyond the list, where attempts were without end, it would stay at the cap.
    assert RetryPolicy(limited_retries=60).delay(51, limited) == 300


@CORE.add("10.4-other-faults-are-tried-three-times-more")
def _default() -> None:
    policy, down = RetryPolicy(), ModelUnavailable("x", status=503)
    assert [policy.delay(n, down) for n in range(1, 5)] == [2, 4, 6, None]
    assert policy.delay(1, ModelAuthError("x", status=401)) is None


@CORE.add("10.4-waits-double-while-they-are-below-the-cap")
def _doubling() -> None:
    waits = RetryPolicy().limited
    assert all(b == 2 * a for a, b in pairwise(waits[:-1]))
    assert waits[-1] == 300


@CORE.add("10.4-rate-limits-by-their-codes")
def _codes() -> None:
    source = FailureSource("m", "host")
    for code in ("user_model_rate_limited", "rate_limit_exceeded", "rate_limited", "RATE_LIMITED"):
        assert isinstance(failure(ProviderRefusal(None, "no", code), source), ModelLimited), code
        assert isinstance(failure(ProviderRefusal(200, "no", code), source), ModelLimited), code
    for code in ("invalid_request", "model_not_found", ""):
        assert not isinstance(failure(ProviderRefusal(400, "no", code), source), ModelLimited), code


@CORE.add("10.4-messages-keep-ids-names-and-argument-texts")
def _stored() -> None:
    calls = (
        ToolCall(CallId("call_1"), "think", '{"thoughts":"a"}'),
        ToolCall(CallId("call_2"), "file_operations", '{"operation": "list_dir"'),
    )
    message = AssistantMessage("text", "why", calls, {"provider": "x"})
    assert load_message(dump_message(message)) == message
    assert load_message(dump_message(told("call_1"))) == told("call_1")


STRICT = Dialect(strict=True)


@CORE.add("10.4-alternation-two-user-messages-become-one")
def _users() -> None:
    chat = chat_messages("s", [UserMessage("a"), UserMessage("b")], STRICT)
    assert [(m["role"], m["content"]) for m in chat] == [("system", "s"), ("user", "a\n\nb")]


@CORE.add("10.4-alternation-keeps-every-call-of-neighbouring-answers")
def _answers() -> None:
    messages: list[Message] = [UserMessage("a"), asks("x"), told("x"), asks("y"), told("y")]
    chat = chat_messages("", messages, STRICT)
    made = [call["id"] for m in chat for call in m.get("tool_calls", ())]
    answered = [m["tool_call_id"] for m in chat if m["role"] == "tool"]
    assert len(made) == 2 and made == answered


@CORE.add("10.4-alternation-an-empty-system-prompt-is-left-out")
def _no_system() -> None:
    assert [m["role"] for m in chat_messages("", [UserMessage("a")], STRICT)] == ["user"]


@pytest.mark.parametrize("row", CORE.all)
def test_what_sam_s_later_tests_asked_of_its_core_holds(row: Row) -> None:
    row()


# Rows that need a runtime


@pytest.mark.parametrize(
    ("tool", "seen"),
    [
        pytest.param("file_operations", 16, id="10.4-file-operations-are-executable"),
        pytest.param("memory_operations", 14, id="10.4-memory-operations-are-executable"),
    ],
)
async def test_every_advertised_operation_reaches_its_hand(
    bench: Bench, tool: str, seen: int
) -> None:
    names = bench.operations(tool)
    assert (len(names), tuple(names)) == (seen, LISTED[tool])
    for name in names:
        told_of = (await bench.call(f"{tool}.{name}")).finished.text
        assert "has no operation" not in told_of


@pytest.mark.parametrize(
    ("failures", "answer", "asked"),
    [
        pytest.param([429, 429], "success", 3, id="10.4-two-rate-limits-then-success"),
        pytest.param([401], "", 1, id="10.4-a-wrong-key-is-asked-once"),
    ],
)
async def test_a_refused_request_is_tried_again_where_that_can_help(
    opened: Opened, failures: list[int], answer: str, asked: int
) -> None:
    refusals = [
        Reply(status=status, body={"error": {"message": "no"}}, headers={"retry-after": "0"})
        for status in failures
    ]
    async with FakeServer([*refusals, Reply(text="success")]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k")
        finished = await bench.session.run("Hi")
        assert (finished.answer, len(server.requests)) == (answer, asked)


@pytest.mark.parametrize("size", [pytest.param(1, id="10.4-streamed-calls-are-stored")])
async def test_a_streamed_answer_is_stored_with_its_calls(opened: Opened, size: int) -> None:
    two = (
        Call("think", {"thoughts": "a"}, id="one"),
        Call("think", {"thoughts": "b"}, id="two"),
    )
    async with FakeServer([
        Reply(text="Let me.", calls=two, chunk=size),
        Reply(text="Done."),
    ]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k")
        await bench.session.run("Hi")
    stored = bench.runtime.conversations.messages(bench.conversation)
    answer = next(m for m in stored if isinstance(m, AssistantMessage))
    assert answer.text == "Let me."
    assert [(c.id, c.name) for c in answer.calls] == [("one", "think"), ("two", "think")]
    results = [m for m in stored if isinstance(m, ToolMessage)]
    assert [(m.call_id, m.text) for m in results] == [("one", "a"), ("two", "b")]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("It is done.", id="10.4-plain"),
        pytest.param('I would call {"name": "think", "arguments": {}} now.', id="10.4-in-prose"),
        pytest.param('As it says:\n\n{"name": "think", "arguments": {}}', id="10.4-after-a-colon"),
        pytest.param('> {"name": "think", "arguments": {}}', id="10.4-quoted"),
        pytest.param("<tool_call>{broken</tool_call>", id="10.4-malformed-in-a-tag"),
        pytest.param("<function_call>think</function_call>", id="10.4-function-call-tag"),
        pytest.param("[TOOL_CALLS] think", id="10.4-tool-calls-word"),
        pytest.param("Calling tool: think", id="10.4-calling-tool"),
        pytest.param('FUNCTION: think\nARGS: {"thoughts": "x"}', id="10.4-function-args"),
    ],
)
async def test_text_that_looks_like_a_call_is_text(opened: Opened, text: str) -> None:
    async with FakeServer([Reply(text=text)]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k")
        finished = await bench.session.run("Hi")
    assert (finished.answer, finished.steps) == (text, 1)


@pytest.mark.parametrize(
    "error", [pytest.param(ModelUnavailable("x", status=503), id="10.4-unavailable-is-retried")]
)
def test_what_may_pass_is_retried(error: Any) -> None:
    assert RetryPolicy().delay(1, error) is not None
