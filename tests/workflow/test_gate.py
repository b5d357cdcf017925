"""The gate in execute, the reminder, the tool, and what counts as evidence."""

import json
from pathlib import Path
from typing import Any

import pytest

from sam_reminders.progress import WorkflowPhaseReminder
from sam_tools.workflow import WorkflowTool
from sam_tui.assembly.catalogue import adverts
from sam_tui.core.display import Terminal
from sam_tui.core.events import ToolFinished
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Reply
from sam_tui.core.messages import ToolCall
from sam_tui.core.ports.workflows import EventQuery
from sam_tui.core.prompt.reminders import TurnView
from sam_tui.core.tooling.executor import CallSurroundings, Executed, Executor
from sam_tui.core.tooling.offer import canonical, tool_schema
from sam_tui.core.tooling.registry import Registry
from sam_tui.core.workflow.drivers.run import EvidenceRecorder
from sam_tui.core.workflow.gate import (
    GROUPS,
    UNGATED,
    allows,
    conversation_gate,
    covers,
    spelled,
    subagent_gate,
)
from sam_tui.core.workflow.views import WorkflowRefused
from tests.fakes.engine_kit import Kit, example_tools
from tests.workflow.bench import DONE, Bench, open_kit

GATED = """
    steps:
      - {id: look, prompt: look around, tools: [voice.murmur]}
      - {id: act, prompt: act, needs: [look], tools: [voice, ping]}
      - {id: rest, prompt: rest, needs: [act]}
"""


class Floor:
    """An executor with the workflow tool beside the example tools, gated by conversation."""

    def __init__(self, bench: Bench, kit: Kit, answer: str = "") -> None:
        self.bench, self.kit = bench, kit
        self.recorder = EvidenceRecorder(bench.workflows, kit.bus)
        inquiries = Inquiries(
            kit.bus, bench.clock, attended=False,
            responder=(lambda _: Reply(answer)) if answer else None,
        )  # fmt: skip
        self.tool = WorkflowTool(lambda: bench.workflows, inquiries, self.recorder.flush).tool()
        registry = Registry([*example_tools(kit.journal), self.tool], disabled=["off"])
        self.executor = Executor(
            registry,
            CallSurroundings(
                kit.guard, kit.storage.results, kit.storage.decisions, kit.bus, bench.clock
            ),
        )
        self._count = 0

    async def call(self, name: str, /, **arguments: Any) -> Executed:
        """One call through the gate of the kit's conversation."""
        self._count += 1
        call = ToolCall(CallId(f"c{self._count}"), name, json.dumps(arguments))
        conversation = self.kit.conversation
        plan = self.executor.plan(call, self.recorder.gate(conversation))
        return await self.executor.run(plan, conversation)

    async def workflow(self, operation: str, /, **arguments: Any) -> str:
        """One call of the workflow tool; what the model reads."""
        return (await self.call("workflow", operation=operation, **arguments)).finished.text

    def ran(self, operation: str, command: str, code: int) -> None:
        """A command as the terminal tool reports it."""
        shown = (Terminal(command, "out", code, 0.1),)
        self.kit.bus.publish(
            ToolFinished(
                self.kit.conversation, CallId("x"), operation, "ran", True, "out", shown, 0.1
            )
        )


@pytest.fixture
def floor(bench: Bench, tmp_path: Path) -> Floor:
    """Nobody is there to be asked."""
    return Floor(bench, open_kit(tmp_path / "kit"))


@pytest.mark.requirement("workflow:gate-lists")
@pytest.mark.parametrize(
    ("tools", "key", "allowed"),
    [
        (None, "anything.at_all", True),
        ((), "voice.speak", False),
        ((), "workflow.advance", True),
        ((), "user_collaboration", True),
        (("voice",), "voice.speak", True),
        (("voice.*",), "voice.speak", True),
        (("voice.speak",), "voice.shout", False),
        (("voice.speak",), "voice", False),
        (("*",), "voice.speak", True),
        (("read",), "file_operations.read_file", True),
        (("read",), "file_operations.create_file", False),
        (("Read",), "file_operations.apply_patch", False),
        (("Bash",), "terminal_operations.run_command", True),
        (("TodoRead",), "todo_operations.write", False),
        (("file_operations.read",), "file_operations.read_file", False),
    ],
)
def test_an_allow_list_means_exactly_what_it_says(
    tools: tuple[str, ...] | None, key: str, allowed: bool
) -> None:
    assert allows(tools, key) is allowed


