"""What follows a failure: attempts, time-outs, questions, plans that are made again."""

import pytest

from sam_tui.adapters.workflows import open_workflows
from sam_tui.core.ports.workflows import EventQuery
from sam_tui.core.workflow.views import WorkflowRefused
from tests.workflow.bench import DONE, OPENED, Bench, code_of, opened, ticket

GUARDED = """
    policy: {attempts: 3}
    steps:
      - id: a
        prompt: a
        guards: [{value: "@{output.ok}", is: equals, to: true, message: it is not ok}]
        on_fail: ON_FAIL
      - {id: b, prompt: b, needs: [a]}
"""
BAD = {"summary": "s", "ok": False}
GOOD = {"summary": "s", "ok": True}


@pytest.mark.requirement("workflow:attempts")
def test_a_failed_guard_opens_the_step_again_until_its_attempts_are_used(bench: Bench) -> None:
    done = bench.begin(GUARDED.replace("ON_FAIL", "retry"))
    for attempt in (1, 2):
        assert done.opened[0].attempt == attempt
        done = bench.workflows.advance(done.opened[0].token, BAD)
        assert (done.outcome, opened(done)) == ("retried", ["a"])
    assert "it is not ok" in done.opened[0].instructions
    done = bench.workflows.advance(done.opened[0].token, BAD)
    assert (done.state, done.outcome, done.opened) == ("failed", "failed", ())
    history = bench.workflows.records.history(done.execution_id)
    assert [(a.number, a.status) for a in history] == [(1, "failed"), (2, "failed"), (3, "failed")]
    again = bench.workflows.steer("retry", done.execution_id)
    assert (again.state, again.opened[0].attempt) == ("running", 4)
    assert bench.types(done.execution_id).count("step_reopened") == 1
    assert opened(bench.workflows.advance(again.opened[0].token, GOOD)) == ["b"]


@pytest.mark.requirement("workflow:policies")
def test_abort_ends_at_once_or_after_what_still_runs_as_the_policy_says(bench: Bench) -> None:
    text = """
        policy: {on_failure: POLICY}
        steps:
          - {id: a, prompt: a, on_fail: abort}
          - {id: b, prompt: b}
          - {id: c, prompt: c, needs: [b]}
    """
    done = bench.begin(text.replace("POLICY", "fail-fast"))
    ended = bench.workflows.fail_step(done.execution_id, "a", "no")
    assert (ended.state, bench.steps(done.execution_id)["b"]) == ("failed", "pending")
    done = bench.begin(text.replace("POLICY", "finish-stage"))
    kept = bench.workflows.fail_step(done.execution_id, "a", "no")
    assert (kept.state, bench.steps(done.execution_id)["b"]) == ("running", "running")
    ended = bench.workflows.advance(ticket(done, "b").token, DONE)
    assert (ended.state, bench.steps(done.execution_id)["c"]) == ("failed", "pending")


@pytest.mark.requirement("workflow:asks")
@pytest.mark.parametrize(
    ("choice", "state", "steps"),
    [
        ("retry", "running", {"a": "running", "b": "pending"}),
        ("accept", "running", {"a": "completed", "b": "running"}),
        ("abort", "failed", {"a": "pending", "b": "pending"}),
    ],
)
def test_a_failure_can_wait_for_a_decision(
    bench: Bench, choice: str, state: str, steps: dict[str, str]
) -> None:
    done = bench.begin(GUARDED.replace("ON_FAIL", "ask"))
    done = bench.workflows.advance(done.opened[0].token, BAD)
    assert (done.state, done.outcome) == ("paused", "asked")
    view = bench.workflows.records.execution(done.execution_id)
    assert view.question is not None
    assert view.question.choices == ("retry", "accept", "abort")
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.steer("decide", done.execution_id, "perhaps")
    assert code_of(refused) == "choice_invalid"
    done = bench.workflows.steer("decide", done.execution_id, choice)
    assert (done.state, bench.steps(done.execution_id)) == (state, steps)
    assert bench.workflows.records.execution(done.execution_id).question is None


@pytest.mark.requirement("workflow:asks")
def test_a_used_up_budget_asks_and_a_person_may_still_go_back(bench: Bench) -> None:
    done = bench.begin("""
        policy: {rollbacks: 0, on_exhausted: ask}
        steps:
          - {id: a, prompt: a}
          - {id: b, prompt: b, needs: [a], on_fail: "rollback:a"}
    """)
    bench.workflows.submit(done.execution_id, "a", DONE)
    asked = bench.workflows.fail_step(done.execution_id, "b", "no")
    assert asked.outcome == "asked"
    question = bench.workflows.records.execution(done.execution_id).question
    assert question is not None
    assert "rollback:a" in question.choices
    back = bench.workflows.steer("decide", done.execution_id, "rollback:a")
    assert (back.outcome, opened(back)) == ("rolled_back", ["a"])
    assert bench.steps(done.execution_id) == {"a": "running", "b": "pending"}


