"""``sam-tui plan``, the modes of a planned task, and templates."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.errors import UsageError
from sam_tui.core.workflow.planned import MemoryBank, PlannedTasks
from sam_tui.core.workflow.views import WorkflowRefused
from sam_tui.folders import settings_folder
from tests.workflow.bench import Bench
from tests.workflow.test_bundled import thought
from tests.workflow.test_command import Shell

Play = dict[str, Any]


def play(user: str, text: object) -> Play:
    """An answer to a prompt."""
    return {"when": {"user": user}, "text": text if isinstance(text, str) else json.dumps(text)}


def ask(id_: str, prompt: str) -> Play:
    """A sub-task of the model with a prompt of its own."""
    return thought(id_) | {"sub_task_input": {"prompt": prompt}}


FIRST = [[ask("look", "look at bees")], [ask("join", "break @{outputs.look.result_data}")]]
SECOND = [[ask("look", "look at bees")], [ask("join", "join @{outputs.look.result_data}")]]
PLAYS = [
    play("too few words", SECOND),
    play("there is no hive", SECOND),
    play("step plan,", FIRST),
    play("step plan/look,", "ultraviolet"),
    play("break ultraviolet", {"success": False, "summary": "there is no hive"}),
    play("step plan/join,", "joined"),
    play("step answer,", "Bees see ultraviolet."),
]


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Shell:
    """The program with a script."""
    (tmp_path / "script.json").write_text(json.dumps(PLAYS), "utf-8")
    return Shell(tmp_path, capfd)


def plan(shell: Shell, *words: str, code: int = 0) -> Any:
    """A command of the agent; its JSON."""
    model = ["--model", f"scripted:{shell.folder / 'script.json'}", "--json"]
    return json.loads(shell(*words, *model, code=code, group="plan"))


@pytest.mark.requirement("plans:cli", "plans:modes")
def test_a_plan_is_made_shown_changed_approved_replanned_and_exported(shell: Shell) -> None:
    made = plan(shell, "new", "how do bees see", "--id", "t1")
    assert (made["success"], made["plan"], made["finalAnswer"]) == (True, FIRST, None)
    assert [e["status"] for e in made["executedPlan"]] == ["PENDING", "PENDING"]
    for words, group in ((("run", "t1"), "plan"), (("--port", "0"), "serve")):
        refused = shell(*words, "--hand-out", "UtilityAgent,Chef", code=2, group=group)
        assert "There are: ResearchAgent, UtilityAgent." in refused
    shown = shell("show", "t1", group="plan")
    assert "[ ] join  Orchestrator/LLMStepExecutor  think join" in shown
    assert "sam-tui plan run t1" in shown
    file = shell.folder / "plan.json"
    file.write_text(json.dumps([[thought("x") | {"tool_name": "Gone"}]]), "utf-8")
    refused = shell("replan", "t1", "--file", str(file), "--json", code=1, group="plan")
    assert "stages[0][0].tool_name" in refused
    file.write_text(json.dumps(FIRST), "utf-8")
    shell("replan", "t1", "--file", str(file), group="plan")
    done = plan(shell, "run", "t1")
    assert (done["success"], done["plan"], done["finalAnswer"]) == (
        True, SECOND, "Bees see ultraviolet.",
    )  # fmt: skip
    executed = {e["stepId"]: e for e in done["executedPlan"]}
    assert executed["look"]["raw_result_data"] == "ultraviolet"
    assert (executed["join"]["status"], executed["join"]["processed_result_data"]) == (
        "COMPLETED", "joined",
    )  # fmt: skip
    errors = done["currentWorkingContext"]["errorsEncountered"]
    assert [e["errorMessage"] for e in errors] == ["there is no hive"]
    assert (done["originalTask"], done["parentTaskId"]) == ("how do bees see", "t1")
    seed = shell("export", "t1", "--format", "seed", group="plan")
    assert json.loads(seed) == SECOND


@pytest.mark.requirement("plans:cli", "workflow:cli-run")
def test_nothing_begins_or_goes_on_where_a_step_of_it_lacks_a_model(shell: Shell) -> None:
    def standing() -> str:
        return shell("status", "--json")

    params = json.dumps({"objective": "sums"})
    waiting = [
        plan(shell, "new", "how do bees see", "--id", "t1")["parentTaskId"],
        json.loads(shell("new", "weather in Rome", "--json", group="plan"))["parentTaskId"],
    ]
    before = standing()
    for group, *words in (
        ("plan", "new", "anything"), ("plan", "run", "anything"), ("plan", "replan", "t1"),
        ("workflow", "run", "plan-and-do", "--params", params),
        *(("plan", "run", task) for task in waiting),
        ("plan", "new", "x", "--task-mode", "SYNTHESIZE_ONLY", "--load", "t1"),
    ):  # fmt: skip
        assert "No model is chosen." in shell(*words, code=52, group=group)
    mistyped = shell("run", f"exec_{'0' * 24}", code=1, group="plan")
    assert "There is no execution" in mistyped and f"{waiting[1]}, t1" in mistyped
    assert standing() == before
    run = json.loads(shell("run", "what is 5*3?", "--json", group="plan"))
    assert (run["originalTask"], run["finalAnswer"]) == ("what is 5*3?", "15")


@pytest.mark.requirement("plans:cli", "workflow:cli")
def test_what_to_do_is_said_after_a_wrong_id_a_failed_plan_and_one_without_a_planner(
    shell: Shell,
) -> None:
    (shell.folder / "script.json").write_text(json.dumps([{"text": "Sorry."}]), "utf-8")
    model = "--model", f"scripted:{shell.folder / 'script.json'}"
    mistyped = shell("run", "exec_1", *model, code=1, group="plan")
    assert "There is no execution 'exec_1'" in mistyped
    failed = shell("new", "how do bees see", "--id", "t1", *model, code=1, group="plan")
    assert "there is no plan in the answer" in failed
    assert "To try again: sam-tui plan run t1" in failed
    assert "To try again: sam-tui workflow retry t1" in shell("status", "t1")
    shell("new", "weather in Rome", "--id", "t2", *model, group="plan")
    assert "weather, which has no step that plans" in shell(
        "replan", "t2", *model, code=1, group="plan"
    )


BANK = [
    "task_definition.md", "current_working_context.json", "key_decisions_and_learnings.md",
    "final_answer_archive.md", "execution_log_summary.md", "task_state.json", "journal.json",
]  # fmt: skip


@pytest.mark.requirement("plans:bank")
def test_the_memory_bank_is_written_from_the_store_and_stays_in_the_folder_of_its_day(
    shell: Shell,
) -> None:
    plan(shell, "new", "how do bees see", "--id", "t1")
    output = shell.folder / "saved"
    words = "export", "t1", "--format", "bank", "--output", str(output)
    folder = Path(shell(*words, group="plan").strip())
    assert re.fullmatch(r"tasks_\d{8}/t1/memory_bank", str(folder.relative_to(output)))
    state = json.loads((folder / "task_state.json").read_text())
    assert (state["status"], state["finalAnswer"]) == ("PLAN_GENERATED", None)
    plan(shell, "run", "t1")
    assert Path(shell(*words, group="plan").strip()) == folder
    assert sorted(file.name for file in folder.iterdir()) == sorted(BANK)
    texts = {name: (folder / name).read_text("utf-8") for name in BANK}
    assert "how do bees see" in texts["task_definition.md"]
    assert "Bees see ultraviolet." in texts["final_answer_archive.md"]
    assert "A new plan was requested" in texts["key_decisions_and_learnings.md"]
    assert "there is no hive" in texts["key_decisions_and_learnings.md"]
    assert "- join (Orchestrator/LLMStepExecutor) COMPLETED" in texts["execution_log_summary.md"]
    state = json.loads(texts["task_state.json"])
    assert (state["status"], state["plan"], state["plan_source"]) == ("COMPLETED", SECOND, "llm")
    assert json.loads(texts["current_working_context.json"]) == state["currentWorkingContext"]
    types = [entry["type"] for entry in json.loads(texts["journal.json"])]
    assert (types[0], types[-1]) == ("WORKFLOW_CREATED", "WORKFLOW_COMPLETED")


@pytest.mark.requirement("plans:bank")
def test_a_task_keeps_the_folder_of_the_day_that_it_began(bench: Bench) -> None:
    bench.define(WEATHER, "weather")
    task = PlannedTasks(bench.workflows).begin("weather in Rome")
    bench.clock.time += 2 * 86_400
    bench.workflows.steer("pause", task)
    assert MemoryBank(bench.workflows, task).folder == f"tasks_01121970/{task}/memory_bank"


@pytest.mark.requirement("plans:modes")
def test_a_full_plan_runs_to_its_answer_and_another_is_synthesised_from_what_it_came_to(
    shell: Shell,
) -> None:
    full = plan(shell, "new", "bees", "--task-mode", "EXECUTE_FULL_PLAN", "--id", "t1")
    assert full["finalAnswer"] == "Bees see ultraviolet."
    again = plan(shell, "new", "in one word", "--task-mode", "SYNTHESIZE_ONLY", "--load", "t1")
    assert (again["originalTask"], again["success"]) == ("in one word", True)
    assert again["parentTaskId"] != "t1"


@pytest.mark.requirement("plans:cli")
def test_another_plan_is_made_for_a_person_s_reason_and_waits_again(shell: Shell) -> None:
    plan(shell, "new", "bees", "--id", "t1")
    made = plan(shell, "replan", "t1", "--because", "too few words")
    assert (made["success"], made["plan"], made["finalAnswer"]) == (True, SECOND, None)


@pytest.mark.requirement("plans:capabilities")
def test_the_file_of_capabilities_has_the_roles_with_what_the_registry_can_call(
    shell: Shell,
) -> None:
    roles = Path(settings_folder()) / "personas"
    roles.mkdir(parents=True)
    tools = "[file_operations.read_file, think, NoSuchTool]"
    (roles / "Reader.md").write_text(f"---\ndescription: Reads.\ntools: {tools}\n---\nYou read.\n")
    rows = json.loads(shell("capabilities", group="plan"))
    file = shell.folder / "config" / "agentCapabilities.json"
    assert shell("capabilities", "--output", str(file), group="plan") == ""
    assert json.loads(file.read_text("utf-8")) == rows
    (reader,) = [row for row in rows if row["role"] == "Reader"]
    assert [tool["name"] for tool in reader["tools"]] == [
        "file_operations.read_file", "think", "AgentStepExecutor",
    ]  # fmt: skip
    assert (reader["missing"], reader["description"]) == (["NoSuchTool"], "Reads.")
    assert "thoughts" in reader["tools"][1]["description"]


@pytest.mark.requirement("plans:modes")
def test_a_mode_that_does_not_exist_or_lacks_its_task_is_refused(bench: Bench) -> None:
    tasks = PlannedTasks(bench.workflows)
    for task, mode in (("t", "PLAN"), (" ", "PLAN_ONLY"), ("t", "SYNTHESIZE_ONLY"),
                       ("t", "EXECUTE_PLANNED_TASK")):  # fmt: skip
        with pytest.raises(UsageError):
            tasks.begin(task, mode)
    with pytest.raises(WorkflowRefused):
        tasks.begin("", "EXECUTE_PLANNED_TASK", task_id="gone")


WEATHER = """
    matcher: "^(?:what is the )?weather in (?P<city>.+)$"
    params: {city: {type: text, required: true}, days: {default: 1}}
    steps:
      - {id: a, kind: tool, tool: voice.murmur, arguments: {text: "weather @{params.city}"}}