@pytest.mark.requirement("workflow:gate-lists")
@pytest.mark.parametrize(
    ("tools", "words"),
    [
        (None, "any tool"),
        ((), "no tool"),
        (("*",), "*"),
        (("voice.speak", "ping"), "voice.speak, ping"),
        (("voice.speak", "voice.shout"), "voice (speak, shout)"),
        (("voice.speak", "voice"), "voice"),
        (("delegate", "Glob"), "run_subagent, file_operations (file_search, list_dir)"),
    ],
)
def test_an_allow_list_is_spelled_out_for_who_has_to_obey_it(
    tools: tuple[str, ...] | None, words: str
) -> None:
    assert spelled(tools) == words


@pytest.mark.requirement("workflow:gate-lists")
def test_a_list_covers_another_only_if_it_allows_all_of_it() -> None:
    assert covers(None, None)
    assert covers(("*",), None)
    assert not covers(("read",), None)
    assert covers(("file_operations",), ("edit", "Glob"))
    assert not covers(("file_operations",), ("run",))
    assert covers(("read",), ("file_operations.read_file",))
    assert not covers(("read",), ("file_operations",))
    assert not covers(("read",), ("*",))
    assert all(not any(e in GROUPS for e in group) for group in GROUPS.values())


@pytest.mark.requirement("workflow:gate-lists")
def test_every_operation_on_files_either_reads_or_edits_and_others_are_named() -> None:
    keys = [f"{name}.{operation}" for name, advert in adverts().items() if name not in UNGATED
            for operation in advert.operations]  # fmt: skip
    reads, edits = ({key for key in keys if allows([group], key)} for group in ("read", "edit"))
    files = {key for key in keys if key.startswith("file_operations.")}
    assert (reads | edits, reads & edits) == (
        files | {"build_and_version_control.get_changed_files", "document_operations.get_doc_info"},
        set(),
    )
    assert {key.partition(".")[2] for key in edits} == {
        "create_file", "replace_string", "multi_replace_string", "insert_edit", "rename_file",
        "delete_file", "apply_patch",
    }  # fmt: skip


@pytest.mark.requirement("workflow:gate-lists")
def test_a_group_and_the_name_of_another_agents_tool_mean_these_tools() -> None:
    """What reads and edits files is listed by the test above."""
    web, run = "web_operations", "terminal_operations, build_and_version_control"
    meant = {g: spelled([g]) for g in GROUPS if g not in ("read", "Read", "edit", "Edit")}
    assert meant == {
        "run": run, "Bash": run, "web": web, "WebSearch": web, "WebFetch": web, "Browser": web,
        "APITaskAgent": web, "APISearch": web, "APIValidator": web, "MultiAPIFetch": web,
        "plan": "todo_operations, think", "TodoWrite": "todo_operations",
        "TodoRead": "todo_operations.read", "delegate": "run_subagent", "Task": "run_subagent",
        "memory": "memory_operations, recall_history", "KnowledgeSynthesize": "think",
        "Glob": "file_operations (file_search, list_dir)", "Grep": "file_operations.grep_search",
        "Write": "file_operations.create_file", "JARVIS": "workflow",
        "PythonComputationalTool": "terminal_operations.run_command",
        "mcp__ide__executeCode": "terminal_operations.run_command",
    }  # fmt: skip
    assert (GROUPS["Read"], GROUPS["Edit"]) == (GROUPS["read"], GROUPS["edit"])


@pytest.mark.requirement("workflow:gate")
async def test_a_call_outside_the_phase_is_refused_naming_phase_call_and_what_is_allowed(
    floor: Floor,
) -> None:
    floor.bench.define(GATED)
    assert (await floor.call("voice", operation="speak", text="free")).finished.ok
    await floor.workflow("start", name="flow")
    assert (await floor.call("voice", operation="murmur", text="quiet")).finished.ok
    refused = (await floor.call("voice", operation="speak", text="loud")).finished
    assert not refused.ok
    for word in ("voice.speak", "phase look", "voice.murmur", "workflow advance"):
        assert word in refused.text
    assert "begin loud" not in floor.kit.journal.lines
    await floor.workflow("advance", output=DONE)
    assert (await floor.call("voice", operation="speak", text="loud")).finished.ok
    await floor.workflow("advance", output=DONE)
    assert (await floor.call("ping")).finished.ok
    assert "completed" in await floor.workflow("advance", output=DONE)
    assert (await floor.call("ping")).finished.ok


