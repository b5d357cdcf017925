"""Verification and its bands: the vectors of the seed's own state machine that are kept."""

import pytest

from sam_tui.core.ports.workflows import TaskRow, TaskStatus
from sam_tui.core.workflow.execution.guards import Verdict, is_critical, verify
from tests.workflow.bench import Bench, opened

LOOP = """
    policy: {rollbacks: 3, on_exhausted: abort}
    steps:
      - id: plan
        prompt: plan
        output: {type: object, required: [tasks], properties: {tasks: {type: array}}}
      - id: execute
        prompt: "do @{item.title}"
        needs: [plan]
        each: "@{outputs.plan.tasks}"
        attempts: 1
      - id: verify
        prompt: verify
        needs: [execute]
        guards:
          - {tasks: execute, threshold: 95}
          - {value: "@{output.verification_passed}", is: equals, to: true}
        on_fail:
          - {below: 50, do: "rollback:plan"}
          - {below: 80, do: "rollback:execute"}
          - {below: 101, do: "rollback:execute:previous"}
"""


def item(status: TaskStatus, critical: bool) -> TaskRow:
    """An item of a list."""
    return TaskRow("execution", "step", 1, 0, "1", "title", critical, status, "{}")


def listed(completed: int, *, of: int, high: int = 0, pending_high: int = 0) -> list[TaskRow]:
    """A list of tasks; ``high`` of the completed ones are critical."""
    tasks = [item("completed", i < high) for i in range(completed)]
    rest: TaskStatus = "pending"
    return tasks + [item(rest, i < pending_high) for i in range(of - completed)]


@pytest.mark.requirement("workflow:verification")
@pytest.mark.parametrize(
    ("tasks", "percent", "rule"),
    [
        ([], 100, ""),
        (listed(2, of=2, high=1), 100, ""),
        (listed(19, of=20), 95, ""),
        (listed(18, of=20), 90, "threshold"),
        ([*listed(19, of=19), item("running", False)], 95, "in_progress"),
        (listed(19, of=20, high=1), 95, "consistency"),
        (listed(1, of=2, pending_high=1), 50, "critical"),
        (listed(1, of=3, pending_high=1), 33, "critical"),
        ([item("completed", False), item("running", False)], 50, "threshold"),
    ],
)
def test_rules_apply_in_order(tasks: list[TaskRow], percent: int, rule: str) -> None:
    verdict = verify(tasks, claimed=True)
    assert (verdict.percent, verdict.rule) == (percent, rule)


@pytest.mark.requirement("workflow:verification")
def test_consistency_only_matters_where_success_is_claimed() -> None:
    tasks = listed(19, of=20, high=1)
    assert verify(tasks, claimed=False) == Verdict(95, 1, 1)


@pytest.mark.requirement("workflow:verification")
def test_high_priority_delegated_and_marked_tasks_are_critical() -> None:
    assert is_critical({"priority": "high"})
    assert is_critical({"type": "TaskAgent", "priority": "low"})
    assert is_critical({"meta_prompt": {"role": "coder"}})
    assert not is_critical({"priority": "medium"})


def reach_verify(bench: Bench, tasks: list[dict[str, str]], good: int) -> str:
    """Plan these tasks, complete the first ``good`` of them and fail the rest."""
    done = bench.begin(LOOP)
    execution = done.execution_id
    done = bench.workflows.submit(execution, "plan", {"summary": "p", "tasks": tasks})
    for index in range(len(tasks)):
        assert opened(done) == ["execute"]
        assert done.opened[0].task is not None
        assert done.opened[0].task.position == index
        done = bench.workflows.submit(
            execution, "execute", {"summary": "x", "success": index < good}
        )
    assert opened(done) == ["verify"]
    return execution


def low(count: int) -> list[dict[str, str]]:
    """Tasks that are not critical."""
    return [{"title": f"t{i}", "priority": "low"} for i in range(count)]