"""
SUM = """
    matcher: '^add (?P<n>\\S+)$'
    params: {n: {type: integer, required: true}, task: {}}
    steps: [{id: a, kind: llm, prompt: "@{params.task}"}]
"""


@pytest.mark.requirement("plans:templates")
def test_a_template_fits_a_whole_task_and_its_values_stay_values(bench: Bench) -> None:
    bench.define(WEATHER, "weather")
    bench.define(SUM, "sum")
    tasks = PlannedTasks(bench.workflows)
    city = 'Paris", "x": "$& @{params.days} {{CITY}}'
    execution = tasks.begin(f"What is the weather in {city}")
    (ticket,) = bench.workflows.tickets(execution)
    assert ticket.arguments == {"text": f"weather {city}"}
    held = tasks.begin("add 12", "PLAN_ONLY")
    view = bench.workflows.records.execution(held)
    assert (view.state, view.params) == ("idle", {"n": 12, "task": "add 12"})
    assert tasks.begin("", "EXECUTE_PLANNED_TASK", task_id=held) == held
    assert bench.workflows.records.execution(held).state == "running"
    match = bench.workflows.catalog.match
    for task in (
        "weather in ",
        "the weather in Rome",
        "add twelve",
        "add 1 and why",
        "weather in " + "x" * 500,
    ):
        assert match(task) is None, task


@pytest.mark.requirement("plans:templates", "plans:review")
def test_a_template_is_shown_and_waits_for_approval_as_a_plan_does(shell: Shell) -> None:
    made = plan(shell, "new", "what is 6*7?", "--id", "t1")
    ((step,),) = made["plan"]
    assert (step["tool_name"], step["assigned_agent_role"]) == ("CalculatorTool", "UtilityAgent")
    assert (made["success"], made["finalAnswer"]) == (True, None)
    assert [entry["status"] for entry in made["executedPlan"]] == ["PENDING"]
    done = plan(shell, "run", "t1")
    assert (done["finalAnswer"], done["executedPlan"][0]["status"]) == ("42", "COMPLETED")
    assert "The task is missing." in shell("run", " ", code=2, group="plan")


@pytest.mark.requirement("plans:templates")
def test_sums_and_weather_have_templates_that_take_nothing_else(tmp_path: Path) -> None:
    catalog = Bench(tmp_path, package=True).workflows.catalog
    cases: dict[str, tuple[str, dict[str, str]] | None] = {
        "what is 5*3?": ("calculate", {"expression": "5*3"}),
        "Calculate (1+2)^2": ("calculate", {"expression": "(1+2)^2"}),
        "what is love": None, "calculate   ": None, "what is (1+2)^2 and why": None,
        "What is the weather in Paris?": ("weather", {"place": "Paris"}),
        "weather in \"x\": $&": ("weather", {"place": "\"x\": $&"}), "weather": None,
    }  # fmt: skip
    for task, expected in cases.items():
        match = catalog.match(task)
        assert match == expected, task


@pytest.mark.requirement("plans:templates")
@pytest.mark.parametrize(
    "matcher", ["weather (?P<city>.+)", "^weather (?P<town>.+)$", "^weather ($"]
)
def test_a_matcher_is_anchored_and_names_parameters(bench: Bench, matcher: str) -> None:
    bench.define(WEATHER.replace("^(?:what is the )?weather in (?P<city>.+)$", matcher), "weather")
    assert "matcher" in str(bench.workflows.catalog.lint()[0])