@pytest.mark.requirement("workflow:gate")
async def test_a_paused_phase_allows_verbs_only(floor: Floor) -> None:
    floor.bench.define("steps: [{id: a, prompt: a}]")
    await floor.workflow("start", name="flow")
    await floor.workflow("pause", reason="later")
    refused = (await floor.call("ping")).finished
    assert (refused.ok, "paused" in refused.text) == (False, True)
    await floor.workflow("resume")
    assert (await floor.call("ping")).finished.ok
    assert "abandoned" in await floor.workflow("abandon")
    assert (await floor.call("ping")).finished.ok


@pytest.mark.requirement("workflow:gate")
def test_the_conversation_of_a_step_that_is_over_calls_nothing_more(bench: Bench) -> None:
    bench.define(GATED)
    done = bench.workflows.start("flow")
    bench.workflows.claims.claim(done.execution_id, "look", driver="d", conversation="step")
    (claimed,) = bench.workflows.records.reader.events(
        EventQuery(done.execution_id, "step_claimed")
    )
    assert (claimed.step, json.loads(claimed.data_json)) == ("look", {"driver": "d"})
    records, step = bench.workflows.records, (done.execution_id, "look")
    (attempt,) = records.reader.attempts(done.execution_id, step="look")
    assert (attempt.driver, attempt.conversation) == ("d", "step")
    gate = conversation_gate(lambda: records.phase("step"), step)
    assert gate("voice.murmur") == ""
    assert gate("workflow.advance") == ""
    assert "who runs the workflow decides" in gate("workflow.retry")
    bench.workflows.submit(done.execution_id, "look", DONE)
    assert "is over" in gate("voice.murmur")
    assert "is over" in gate("workflow.status")
    other = bench.workflows.start("flow")
    bench.workflows.claims.claim(other.execution_id, "look", driver="d", conversation="step")
    assert "is over" in gate("voice.murmur")
    beneath = subagent_gate(gate)
    for verb in ("status", "advance", "plan", "start", "replan", "retry"):
        assert "not allowed in a subagent of a step" in beneath(f"workflow.{verb}"), verb
    assert beneath("voice.murmur") == gate("voice.murmur")


@pytest.mark.requirement("workflow:reminder")
async def test_the_reminder_tells_phase_tools_tasks_failures_and_budgets(floor: Floor) -> None:
    bench = floor.bench
    bench.define("""
        policy: {rollbacks: 2}
        params: {items: {default: [one, "<two>"]}}
        steps:
          - {id: work, prompt: w, tools: [read], each: "@{params.items}", attempts: 3}
    """)
    reminder = WorkflowPhaseReminder(bench.workflows.records.digest)
    view = TurnView(floor.kit.conversation, (), (), 0.0)
    assert reminder.content(view) is None
    await floor.workflow("start", name="flow")
    execution = bench.workflows.records.phase(floor.kit.conversation)
    assert execution is not None
    bench.workflows.fail_step(execution.execution_id, "work", "it <broke>")
    text = reminder.content(view) or ""
    for words in (
        "<workflowPhase>", "Phase: work. Tools allowed: file_operations (read_file, ",
        "Tasks: 0/2 completed. Now: one",
        "Last failure: work: it ‹broke›", "2 rollbacks",
    ):  # fmt: skip
        assert words in text
    bench.workflows.steer("abandon", execution.execution_id)
    assert reminder.content(view) is None


@pytest.mark.requirement("workflow:evidence")
async def test_a_guard_believes_the_host_and_not_the_report(floor: Floor) -> None:
    floor.bench.define("""
        steps:
          - id: a
            prompt: a
            attempts: 5
            guards: [{evidence: terminal_operations.*, contains: pytest, exit_code: 0}]
    """)
    await floor.workflow("start", name="flow")
    claim = {"summary": "all tests pass, I promise", "exit_code": 0}
    assert "nothing shows" in await floor.workflow("advance", output=claim)
    await floor.call("ping")
    floor.ran("terminal_operations.run_command", "pytest -q", 0)
    floor.ran("terminal_operations.run_command", "pytest -q", 1)
    assert "exit code 1" in await floor.workflow("advance", output=claim)
    await floor.call("ping")
    floor.ran("terminal_operations.run_command", "pytest -q", 0)
    assert "completed" in await floor.workflow("advance", output=claim)
    rows = floor.bench.store.reader.executions()
    evidence = floor.bench.workflows.records.reader.evidence(rows[0].id)
    assert [e.exit_code for e in evidence if e.subject == "pytest -q"] == [0, 1, 0]
    assert all(len(e.sha256) == 64 for e in evidence)


