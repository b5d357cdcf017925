"""Executions from start to end: midex's vectors, real dependencies, states and what they refuse."""

import json

import pytest

from sam_tui.core.ports.workflows import EventQuery, FindingQuery
from sam_tui.core.workflow.execution.case import NEXT, require_next
from sam_tui.core.workflow.execution.output import FindingDraft
from sam_tui.core.workflow.views import WorkflowRefused
from tests.workflow.bench import DONE, Bench, code_of, opened, ticket

FEATURE = """
    phases:
      - {phase: design, agent: architect, description: design it}
      - {phase: implement, agent: implementer, description: build it, dependsOn: [design]}
      - {phase: review, agent: reviewer, description: look, dependsOn: [implement]}
"""
FORK = """
    steps:
      - {id: a, prompt: a}
      - {id: b, prompt: b, needs: [a]}
      - {id: c, prompt: c, needs: [a]}
      - {id: d, prompt: "d after @{outputs.b.summary} and @{outputs.c.summary}", needs: [b, c]}
"""


def begin_feature(bench: Bench):
    """midex's example, started."""
    for name in ("architect", "implementer", "reviewer"):
        bench.persona(name)
    return bench.begin(FEATURE)


@pytest.mark.requirement("workflow:midex-start")
def test_a_start_opens_the_first_phase_with_its_persona_and_a_token(bench: Bench) -> None:
    done = begin_feature(bench)
    assert (done.state, done.outcome, opened(done)) == ("running", "started", ["design"])
    first = done.opened[0]
    assert (first.persona, first.persona_text) == ("architect", "You are the architect.")
    assert first.instructions == "design it\n\nThe body."
    assert first.token
    assert bench.steps(done.execution_id) == {
        "design": "running", "implement": "pending", "review": "pending",
    }  # fmt: skip


@pytest.mark.requirement("workflow:midex-next")
def test_phases_follow_one_another_to_the_end_each_with_a_new_token(bench: Bench) -> None:
    done = begin_feature(bench)
    tokens: list[str] = []
    seen: list[tuple[str, str]] = []
    while done.opened:
        one = done.opened[0]
        tokens.append(one.token)
        seen.append((one.step, one.persona))
        done = bench.workflows.advance(one.token, {"summary": one.step, "artifacts": ["r1"]})
    assert seen == [
        ("design", "architect"),
        ("implement", "implementer"),
        ("review", "reviewer"),
    ]
    assert len(set(tokens)) == 3
    assert (done.state, done.outcome) == ("completed", "completed")
    view = bench.workflows.records.execution(done.execution_id)
    assert view.progress == "3/3"
    assert view.completed_at is not None
    history = bench.workflows.records.history(done.execution_id)
    assert [(a.step, a.status, (a.output or {})["summary"]) for a in history] == [
        ("design", "completed", "design"),
        ("implement", "completed", "implement"),
        ("review", "completed", "review"),
    ]
    types = bench.types(done.execution_id)
    assert types[:5] == [
        "workflow_created", "workflow_state_transition", "workflow_started", "step_started",
        "token_generated",
    ]  # fmt: skip
    assert types[-1] == "workflow_completed"


@pytest.mark.requirement("workflow:progress")
def test_progress_and_totals_come_from_the_definition(bench: Bench) -> None:
    done = begin_feature(bench)
    totals = bench.workflows.records.execution(done.execution_id).totals
    assert [totals[name] for name in ("total", "running", "pending")] == [3, 1, 2]
    bench.workflows.advance(done.opened[0].token, DONE)
    assert bench.workflows.records.execution(done.execution_id).progress == "1/3"


@pytest.mark.requirement("workflow:dag")
def test_a_fan_out_runs_side_by_side_and_a_join_waits_for_all(bench: Bench) -> None:
    done = bench.begin(FORK)
    done = bench.workflows.advance(done.opened[0].token, DONE)
    assert opened(done) == ["b", "c"]
    second = bench.workflows.advance(ticket(done, "c").token, {"summary": "C"})
    assert (opened(second), second.outcome) == ([], "waiting")
    third = bench.workflows.advance(ticket(done, "b").token, {"summary": "B"})
    assert opened(third) == ["d"]
    assert third.opened[0].instructions == "d after B and C"


