"""Seed 003 over MCP: a client that knows the document alone can read, start, do and finish."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from tests.mcp.conftest import ERAS, Era, House, Person, Place, decides, replies, text_of
from tests.mcp.midex_kit import (
    AGREED,
    FORK,
    GATED,
    HOST,
    TWO_STEPS,
    WORKFLOW,
    advance,
    call,
    define,
    driving,
    forge,
    read,
    sample,
    start,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[House, Path]]:
    """One server of everything for the tests of this module, and its workspace."""
    place = Place(tmp_path_factory.mktemp("midex"))
    place.workspace.mkdir()
    kinds = {"two": TWO_STEPS, "fork": FORK, "agreed": AGREED, "host": HOST, "gated": GATED}
    for name, text in kinds.items():
        define(place.workspace, name, text)
    with place.http("--profile", "all") as house:
        yield house, place.workspace


@pytest.mark.requirement("mcp:midex-drives")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["security-audit", "phased"])
async def test_a_bundled_workflow_is_driven_to_its_end_by_resources_and_tokens_alone(
    shared: tuple[House, Path], name: str, era: Era
) -> None:
    steps: list[str] = []
    async with shared[0].client(era=era) as client:
        offered = {w["name"]: w for w in await read(client, "available_workflows")}
        details = await read(client, f"workflow_details/{name}")
        params = {p: "it" for p, about in details["params"].items() if about.get("required")}
        begun = await start(client, name, params=params)
        execution, state = begun["execution_id"], begun["workflow_state"]
        while state == "running" and len(steps) < 40:
            now = await read(client, f"current_step/{execution}")
            steps.append(now["current_step"])
            assert now["agent_content"] and now["instructions"]
            schema = now["output_schema"]
            output: dict[str, Any] = {"summary": "done"} | (sample(schema) if schema else {})
            token = now["continuation_token"]
            told = await call(
                client,
                "workflow.next_step",
                token=token + "=" * (-len(token) % 4 or 1),  # some clients pad base64
                output={**output, "artifacts": ["report_001"]},
            )
            assert told["success"], told
            state = told["workflow_state"]
        status = await read(client, f"workflow_status/{execution}")
        history = await read(client, f"step_history/{execution}")
        artifacts = await read(client, f"workflow_artifacts/{execution}")
    assert set(steps) == {phase["phase"] for phase in offered[name]["phases"]}
    assert (state, status["state"], status["progress"]) == (
        "completed",
        "completed",
        f"{len(set(steps))}/{len(set(steps))}",
    )
    assert {a["name"] for a in artifacts} == {"report_001"}
    assert [h["step_name"] for h in history] == steps
    assert {h["status"] for h in history} == {"completed"}


@pytest.mark.requirement("mcp:midex-evidence")
async def test_what_cannot_be_finished_without_our_tools_is_refused_at_the_start(
    shared: tuple[House, Path], tmp_path: Path
) -> None:
    place = Place(tmp_path)
    place.workspace.mkdir()
    needed = {"fix-bug": "diagnose", "implement-feature": "tests"}
    with place.http("--profile", "midex") as house:
        async with house.client() as bare, shared[0].client() as client:
            for workflow in await read(bare, "available_workflows"):
                name = workflow["name"]
                about = (await read(bare, f"workflow_details/{name}"))["params"]
                params = {p: "it" for p, facts in about.items() if facts.get("required")}
                begun = await call(bare, "workflow.start", workflow_name=name, params=params)
                assert begun["success"] is (name not in needed), begun
                if name in needed:
                    assert begun["code"] == "evidence_unavailable"
                    assert (
                        f"step {needed[name]} needs evidence of terminal_operations."
                        in begun["error"]
                    )
                    await start(client, name, params=params)


@pytest.mark.requirement("mcp:midex-shapes")
async def test_every_resource_has_the_fields_of_the_seed(shared: tuple[House, Path]) -> None:
    async with shared[0].client() as client:
        begun = await start(client, "two", execution_id="exec_shapes")
        assert {"execution_id", "step_name", "agent_content", "new_token"} <= set(begun)
        text = "a report in ünïcode"
        artifact = {"type": "report", "name": "rep", "content": text}
        await advance(client, begun["new_token"], artifacts=[artifact])
        workflow = {w["name"]: w for w in await read(client, "available_workflows")}["two"]
        assert set(workflow) == {"name", "description", "tags", "complexity", "phases"}
        assert [p["dependsOn"] for p in workflow["phases"]] == [[], ["first"]]
        assert (await read(client, "workflow_details/two"))["content"].strip() == "The text."
        now = await read(client, "current_step/exec_shapes")
        assert (now["workflow_name"], now["workflow_state"]) == ("two", "running")
        assert (now["current_step"], now["step_status"], now["progress"]) == (
            "second",
            "running",
            "1/2",
        )
        assert now["instructions"].startswith("Do the second thing.")
        status = await read(client, "workflow_status/exec_shapes")
        expected = {"total": 2, "completed": 1, "failed": 0, "running": 1, "pending": 0}
        assert expected.items() <= status["steps"].items()
        assert status["completed_at"] is None and status["started_at"].endswith("Z")
        history = await read(client, "step_history/exec_shapes")
        assert [(h["step_name"], h["status"]) for h in history] == [
            ("first", "completed"),
            ("second", "running"),
        ]
        [kept] = await read(client, "workflow_artifacts/exec_shapes")
        assert await read(client, "workflow_artifacts/exec_shapes/first") == [kept]
        assert await read(client, "workflow_artifacts/exec_shapes/second") == []
        assert kept["size_bytes"] == len(text.encode())
        part: Any = (await client.read_resource(f"{kept['uri']}?offset=2&length=6")).contents[0]
        assert part.text == "report"
        ranged = await call(
            client, "workflow.read_artifact", artifact_id=kept["id"], offset=12, length=3
        )
        assert (ranged["content"], ranged["total"]) == (text[12:15], len(text))
        events = await read(client, "telemetry/exec_shapes?limit=1000")
        types = [event["event_type"] for event in reversed(events)]
        assert types[0] == "workflow_created"
        assert {"workflow_started", "step_started", "token_generated", "artifact_stored"} <= set(
            types
        )
        assert [e["id"] for e in events] == sorted((e["id"] for e in events), reverse=True)
        only = await read(client, "telemetry?event_type=workflow_created&limit=1")
        assert [e["event_type"] for e in only] == ["workflow_created"]


@pytest.mark.requirement("mcp:midex-refuses")
async def test_tokens_that_are_no_good_are_refused_with_a_code_and_change_nothing(
    shared: tuple[House, Path],
) -> None:
    async with shared[0].client() as client:
        begun = await start(client, "two")
        execution, token = begun["execution_id"], begun["new_token"]
        forged, other = forge(token), (await start(client, "two"))["execution_id"]
        elsewhere = {"token": token, "output": {"summary": "done"}, "execution_id": other}
        codes = {
            "garbage": (await advance(client, "garbage"))["code"],
            "forged": (await advance(client, forged))["code"],
            "no summary": (
                await call(client, "workflow.next_step", token=token, output={"summary": ""})
            )["code"],
            "no token": (await call(client, "workflow.next_step", output={}))["code"],
            "foreign": (await call(client, "workflow.next_step", **elsewhere))["code"],
        }
        await call(client, "workflow.pause", execution_id=execution, reason="lunch")
        codes["paused"] = (await advance(client, token))["code"]
        assert (await read(client, f"workflow_status/{execution}"))["progress"] == "0/2"
        await call(client, "workflow.resume", execution_id=execution)
        assert (await advance(client, token))["step_name"] == "second"
        codes["replayed"] = (await advance(client, token))["code"]
        await call(client, "workflow.abandon", execution_id=execution, reason="enough")
        codes["over"] = (await call(client, "workflow.resume", execution_id=execution))["code"]
        codes["unknown"] = (await call(client, "workflow.start", workflow_name="nope"))["code"]
    assert codes == {
        "garbage": "token_malformed",
        "forged": "token_forged",
        "no summary": "output_invalid",
        "no token": "invalid_arguments",
        "foreign": "token_foreign",
        "paused": "execution_paused",
        "replayed": "token_replayed",
        "over": "transition_invalid",
        "unknown": "workflow_unknown",
    }


@pytest.mark.requirement("mcp:midex-refuses")
@pytest.mark.parametrize("era", ERAS)
async def test_a_resource_that_is_not_there_is_a_protocol_error(
    shared: tuple[House, Path], era: Era
) -> None:
    missing = [
        f"{WORKFLOW}/current_step/nope",
        f"{WORKFLOW}/workflow_details/nope",
        f"{WORKFLOW}/step_history/nope",
        f"{WORKFLOW}/artifact/nope",
        f"{WORKFLOW}/telemetry?limit=0",
        f"{WORKFLOW}/nothing/at/all",
        "midex://knowledge/nobody",
        "sam://conversations/nope",
        "sam://results/nope",
        "file:///etc/passwd",
    ]
    async with shared[0].client(era=era) as client:
        for uri in missing:
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.code == (-32002 if era == "legacy" else -32602)
            assert refused.value.data["uri"] == uri


@pytest.mark.requirement("mcp:midex-forks")
async def test_steps_that_may_run_side_by_side_each_have_a_token(
    shared: tuple[House, Path],
) -> None:
    async with shared[0].client() as client:
        begun = await start(client, "fork")
        tokens = {step["step_name"]: step["new_token"] for step in begun["steps"]}
        assert set(tokens) == {"left", "right"}
        waiting = await advance(client, tokens["right"])
        assert (waiting["outcome"], waiting["step_name"]) == ("waiting", "left")
        joined = await advance(client, waiting["new_token"])
        assert joined["step_name"] == "join"
        assert (await advance(client, joined["new_token"]))["workflow_state"] == "completed"


@pytest.mark.requirement("mcp:midex-person")
@pytest.mark.parametrize("era", ERAS)
async def test_a_human_step_asks_the_person_and_not_the_model(
    shared: tuple[House, Path], era: Era
) -> None:
    person = Person([replies("perhaps"), replies("Build  It")])
    async with (
        shared[0].client(era=era) as lonely,
        shared[0].client(era=era, person=person) as client,
    ):
        begun = await start(lonely, "agreed")
        execution = begun["execution_id"]
        asked = await advance(lonely, begun["new_token"], summary="a bridge")
        assert asked["step_name"] == "agree"
        forged = await advance(lonely, asked["new_token"], answer="build it", approved=True)
        assert forged["code"] == "needs_person"
        now = await read(client, f"current_step/{execution}")
        wrong = await advance(client, now["continuation_token"], answer="build it")
        assert (wrong["code"], wrong["details"]["choices"]) == (
            "choice_invalid", ["build it", "leave it"],
        )  # fmt: skip
        built = await advance(client, now["continuation_token"], answer="leave it")
        assert "They said: build it" in built["instructions"]
    form = person.asked[0]
    assert "a bridge" in form.message
    options = [o["const"] for o in form.requested_schema["properties"]["answer"]["oneOf"]]
    assert options == ["build it", "leave it"]


@pytest.mark.requirement("mcp:midex-host")
@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_step_is_run_by_the_host_through_its_guard(
    shared: tuple[House, Path], era: Era, tmp_path: Path
) -> None:
    outside, inside = tmp_path / "outside.txt", f"inside-{era}.txt"
    async with shared[0].client(era=era) as client:
        begun = await start(client, "host", params={"target": inside})
        await advance(client, begun["new_token"], summary="I did it myself, honestly")
        assert (shared[1] / inside).read_text("utf-8") == "written by the host"
        begun = await start(client, "host", params={"target": str(outside)})
        alone = await advance(client, begun["new_token"])
        assert alone["code"] == "needs_approval"
        assert not outside.exists()
    person = Person([decides("once")])
    async with shared[0].client(era=era, person=person) as client:
        done = await advance(client, begun["new_token"])
        assert done["step_name"] == "after"
    assert outside.read_text("utf-8") == "written by the host"
    assert str(outside) in person.asked[0].message


@pytest.mark.requirement("workflow:cut-off", "mcp:midex-host")
async def test_a_tool_step_that_another_runs_or_that_was_cut_off_is_not_run_again(
    shared: tuple[House, Path],
) -> None:
    workspace = shared[1]
    async with shared[0].client() as client:
        begun = await start(client, "host", params={"target": "cut-off.txt"})
        execution = begun["execution_id"]
        with driving(workspace, execution) as driver:
            held = await advance(client, begun["new_token"])
            assert held["code"] == "execution_held"
            assert driver.claims.begin_call(execution, "write") is None
        asked = await advance(client, begun["new_token"])
        assert (asked["workflow_state"], asked["outcome"]) == ("paused", "asked")
        assert asked["question"]["choices"] == ["retry", "accept", "abort"]
    assert not (workspace / "cut-off.txt").exists()


@pytest.mark.requirement("mcp:midex-gate", "mcp:told-once")
@pytest.mark.parametrize("era", ERAS)
async def test_a_phase_holds_for_our_tools_and_their_calls_are_its_evidence(
    shared: tuple[House, Path], era: Era
) -> None:
    async with shared[0].client(era=era) as client, shared[0].client(era="legacy") as onlooker:
        meta: Any = {"sam-tui/conversation": f"gated-{era}"}

        async def tool(name: str, **arguments: Any) -> Any:
            return await client.call_tool(name, arguments, meta=meta)

        begun = json.loads(text_of(await tool("workflow.start", workflow_name="gated")))
        # Who only looks takes the step from nobody.
        await read(onlooker, f"current_step/{begun['execution_id']}")
        refused: Any = await tool("file_operations.create_file", filePath="x.txt", content="x")
        assert refused.is_error
        assert "look" in refused.content[0].text and "create_file" in refused.content[0].text
        token = begun["new_token"]
        handed_in = {"token": token, "output": {"summary": "all done"}}
        unproven = json.loads(text_of(await tool("workflow.next_step", **handed_in)))
        assert unproven["failures"][0]["message"] == "nothing was run"
        await tool("terminal_operations.run_command", command="true")
        again = unproven.get("new_token")
        if not again:
            retried = await tool("workflow.retry", execution_id=begun["execution_id"])
            again = json.loads(text_of(retried))["new_token"]
        ran: Any = await tool("terminal_operations.run_command", command="true")
        assert not ran.is_error, ran
        handed_in, meta = {**handed_in, "token": again}, meta | {"sam-tui/structured": True}
        proven = await tool("workflow.next_step", **handed_in)
        assert proven.structured_content == json.loads(text_of(proven))
        assert proven.structured_content["workflow_state"] == "completed"
        free: Any = await tool("file_operations.create_file", filePath=f"{era}.txt", content="x")
        assert not free.is_error


@pytest.mark.requirement("mcp:midex-findings")
async def test_findings_are_kept_reviewed_searched_and_corrected(
    shared: tuple[House, Path],
) -> None:
    finding = {"category": "security", "severity": "high", "content": "The key is in the code."}
    async with shared[0].client() as client:
        kept = await call(client, "knowledge.add_finding", title="Key", scope="global", **finding)
        assert kept["finding"]["review"] == "suggested"
        low = finding | {"severity": "low", "content": "A typo."}
        await call(
            client, "knowledge.add_finding", title="Typo", scope="project", project_id="p1", **low
        )
        found = await call(client, "knowledge.search", text="key")
        assert [f["title"] for f in found["findings"]] == ["Key"]
        everywhere = await read(client, "midex://knowledge/global")
        assert [f["title"] for f in everywhere["findings"]] == ["Key"]
        project = await read(client, "midex://knowledge/project/p1")
        assert [f["title"] for f in project["findings"]] == ["Typo"]
        changed = await call(
            client, "knowledge.update_finding", id=kept["finding"]["id"], status="deprecated"
        )
        assert changed["finding"]["status"] == "deprecated"
        assert (await read(client, "midex://knowledge/global"))["findings"] == []
        nothing = await call(client, "knowledge.update_finding", id=kept["finding"]["id"])
        assert nothing["code"] == "finding_invalid"


@pytest.mark.requirement("mcp:completion")
async def test_arguments_of_templates_are_completed(shared: tuple[House, Path]) -> None:
    from mcp.types import ResourceTemplateReference

    async with shared[0].client() as client:
        await start(client, "two", execution_id="exec_completed")
        reference = ResourceTemplateReference(uri=f"{WORKFLOW}/workflow_details/{{name}}")
        names = await client.complete(reference, {"name": "name", "value": "fix"})
        assert names.completion.values == ["fix-bug"]
        reference = ResourceTemplateReference(
            uri=f"{WORKFLOW}/workflow_artifacts/{{execId}}/{{step}}"
        )
        runs = await client.complete(reference, {"name": "execId", "value": "exec_comp"})
        assert runs.completion.values == ["exec_completed"]
        steps = await client.complete(
            reference, {"name": "step", "value": ""}, {"execId": "exec_completed"}
        )
        assert steps.completion.values == ["first", "second"]
