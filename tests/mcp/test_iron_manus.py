"""JARVIS over MCP: a client that knows seed 001 alone is led through the phases."""

import json
from typing import Any

import pytest

from tests.mcp.conftest import ERAS, Era, Place, names

COMPANIONS = [
    "JARVIS",
    "APISearch",
    "APIValidator",
    "MultiAPIFetch",
    "KnowledgeSynthesize",
    "APITaskAgent",
    "PythonComputationalTool",
    "IronManusStateGraph",
    "HealthCheck",
]


@pytest.mark.requirement("mcp:iron-manus")
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_is_led_from_the_objective_to_done(place: Place, era: Era) -> None:
    async with place.client("--profile", "iron-manus", era=era) as client:
        assert names((await client.list_tools()).tools) == COMPANIONS

        async def jarvis(**arguments: Any) -> dict[str, Any]:
            result: Any = await client.call_tool("JARVIS", arguments)
            assert not result.is_error, result.content[0].text
            answer = json.loads(result.content[0].text)
            assert set(answer) == {
                "next_phase",
                "system_prompt",
                "allowed_next_tools",
                "payload",
                "status",
            }
            return answer

        answer = await jarvis(initial_objective="Say what the workspace holds")
        session = answer["payload"]["session_id"]
        phases = [answer["next_phase"]]
        todos = [{"content": "look", "priority": "low"}]
        payloads: dict[str, dict[str, Any]] = {
            "QUERY": {"interpreted_goal": "list the files"},
            "ENHANCE": {"enhanced_goal": "list the files, hidden ones too"},
            "KNOWLEDGE": {"knowledge_gathered": "it is empty"},
            "PLAN": {"plan_created": True, "todos_with_metaprompts": todos},
            "EXECUTE": {"execution_success": True},
            "VERIFY": {"verification_passed": True},
        }
        wrong: Any = await client.call_tool(
            "JARVIS", {"session_id": session, "phase_completed": "VERIFY", "payload": {}}
        )
        assert wrong.is_error and "phase_mismatch" in wrong.content[0].text
        while answer["status"] == "IN_PROGRESS" and len(phases) < 12:
            phase = answer["next_phase"]
            answer = await jarvis(
                session_id=session, phase_completed=phase, payload=payloads[phase]
            )
            phases.append(answer["next_phase"])
        assert answer["status"] == "DONE", (phases, answer)
        assert phases == [*payloads, "DONE"]


@pytest.mark.requirement("mcp:iron-manus", "mcp:pages")
async def test_no_two_tools_of_all_profiles_have_one_name(place: Place) -> None:
    async with place.client("--profile", "all") as client:
        listed = names((await client.list_tools()).tools)
    assert len(listed) == len(set(listed))
    assert {"workflow.start", "workflow", "JARVIS", "file_operations"} <= set(listed)
