"""What a call is taken for before it runs, and what is left of one that did not run to its end."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sam_tools.file_operations import FileOperations
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.search import RipgrepSearch
from sam_tui.core.clock import SystemClock
from sam_tui.core.events import DecisionMade, ToolFinished
from sam_tui.core.ids import CallId
from sam_tui.core.inquiry import Approval, ApprovalRequest, Inquiry
from sam_tui.core.messages import ToolCall
from sam_tui.core.tooling.contract import Schedule
from sam_tui.core.tooling.offer import Offer
from tests.fakes.engine_kit import Kit, open_kit


def call(name: str, arguments: Any, identifier: str = "c1") -> ToolCall:
    """A call as a model writes it."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(CallId(identifier), name, text)


def closed(key: str) -> str:
    """A gate that lets nothing through."""
    return f"{key} is not for now"


@pytest.mark.requirement("execute:names")
@pytest.mark.parametrize(
    ("name", "arguments", "key", "schedule", "summary", "named", "fault"),
    [
        ("voice", {"operation": "murmur", "text": "a"}, "voice.murmur", "PARALLEL", "Saying: a", True, ""),
        ("voice.speak", {"text": "a"}, "voice.speak", "SERIAL", "Saying: a", True, ""),
        ("shout", {"text": "a"}, "voice.shout", "BLOCKING", "Saying: a", True, ""),
        ("ping", "", "ping", "PARALLEL", "Pinging", True, ""),
        ("call_tool", {"name": "voice.shout", "arguments": {"text": "a"}}, "voice.shout", "BLOCKING",
         "Saying: a", True, ""),
        ("call_tool", {"name": "nobody"}, "nobody", "PARALLEL", "nobody", False, "no tool called"),
        ("call_tool", {}, "call_tool", "PARALLEL", "call_tool", False, "needs the name"),
        ("nobody", {}, "nobody", "PARALLEL", "nobody", False, "no tool called"),
        ("off", {}, "off", "PARALLEL", "off", False, "off"),
        ("voice", {"operation": "sing"}, "voice", "PARALLEL", "voice", False, "sing"),
        ("voice", "{no json", "voice", "PARALLEL", "voice", False, "not valid JSON"),
        ("shout", {"loud": 1}, "voice.shout", "PARALLEL", "shout", True, "text"),
    ],
)  # fmt: skip
def test_a_call_is_planned_by_its_operation_or_with_its_fault(
    kit: Kit,
    name: str,
    arguments: Any,
    key: str,
    schedule: str,
    summary: str,
    fault: str,
    *,
    named: bool,
) -> None:
    plan = kit.executor.plan(call(name, arguments), closed)
    assert (plan.key, plan.schedule.name, plan.summary) == (key, schedule, summary)
    assert (plan.named, plan.gate) == (named, closed)
    assert (plan.fault is None) is (plan.operation is not None) is (plan.arguments is not None)
    assert fault in str(plan.fault or "")
    assert bool(fault) is (plan.fault is not None)
    assert kit.executor.plan(call(name, arguments)).gate is None
    assert Schedule[schedule] is plan.schedule


@pytest.mark.requirement("execute:names")
def test_a_call_is_foreseen_where_it_could_come_to_the_guard(kit: Kit) -> None:
    write = call("voice.note", {"filePath": "a.txt", "text": "x"})
    executor = kit.executor.narrowed((), asker="a subagent")
    plan = executor.plan(write)
    request = executor.foresee(plan, kit.conversation)
    assert request is not None
    assert (request.conversation, request.call, request.operation) == (
        kit.conversation,
        "c1",
        "voice.note",
    )
    assert (request.summary, request.asker, request.then) == ("Noting: a.txt", "a subagent", "")
    assert (request.arguments, request.remark, request.rehearsable) == (write.arguments, "", False)
    (access,) = request.accesses
    assert access.location is not None and access.location.real == f"{executor.workspace}/a.txt"
    assert executor.foresee(replace(plan, gate=closed), kit.conversation) is None
    assert executor.foresee(executor.plan(call("nobody", {})), kit.conversation) is None
    outside = executor.plan(call("voice.note", {"filePath": "a\0b"}))
    assert executor.foresee(outside, kit.conversation) is None
    amended = executor.foresee(replace(plan, proposed="x"), kit.conversation)
    assert amended is not None and amended.then == "You changed the content"


@pytest.mark.requirement("execute:gate")
@pytest.mark.parametrize(("name", "refused"), [("ping", True), ("nobody", False)])
async def test_a_gate_speaks_of_operations_that_exist_and_nothing_is_asked_or_decided(
    kit: Kit, name: str, *, refused: bool
) -> None:
    done = await kit.executor.run(kit.executor.plan(call(name, {}), closed), kit.conversation)
    assert not done.finished.ok
    assert (done.finished.text == "ERROR: ping is not for now") is refused
    assert (done.decision, kit.journal.lines) == (None, [])
    assert kit.storage.decisions.entries(kit.conversation) == []