@pytest.mark.requirement("workflow:dag")
def test_order_in_the_file_does_not_matter_and_nothing_is_skipped(bench: Bench) -> None:
    for name in ("x", "y", "z"):
        bench.persona(name)
    done = bench.begin("""
        phases:
          - {phase: b, agent: x, description: b, dependsOn: [a]}
          - {phase: a, agent: y, description: a}
          - {phase: c, agent: z, description: c}
    """)
    order: list[str] = []
    while done.opened:
        order.append(done.opened[0].step)
        done = bench.workflows.advance(done.opened[0].token, DONE)
    assert (sorted(order), done.state) == (["a", "b", "c"], "completed")
    assert order.index("a") < order.index("b")


@pytest.mark.requirement("workflow:dag")
def test_a_step_that_may_not_run_beside_others_runs_alone(bench: Bench) -> None:
    done = bench.begin("""
        steps:
          - {id: a, prompt: a}
          - {id: b, prompt: b, parallel: false}
          - {id: c, prompt: c}
    """)
    assert opened(done) == ["a", "c"]
    done = bench.workflows.advance(ticket(done, "a").token, DONE)
    assert opened(done) == []
    third = bench.workflows.tickets(done.execution_id)[0]
    assert opened(bench.workflows.advance(third.token, DONE)) == ["b"]


@pytest.mark.requirement("workflow:dag")
def test_no_more_steps_run_at_once_than_the_policy_allows(bench: Bench) -> None:
    done = bench.begin("""
        policy: {parallel: 2}
        steps: [{id: a, prompt: a}, {id: b, prompt: b}, {id: c, prompt: c}]
    """)
    assert opened(done) == ["a", "b"]
    assert opened(bench.workflows.advance(done.opened[0].token, DONE)) == ["c"]


@pytest.mark.requirement("workflow:when")
def test_a_step_whose_condition_does_not_hold_is_skipped_and_counts_as_done(bench: Bench) -> None:
    text = """
        params: {deep: {default: false}}
        steps:
          - {id: a, prompt: a}
          - {id: b, prompt: b, needs: [a], when: [{value: "@{params.deep}", is: equals, to: true}]}
          - {id: c, prompt: c, needs: [b]}
    """
    done = bench.begin(text)
    assert opened(bench.workflows.advance(done.opened[0].token, DONE)) == ["c"]
    done = bench.workflows.start("flow", {"deep": True})
    assert opened(bench.workflows.advance(done.opened[0].token, DONE)) == ["b"]


@pytest.mark.requirement("workflow:states")
def test_every_pair_of_states_is_allowed_or_refused_by_the_table() -> None:
    for before, allowed in NEXT.items():
        for after in NEXT:
            if after in allowed:
                require_next("e", before, after)
            else:
                with pytest.raises(WorkflowRefused) as refused:
                    require_next("e", before, after)
                assert refused.value.details["from"] == before
    assert NEXT["idle"] == {"running", "abandoned"}
    assert not NEXT["completed"]
    assert not NEXT["abandoned"]


@pytest.mark.requirement("workflow:verbs")
def test_pause_refuses_work_and_resume_gives_fresh_tokens(bench: Bench) -> None:
    done = begin_feature(bench)
    bench.workflows.steer("pause", done.execution_id, "lunch")
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(done.opened[0].token, DONE)
    assert code_of(refused) == "execution_paused"
    assert bench.workflows.records.execution(done.execution_id).reason == "lunch"
    assert bench.workflows.tickets(done.execution_id) == ()
    again = bench.workflows.steer("resume", done.execution_id)
    assert opened(again) == ["design"]
    assert again.opened[0].attempt == 1
    assert bench.workflows.advance(again.opened[0].token, DONE).state == "running"


@pytest.mark.requirement("workflow:verbs")
def test_an_idle_execution_begins_when_it_is_resumed(bench: Bench) -> None:
    bench.define("steps: [{id: a, prompt: a}]")
    done = bench.workflows.start("flow", hold=True)
    assert (done.state, done.opened) == ("idle", ())
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.steer("pause", done.execution_id)
    assert code_of(refused) == "transition_invalid"
    assert opened(bench.workflows.steer("resume", done.execution_id)) == ["a"]


