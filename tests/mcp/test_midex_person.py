"""Workflows at an MCP client: the question about a call that was cut off, and what is masked."""

from pathlib import Path

import pytest
from mcp.types import ElicitResult

from tests.mcp.conftest import ERAS, Era, Person, Place, replies, text_of
from tests.mcp.midex_kit import HOST, TWO_STEPS, advance, call, define, driving, read, start


@pytest.mark.requirement("mcp:midex-person")
@pytest.mark.parametrize("era", ERAS)
async def test_what_follows_a_cut_off_step_is_decided_by_the_person_at_the_client(
    tmp_path: Path, era: Era
) -> None:
    place = Place(tmp_path)
    place.workspace.mkdir()
    define(place.workspace, "host", HOST)
    person = Person([replies("later"), ElicitResult(action="decline"), replies(" RETRY ")])
    async with place.client("--profile", "midex", era=era, person=person) as client:
        begun = await start(client, "host", params={"target": "written.txt"})
        execution = begun["execution_id"]
        with driving(place.workspace, execution) as driver:
            assert driver.claims.begin_call(execution, "write") is None
        assert (await advance(client, begun["new_token"]))["outcome"] == "asked"
        resume = {"execution_id": execution}
        wrong = await call(client, "workflow.resume", word="retry", **resume)
        silent = await client.call_tool("workflow.resume", resume)
        assert (await read(client, f"workflow_status/{execution}"))["state"] == "paused"
        retried = await call(client, "workflow.resume", **resume)
        assert retried["step_name"] == "write"
    offered = ["retry", "accept", "abort"]
    assert (wrong["code"], wrong["details"]) == ("choice_invalid", {"choices": offered})
    assert "'later' is none of: retry, accept, abort." in wrong["error"]
    assert silent.is_error and text_of(silent) == "The person did not answer the question."
    for form in person.asked:
        options = [o["const"] for o in form.requested_schema["properties"]["answer"]["oneOf"]]
        assert options == offered
    assert not (place.workspace / "written.txt").exists()


@pytest.mark.requirement("shield:known")
async def test_the_output_of_a_step_is_shown_without_secrets_of_the_workspace(
    tmp_path: Path,
) -> None:
    place, secret = Place(tmp_path), "Zr8qK1x9Wk2mmQ77"
    place.workspace.mkdir()
    define(place.workspace, "two", TWO_STEPS)
    (place.workspace / ".env").write_text(f"APP_PASSWORD={secret}\n", encoding="utf-8")
    artifact = {"type": "report", "name": "rep", "content": f"key {secret}"}
    async with place.client("--profile", "midex") as client:
        begun = await start(client, "two", execution_id="exec_masked")
        divided = f"found {secret[:9]}\n{secret[9:]}"
        await advance(client, begun["new_token"], summary=divided, artifacts=[artifact])
        history = await read(client, "step_history/exec_masked")
        [row] = await read(client, "workflow_artifacts/exec_masked")
        text = await client.read_resource(row["uri"])
        same = await call(client, "workflow.read_artifact", artifact_id=row["id"])
    for shown in map(str, (history, text, same)):
        assert "<secret:APP_PASSWORD:" in shown
        assert secret not in shown and secret[9:] not in shown
