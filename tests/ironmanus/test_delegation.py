"""Delegated todos: real agents, their gate, their files, and what is left when they are killed."""

import asyncio
import json
from pathlib import Path

import pytest

from sam_tui.core.events import RequestSent
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import ToolMessage, UserMessage
from tests.ironmanus.harness import PHASES, Harness, Play

CODER = "(ROLE: coder) (CONTEXT: files) (PROMPT: write x.py (small)) (OUTPUT: code)"
CRITIC = "(ROLE: critic) (PROMPT: judge x.py) (OUTPUT: review)"
REPORT = "x.py prints one, and was read back; nothing is open about it."


def on(words: str, **play: object) -> Play:
    """A play for the agent whose task holds these words."""
    return {"when": {"user": words}, **play}


def call(name: str, **arguments: object) -> list[Play]:
    """One call."""
    return [{"name": name, "arguments": arguments}]


WRITE = call("file_operations", operation="create_file", filePath="x.py", content="print(1)\n")
READ = call("file_operations", operation="read_file", filePath="x.py")


@pytest.mark.requirement("ironmanus:delegation")
async def test_a_whole_session_with_real_agents_files_and_evidence(tmp_path: Path) -> None:
    plays = [
        on("write x.py", calls=WRITE),
        on("write x.py", calls=call("JARVIS", session_id="s", phase_completed="EXECUTE")),
        on("write x.py", text=REPORT),
        on("judge x.py", calls=READ),
        on("judge x.py", text="It does what it should. One line, no way to fail, nothing unsafe."),
    ]
    harness = Harness(tmp_path, plays)
    first = await harness.plan([CODER, {"content": "rest", "meta_prompt": CRITIC}, *"z"])
    delegation = first["payload"]["delegation"]
    assert (delegation["role"], delegation["status"]) == ("coder", "finished")
    assert delegation["file"] == "iron-manus-sessions/s/agent_coder_output_1.md"
    assert (harness.folder / delegation["file"]).read_text("utf-8") == REPORT
    assert (harness.folder / "x.py").read_text("utf-8") == "print(1)\n"
    assert [line.split(":")[0] for line in first["payload"]["evidence"]] == [
        "file_operations.create_file", "evidence.agent",
    ]  # fmt: skip
    assert "Check it against the todo" in first["system_prompt"]
    child = ConversationId(delegation["conversation"])
    told = harness.storage.conversations.messages(child)
    prompt = next(m.text for m in told if isinstance(m, UserMessage))
    assert "write x.py (small)" in prompt
    assert "You write code." in prompt
    assert "IMPLEMENT_AND_VALIDATE" in prompt
    assert "8. " in prompt
    assert any("who drives the session" in m.text for m in told if isinstance(m, ToolMessage))
    second = await harness.execute()
    assert second["payload"]["delegation"]["role"] == "critic"
    assert second["payload"]["reasoning_effectiveness"] == 0.9
    await harness.execute()
    await harness.execute()
    done = await harness.verify()
    assert (done["status"], done["payload"]["completion_percentage"]) == ("DONE", 100)
    names = sorted(path.name for path in (harness.folder / "iron-manus-sessions" / "s").iterdir())
    assert names == [
        "agent_coder_output_1.md", "agent_critic_output_2.md", "synthesized_knowledge.md",
    ]  # fmt: skip
    assert {row.name for row in harness.workflows.records.artifacts("s")} >= {
        "agent_coder_output_1.md"
    }
    harness.close()


@pytest.mark.requirement("ironmanus:delegation")
async def test_without_a_model_the_prompt_is_handed_out_and_the_file_counts(
    harness: Harness,
) -> None:
    answer = await harness.plan([CODER])
    delegation = answer["payload"]["delegation"]
    assert delegation["status"] == "unavailable"
    assert "write x.py (small)" in delegation["prompt"]
    refused = {"execution_success": True}
    error = await harness.refused(session_id="s", phase_completed="EXECUTE", payload=refused)
    assert error["code"] == "evidence_missing"
    file = harness.folder / delegation["file"]
    file.write_text("An agent of the client's own wrote x.py and ran it.", "utf-8")
    assert (await harness.execute())["next_phase"] == "VERIFY"


@pytest.mark.requirement("ironmanus:delegation")
async def test_an_agent_that_does_not_finish_is_no_evidence(tmp_path: Path) -> None:
    broken = [on("write x.py", error={"type": "ModelRejected", "message": "no"})]
    harness = Harness(tmp_path, broken)
    answer = await harness.plan([CODER])
    assert answer["payload"]["delegation"]["status"] == "failed"
    payload = {"execution_success": True}
    error = await harness.refused(session_id="s", phase_completed="EXECUTE", payload=payload)
    assert error["code"] == "evidence_missing"
    assert (await harness.execute(False))["next_phase"] == "VERIFY"
    harness.close()