@pytest.mark.requirement("workflow:verbs")
def test_an_abandoned_execution_cancels_what_is_open_and_stays_ended(bench: Bench) -> None:
    done = begin_feature(bench)
    bench.workflows.steer("abandon", done.execution_id, "because")
    assert bench.workflows.records.execution(done.execution_id).reason == "because"
    assert [a.status for a in bench.workflows.records.history(done.execution_id)] == ["cancelled"]
    for again, code in (
        (lambda: bench.workflows.advance(done.opened[0].token, DONE), "execution_closed"),
        (lambda: bench.workflows.steer("resume", done.execution_id), "transition_invalid"),
        (lambda: bench.workflows.steer("retry", done.execution_id, "design"), "transition_invalid"),
    ):
        with pytest.raises(WorkflowRefused) as refused:
            again()
        assert code_of(refused) == code


@pytest.mark.requirement("workflow:verbs")
@pytest.mark.parametrize(("state", "on_exhausted"), [("failed", "abort"), ("diverged", "diverge")])
def test_a_failed_or_diverged_execution_cancels_what_is_open_and_is_opened_by_retry_alone(
    bench: Bench, state: str, on_exhausted: str
) -> None:
    bench.define(
        f"policy: {{rollbacks: 0, on_exhausted: {on_exhausted}}}\n"
        "steps: [{id: a, prompt: a}, {id: b, needs: [a], prompt: b, on_fail: 'rollback:a'},"
        " {id: c, needs: [a], prompt: c}]"
    )
    done = bench.workflows.start("flow")
    opened_next = bench.workflows.advance(done.opened[0].token, DONE).opened
    failed = bench.workflows.fail_step(done.execution_id, "b", "")
    assert (failed.state, failed.failures[0].message) == (state, "failed")
    statuses = {a.step: a.status for a in bench.workflows.records.history(done.execution_id)}
    assert statuses == {"a": "completed", "b": "failed", "c": "cancelled"}
    for refuse in (
        lambda: bench.workflows.advance(opened_next[1].token, DONE),
        lambda: bench.workflows.steer("resume", done.execution_id),
    ):
        with pytest.raises(WorkflowRefused) as refused:
            refuse()
        assert code_of(refused) == "execution_closed"
    again = bench.workflows.steer("retry", done.execution_id, "b")
    assert (again.state, sorted(opened(again))) == ("running", ["b", "c"])
    assert {ticket.step: ticket.attempt for ticket in again.opened} == {"b": 2, "c": 2}


@pytest.mark.requirement("workflow:verbs")
def test_unknown_executions_workflows_and_steps_are_refused_by_name(bench: Bench) -> None:
    done = begin_feature(bench)
    for call, code in (
        (lambda: bench.workflows.records.execution("nope"), "execution_unknown"),
        (lambda: bench.workflows.start("flaw"), "workflow_unknown"),
        (lambda: bench.workflows.submit(done.execution_id, "review", DONE), "phase_mismatch"),
        (lambda: bench.workflows.steer("retry", done.execution_id, "nope"), "step_unknown"),
        (lambda: bench.workflows.steer("decide", done.execution_id, "retry"), "nothing_asked"),
        (lambda: bench.workflows.records.read_artifact("nope"), "artifact_unknown"),
        (
            lambda: bench.workflows.start("flow", execution_id=done.execution_id),
            "execution_exists",
        ),
        (lambda: bench.workflows.start("flow", execution_id="../x"), "execution_id_invalid"),
        (lambda: bench.workflows.start("flow", {"nope": 1}), "params_invalid"),
    ):
        with pytest.raises(WorkflowRefused) as refused:
            call()
        assert code_of(refused) == code
    assert "flow" in WorkflowRefused.explain(_unknown(bench))


def _unknown(bench: Bench) -> WorkflowRefused:
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.start("flwo")
    return refused.value


@pytest.mark.requirement("workflow:mismatch")
def test_a_wrong_phase_is_an_error_that_says_which_is_open(bench: Bench) -> None:
    done = begin_feature(bench)
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.submit(done.execution_id, "implement", DONE)
    assert refused.value.details == {"expected": ["design"], "got": "implement"}
    assert bench.types(done.execution_id)[-1] == "refused"


