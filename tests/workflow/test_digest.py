"""What a model condenses, what memory tells a planner, the bank as it is written. About 2 s: two runs."""

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.storage import open_storage
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import UserMessage
from sam_tui.core.ports.memory import LearntDraft, Scope
from tests.fakes.openai_server import Recorded, Reply, background, failure
from tests.workflow.bench import Bench
from tests.workflow.stage import Stage, on
from tests.workflow.test_command import Shell
from tests.workflow.test_plan_models import asked_of, last
from tests.workflow.test_planned import BANK, ask

LONG = "buzz " * 2000


def file_step(id_: str, **values: str) -> dict[str, Any]:
    """A sub-task on a file of the task."""
    return {
        "stepId": id_, "assigned_agent_role": "Orchestrator", "tool_name": "FileSystemTool",
        "sub_task_input": {"operation": id_, "params": {"filename": "a.txt", **values}},
        "narrative_step": id_,
    }  # fmt: skip


def plan(*last_stage: dict[str, Any]) -> str:
    """A file is written, read, and told of to the steps of the last stage."""
    stages = [[file_step("create_file", content=LONG)], [file_step("read_file")]]
    return json.dumps([*stages, list(last_stage)])


USE = "@{outputs.read_file.processed_result_data}"
FIRST = plan(ask("one", f"first {USE}"), ask("two", f"break {USE}"))
SECOND = plan(ask("one", f"first {USE}"), ask("three", f"third {USE}"))
REFINED = {"updatedSummaryOfProgress": "Bees were counted.", "updatedNextObjective": "Rest."}


def reply(request: Recorded, summary: str) -> Reply:
    """What the models of the scene say."""
    asked = last(request)
    if "step plan," in asked:
        return Reply(text=SECOND if "there is no hive" in asked else FIRST)
    if "Summarise this result" in asked:
        return Reply(text=summary) if summary else failure(400, "no summaries")
    if "working context of a task" in asked:
        return Reply(text=json.dumps(REFINED))
    if "break " in asked:
        return Reply(text='{"success": false, "summary": "there is no hive"}')
    return Reply(text="An answer.")