@pytest.mark.requirement("ironmanus:resume")
async def test_killed_while_an_agent_worked_the_session_goes_on_in_another_process(
    tmp_path: Path,
) -> None:
    stuck = on("write x.py", wait_for={"file": str(tmp_path / "never"), "timeout": 60}, text="no")
    harness = Harness(tmp_path, [stuck])
    await harness.begin()
    for phase, payload in PHASES:
        await harness.done(phase, payload)
    plan = {"plan_created": True, "todos_with_metaprompts": [CODER, "z"]}
    heard = harness.bus.subscribe()
    work = asyncio.get_running_loop().create_task(harness.done("PLAN", plan))
    while not any(isinstance(event, RequestSent) for event in await heard.batch()):
        pass
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    harness.close()
    harness = Harness(tmp_path, [on("write x.py", text=REPORT)])
    harness.clock.time += 60
    answer = await harness.jarvis("d", session_id="s")
    assert (answer["next_phase"], answer["payload"]["current_task_index"]) == ("EXECUTE", 0)
    assert answer["payload"]["delegation"]["status"] == "finished"
    assert [t["status"] for t in answer["payload"]["current_todos"]] == ["in_progress", "pending"]
    again = await harness.jarvis("d", session_id="s")
    assert again["payload"]["delegation"] == {
        "role": "coder", "status": "finished", "file": "iron-manus-sessions/s/agent_coder_output_1.md",
    }  # fmt: skip
    assert (await harness.execute())["payload"]["current_task_index"] == 1
    harness.close()


@pytest.mark.requirement("ironmanus:handoffs")
async def test_knowledge_comes_from_the_files_that_roles_left(harness: Harness) -> None:
    await harness.begin()
    for phase, payload in PHASES[:2]:
        await harness.done(phase, payload)
    folder = harness.folder / "iron-manus-sessions" / "s"
    (folder / "synthesized_knowledge.md").write_text("what everybody found", "utf-8")
    handoffs = [
        {"role": "researcher", "content": "found it in the standard, section three, page nine"},
        {"role": "analyzer", "content": "# TODO later\nthe numbers are stable over the year"},
    ]
    answer = await harness.done("KNOWLEDGE", {"handoffs": handoffs})
    assert answer["payload"]["knowledge_gathered"] == "what everybody found"
    assert sorted(path.name for path in folder.iterdir()) == [
        "analysis_data.md", "primary_research.md", "synthesized_knowledge.md",
    ]  # fmt: skip
    warnings = answer["payload"]["warnings"]
    assert warnings[0] == "analysis_data.md: unfinished: line 1"
    assert "no source" in warnings[1]


@pytest.mark.requirement("ironmanus:review")
async def test_a_word_in_prose_makes_no_note_and_a_private_key_is_never_kept(
    harness: Harness,
) -> None:
    await harness.begin()
    for phase, payload in PHASES[:2]:
        await harness.done(phase, payload)
    prose = "We keep a TODO list, and errors are listed in a table: error handling is good."
    good = {"knowledge_gathered": "k", "handoffs": [{"role": "critic", "content": prose}]}
    secret = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END PRIVATE KEY-----\n"
    bad = {"knowledge_gathered": "k", "handoffs": [{"role": "critic", "content": secret}]}
    error = await harness.refused(session_id="s", phase_completed="KNOWLEDGE", payload=bad)
    assert error["code"] == "handoff_refused"
    assert not (harness.folder / "iron-manus-sessions" / "s" / "expert_review.md").exists()
    answer = await harness.done("KNOWLEDGE", good)
    assert answer["payload"]["warnings"] == [
        "no source is named: what was gathered cannot be traced"
    ]


@pytest.mark.requirement("ironmanus:cleanup")
async def test_folders_of_idle_sessions_go_after_a_day_and_come_back_with_their_session(
    harness: Harness,
) -> None:
    await harness.plan(low_one(), "old")
    await harness.execute(session="old", handoff="a report that is long enough to be one, really")
    root = harness.folder / "iron-manus-sessions"
    (root / "old" / "more").mkdir()
    (root / "old" / "more" / "link").symlink_to(harness.folder)
    (root / "mine.txt").write_text("a person's", "utf-8")
    (root / "not ours").mkdir()
    outside = harness.folder / "iron_manus_state.json"
    outside.write_text("{}", "utf-8")
    harness.clock.time += 86_399
    await harness.begin("new")
    assert (root / "old").is_dir()
    harness.clock.time += 86_402
    await harness.begin("newer")
    assert sorted(path.name for path in root.iterdir()) == [
        ".gitignore", "mine.txt", "newer", "not ours",
    ]  # fmt: skip
    assert outside.exists()
    assert harness.folder.is_dir()
    answer = await harness.jarvis(session_id="old")
    assert answer["next_phase"] == "VERIFY"
    assert "agent_coder_output_1.md" in {p.name for p in (root / "old").iterdir()}


def low_one() -> list[Play]:
    """One todo that is not critical."""
    return [{"content": "t", "priority": "low"}]


@pytest.mark.requirement("ironmanus:cleanup")
async def test_a_link_in_the_place_of_a_session_folder_leads_nowhere(harness: Harness) -> None:
    root = harness.folder / "iron-manus-sessions"
    root.mkdir()
    target = harness.folder / "elsewhere"
    target.mkdir()
    (root / "s").symlink_to(target)
    executed = await harness.call("JARVIS", session_id="s", initial_objective="build")
    assert not executed.finished.ok
    assert "leads elsewhere" in executed.finished.text
    assert list(target.iterdir()) == []
    assert json.dumps(executed.finished.text)