@pytest.mark.requirement("workflow:seen-to-fail")
async def test_a_refused_call_has_not_shown_that_anything_fails(floor: Floor) -> None:
    floor.bench.define("""
        steps:
          - id: a
            prompt: a
            guards: [{evidence: terminal_operations.run_command, contains: pytest, ended: badly}]
    """)
    await floor.workflow("start", name="flow")
    await floor.call("ping")
    refused = ToolFinished(
        floor.kit.conversation, CallId("x"), "terminal_operations.run_command", "Running: pytest",
        False, "refused", (), 0.1,
    )  # fmt: skip
    floor.kit.bus.publish(refused)
    assert "Did not hold" in await floor.workflow("advance", output=DONE)
    await floor.call("ping")
    floor.ran("terminal_operations.run_command", "pytest -q", 1)
    assert "completed" in await floor.workflow("advance", output=DONE)


@pytest.mark.requirement("workflow:tool-honest")
async def test_the_model_answers_for_neither_the_person_nor_the_host(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define("""
        steps:
          - {id: ok, kind: human, prompt: "Go?",
             guards: [{value: "@{output.approved}", is: equals, to: true}], on_fail: ask}
          - {id: check, kind: tool, needs: [ok], tool: ping}
    """)
    alone = Floor(bench, open_kit(tmp_path / "one"))
    await alone.workflow("start", name="flow")
    forged = {"summary": "yes", "approved": True}
    assert "nobody can be asked here" in await alone.workflow("advance", output=forged)
    await alone.workflow("abandon")
    unsure = Floor(bench, open_kit(tmp_path / "three"), answer="no")
    await unsure.workflow("start", name="flow")
    assert "paused" in (await unsure.workflow("advance", output=forged)).lower()
    refused = "choice_invalid: 'no' is none of: retry, accept, abort."
    assert refused in await unsure.workflow("resume")
    await unsure.workflow("abandon")
    floor = Floor(bench, open_kit(tmp_path / "two"), answer="yes")
    await floor.workflow("start", name="flow")
    text = await floor.workflow("advance", output=forged | {"approved": False})
    assert "STEP check" in text
    assert "Nothing shows that ping was called" in await floor.workflow("advance", output=forged)
    assert (await floor.call("ping")).finished.ok
    assert "completed" in await floor.workflow("advance", output=forged)


@pytest.mark.requirement("workflow:tool")
async def test_the_tool_lists_starts_keeps_and_reads(floor: Floor) -> None:
    floor.bench.define("""
        description: about it
        params: {goal: {required: true}}
        steps: [{id: a, prompt: "reach @{params.goal}", output: {type: object}}]
    """)
    assert "- flow(goal): about it" in await floor.workflow("start")
    assert "params_invalid" in await floor.workflow("start", name="flow")
    assert "drives no workflow" in await floor.workflow("status")
    text = await floor.workflow("start", name="flow", params={"goal": "home"})
    assert "reach home" in text
    assert "conversation_busy" in await floor.workflow("start", name="flow", params={"goal": "x"})
    kept = await floor.workflow("artifact", name="n.md", text="0123456789")
    artifact = kept.split()[2].rstrip(":")
    assert artifact in await floor.workflow("artifact")
    read = await floor.workflow("artifact", artifactId=artifact, offset=2, length=3)
    assert read == "234\n[2-5 of 10 characters]"
    await floor.workflow("finding", title="Hole", content="deep", severity="high")
    assert "Hole" in await floor.workflow("finding")
    assert "a: running" in await floor.workflow("status")
    assert "phase_mismatch" in await floor.workflow("advance", output=DONE, step="zz")


@pytest.mark.requirement("workflow:tool")
def test_the_tool_s_schema_is_small(floor: Floor) -> None:
    assert len(canonical(tool_schema(floor.tool)).encode()) < 2200


@pytest.mark.requirement("workflow:handover")
async def test_an_execution_goes_from_our_agent_to_another_driver_and_back(floor: Floor) -> None:
    bench = floor.bench
    bench.define(GATED)
    await floor.workflow("start", name="flow")
    await floor.workflow("advance", output=DONE)
    phase = bench.workflows.records.phase(ConversationId(floor.kit.conversation))
    assert phase is not None
    outside = bench.another(bench.store)
    outside.advance(outside.tickets(phase.execution_id)[0].token, {"summary": "from outside"})
    with pytest.raises(WorkflowRefused):
        bench.workflows.submit(phase.execution_id, "act", DONE)
    assert "STEP rest" in await floor.workflow("status")
    assert "completed" in await floor.workflow("advance", output=DONE)
