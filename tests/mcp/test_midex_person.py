"""The question that a workflow asks when a call was cut off, put to the person at an MCP client."""

from pathlib import Path

import pytest
from mcp.types import ElicitResult

from tests.mcp.conftest import ERAS, Era, Person, Place, replies, text_of
from tests.mcp.midex_kit import HOST, advance, call, define, driving, read, start


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