@pytest.fixture
def shell(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """The program with models for its purposes."""
    for name in ("SUMMARY", "CONTEXT"):
        monkeypatch.setenv(f"SAM_TUI_{name}_MODEL", f"openai/{name.lower()}")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return Shell(tmp_path, capfd)


def run(shell: Shell, base: str, *words: str) -> dict[str, Any]:
    """Plan and carry out."""
    more = "--json", "--permission-mode", "accept-edits", "--sandbox", "off"
    more += "--model", "openai/usual", "--api-base", base
    return json.loads(shell("run", "count the bees", *words, *more, group="plan"))


@pytest.mark.requirement("plans:summaries", "plans:context", "plans:memory", "plans:bank")
def test_long_results_and_the_context_are_condensed_once_and_kept_whole(shell: Shell) -> None:
    storage = open_storage(str(shell.folder / "data"))
    learnt = LearntDraft("solution", "counting bees", "use the glass hive")
    storage.knowledge.add(Scope(f"workspace:{shell.workspace}"), learnt)
    storage.close()
    with background([partial(reply, summary="It buzzes.")] * 40) as server:
        done = run(shell, server.base, "--id", "t1")
    assert (done["success"], done["finalAnswer"]) == (True, "An answer.")
    assert asked_of(server.posts, "Summarise this result") == [("summary", None, None)]
    for part in ("first ", "break ", "third "):
        (prompt,) = {last(r) for r in server.posts if part in last(r) and "step plan/" in last(r)}
        assert f"{part}It buzzes." in prompt and LONG not in prompt
    assert asked_of(server.posts, "working context of a task") == [("context", None, None)] * 2
    first, second = (last(r) for r in server.posts if "step plan," in last(r))
    assert "use the glass hive" in first
    assert "Bees were counted." in second
    context = done["currentWorkingContext"]
    assert (context["summaryOfProgress"], context["nextObjective"]) == (
        "Bees were counted.",
        "Rest.",
    )

    (folder,) = (shell.folder / "data" / "saved_tasks").glob("*/t1/memory_bank")
    texts = {file.name: file.read_text("utf-8") for file in folder.iterdir()}
    results = ["result_data.txt", "result_data_summary.txt", "result_data_summary.txt.meta.json"]
    assert sorted(texts) == sorted([*BANK, *(f"plan_read_file_{name}" for name in results)])
    whole = texts["plan_read_file_result_data.txt"]
    assert LONG.strip() in whole
    assert texts["plan_read_file_result_data_summary.txt"] == "It buzzes."
    meta = json.loads(texts["plan_read_file_result_data_summary.txt.meta.json"])
    assert meta["originalContentHash"] == hashlib.sha256(whole.encode()).hexdigest()
    assert json.loads(texts["current_working_context.json"]) == context


@pytest.mark.requirement("plans:summaries")
def test_where_no_model_summarises_head_and_tail_stand_with_the_cut_declared(shell: Shell) -> None:
    with background([partial(reply, summary="")] * 40) as server:
        assert run(shell, server.base)["success"]
    (prompt,) = {last(r) for r in server.posts if "third " in last(r) and "step plan/" in last(r)}
    assert "characters left out" in prompt and LONG not in prompt


@pytest.mark.requirement("plans:bank")
async def test_the_bank_is_written_at_each_step_in_the_order_of_the_seed(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define(
        "steps: [{id: plan, kind: plan, prompt: p}, {id: end, kind: llm, prompt: e, needs: [plan]}]"
    )
    steps = {"summary": "p", "steps": [{"id": "a", "kind": "llm", "prompt": "a"}]}
    stage = Stage(bench, tmp_path / "k", on("plan", steps), on("plan/a"), on("end"))
    execution = bench.workflows.start("flow").execution_id
    await stage.run(execution)
    context, decisions = "current_working_context.json", "key_decisions_and_learnings.md"
    assert [path.rpartition("/")[2] for path in stage.saved] == [
        "task_definition.md", context,
        context, decisions, context, context,
        context, decisions, "final_answer_archive.md", "execution_log_summary.md",
        "task_state.json", "journal.json",
    ]  # fmt: skip


def told(step: str, *sources: str) -> dict[str, Any]:
    """A step of the model that is told of others in short."""
    uses = " ".join(f"@{{outputs.{source}.processed_result_data}}" for source in sources)
    return {"id": step, "kind": "llm", "prompt": f"tell {uses}", "needs": list(sources)}


@pytest.mark.requirement("plans:summaries")
async def test_a_summary_is_asked_for_when_its_text_is_new_and_long(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define("steps: [{id: plan, kind: plan, prompt: p}]")
    texts = {"a": "x" * 4001, "b": "x" * 4001, "c": "y" * 4001, "d": "z" * 4000}
    asked = [{"when": {"user": letter * 100}, "text": f"Of {letter}."} for letter in "xyz"]
    stage = Stage(bench, tmp_path / "k", on("plan/e"), asked)
    execution = bench.workflows.start("flow").execution_id
    steps = [{"id": id, "prompt": id} for id in texts]
    plan_ = {"summary": "p", "steps": [*steps, told("e", *texts)]}
    bench.workflows.submit(execution, "plan", plan_)
    for id, text in texts.items():
        bench.workflows.submit(execution, f"plan/{id}", {"summary": id, "text": text})
    assert (await stage.run(execution)).state == "completed"
    conversations = stage.kit.storage.conversations
    prompts = [
        message.text
        for child in conversations.children(ConversationId(execution))
        for message in conversations.messages(child.id)
        if isinstance(message, UserMessage)
    ]
    assert sum("Summarise this result" in prompt for prompt in prompts) == 2
    (prompt,) = [text for text in prompts if "step plan/e," in text]
    assert f"tell Of x. Of x. Of y. {'z' * 4000}" in prompt


@pytest.mark.requirement("plans:context")
@pytest.mark.parametrize("said", ["I cannot say.", '{"updatedSummaryOfProgress": 5}', "{}"])
async def test_words_that_are_no_answer_leave_the_context_as_it_is(
    bench: Bench, tmp_path: Path, said: str
) -> None:
    bench.define("policy: {on_exhausted: abort}\nsteps: [{id: plan, kind: plan, prompt: p}]")
    words = [{"when": {"user": "working context of a task"}, "text": said}]
    stage = Stage(bench, tmp_path / "k", words, on("plan", {"steps": [], "summary": "no way"}))
    execution = bench.workflows.start("flow").execution_id
    steps = [{"id": "a", "prompt": "a"}]
    bench.workflows.submit(execution, "plan", {"summary": "p", "steps": steps})
    bench.workflows.fail_step(execution, "plan/a", "there is no hive")
    before = bench.workflows.records.context(execution)
    await stage.run(execution)
    after = bench.workflows.records.context(execution)
    assert "there is no hive" in str(before["errorsEncountered"])
    assert after["keyFindings"] == before["keyFindings"]
    assert said not in (after["summaryOfProgress"], after["nextObjective"])
    assert isinstance(after["summaryOfProgress"], str) and after["summaryOfProgress"]
