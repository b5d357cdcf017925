"""The plan JSON of seed 002: read with every fault at once, carried out as steps, written back."""

import json
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.workflow.definitions.stages import capabilities_json, read_capabilities, to_stages
from sam_tui.core.workflow.execution.output import first_value
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import WorkflowRefused
from tests.workflow.bench import DONE, Bench, opened, ticket
from tests.workflow.stage import Stage, on

FLOW = """
    policy: {on_exhausted: abort}
    params: {review: {default: "false"}}
    steps:
      - {id: plan, kind: plan, prompt: plan, form: stages, review: "@{params.review}"}
      - id: answer
        kind: llm
        prompt: answer
        needs: [plan]
        when: [{value: "@{outputs.plan.synthesise}", is: equals, to: true}]
"""


@pytest.fixture
def planned(bench: Bench) -> Bench:
    """A bench with the flow, three roles, and a registry of three tools."""
    for name, tools in (
        ("Orchestrator", "[LLMStepExecutor, FileSystemTool]"),
        ("Talker", "[voice.murmur, voice.note]"),
        ("Researcher", "[ping, gone]"),
    ):
        path = bench.workspace / ".sam" / "personas" / f"{name}.md"
        path.write_text(f"---\nname: {name}\ndescription: The {name}.\ntools: {tools}\n---\nYou.\n")
    bench.define(FLOW)
    tools = {"voice.murmur": "murmurs", "voice.note": "notes", "ping": "pings"}
    bench.workflows = Workflows(
        bench.store, bench.source, bench.clock, bench.told.append, lambda: tools
    )
    return bench


def sub(id_: str, tool: str = "voice.murmur", role: str = "Talker", **given: Any) -> dict[str, Any]:
    """A sub-task."""
    return {"stepId": id_, "assigned_agent_role": role, "tool_name": tool,
            "sub_task_input": given or {"text": id_}, "narrative_step": f"do {id_}"}  # fmt: skip


def handed(bench: Bench, stages: object, execution: str = "") -> list[str]:
    """Hand in a plan, and say what is wrong with it."""
    execution = execution or bench.workflows.start("flow").execution_id
    try:
        bench.workflows.submit(execution, "plan", {"summary": "p", "steps": stages})
    except WorkflowRefused as refused:
        assert refused.code == "output_invalid"
        return list(refused.details["faults"])
    return []


FAULTS: list[tuple[object, str]] = [
    ([["text"]], "stages[0][0]: a sub-task is an object"),
    ([[sub("a")], "text"], "stages[1]: a stage is a list of sub-tasks"),
    ([[]], "there is no sub-task in any stage"),
    ([[{**sub("a"), "timeout": -1}]], "stages[0][0].timeout: must be more than 0"),
    ([[{**sub("a"), "attempts": 0}]], "stages[0][0].attempts: must be"),
    ([[{"stepId": "a"}]], "stages[0][0].narrative_step: is missing"),
    ([[{**sub("a"), "status": "done"}]], "stages[0][0].status: is not known"),
    ([[sub("")]], "stages[0][0].stepId: an id is"),
    ([[sub("a b")]], "stages[0][0].stepId: an id is"),
    ([[sub("a")], [sub("a")]], "stages[1][0].stepId: 'a' is used twice"),
    ([[{**sub("a"), "narrative_step": "  "}]], "stages[0][0].narrative_step: must say"),
    ([[{**sub("a"), "sub_task_input": ["x"]}]], "stages[0][0].sub_task_input: must be an object"),
    ([[sub("a", role="Wizard")]], "stages[0][0].assigned_agent_role: there is no role 'Wizard'"),
    ([[sub("a", "ping")]], "stages[0][0].tool_name: Talker has no tool 'ping'"),
    ([[sub("a", "gone", "Researcher")]], "stages[0][0].tool_name: Researcher has no tool 'gone'"),
    ([[sub("a", "LLMStepExecutor", "Orchestrator", model="m")]],
     "stages[0][0].sub_task_input: needs a prompt"),
    ([[sub("a", text="@{outputs.b.text}"), sub("b")]],
     "stages[0][0]: @{outputs.b.text}: 'b' is not before it"),
    ([[sub("a", text="so @{outputs.a.text}!")]], "stages[0][0]: @{outputs.a.text}: 'a' is not before it"),
    ([[sub("a", text="@{outputs.z.result_data}")]],
     "stages[0][0]: @{outputs.z.result_data}: there is no step 'z'"),
    ([[sub("a", text="@{outputs}")]], "stages[0][0]: @{outputs} is not a reference"),
    ([[sub("a")], [sub("b", deep=[{"x": "@{outputs.c.text}"}])], [sub("c")]],
     "stages[1][0]: @{outputs.c.text}: 'c'"),
]  # fmt: skip