@pytest.mark.requirement("workflow:output")
@pytest.mark.parametrize(
    "output",
    [{}, {"summary": " "}, [], 7, None, {"summary": "x", "artifacts": [{"type": "nonsense"}]}, ""],
)
def test_an_output_that_does_not_fit_is_refused_and_the_token_stays_good(
    bench: Bench, output: object
) -> None:
    done = begin_feature(bench)
    token = done.opened[0].token
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(token, output)
    assert code_of(refused) == "output_invalid"
    assert refused.value.details["faults"]
    assert opened(bench.workflows.advance(token, "in words")) == ["implement"]


@pytest.mark.requirement("workflow:output")
def test_an_output_schema_is_enforced_fault_by_fault(bench: Bench) -> None:
    done = bench.begin("""
        steps:
          - id: a
            prompt: a
            output:
              type: object
              required: [score, names]
              additionalProperties: false
              properties:
                score: {type: integer, minimum: 1, maximum: 5}
                names: {type: array, minItems: 1, items: {type: string, enum: [x, y]}}
    """)
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(done.opened[0].token, {"score": 9, "names": ["q"], "current": 4})
    assert refused.value.details["faults"] == [
        "output.score must be at most 5",
        "output.names[0] must be one of x, y",
        "output.current is not known",
    ]
    output = {"score": 3, "names": ["x"], "summary": "reserved fields are always known"}
    assert bench.workflows.advance(done.opened[0].token, output).state == "completed"


@pytest.mark.requirement("workflow:events")
def test_every_change_has_an_event_with_a_growing_number(bench: Bench) -> None:
    first, second = begin_feature(bench), bench.workflows.start("flow")
    bench.workflows.advance(first.opened[0].token, DONE)
    bench.workflows.steer("abandon", second.execution_id)
    events = bench.workflows.records.reader.events(EventQuery(limit=1000))
    numbers = [event.seq for event in events]
    assert numbers == sorted(set(numbers))
    assert [e.seq for e in bench.told] == numbers
    after = bench.workflows.records.reader.events(
        EventQuery(first.execution_id, after=numbers[4], limit=3)
    )
    assert [e.seq for e in after] == [n for n in numbers if n > numbers[4]][:0] or len(after) == 3
    newest = bench.workflows.records.reader.events(
        EventQuery(second.execution_id, limit=1, newest=True)
    )
    assert newest[0].type == "workflow_abandoned"
    assert all(isinstance(json.loads(e.data_json), dict) for e in events)


@pytest.mark.requirement("workflow:pins")
def test_an_execution_keeps_the_definition_and_personas_it_was_started_with(bench: Bench) -> None:
    done = begin_feature(bench)
    bench.persona("implementer", "You are somebody else.")
    bench.define("steps: [{id: other, prompt: x}]")
    done = bench.workflows.advance(done.opened[0].token, DONE)
    assert done.opened[0].persona_text == "You are the implementer."
    assert opened(bench.workflows.start("flow")) == ["other"]


@pytest.mark.requirement("workflow:pins")
def test_a_persona_that_does_not_exist_stops_the_start_and_nothing_is_left(bench: Bench) -> None:
    bench.persona("architect")
    bench.define(FEATURE)
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.start("flow")
    assert code_of(refused) == "workflow_invalid"
    assert bench.workflows.records.executions() == ()


@pytest.mark.requirement("workflow:prune")
def test_what_ended_long_ago_is_deleted_but_for_accepted_findings(bench: Bench) -> None:
    done, running = begin_feature(bench), bench.workflows.start("flow")
    draft = FindingDraft(
        title="kept", content="c", source_execution_id=done.execution_id, accepted=True
    )
    kept = bench.workflows.notes.add_finding(draft)
    bench.workflows.steer("abandon", done.execution_id)
    assert bench.workflows.upkeep.prune(86_400) == 0
    bench.clock.time += 90_000
    assert bench.workflows.upkeep.prune(86_400) == 1
    assert [v.id for v in bench.workflows.records.executions()] == [running.execution_id]
    assert bench.workflows.records.reader.findings(FindingQuery())[0].id == kept.id
    assert bench.types(done.execution_id) == []
