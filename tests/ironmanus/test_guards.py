"""What JARVIS refuses and what it believes: phases, payloads, evidence, budgets, ids, the gate."""

import os

import pytest

from sam_tui.core.inquiry import Inquiry, Reply
from sam_tui.core.workflow.gate import conversation_gate
from tests.ironmanus.harness import PHASES, Harness
from tests.ironmanus.test_machine import low

ALLOWED = {
    "QUERY": [],
    "ENHANCE": [],
    "KNOWLEDGE": [
        "Task", "WebSearch", "WebFetch", "APITaskAgent", "APISearch", "APIValidator",
        "MultiAPIFetch", "KnowledgeSynthesize", "PythonComputationalTool", "mcp__ide__executeCode",
        "Read", "memory",
    ],
    "PLAN": ["TodoWrite"],
    "EXECUTE": [
        "TodoRead", "TodoWrite", "Task", "Bash", "Read", "Write", "Edit", "Browser",
        "mcp__ide__executeCode", "PythonComputationalTool",
    ],
    "VERIFY": ["TodoRead", "Read", "mcp__ide__executeCode", "PythonComputationalTool"],
}  # fmt: skip
HIGH = [{"id": "a", "content": "what must not fail", "priority": "high"}]


async def reach(harness: Harness, phase: str) -> None:
    """Lead the session to a phase."""
    if phase in ("EXECUTE", "VERIFY"):
        await harness.plan(low(1))
        if phase == "VERIFY":
            await harness.execute()
        return
    await harness.begin()
    for name, payload in PHASES:
        if name == phase:
            return
        await harness.done(name, payload)


@pytest.mark.requirement("ironmanus:gate")
@pytest.mark.parametrize("phase", sorted(ALLOWED))
async def test_each_phase_has_the_tools_of_the_seed_and_jarvis_to_leave_it(
    harness: Harness, phase: str
) -> None:
    await reach(harness, phase)
    answer = await harness.jarvis(session_id="s")
    assert answer["next_phase"] == phase
    assert answer["allowed_next_tools"] == [*ALLOWED[phase], "JARVIS"]
    assert "@{" not in answer["system_prompt"]
    assert "{{" not in answer["system_prompt"]
    assert "[object" not in answer["system_prompt"]


@pytest.mark.requirement("ironmanus:gate")
async def test_a_tool_outside_the_phase_is_refused_where_it_runs_naming_what_is_allowed(
    harness: Harness,
) -> None:
    await harness.begin()
    read = await harness.call("file_operations", operation="list_dir", path=".")
    assert not read.finished.ok
    assert "phase query" in read.finished.text
    assert "Allowed now: no" in read.finished.text
    assert (await harness.call("APISearch", objective="x", user_role="coder")).finished.ok is False
    for phase, payload in PHASES[:2]:
        await harness.done(phase, payload)
    assert (await harness.call("file_operations", operation="list_dir", path=".")).finished.ok
    assert (await harness.call("APISearch", objective="weather", user_role="coder")).finished.ok
    write = await harness.call(
        "file_operations", operation="create_file", filePath="x", content="y"
    )
    assert "phase knowledge" in write.finished.text
    assert not (harness.folder / "x").exists()
    assert (await harness.call("HealthCheck")).finished.ok


@pytest.mark.requirement("ironmanus:phase-mismatch")
@pytest.mark.parametrize("phase", sorted(ALLOWED))
async def test_another_phase_is_refused_by_name_and_nothing_moves(
    harness: Harness, phase: str
) -> None:
    await reach(harness, phase)
    before = await harness.jarvis(session_id="s")
    for other in sorted(set(ALLOWED) - {phase}):
        error = await harness.refused(session_id="s", phase_completed=other, payload={})
        assert (error["code"], error["details"]["expected"]) == ("phase_mismatch", phase)
        assert error["details"]["got"] == other
    assert await harness.jarvis(session_id="s") == before