@pytest.mark.requirement("plans:stages")
@pytest.mark.parametrize(("stages", "fault"), FAULTS)
def test_each_fault_of_a_plan_is_named_with_its_place(
    planned: Bench, stages: object, fault: str
) -> None:
    faults = handed(planned, stages)
    assert [f for f in faults if f.startswith(fault)], faults


@pytest.mark.requirement("plans:stages")
def test_all_faults_of_a_plan_are_told_at_once(planned: Bench) -> None:
    many = [[sub("a", "ping")], [sub("b", role="Wizard"), {**sub("b"), "narrative_step": ""}],
            [sub("c", text="@{outputs.d.text} @{outputs.b.text}")]]  # fmt: skip
    faults = handed(planned, many)
    assert [fault.split(":")[0] for fault in faults] == [
        "stages[0][0].tool_name", "stages[1][0].assigned_agent_role", "stages[1][1].stepId",
        "stages[1][1].narrative_step", "stages[2][0]",
    ]  # fmt: skip


@pytest.mark.requirement("plans:stages")
def test_stages_wait_for_one_another_and_references_are_filled_in_whole_and_inside_text(
    planned: Bench,
) -> None:
    execution = planned.workflows.start("flow").execution_id
    stages = [
        [sub("a"), sub("b")], [],
        [sub("c", text="@{outputs.a.result_data.rows}", also="got @{outputs.b.result_data}!")],
        [sub("d", "LLMStepExecutor", "Orchestrator", prompt="say @{outputs.c.processed_result_data}")],
    ]  # fmt: skip
    done = planned.workflows.submit(execution, "plan", {"summary": "p", "steps": stages})
    assert opened(done) == ["plan/a", "plan/b"]
    rows = {"result_data": {"rows": [1, 2]}}
    planned.workflows.submit(execution, "plan/a", {"summary": "A", **rows})
    done = planned.workflows.submit(execution, "plan/b", {"summary": "B", "text": "bee"})
    assert opened(done) == ["plan/c"]
    third = ticket(done, "plan/c")
    assert (third.persona, third.spec.tool) == ("Talker", "voice.murmur")
    assert third.arguments == {"text": [1, 2], "also": "got bee!"}
    done = planned.workflows.submit(execution, "plan/c", {"summary": "C"})
    assert "say C" in ticket(done, "plan/d").instructions
    done = planned.workflows.submit(execution, "plan/d", DONE)
    assert opened(done) == ["answer"]


@pytest.mark.requirement("plans:stages")
@pytest.mark.parametrize(
    ("given", "prompt"),
    [
        ({"messages": [{"role": "system", "content": "be short"}, {"content": "hi"}], "prompt": "no"},
         "system: be short\n\nuser: hi"),
        ({"prompt_template": "sum {{ x }} of {previous_step_output}", "prompt_params": {"x": "$&"},
          "prompt": "no"}, "sum $& of before"),
        ({"prompt_template": "see {{ y }}", "prompt_params": {"y": "{previous_step_output}"}},
         "see before"),
        ({"prompt": "just this", "data_from_previous_step": True}, "just this"),
        ({"data_from_previous_step": True}, "before"),
    ],
)  # fmt: skip
def test_a_step_of_the_model_is_asked_by_messages_template_prompt_or_what_came_before(
    planned: Bench, given: dict[str, Any], prompt: str
) -> None:
    execution = planned.workflows.start("flow").execution_id
    stages = [[sub("a")], [sub("m", "LLMStepExecutor", "Orchestrator", **given)]]
    planned.workflows.submit(execution, "plan", {"summary": "p", "steps": stages})
    done = planned.workflows.submit(execution, "plan/a", {"summary": "before"})
    assert prompt in ticket(done, "plan/m").instructions


@pytest.mark.requirement("plans:final")
def test_a_last_step_that_is_the_answer_needs_no_other(planned: Bench) -> None:
    execution = planned.workflows.start("flow").execution_id
    last = sub("m", "LLMStepExecutor", "Orchestrator", prompt="p", isFinalAnswer=True)
    planned.workflows.submit(execution, "plan", {"summary": "p", "steps": [[sub("a")], [last]]})
    planned.workflows.submit(execution, "plan/a", DONE)
    done = planned.workflows.submit(execution, "plan/m", DONE)
    assert (done.state, planned.steps(execution)["answer"]) == ("completed", "skipped")


@pytest.mark.requirement("plans:stages")
def test_a_plan_is_written_as_it_was_read(planned: Bench) -> None:
    execution = planned.workflows.start("flow").execution_id
    stages = [[sub("a"), sub("b")], [sub("c", text="@{outputs.a.text}")]]
    assert handed(planned, stages, execution) == []
    assert to_stages(planned.workflows.records.plan(execution)) == stages