@pytest.mark.requirement("workflow:diverged")
def test_a_used_up_budget_can_end_it_as_diverged(bench: Bench) -> None:
    done = bench.begin("""
        policy: {rollbacks: 0, on_exhausted: diverge}
        steps: [{id: a, prompt: a}, {id: b, prompt: b, needs: [a], on_fail: "rollback:a"}]
    """)
    bench.workflows.submit(done.execution_id, "a", DONE)
    ended = bench.workflows.fail_step(done.execution_id, "b", "no")
    assert (ended.state, ended.outcome) == ("diverged", "diverged")
    assert opened(bench.workflows.steer("retry", done.execution_id)) == ["b"]


@pytest.mark.requirement("workflow:rollback")
def test_a_rollback_opens_the_target_and_all_after_it_afresh(bench: Bench) -> None:
    done = bench.begin("""
        steps:
          - {id: a, prompt: a}
          - {id: b, prompt: "b @{outputs.a.summary}", needs: [a]}
          - {id: side, prompt: s, needs: [a]}
          - {id: c, prompt: c, needs: [b], on_fail: "rollback:b"}
          - {id: end, prompt: e, needs: [c, side]}
    """)
    bench.workflows.submit(done.execution_id, "a", {"summary": "first"})
    bench.workflows.submit(done.execution_id, "b", DONE)
    back = bench.workflows.fail_step(done.execution_id, "c", "wrong")
    assert bench.steps(done.execution_id) == {
        "a": "completed", "b": "running", "side": "running", "c": "pending", "end": "pending",
    }  # fmt: skip
    assert "wrong" in ticket(back, "b").instructions
    events = bench.store.reader.events(EventQuery(done.execution_id, type="rolled_back"))
    assert [(e.step, e.data["target"]) for e in events] == [("c", "b")]


@pytest.mark.requirement("workflow:timeouts")
def test_an_attempt_over_its_deadline_is_timed_out_also_when_its_output_comes(
    bench: Bench,
) -> None:
    done = bench.begin("steps: [{id: a, prompt: a, timeout: 60, attempts: 2}]")
    bench.clock.time += 60
    assert bench.workflows.expire() == ()
    bench.clock.time += 1
    late = bench.workflows.advance(done.opened[0].token, DONE)
    assert (late.outcome, late.opened[0].attempt) == ("retried", 2)
    assert bench.workflows.expire() == ()
    bench.clock.time += 61
    (ended,) = bench.workflows.expire()
    assert ended.state == "failed"
    statuses = [a.status for a in bench.workflows.records.history(done.execution_id)]
    assert statuses == ["timed_out", "timed_out"]


@pytest.mark.requirement("workflow:timeouts")
def test_a_whole_execution_has_a_deadline_and_a_pause_stops_the_clock_of_steps(
    bench: Bench,
) -> None:
    done = bench.begin("policy: {timeout: 500}\nsteps: [{id: a, prompt: a, timeout: 60}]")
    bench.clock.time += 50
    bench.workflows.steer("pause", done.execution_id)
    bench.clock.time += 100
    again = bench.workflows.steer("resume", done.execution_id)
    assert bench.workflows.expire() == ()
    assert again.opened[0].deadline == 1_000_160.0
    bench.clock.time += 400
    ended = bench.workflows.advance(again.opened[0].token, DONE)
    assert (ended.state, "500 seconds" in ended.message) == ("failed", True)


@pytest.mark.requirement("workflow:clock")
def test_a_clock_that_is_put_elsewhere_ends_no_step_and_prolongs_none(bench: Bench) -> None:
    steps = "policy: {timeout: 500, attempts: 1}\nsteps: [{id: a, prompt: a, timeout: 60}]"
    store = open_workflows(bench.folder / "data", flushed=False)
    OPENED.append(store.close)
    another = bench.another(store)
    for ahead in (3600.0, -86_400.0 * 3, 86_400.0 * 365):
        done = bench.begin(steps)
        bench.clock.time += 50
        bench.clock.ahead = ahead
        assert another.expire() == ()
        bench.workflows.steer("pause", done.execution_id)
        bench.clock.ahead = -ahead
        bench.clock.time += 100
        bench.workflows.steer("resume", done.execution_id)
        bench.clock.time += 9
        assert another.expire() == (), ahead
        bench.clock.time += 2
        assert [ended.state for ended in another.expire()] == ["failed"], ahead
        token = bench.begin(steps).opened[0].token
        bench.clock.ahead = 0.0
        assert bench.workflows.advance(token, DONE).state == "completed"


