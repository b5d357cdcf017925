"""Questions on the wire: forms for every protocol version, and answers that were never asked for."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import Place, Raw

FORMS: dict[str, Any] = {"elicitation": {}}
TASKS = "io.modelcontextprotocol/tasks"
STATELESS: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": FORMS,
}


def writing(path: Path, text: str = "new") -> dict[str, Any]:
    """A call that has to ask."""
    arguments = {"operation": "create_file", "filePath": str(path), "content": text}
    return {"name": "file_operations", "arguments": arguments}


async def asked(server: Raw) -> dict[str, Any]:
    """The next question; everything before it is kept in ``seen``."""
    while True:
        message = await server.next()
        if message.get("method") == "elicitation/create":
            return message


@pytest.mark.requirement("mcp:asks", "mcp:handshake")
async def test_a_client_of_an_older_version_gets_choices_in_the_form_it_knows(place: Place) -> None:
    outside = place.folder / "outside.txt"
    async with place.raw() as server:
        await server.open("2025-06-18", FORMS)
        await server.send({"id": "w", "method": "tools/call", "params": writing(outside)})
        question = await asked(server)
        decision = question["params"]["requestedSchema"]["properties"]["decision"]
        assert decision["enum"][0] == "deny" and len(decision["enum"]) == len(decision["enumNames"])
        answer = {"action": "accept", "content": {"decision": "once"}}
        await server.send({"id": question["id"], "result": answer})
        assert (await server.answer("w"))["result"]["isError"] is False
    assert outside.read_text("utf-8") == "new"


@pytest.mark.requirement("mcp:asks")
async def test_a_long_command_hides_neither_why_it_is_asked_about_nor_its_end(place: Place) -> None:
    command = f"echo {'a' * 20_000}; git push --force"
    arguments = {"operation": "run_command", "command": command}
    async with place.raw() as server:
        await server.open("2025-11-25", FORMS)
        params = {"name": "terminal_operations", "arguments": arguments}
        await server.send({"id": "w", "method": "tools/call", "params": params})
        question = await asked(server)
        before, _, target = question["params"]["message"].partition("\n  target  ")
        assert "\n  why     git push" in before and len(before) < 1000
        assert target.startswith("$ echo aaa") and target.endswith("aaa; git push --force")
        assert "[… 16,0" in target
        await server.send({"id": question["id"], "result": {"action": "decline"}})
        assert (await server.answer("w"))["result"]["isError"] is True


@pytest.mark.requirement("mcp:asks")
async def test_a_question_names_letters_of_another_script_that_look_latin(place: Place) -> None:
    async with place.raw() as server:
        await server.open("2025-11-25", FORMS)
        params = writing(place.folder / "p\u0430ypal")
        await server.send({"id": "w", "method": "tools/call", "params": params})
        question = await asked(server)
        words = "\u0430 in p\u0430ypal is cyrillic small letter a (U+0430)"
        assert f"  letters {words}\n" in question["params"]["message"]
        await server.send({"id": question["id"], "result": {"action": "decline"}})
        assert (await server.answer("w"))["result"]["isError"] is True


@pytest.mark.requirement("mcp:tasks", "mcp:cancel")
async def test_a_call_that_waits_becomes_a_task_that_is_answered_looked_at_and_cancelled(
    place: Place,
) -> None:
    outside = place.folder / "outside.txt"
    declared: dict[str, Any] = {**FORMS, "extensions": {TASKS: {}}}
    meta: dict[str, Any] = {**STATELESS, "io.modelcontextprotocol/clientCapabilities": declared}
    async with place.raw() as server:

        async def ask(method: str, **params: Any) -> dict[str, Any]:
            answer = await server.ask(method, _meta=meta, **params)
            return answer.get("result") or answer["error"]

        async def ended(task: str) -> dict[str, Any]:
            while (state := await ask("tasks/get", taskId=task))["status"] == "working":
                pass
            return state

        assert TASKS in (await ask("server/discover"))["capabilities"]["extensions"]
        thought = await ask("tools/call", name="think", arguments={"thoughts": "soon over"})
        assert (thought["resultType"], thought["isError"]) == ("complete", False)
        begun = await ask("tools/call", **writing(outside))
        assert (begun["resultType"], begun["status"]) == ("task", "working")
        assert {"ttlMs", "pollIntervalMs"} <= set(begun) and not {"result", "task"} & set(begun)
        task = begun["taskId"]
        waiting = await ask("tasks/get", taskId=task)
        assert waiting["status"] == "input_required"
        [(key, question)] = waiting["inputRequests"].items()
        assert question["method"] == "elicitation/create"
        # Whose task it is not, or what no answer is, changes nothing.
        stranger = {**meta, "io.modelcontextprotocol/clientCapabilities": FORMS}
        refused = await server.ask("tasks/get", taskId=task, _meta=stranger)
        assert refused["error"]["code"] == -32021
        assert (await ask("tasks/get", taskId="x"))["code"] == -32602
        for none in ({key: 1}, {key: {"action": "maybe"}}, {"other": {"action": "accept"}}):
            await ask("tasks/update", taskId=task, inputResponses=none)
        assert not outside.exists()
        yes = {key: {"action": "accept", "content": {"decision": "once"}}}
        taken = await ask("tasks/update", taskId=task, inputResponses=yes)
        assert set(taken) - {"_meta"} == {"resultType"}
        done = await ended(task)
        assert (done["status"], done["result"]["isError"]) == ("completed", False)
        assert outside.read_text("utf-8") == "new"
        other = (await ask("tools/call", **writing(place.folder / "b.txt")))["taskId"]
        await ask("tasks/cancel", taskId=other)
        state = await ended(other)
        assert (state["status"], "inputRequests" in state) == ("cancelled", False)
        assert (await ask("tasks/list"))["code"] == (await ask("tasks/result"))["code"] == -32601


@pytest.mark.requirement("mcp:asks", "mcp:cancel")
async def test_answers_that_are_none_deny_and_a_cancelled_call_takes_its_question_back(
    place: Place,
) -> None:
    outside = place.folder / "outside.txt"
    nonsense: list[dict[str, Any]] = [
        {"error": {"code": -32601, "message": "no forms here"}},
        {"result": {"action": "accept"}},
        {"result": {"action": "accept", "content": {"decision": True}}},
        {"result": {"action": "maybe"}},
        {"result": {}},
    ]
    async with place.raw() as server:
        await server.open("2025-11-25", FORMS)
        for number, answer in enumerate(nonsense):
            await server.send({"id": number, "method": "tools/call", "params": writing(outside)})
            question = await asked(server)
            await server.send({"id": question["id"], **answer})
            refused = await server.answer(number)
            assert refused.get("result", {}).get("isError", True) is True, answer
        await server.send({"id": "w", "method": "tools/call", "params": writing(outside)})
        question = await asked(server)
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": "w"}}
        await server.send(cancelled)
        while True:
            message = await server.next()
            if message.get("method") == "notifications/cancelled":
                assert message["params"]["requestId"] == question["id"]
                break
        late = {"action": "accept", "content": {"decision": "once"}}
        await server.send({"id": question["id"], "result": late})
        assert (await server.ask("ping"))["result"] == {}
    assert not outside.exists()


@pytest.mark.requirement("mcp:stateless", "mcp:asks")
async def test_without_handshake_a_call_waits_for_the_request_that_answers_and_for_no_other(
    place: Place,
) -> None:
    outside = place.folder / "outside.txt"
    async with place.raw() as server:

        async def call(params: dict[str, Any]) -> dict[str, Any]:
            return await server.ask("tools/call", **params, _meta=STATELESS)

        first = (await call(writing(outside)))["result"]
        assert first["resultType"] == "input_required"
        [(key, request)] = first["inputRequests"].items()
        assert request["method"] == "elicitation/create"
        yes = {key: {"action": "accept", "content": {"decision": "once"}}}
        state = first["requestState"]
        for other in (
            {**writing(outside, "something else"), "requestState": state, "inputResponses": yes},
            {**writing(outside), "requestState": state[:-2] + "zz", "inputResponses": yes},
            {**writing(outside), "requestState": "", "inputResponses": yes},
        ):
            assert (await call(other))["error"]["code"] == -32602
        assert not outside.exists()
        again = (await call({**writing(outside), "requestState": state}))["result"]
        assert again["resultType"] == "input_required"
        state = again["requestState"]
        done = await call({**writing(outside), "requestState": state, "inputResponses": yes})
        assert done["result"]["isError"] is False
        twice = await call({**writing(outside), "requestState": state, "inputResponses": yes})
        assert twice["error"]["code"] == -32602
        assert json.dumps(first).count(str(outside)) >= 1
    assert outside.read_text("utf-8") == "new"