@pytest.mark.requirement("workflow:bands")
@pytest.mark.parametrize(
    ("count", "good", "target", "position"),
    [
        (5, 0, "plan", None),
        (5, 2, "plan", None),
        (5, 3, "execute", 4),
        (4, 2, "execute", 3),
        (5, 4, "execute", 3),
        (10, 8, "execute", 8),
    ],
)
def test_how_much_is_left_decides_how_far_back_it_goes(
    bench: Bench, count: int, good: int, target: str, position: int | None
) -> None:
    execution = reach_verify(bench, low(count), good)
    done = bench.workflows.submit(
        execution, "verify", {"summary": "v", "verification_passed": True}
    )
    assert (done.outcome, done.target, opened(done)) == ("rolled_back", target, [target])
    task = done.opened[0].task
    assert (task.position if task else None) == position
    assert bench.workflows.records.execution(execution).rollbacks_left == 2


@pytest.mark.requirement("workflow:bands")
def test_a_critical_task_that_failed_keeps_a_run_from_ending(bench: Bench) -> None:
    tasks = [{"title": "must", "priority": "high"}]
    execution = reach_verify(bench, tasks, 0)
    done = bench.workflows.submit(
        execution, "verify", {"summary": "v", "verification_passed": True}
    )
    assert (done.target, done.failures[0].details["rule"]) == ("plan", "critical")


@pytest.mark.requirement("workflow:bands")
@pytest.mark.parametrize(("tasks", "state"), [(0, "completed"), (3, "completed")])
def test_everything_done_and_confirmed_completes_it(bench: Bench, tasks: int, state: str) -> None:
    execution = reach_verify(bench, low(tasks), tasks)
    done = bench.workflows.submit(
        execution, "verify", {"summary": "v", "verification_passed": True}
    )
    assert done.state == state


@pytest.mark.requirement("workflow:bands")
def test_all_done_but_not_confirmed_does_the_last_task_again(bench: Bench) -> None:
    execution = reach_verify(bench, low(2), 2)
    done = bench.workflows.submit(
        execution, "verify", {"summary": "v", "verification_passed": False}
    )
    assert (opened(done), done.opened[0].task and done.opened[0].task.position) == (["execute"], 0)
    assert "does not hold" in done.opened[0].instructions


@pytest.mark.requirement("workflow:evidence")
def test_the_store_counts_what_is_completed_whatever_the_output_says(bench: Bench) -> None:
    execution = reach_verify(bench, low(2), 0)
    claim = {"summary": "v", "verification_passed": True, "completed": 2}
    done = bench.workflows.submit(execution, "verify", claim)
    assert done.failures[0].details["percent"] == 0


@pytest.mark.requirement("workflow:rollback-budget")
def test_rollbacks_end_when_their_budget_is_used_up(bench: Bench) -> None:
    execution = reach_verify(bench, low(1), 0)
    for round_ in range(3):
        done = bench.workflows.submit(execution, "verify", {"summary": "v"})
        assert (done.outcome, round_) == ("rolled_back", round_)
        done = bench.workflows.submit(execution, "plan", {"summary": "p", "tasks": low(1)})
        bench.workflows.submit(execution, "execute", {"summary": "x", "success": False})
    done = bench.workflows.submit(execution, "verify", {"summary": "v"})
    assert (done.state, done.outcome) == ("failed", "failed")
    assert "rollback budget of 3" in done.message


@pytest.mark.requirement("workflow:effectiveness")
def test_effectiveness_is_derived_from_attempts_and_stays_within_its_bounds(bench: Bench) -> None:
    execution = reach_verify(bench, low(7), 0)
    assert bench.workflows.records.execution(execution).effectiveness == 0.3
    done = bench.workflows.start("flow")
    bench.workflows.submit(done.execution_id, "plan", {"summary": "p", "tasks": low(1)})
    assert bench.workflows.records.execution(done.execution_id).effectiveness == 0.8
