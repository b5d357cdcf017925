"""The eight phases over JARVIS: transitions of the seed, corrected, and nothing else."""

import pytest

from tests.ironmanus.harness import PHASES, Harness

LOW = {"priority": "low"}


def low(count: int) -> list[dict[str, str]]:
    """Todos that are not critical."""
    return [{"content": f"t{number}", "priority": "low"} for number in range(count)]


@pytest.mark.requirement("ironmanus:transitions")
async def test_the_first_call_answers_query(harness: Harness) -> None:
    answer = await harness.begin(objective="Build a React dashboard with authentication")
    assert (answer["next_phase"], answer["status"]) == ("QUERY", "IN_PROGRESS")
    assert set(answer) == {"next_phase", "system_prompt", "allowed_next_tools", "payload", "status"}
    payload = answer["payload"]
    assert payload["session_id"] == "s"
    assert payload["current_objective"] == "Build a React dashboard with authentication"
    assert payload["detected_role"] == "coder"
    assert payload["reasoning_effectiveness"] == 0.8


@pytest.mark.requirement("ironmanus:transitions")
async def test_each_phase_leads_to_the_next_and_done_stays_done(harness: Harness) -> None:
    await harness.begin()
    came = [(await harness.done(phase, payload))["next_phase"] for phase, payload in PHASES]
    assert came == ["ENHANCE", "KNOWLEDGE", "PLAN"]
    plan = {"plan_created": True, "todos_with_metaprompts": low(2)}
    assert (await harness.done("PLAN", plan))["next_phase"] == "EXECUTE"
    second = await harness.execute()
    assert (second["next_phase"], second["payload"]["current_task_index"]) == ("EXECUTE", 1)
    assert (await harness.execute())["next_phase"] == "VERIFY"
    answer = await harness.verify()
    assert (answer["next_phase"], answer["status"], answer["allowed_next_tools"]) == (
        "DONE",
        "DONE",
        [],
    )
    assert answer["payload"]["phase_transition_count"] == 7
    again = await harness.done("QUERY", {"interpreted_goal": "x"})
    assert (again["next_phase"], again["status"]) == ("DONE", "DONE")


@pytest.mark.requirement("ironmanus:bands")
@pytest.mark.parametrize(
    ("count", "good", "phase", "index"),
    [(5, 3, "EXECUTE", 4), (5, 4, "EXECUTE", 3), (5, 2, "PLAN", None), (4, 0, "PLAN", None)],
)
async def test_how_much_is_left_decides_how_far_back_verify_leads(
    harness: Harness, count: int, good: int, phase: str, index: int | None
) -> None:
    await harness.plan(low(count))
    for number in range(count):
        answer = await harness.execute(number < good)
    assert answer["next_phase"] == "VERIFY"  # pyright: ignore[reportPossiblyUnboundVariable] # count > 0
    answer = await harness.verify()
    assert answer["next_phase"] == phase
    assert answer["payload"].get("current_task_index") == index
    assert answer["payload"]["verification_failure_reason"]
    assert answer["payload"]["rollbacks_left"] == 3


@pytest.mark.requirement("ironmanus:knowledge-list")
async def test_knowledge_may_be_a_list_as_the_seed_has_it(harness: Harness) -> None:
    await harness.begin()
    for phase, payload in PHASES[:2]:
        await harness.done(phase, payload)
    await harness.done("KNOWLEDGE", {"knowledge_gathered": ["first", {"fact": "second"}]})
    answer = await harness.jarvis(session_id="s")
    assert answer["payload"]["knowledge_gathered"] == '- first\n- {"fact": "second"}'