@pytest.mark.requirement("ironmanus:payloads")
@pytest.mark.parametrize(
    ("phase", "payload"),
    [
        ("QUERY", {}),
        ("QUERY", {"interpreted_goal": " "}),
        ("QUERY", {"interpreted_goal": "g", "selected_role": "wizard"}),
        ("ENHANCE", {"enhanced_goal": 5}),
        ("KNOWLEDGE", {}),
        ("KNOWLEDGE", {"knowledge_gathered": "k", "sources": [{"source": "s", "confidence": 2}]}),
        ("PLAN", {"todos_with_metaprompts": [{"content": "x"}]}),
        ("PLAN", {"plan_created": False, "todos_with_metaprompts": [{"content": "x"}]}),
        ("PLAN", {"plan_created": True, "todos_with_metaprompts": []}),
        ("PLAN", {"plan_created": True, "todos_with_metaprompts": ["t"] * 51}),
        ("PLAN", {"plan_created": True, "todos_with_metaprompts": ["(ROLE: codr) (PROMPT: x)"]}),
        ("PLAN", {"plan_created": True, "todos_with_metaprompts": [{"id": 1, "content": "x"}] * 2}),
        ("EXECUTE", {}),
        ("EXECUTE", {"execution_success": "yes"}),
        ("VERIFY", {"verification_passed": 1}),
    ],
)
async def test_a_payload_that_does_not_fit_its_phase_is_refused(
    harness: Harness, phase: str, payload: dict[str, object]
) -> None:
    await reach(harness, phase)
    error = await harness.refused(session_id="s", phase_completed=phase, payload=payload)
    assert error["code"] == "payload_invalid"
    assert error["details"]["faults"]
    assert (await harness.jarvis(session_id="s"))["next_phase"] == phase


@pytest.mark.requirement("ironmanus:payloads")
async def test_the_faults_of_a_payload_say_what_each_field_must_be(harness: Harness) -> None:
    payload = {"knowledge_gathered": 5, "sources": [{"confidence": 2}]}
    await reach(harness, "KNOWLEDGE")
    error = await harness.refused(session_id="s", phase_completed="KNOWLEDGE", payload=payload)
    faults = "; ".join(error["details"]["faults"])
    assert "payload.knowledge_gathered: must be text" in faults
    assert "payload.sources.0.confidence: must be at most 1" in faults
    assert "Input should" not in faults


@pytest.mark.requirement("ironmanus:whitelist")
async def test_what_the_engine_owns_cannot_be_written_and_is_named(harness: Harness) -> None:
    await harness.plan([{"content": "a", "priority": "low", "status": "completed"}, *low(1)])
    answer = await harness.execute(
        session_id="other", current_task_index=9, reasoning_effectiveness=1.0, junk=True,
        current_todos=[{"status": "completed"}], more_tasks_pending=False,
    )  # fmt: skip
    payload = answer["payload"]
    assert payload["session_id"] == "s"
    assert [todo["status"] for todo in payload["current_todos"]] == ["completed", "in_progress"]
    assert (payload["current_task_index"], payload["reasoning_effectiveness"]) == (1, 0.8)
    ignored = {line.split()[0]: line for line in payload["ignored_fields"]}
    assert "engine" in ignored["current_todos"]
    assert ignored["junk"] == "junk (no field of EXECUTE)"


@pytest.mark.requirement("ironmanus:evidence")
async def test_a_critical_todo_needs_evidence_that_the_host_saw(harness: Harness) -> None:
    await harness.plan(HIGH)
    error = await harness.refused(
        session_id="s", phase_completed="EXECUTE", payload={"execution_success": True}
    )
    assert (error["code"], error["details"]["task"]) == ("evidence_missing", "a")
    told = {"execution_success": True, "evidence": {"files": ["made.txt"]}}
    error = await harness.refused(session_id="s", phase_completed="EXECUTE", payload=told)
    assert error["code"] == "evidence_invalid"
    made = await harness.call(
        "file_operations", operation="create_file", filePath="made.txt", content="x"
    )
    assert made.finished.ok
    answer = await harness.execute(evidence={"files": ["made.txt"]})
    assert answer["next_phase"] == "VERIFY"
    assert answer["payload"]["reasoning_effectiveness"] == 0.9
    assert (await harness.verify())["next_phase"] == "DONE"


@pytest.mark.requirement("ironmanus:evidence")
async def test_files_that_were_there_before_or_lie_outside_bear_out_nothing(
    harness: Harness,
) -> None:
    old, empty = harness.folder / "old.txt", harness.folder / "empty.txt"
    old.write_text("old", "utf-8")
    empty.write_text("", "utf-8")
    os.utime(old, (1, 1))
    await harness.plan(HIGH)
    for name in ("old.txt", "empty.txt", ".", "nothing"):
        told = {"execution_success": True, "evidence": {"files": [name]}}
        error = await harness.refused(session_id="s", phase_completed="EXECUTE", payload=told)
        assert error["code"] == "evidence_invalid", name


@pytest.mark.requirement("ironmanus:evidence")
async def test_a_claim_alone_completes_what_is_not_critical_and_raises_nothing(
    harness: Harness,
) -> None:
    await harness.plan(low(2))
    await harness.execute()
    answer = await harness.execute(False)
    assert answer["payload"]["reasoning_effectiveness"] == 0.7
    assert answer["payload"]["effectiveness_grade"] == "SATISFACTORY"
    assert answer["payload"]["completion_percentage"] == 50