WRITTEN = [
    "```json\n{plan}\n```\n",
    "```\n{plan}\n```",
    "Here is [the] plan, {{as}} you wished:\n\n{plan}\n\nIt has 2 stages.",
    "{plan},",
]


@pytest.mark.requirement("plans:tolerant")
@pytest.mark.parametrize("around", WRITTEN)
@pytest.mark.parametrize("commas", [False, True])
async def test_a_plan_is_read_from_what_a_model_writes(
    planned: Bench, tmp_path: Path, around: str, commas: bool
) -> None:
    # The second stage is written without its list.
    plan = json.dumps([[sub("a", text='x,] "quoted", }')], sub("b")], indent=1)
    plan = plan.replace("\n }", ",\n }").replace("\n ]", ",\n ]") if commas else plan
    text = around.replace("{plan}", plan)
    stage = Stage(planned, tmp_path / "k", on("plan", text), on("answer", "the end"))
    execution = planned.workflows.start("flow").execution_id
    assert (await stage.run(execution)).state == "completed"
    assert stage.kit.journal.lines == [
        'begin x,] "quoted", }',
        'end x,] "quoted", }',
        "begin b",
        "end b",
    ]


@pytest.mark.requirement("plans:tolerant")
async def test_a_plan_with_faults_is_asked_for_once_more_with_all_of_them(
    planned: Bench, tmp_path: Path
) -> None:
    bad = json.dumps([[sub("a", "ping"), sub("a")]])
    repair = [{"when": {"user": "cannot be taken"}, "text": json.dumps([[sub("a")]])}]
    stage = Stage(planned, tmp_path / "k", repair, on("plan", bad), on("answer", "the end"))
    execution = planned.workflows.start("flow").execution_id
    assert (await stage.run(execution)).state == "completed"
    plans = [a for a in planned.workflows.records.history(execution) if a.step == "plan"]
    assert len(plans) == 1


@pytest.mark.requirement("plans:tolerant")
def test_text_without_a_plan_is_read_in_no_time_and_gives_none() -> None:
    assert first_value("[" * 100_000 + "{" * 100_000, lambda _: True) is None
    assert first_value('"[1,]', lambda _: True) == [1]


@pytest.mark.requirement("plans:capabilities")
def test_a_planner_is_told_what_can_be_called_and_its_plan_is_held_to_what_it_was_told(
    planned: Bench,
) -> None:
    done = planned.workflows.start("flow")
    told = done.opened[0].instructions
    assert "- Talker: The Talker." in told
    assert "  - voice.murmur: murmurs" in told
    assert "  - not there now: gone" in told
    assert "FileSystemTool" not in told.split("not there now")[0].partition("Orchestrator")[2]
    written = capabilities_json(planned.workflows.capabilities())
    assert read_capabilities(written) == planned.workflows.capabilities()
    assert [row["role"] for row in json.loads(written)] == ["Orchestrator", "Researcher", "Talker"]
    # A role file that changes later changes no execution that has begun.
    (planned.workspace / ".sam" / "personas" / "Talker.md").unlink()
    assert handed(planned, [[sub("a")]], done.execution_id) == []
    assert handed(planned, [[sub("a")]]) != []


@pytest.mark.requirement("plans:review")
def test_a_plan_waits_for_approval_can_be_changed_and_is_carried_out_then(planned: Bench) -> None:
    workflows = planned.workflows
    execution = workflows.start("flow", {"review": "true"}).execution_id
    done = workflows.submit(execution, "plan", {"summary": "p", "steps": [[sub("a")]]})
    view = workflows.records.execution(execution)
    assert (done.outcome, view.state, opened(done)) == ("asked", "paused", [])
    assert view.question is not None
    assert view.question.choices == ("approve", "retry", "abort")
    with pytest.raises(WorkflowRefused) as refused:
        workflows.steer("resume", execution)
    assert refused.value.code == "plan_unapproved"
    assert refused.value.details == {"execution_id": execution}
    with pytest.raises(WorkflowRefused):
        workflows.replan(execution, "plan", [[sub("a", "ping")]])
    workflows.replan(execution, "plan", [[sub("b")]])
    assert workflows.records.execution(execution).question is not None
    assert opened(workflows.steer("decide", execution, "approve")) == ["plan/b"]
    again = workflows.fail_step(execution, "plan/b", "no")
    assert opened(again) == ["plan"]
    again = workflows.submit(execution, "plan", {"summary": "p", "steps": [[sub("c")]]})
    assert (again.state, opened(again)) == ("running", ["plan/c"])
