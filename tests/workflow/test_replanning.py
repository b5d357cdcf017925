"""A step of a plan fails: the plan is made anew, told of it, and what is done is not done again."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.agent.budget import Budget, Limits
from sam_tui.core.clock import SystemClock
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import UserMessage
from sam_tui.core.ports.workflows import EventQuery
from sam_tui.core.workflow.service import Workflows
from tests.workflow.bench import DONE, Bench, opened
from tests.workflow.stage import Play, Stage, on

FLOW = """
    policy: {replans: 5, same_error: 2, on_exhausted: abort, on_failure: %s}
    steps:
      - {id: plan, kind: plan, prompt: plan, child_tools: [voice]}
      - {id: end, kind: llm, prompt: "end @{outputs.plan/good.summary?}", needs: [plan]}
"""
SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


def flow(on_failure: str = "fail-fast") -> str:
    """The flow under a policy."""
    return FLOW % on_failure


def murmur(text: str, id_: str, *needs: str, **more: Any) -> dict[str, Any]:
    """A tool step."""
    arguments = {"text": text}
    return {"id": id_, "kind": "tool", "tool": "voice.murmur", "arguments": arguments,
            "needs": list(needs), **more}  # fmt: skip


def note(path: str) -> dict[str, Any]:
    """A call that nobody allows."""
    return {"id": "bad", "kind": "tool", "tool": "voice.note", "arguments": {"filePath": path},
            "needs": ["good"]}  # fmt: skip


def agent(**more: Any) -> dict[str, Any]:
    """A step of the agent."""
    return {"id": "bad", "prompt": "be bad", "needs": ["good"], **more}


FAILING: dict[str, tuple[dict[str, Any], list[Play], str]] = {
    "a tool's error": (murmur("refuse", "bad", "good"), [], "cannot"),
    "a tool that breaks": (murmur("crash", "bad", "good"), [], "boom"),
    "a refused call": (note("/etc/hosts"), [], "/etc/hosts"),
    "a call beyond the tools": (
        {**murmur("x", "bad", "good"), "arguments": {"words": "x"}}, [], "text",
    ),
    "a schema never met": (
        agent(output=SCHEMA), [*on("plan/bad", "no"), {"when": {"user": "cannot be taken"}, "text": "no"}],
        "did not fit",
    ),
    "an agent that gives up": (
        agent(), on("plan/bad", {"success": False, "summary": "there is no door"}), "there is no door",
    ),
    "an agent that gives up a schema": (
        agent(output=SCHEMA), on("plan/bad", {"success": False, "summary": "no number"}), "no number",
    ),
    "an agent without end": (
        agent(max_calls=1), on("plan/bad", "x", ("voice", {"operation": "murmur", "text": "x"})), "limit",
    ),
    "a time-out": (murmur("hold", "bad", "good", timeout=0.05), [], "too long"),
    "a missing reference": (murmur("@{outputs.good.gone}", "bad", "good"), [], "has no value"),
}  # fmt: skip


def plan(*steps: dict[str, Any]) -> str:
    """What a planner answers."""
    return json.dumps({"summary": "planned", "steps": steps})


@pytest.mark.requirement("plans:replan")
@pytest.mark.parametrize("kind", FAILING)
async def test_each_kind_of_failure_leads_to_a_new_plan_that_was_told_of_it(
    bench: Bench, tmp_path: Path, kind: str
) -> None:
    failing, plays, message = FAILING[kind]
    bench.workflows = Workflows(bench.store, bench.source, SystemClock(), bench.told.append)
    good = murmur("fine", "good")
    stage = Stage(
        bench, tmp_path / "k",
        [{"when": {"user": "revision 2"}, "text": plan(good, murmur("better", "instead", "good"))}],
        on("plan", plan(good, failing)), plays, on("end"),
    )  # fmt: skip
    stage.kit.journal.gates["hold"] = asyncio.Event()
    execution = bench.begin(flow()).execution_id
    view = await stage.run(execution)
    assert (view.state, view.replans_left) == ("completed", 4), view.reason
    assert stage.kit.journal.lines.count("begin fine") == 1
    assert "end better" in stage.kit.journal.lines
    second = [a for a in bench.workflows.records.history(execution) if a.step == "plan"][1]
    messages = stage.kit.storage.conversations.messages(ConversationId(second.conversation))
    (told, *_) = [m.text for m in messages if isinstance(m, UserMessage)]
    parts = ["revision 2", "4 more are left", "What failed:", '"step": "bad"', "- good: "]
    assert [part for part in (*parts, message) if part not in told] == []
    for field in ("summaryOfProgress", "keyFindings", "nextObjective", "errorsEncountered"):
        assert f'"{field}"' in told


@pytest.mark.requirement("plans:replan")
def test_a_child_says_what_follows_its_failure_and_has_the_plan_s_tools(bench: Bench) -> None:
    execution = bench.begin(flow()).execution_id
    steps = [{"id": "a", "prompt": "a"}, {"id": "b", "prompt": "b", "on_fail": "abort"}]
    bench.workflows.submit(execution, "plan", {"summary": "p", "steps": steps})
    tools = {s.id: s.tools for s in bench.workflows.records.steps(execution)}
    assert tools["plan/a"] == ("voice",)
    again = bench.workflows.fail_step(execution, "plan/a", "no")
    assert (again.outcome, opened(again)) == ("replanned", ["plan"])
    bench.workflows.submit(execution, "plan", {"summary": "p", "steps": steps})
    assert bench.workflows.fail_step(execution, "plan/b", "no").state == "failed"


@pytest.mark.requirement("plans:replan")
def test_a_child_with_attempts_of_its_own_uses_them_before_a_new_plan(bench: Bench) -> None:
    execution = bench.begin(flow()).execution_id
    steps = [{"id": "a", "prompt": "a", "attempts": 2}]
    bench.workflows.submit(execution, "plan", {"summary": "p", "steps": steps})
    assert bench.workflows.fail_step(execution, "plan/a", "no").outcome == "retried"
    assert bench.workflows.fail_step(execution, "plan/a", "no").outcome == "replanned"


@pytest.mark.requirement("plans:replan")
@pytest.mark.parametrize(("policy", "running"), [("fail-fast", False), ("finish-stage", True)])
def test_a_stage_is_left_at_once_or_finished_first_as_the_policy_says(
    bench: Bench, policy: str, running: bool
) -> None:
    execution = bench.begin(flow(policy)).execution_id
    steps = [{"id": "a", "prompt": "a"}, {"id": "b", "prompt": "b"}]
    bench.workflows.submit(execution, "plan", {"summary": "p", "steps": steps})
    done = bench.workflows.fail_step(execution, "plan/a", "no")
    assert (bench.steps(execution)["plan/b"] == "running") is running
    if running:
        assert (done.outcome, opened(done)) == ("failed", [])
        done = bench.workflows.submit(execution, "plan/b", DONE)
        assert bench.steps(execution)["plan/b"] == "completed"
    assert (done.outcome, opened(done)) == ("replanned", ["plan"])


@pytest.mark.requirement("plans:budgets")
def test_one_error_is_planned_around_twice_and_errors_five_times_in_all(bench: Bench) -> None:
    def outcomes(*errors: str) -> list[str]:
        execution = bench.begin(flow()).execution_id
        said: list[str] = []
        for number, error in enumerate(errors):
            steps = [{"id": "a", "prompt": f"try {number}"}]
            bench.workflows.submit(execution, "plan", {"summary": "p", "steps": steps})
            done = bench.workflows.fail_step(execution, "plan/a", error)
            said.append(done.outcome)
            if done.outcome == "failed":
                said.append(done.message.rpartition("; ")[2])
        return said

    same = [f"port {n} was busy" for n in range(3)]
    assert outcomes(*same) == ["replanned"] * 2 + [
        "failed",
        "the same error came back after 2 new plans",
    ]
    other = ["one", "two", "three", "four", "five", "six"]
    assert outcomes(*other) == ["replanned"] * 5 + ["failed", "the replan budget of 5 is used up"]


@pytest.mark.requirement("plans:unachievable")
@pytest.mark.parametrize(
    "answer",
    [
        '{"steps": [], "summary": "not achievable, because the door is walled up"}',
        "Not achievable, because the door is walled up.",
    ],
)
async def test_a_planner_may_say_that_it_cannot_be_achieved_and_why(
    bench: Bench, tmp_path: Path, answer: str
) -> None:
    stage = Stage(bench, tmp_path / "k", on("plan", answer))
    execution = bench.begin(flow()).execution_id
    view = await stage.run(execution)
    assert (view.state, view.replans_left) == ("failed", 5)
    assert view.reason.lower().startswith("not achievable, because the door is walled up")
    assert "plan_unachievable" in bench.types(execution)
    (attempt,) = bench.workflows.records.history(execution)
    assert (attempt.status, attempt.error) == ("completed", "")


@pytest.mark.requirement("plans:reuse")
def test_a_step_is_done_again_where_what_it_was_told_is_made_anew(bench: Bench) -> None:
    execution = bench.begin(flow()).execution_id
    first = [
        murmur("one", "a"), murmur("other", "o"), murmur("@{outputs.a.text}", "b", "a"),
        murmur("c", "c", "a", "b"), {"id": "d", "prompt": "d", "needs": ["c", "o"]},
    ]  # fmt: skip
    bench.workflows.submit(execution, "plan", {"summary": "p", "steps": first})
    for step in "aobc":
        bench.workflows.submit(execution, f"plan/{step}", {"summary": step, "text": step})
    bench.workflows.fail_step(execution, "plan/d", "no")
    second = [murmur("two", "a"), *first[1:]]
    bench.workflows.submit(execution, "plan", {"summary": "p", "steps": second})
    done = {s for s, status in bench.steps(execution).items() if status == "completed"}
    assert done == {"plan", "plan/o", "plan/c"}
    adopted = bench.workflows.records.reader.events(EventQuery(execution, "plan_adopted"))
    assert [json.loads(e.data_json)["kept"] for e in adopted] == [0, 2]


@pytest.mark.requirement("workflow:budgets")
async def test_the_tokens_of_all_steps_count_for_the_run_and_its_model_calls_for_each_attempt(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define("""
        steps:
          - {id: a, prompt: a, on_fail: retry, attempts: 3}
          - {id: b, prompt: b, needs: [a]}
          - {id: c, prompt: c, needs: [b]}
    """)
    used = {"usage": {"input_tokens": 10, "output_tokens": 1}}
    plays = [play for name in "abc" for play in on(name, **used)]
    stage = Stage(bench, tmp_path / "k", plays)
    stage.budget = Budget(limits=Limits(tokens=20))
    execution = bench.workflows.start("flow").execution_id
    view = await stage.run(execution)
    assert (view.state, view.reason) == ("paused", "The limit of 20 tokens was reached.")
    stage.budget = Budget(limits=Limits(tokens=20))
    bench.workflows.steer("resume", execution)
    assert (await stage.run(execution)).state == "completed"
    assert len(bench.workflows.records.history(execution)) == 3
    say = ("voice", {"operation": "murmur", "text": "again"})
    bench.define("steps: [{id: a, prompt: a, attempts: 1, max_calls: 9}]")
    stage = Stage(bench, tmp_path / "l", on("a", "never", say, say, say))
    stage.budget = Budget(2, limits=Limits(steps=2, raised=0))
    view = await stage.run(bench.workflows.start("flow").execution_id)
    assert (view.state, "limit of 2 model calls" in view.reason) == ("failed", True)