@pytest.mark.requirement("ironmanus:verify")
async def test_a_claim_to_have_passed_changes_no_count_and_one_to_have_failed_leads_back(
    harness: Harness,
) -> None:
    await harness.plan(low(2))
    await harness.execute()
    await harness.execute()
    answer = await harness.verify(False)
    assert (answer["next_phase"], answer["payload"]["current_task_index"]) == ("EXECUTE", 0)
    assert answer["payload"]["verification_failure_reason"] == "verification did not pass"
    assert answer["payload"]["failures"] == ["verification did not pass"]


@pytest.mark.requirement("ironmanus:rollback-budget")
async def test_after_four_rollbacks_a_person_is_asked_and_their_choice_is_followed(
    tmp_path: object,
) -> None:
    asked: list[str] = []
    replies = iter(["later", "Rollback PLAN"])

    def answer(inquiry: Inquiry) -> Reply | None:
        asked.append(inquiry.request.prompt)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType] # a question
        text = next(replies, "")
        return Reply(text) if text else None

    harness = Harness(tmp_path, responder=answer)  # pyright: ignore[reportArgumentType] # a path
    await harness.plan(low(1))
    await harness.execute()
    for left in (3, 2, 1, 0):
        back = await harness.verify(False)
        assert (back["next_phase"], back["payload"]["rollbacks_left"]) == ("EXECUTE", left)
        await harness.execute()
    waits = await harness.verify(False)
    assert (waits["next_phase"], waits["status"]) == ("VERIFY", "IN_PROGRESS")
    assert "rollback budget of 4" in waits["payload"]["question"]["prompt"]
    assert (await harness.refused(session_id="s"))["code"] == "choice_invalid"
    decided = await harness.jarvis(session_id="s")
    assert decided["next_phase"] == "PLAN"
    assert len(asked) == 2
    harness.close()


@pytest.mark.requirement("ironmanus:sessions")
@pytest.mark.parametrize(
    "bad", ["../evil", "-x", "a/b", "nul", "COM1", "a b", "x" * 129, "ü", "a.b"]
)
async def test_an_id_that_cannot_name_a_session_is_refused_at_once(
    harness: Harness, bad: str
) -> None:
    error = await harness.refused(session_id=bad, initial_objective="x")
    assert error["code"] == "session_id_invalid"
    assert not (harness.folder / "iron-manus-sessions").exists()


@pytest.mark.requirement("ironmanus:sessions")
async def test_an_id_is_made_where_none_is_given_and_the_conversation_finds_its_own(
    harness: Harness,
) -> None:
    error = await harness.refused(phase_completed="QUERY", payload={"interpreted_goal": "x"})
    assert error["code"] == "objective_missing"
    begun = await harness.jarvis(initial_objective="build")
    made = begun["payload"]["session_id"]
    assert made.startswith("session_")
    answer = await harness.jarvis(phase_completed="QUERY", payload={"interpreted_goal": "g"})
    assert (answer["payload"]["session_id"], answer["next_phase"]) == (made, "ENHANCE")
    assert (await harness.refused("other"))["code"] == "objective_missing"
    assert (await harness.refused(session_id="unheard"))["code"] == "session_unknown"


@pytest.mark.requirement("ironmanus:sessions")
async def test_another_objective_resets_nothing(harness: Harness) -> None:
    await harness.begin()
    await harness.done(*PHASES[0])
    same = await harness.jarvis(session_id="s", initial_objective="build it")
    assert same["next_phase"] == "ENHANCE"
    error = await harness.refused(session_id="s", initial_objective="something else")
    assert (error["code"], error["details"]["phase"]) == ("session_exists", "ENHANCE")


@pytest.mark.requirement("ironmanus:sessions")
async def test_sessions_of_one_conversation_stay_apart_and_the_one_worked_on_gates_it(
    harness: Harness,
) -> None:
    for name in ("one", "two", "three"):
        answer = await harness.begin(name, f"build {name}")
        assert answer["payload"]["current_objective"] == f"build {name}"
    for phase, payload in PHASES[:2]:
        await harness.done(phase, payload, "two")
    assert (await harness.call("file_operations", operation="list_dir", path=".")).finished.ok
    assert (await harness.jarvis(session_id="three"))["next_phase"] == "QUERY"
    gated = await harness.call("file_operations", operation="list_dir", path=".")
    assert "phase query" in gated.finished.text
    assert (await harness.jarvis(session_id="two"))["next_phase"] == "KNOWLEDGE"


@pytest.mark.requirement("ironmanus:gate")
async def test_an_agent_of_a_single_step_steers_no_session(harness: Harness) -> None:
    await harness.begin()
    decide = conversation_gate(lambda: harness.workflows.records.phase("c"), ("s", "query"))
    assert "who runs the workflow decides" in decide("JARVIS")
    assert "who runs the workflow decides" in decide("IronManusStateGraph")
    assert decide("HealthCheck") == ""
