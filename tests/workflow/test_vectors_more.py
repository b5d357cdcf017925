"""Vectors of midex's own tests that the engine keeps, with the values they name (spec D6)."""

import itertools
from functools import partial
from typing import Any

import pytest

from sam_tui.core.workflow.execution.case import require_next
from sam_tui.core.workflow.views import VERBS, VerbName, WorkflowRefused
from tests.workflow.bench import DONE, Bench, code_of, opened

pytestmark = pytest.mark.requirement("workflow:vectors")
ONE = "steps: [{id: a, prompt: a}]"
TWO = "steps: [{id: a, prompt: a}, {id: b, prompt: b, needs: [a]}]"


@pytest.mark.parametrize(("hours", "good"), [(0, True), (23, True), (25, False)])
def test_a_token_names_its_step_and_is_good_for_a_day(bench: Bench, hours: int, good: bool) -> None:
    done = bench.begin(TWO)
    bench.clock.time += hours * 3600
    token = done.opened[0].token
    if good:
        told = bench.workflows.advance(token, DONE, execution_id=done.execution_id)
        assert (opened(told), told.state) == (["b"], "running")
        return
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.advance(token, DONE)
    assert code_of(refused) == "token_expired"


def test_an_execution_is_idle_when_it_is_made_and_that_is_told(bench: Bench) -> None:
    bench.define(ONE)
    done = bench.workflows.start("flow", hold=True)
    assert (done.state, done.opened) == ("idle", ())
    assert bench.types(done.execution_id)[0] == "workflow_created"


def test_what_is_completed_has_its_time_and_duration(bench: Bench) -> None:
    done = bench.begin(ONE)
    assert bench.workflows.records.execution(done.execution_id).completed_at is None
    bench.clock.time += 90
    bench.workflows.advance(done.opened[0].token, DONE)
    view = bench.workflows.records.execution(done.execution_id)
    assert view.state == "completed"
    assert view.completed_at is not None
    assert view.completed_at - view.created_at == 90


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        (("idle", "running", "completed"), True),
        (("running", "paused", "running"), True),
        (("running", "failed"), True),
        (("running", "diverged"), True),
        (("running", "abandoned"), True),
        (("idle", "completed"), False),
        (("completed", "running"), False),
        (("abandoned", "running"), False),
    ],
)
def test_states_follow_one_another_as_in_the_original(path: tuple[Any, ...], allowed: bool) -> None:
    pairs = list(itertools.pairwise(path))
    if allowed:
        for before, after in pairs:
            require_next("e", before, after)
        return
    with pytest.raises(WorkflowRefused) as refused:
        require_next("e", *pairs[0])
    assert code_of(refused) == "transition_invalid"


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_an_execution_that_is_unknown_is_refused_by_every_verb(
    bench: Bench, verb: VerbName
) -> None:
    for call in (bench.workflows.records.execution, partial(bench.workflows.steer, verb)):
        with pytest.raises(WorkflowRefused) as refused:
            call("exec_unknown")
        assert code_of(refused) == "execution_unknown"


@pytest.mark.parametrize("form", ["steps", "phases"])
def test_a_workflow_without_phases_cannot_start_and_says_so(bench: Bench, form: str) -> None:
    bench.define(f"{form}: []")
    with pytest.raises(WorkflowRefused) as refused:
        bench.workflows.start("flow")
    assert code_of(refused) == "workflow_invalid"
    (problem,) = refused.value.details["problems"]
    assert f"{form}: " in problem
    assert "at least one entry" in problem


@pytest.mark.parametrize("name", ["''", "7"])
def test_a_definition_without_a_proper_name_is_a_problem_and_not_listed(
    bench: Bench, name: str
) -> None:
    path = bench.workspace / ".sam" / "workflows" / "flow.md"
    path.write_text(f"---\nname: {name}\n{ONE}\n---\n", "utf-8")
    assert bench.workflows.catalog.lint()
    assert bench.workflows.catalog.views() == ()


def test_a_definition_without_a_name_has_its_file_s(bench: Bench) -> None:
    path = bench.workspace / ".sam" / "workflows" / "flow.md"
    path.write_text(f"---\n{ONE}\n---\n", "utf-8")
    assert [view.name for view in bench.workflows.catalog.views()] == ["flow"]


def test_a_folder_that_is_not_there_holds_no_definition(bench: Bench) -> None:
    (bench.workspace / ".sam" / "workflows").rmdir()
    assert bench.workflows.catalog.views() == ()
    assert bench.workflows.catalog.lint() == ()