@pytest.mark.requirement("execute:events")
async def test_what_a_cancelled_call_had_said_stands_in_its_result_once(kit: Kit) -> None:
    executor, conversation = kit.executor, kit.conversation
    kit.journal.gates["slow"] = asyncio.Event()
    plan = executor.plan(call("murmur", {"text": "slow"}))
    running = asyncio.ensure_future(executor.run(plan, conversation))
    await kit.journal.until("begin slow")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    kit.events.drain()
    done = executor.cancelled(plan, conversation, "it was stopped")
    assert (done.finished.ok, done.finished.text, done.decision) == (
        False,
        "ERROR: it was stopped",
        None,
    )
    assert (done.finished.call, done.finished.operation) == ("c1", "voice.murmur")
    assert kit.events.drain() == [done.finished]


class Hand(SystemClock):
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time = 100.0

    def monotonic(self) -> float:
        return self.time


@pytest.mark.requirement("execute:events")
@pytest.mark.parametrize("yes", [True, False])
async def test_a_question_names_who_asks_and_its_time_is_not_the_calls(
    tmp_path: Path, *, yes: bool
) -> None:
    clock, asked = Hand(), list[ApprovalRequest]()

    def person(inquiry: Inquiry) -> Approval:
        assert isinstance(inquiry.request, ApprovalRequest)
        asked.append(inquiry.request)
        clock.time += 3
        return Approval("once" if yes else "deny", "a remark")

    def slow(_: str) -> str:
        clock.time += 1
        return ""

    kit = open_kit(tmp_path, person, clock)
    executor = kit.executor.narrowed(["ping"], asker="a subagent")
    plan = executor.plan(call("voice.note", {"filePath": "../out"}), slow)
    done = await executor.run(plan, kit.conversation)
    assert done.decision is not None
    assert (done.decision.elapsed, done.decision.asker, done.decision.comment) == (
        3.0,
        "a subagent",
        "a remark",
    )
    assert (done.finished.ok, done.finished.seconds) == (yes, 2.0 if yes else 1.0)
    assert [(q.asker, q.summary, q.operation) for q in asked] == [
        ("a subagent", "Noting: ../out", "voice.note")
    ]
    ((stored,), (made,)) = (
        kit.storage.decisions.entries(kit.conversation),
        [event for event in kit.events.drain() if isinstance(event, DecisionMade)],
    )
    assert stored.decision == made.decision == replace(done.decision, workspace=executor.workspace)
    assert executor.plan(call("ping", {})).fault is not None
    kit.storage.close()


@pytest.mark.requirement("execute:recorded")
async def test_the_time_of_all_questions_about_a_call_that_a_person_changed_is_summed_up(
    tmp_path: Path,
) -> None:
    clock, asked = Hand(), list[ApprovalRequest]()
    answers = [Approval("amend", "shorter", amended="of the person\n"), Approval("once", "fine")]

    def person(inquiry: Inquiry) -> Approval:
        assert isinstance(inquiry.request, ApprovalRequest)
        asked.append(inquiry.request)
        clock.time += 3 * len(asked)
        return answers.pop(0)

    kit = open_kit(tmp_path, person, clock)
    kit.registry.join((Offer.of(FileOperations(LocalFiles(), RipgrepSearch()).tool()),))
    content = {"filePath": "../made", "content": "of the model\n"}
    done = await kit.executor.execute(
        call("file_operations.create_file", content), kit.conversation
    )
    assert (tmp_path / "made").read_text(encoding="utf-8") == "of the person\n"
    assert done.decision is not None
    assert (done.decision.elapsed, done.finished.seconds) == (9.0, 0.0)
    assert [(question.remark, "You changed" in question.why) for question in asked] == [
        ("", False),
        ("shorter", True),
    ]
    logged = [entry.decision for entry in kit.storage.decisions.entries(kit.conversation)]
    assert [(d.outcome, d.elapsed, d.amendment) for d in logged] == [
        ("amended", 3.0, ""),
        ("allow", 6.0, ""),
    ]
    kit.storage.close()


@pytest.mark.requirement("execute:recorded")
async def test_a_question_that_is_cancelled_is_on_record_and_the_call_did_nothing(
    tmp_path: Path,
) -> None:
    kit = open_kit(tmp_path, attended=True)
    running = asyncio.ensure_future(
        kit.executor.run(
            kit.executor.plan(call("voice.note", {"filePath": "../out"})), kit.conversation
        )
    )
    for _ in range(9):
        await asyncio.sleep(0)
    assert len(kit.inquiries.pending()) == 1
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (entry,) = kit.storage.decisions.entries(kit.conversation)
    assert (entry.decision.outcome, entry.decision.by, entry.decision.rule) == (
        "cancelled",
        "user",
        "cancelled",
    )
    assert entry.decision.reason == "the call was cancelled before it was answered"
    assert (entry.decision.workspace, entry.decision.operation) == (
        kit.executor.workspace,
        "voice.note",
    )
    assert not [event for event in kit.events.drain() if isinstance(event, ToolFinished)]
    kit.storage.close()