@pytest.mark.requirement("workflow:timeouts")
@pytest.mark.parametrize("noticed_by", ["expire", "submit"])
def test_an_execution_may_take_all_of_its_time_and_then_fails_as_a_whole(
    bench: Bench, noticed_by: str
) -> None:
    done = bench.begin("policy: {timeout: 500}\nsteps: [{id: a, prompt: a}]")
    bench.clock.time += 500
    assert bench.workflows.expire() == ()
    bench.clock.time += 1
    if noticed_by == "expire":
        (ended,) = bench.workflows.expire()
    else:
        ended = bench.workflows.submit(done.execution_id, "a", DONE)
    assert (ended.state, "longer than 500 seconds" in ended.message) == ("failed", True)
    assert [a.status for a in bench.workflows.records.history(done.execution_id)] == ["cancelled"]


@pytest.mark.requirement("workflow:references")
def test_a_reference_without_a_value_fails_its_step_by_name(bench: Bench) -> None:
    done = bench.begin("""
        steps:
          - {id: a, prompt: a}
          - {id: b, prompt: "b @{outputs.a.missing}", needs: [a], attempts: 1}
    """)
    done = bench.workflows.advance(done.opened[0].token, DONE)
    assert done.state == "failed"
    assert "@{outputs.a.missing} has no value" in done.message


@pytest.mark.requirement("workflow:references")
def test_a_whole_reference_keeps_its_type_and_text_is_never_read_again(bench: Bench) -> None:
    done = bench.begin("""
        params: {goal: {required: true}}
        steps:
          - {id: a, prompt: "@{params.goal}"}
          - {id: b, prompt: "x @{outputs.a.list} @{outputs.a.gone?}.", needs: [a],
             inputs: {list: "@{outputs.a.list}", text: "n=@{outputs.a.list.0}"}}
    """, goal='"}, @{params.other} $& {{x}}')  # fmt: skip
    assert done.opened[0].instructions.startswith('"}, @{params.other} $& {{x}}')
    done = bench.workflows.advance(done.opened[0].token, {"summary": "s", "list": [1, "@{a}"]})
    assert done.opened[0].inputs == {"list": [1, "@{a}"], "text": "n=1"}
    assert 'x [1, "@{a}"] .' in done.opened[0].instructions


PLAN = """
    policy: {replans: 3, same_error: 2, on_exhausted: abort}
    steps:
      - {id: plan, kind: plan, prompt: plan, child_tools: [read]}
      - {id: end, prompt: "end @{outputs.plan/b.summary?}", needs: [plan]}
"""


def child(id_: str, *needs: str, **more: object) -> dict[str, object]:
    """A step of a plan."""
    return {"id": id_, "needs": list(needs), "prompt": id_, "tools": ["read"], **more}


@pytest.mark.requirement("workflow:plan")
def test_a_plan_becomes_steps_and_what_follows_waits_for_all_of_them(bench: Bench) -> None:
    done = bench.begin(PLAN)
    plan = [child("a"), child("b", "a", prompt="b after @{outputs.a.summary}"), child("c", "a")]
    done = bench.workflows.submit(done.execution_id, "plan", {"summary": "p", "steps": plan})
    assert opened(done) == ["plan/a"]
    done = bench.workflows.submit(done.execution_id, "plan/a", {"summary": "A"})
    assert opened(done) == ["plan/b", "plan/c"]
    assert ticket(done, "plan/b").instructions.startswith("b after A")
    bench.workflows.submit(done.execution_id, "plan/b", {"summary": "B"})
    done = bench.workflows.submit(done.execution_id, "plan/c", DONE)
    assert (opened(done), done.opened[0].instructions) == (["end"], "end B")
    assert bench.workflows.records.execution(done.execution_id).totals["total"] == 5


@pytest.mark.requirement("workflow:plan")
@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ("text", "not empty"),
        ([child("a", "b"), child("b", "a")], "wait for each other"),
        ([child("a", "z")], "not a step"),
        ([child("a"), child("a")], "used twice"),
        ([child("a", tools=["edit"])], "no more than: read"),
        ([child("a", on_fail="rollback:a")], "on_fail must be one of"),
        ([child("a", prompt="@{outputs.gone.x}")], "there is no step 'gone'"),
        ([child("a", kind="plan", tools=None)], "cannot contain plans"),
        ([child("a", persona="wizard")], "no persona 'wizard'"),
        ([child("a", status="completed")], "unknown fields: status"),
        ([child("a", prompt="@{outputs.b.x}"), child("b")], "not before it"),
        ([child(f"s{i}") for i in range(51)], "more than 50"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused_and_can_be_sent_again(
    bench: Bench, steps: object, fault: str
) -> None:
    done = bench.begin(PLAN)
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(done.opened[0].token, {"summary": "p", "steps": steps})
    assert fault in str(refused.value)
    assert bench.steps(done.execution_id) == {"plan": "running", "end": "pending"}
    good = {"summary": "p", "steps": [child("a")]}
    assert opened(bench.workflows.advance(done.opened[0].token, good)) == ["plan/a"]


@pytest.mark.requirement("workflow:replan")
def test_a_new_plan_keeps_what_is_done_and_unchanged(bench: Bench) -> None:
    done = bench.begin(PLAN)
    first = [child("a"), child("b", "a", on_fail="replan") | {"attempts": 1}]
    del first[1]["on_fail"]
    bench.workflows.submit(done.execution_id, "plan", {"summary": "p", "steps": first})
    bench.workflows.submit(done.execution_id, "plan/a", {"summary": "kept"})
    second = [child("a"), child("c", "a")]
    done = bench.workflows.replan(done.execution_id, "plan", second)
    assert opened(done) == ["plan/c"]
    assert bench.steps(done.execution_id) == {
        "plan": "completed", "plan/a": "completed", "plan/c": "running", "end": "pending",
    }  # fmt: skip
    changed = [child("a", prompt="other"), child("c", "a")]
    done = bench.workflows.replan(done.execution_id, "plan", changed)
    assert opened(done) == ["plan/a"]


@pytest.mark.requirement("workflow:replan")
def test_the_same_error_is_replanned_twice_and_no_more(bench: Bench) -> None:
    done = bench.begin(PLAN.replace("needs: [plan]", "needs: [plan], on_fail: replan"))
    execution = done.execution_id
    for round_ in range(3):
        bench.workflows.submit(execution, "plan", {"summary": "p", "steps": [child("a")]})
        if bench.steps(execution)["plan/a"] == "running":
            bench.workflows.submit(execution, "plan/a", DONE)
        done = bench.workflows.fail_step(execution, "end", f"port {round_} was busy at 0x{round_}")
        expected = "replanned" if round_ < 2 else "failed"
        assert (done.outcome, round_) == (expected, round_)
    assert "same error" in done.message


@pytest.mark.requirement("workflow:lists")
def test_a_list_is_worked_through_and_a_failed_item_does_not_end_it(bench: Bench) -> None:
    done = bench.begin("""
        params: {items: {required: true}}
        steps:
          - {id: a, prompt: "do @{item.title}", each: "@{params.items}", attempts: 2}
    """, items=["one", {"content": "two"}])  # fmt: skip
    assert done.opened[0].instructions.startswith("do one")
    done = bench.workflows.fail_step(done.execution_id, "a", "no")
    assert (done.outcome, done.opened[0].task and done.opened[0].task.title) == ("retried", "one")
    done = bench.workflows.fail_step(done.execution_id, "a", "no")
    assert done.opened[0].instructions.startswith("do two")
    done = bench.workflows.submit(done.execution_id, "a", DONE)
    assert done.state == "completed"
    (step,) = bench.workflows.records.steps(done.execution_id)
    assert [t.status for t in step.tasks] == ["failed", "completed"]
    assert (step.output or {})["summary"] == "1 of 2 completed."


@pytest.mark.requirement("workflow:lists")
def test_what_is_no_list_fails_by_name(bench: Bench) -> None:
    done = bench.begin("""
        params: {items: {required: true}}
        steps: [{id: a, prompt: a, each: "@{params.items}", attempts: 1}]
    """, items="text")  # fmt: skip
    assert (done.state, "is not a list" in done.message) == ("failed", True)


@pytest.mark.requirement("workflow:verbs")
def test_an_item_that_was_cancelled_is_not_lost_when_work_goes_on(bench: Bench) -> None:
    done = bench.begin("""
        params: {items: {default: [x, y]}}
        steps:
          - {id: a, prompt: "@{item.title}", each: "@{params.items}"}
          - {id: b, prompt: b, on_fail: abort}
    """)  # fmt: skip
    bench.workflows.fail_step(done.execution_id, "b", "no")
    again = bench.workflows.steer("retry", done.execution_id, "b")
    assert sorted(opened(again)) == ["a", "b"]
    task = ticket(again, "a").task
    assert task is not None
    assert task.position == 0
