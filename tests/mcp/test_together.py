"""Several clients, several processes, one store: subscriptions, races, crashes and hand-overs."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.types import EmptyResult, SubscribeRequest, SubscribeRequestParams

from sam_tui.core.bus import Bus
from sam_tui.mcp_server.library import Library
from sam_tui.mcp_server.subscriptions import StoreWatch, Subscriptions
from tests.mcp.conftest import SECONDS, Person, Place, replies
from tests.mcp.midex_kit import AGREED, TWO_STEPS, WORKFLOW, advance, call, define, read, start
from tests.workflow.bench import Bench


async def run(place: Place, *arguments: str) -> tuple[int, str]:
    """``sam-tui`` in another process: its exit code and standard output."""
    command, *rest = place.command()[:4]
    where = ["--data-dir", str(place.data)]
    process = await asyncio.create_subprocess_exec(
        command,
        *rest,
        *arguments,
        *where,
        cwd=place.workspace,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(os.environ),
    )
    out, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    return process.returncode or 0, out.decode()


@pytest.mark.requirement("mcp:subscriptions")
async def test_subscribers_of_both_eras_hear_what_others_and_other_processes_change(
    place: Place,
) -> None:
    define(place.workspace, "two", TWO_STEPS)
    told: asyncio.Queue[Any] = asyncio.Queue()

    async def heard(message: Any) -> None:
        told.put_nowait(message)

    async def until(uri: str) -> None:
        async with asyncio.timeout(SECONDS):
            while True:
                message = await told.get()
                if getattr(getattr(message, "params", None), "uri", "") == uri:
                    return

    with place.http("--profile", "midex") as house:
        async with house.client() as actor, house.client(era="legacy", heard=heard) as old:
            begun = await start(actor, "two", execution_id="exec_1")
            status = f"{WORKFLOW}/workflow_status/exec_1"
            spelled = "MIDEX://workflow/workflow%5Fstatus/exec_1"
            subscribe = SubscribeRequest(params=SubscribeRequestParams(uri=spelled))
            await old.session.send_request(subscribe, EmptyResult)
            async with actor.listen(resource_subscriptions=[status]) as stream:
                await advance(actor, begun["new_token"])
                event = await asyncio.wait_for(anext(aiter(stream)), SECONDS)
                assert event == ResourceUpdated(uri=status)
                await until(spelled)
                code, _ = await run(place, "workflow", "pause", "exec_1")
                assert code == 0
                await until(spelled)
                assert (await read(old, status))["state"] == "paused"


@pytest.mark.requirement("mcp:subscriptions")
@pytest.mark.parametrize("profile", ["midex", "all"])
async def test_subscribers_hear_of_findings_that_no_execution_made(
    place: Place, profile: str
) -> None:
    finding = {"category": "pattern", "severity": "low", "title": "One", "content": "of all"}
    uris = ["midex://knowledge/global", "midex://knowledge/project/p%201"]
    scopes: list[dict[str, str]] = [{"scope": "global"}, {"scope": "project", "project_id": "p 1"}]
    with place.http("--profile", profile) as house:
        async with (
            house.client() as actor,
            house.client() as hearer,
            hearer.listen(resource_subscriptions=uris) as stream,
        ):
            news = aiter(stream)
            for uri, scope in zip(uris, scopes, strict=True):
                added = await actor.call_tool("knowledge.add_finding", {**finding, **scope})
                assert not added.is_error, added
                event = await asyncio.wait_for(anext(news), SECONDS)
                assert event == ResourceUpdated(uri=uri)


@pytest.mark.requirement("mcp:subscriptions")
async def test_the_list_of_resources_changes_with_the_executions(place: Place) -> None:
    define(place.workspace, "two", TWO_STEPS)
    with place.http("--profile", "midex") as house:
        async with house.client() as client, client.listen(resources_list_changed=True) as stream:
            before = {r.uri for r in (await client.list_resources()).resources}
            await start(client, "two", execution_id="exec_1")
            event = await asyncio.wait_for(anext(aiter(stream)), SECONDS)
            assert event == ResourcesListChanged()
            after = {r.uri for r in (await client.list_resources()).resources}
    assert f"{WORKFLOW}/current_step/exec_1" in after - before


@pytest.mark.requirement("mcp:subscriptions")
async def test_the_store_is_asked_one_thing_a_look_and_nothing_while_nobody_subscribes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sam_tui.mcp_server.subscriptions.INTERVAL", 0)
    bench, bus = Bench(tmp_path), Bus()
    statements: list[str] = []
    bench.store.live.set_trace_callback(statements.append)
    subscriptions = Subscriptions(Library((), ()), bus)
    watch = StoreWatch(lambda: bench.workflows, bus)
    running = watch.run(subscriptions)
    watching = asyncio.get_running_loop().create_task(running, name="watch")

    async def looks(count: int) -> list[str]:
        """What is asked until that many looks were taken."""
        statements.clear()
        for _ in range(10_000):
            if sum("data_version" in statement for statement in statements) == count:
                break
            await asyncio.sleep(0)
        return [statement for statement in statements if "data_version" not in statement]

    try:
        for _ in range(20):
            await asyncio.sleep(0)
        assert statements == []
        subscriptions.occupied.set()
        assert len(await looks(4)) == 2  # what there is at the beginning: events, findings
        assert (await looks(10), len(statements)) == ([], 10)
        subscriptions.occupied.clear()
        for _ in range(5):
            await asyncio.sleep(0)
        statements.clear()
        for _ in range(20):
            await asyncio.sleep(0)
        assert statements == []
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        bench.close()


@pytest.mark.requirement("mcp:two-clients")
async def test_of_two_clients_with_one_token_exactly_one_finishes_the_step(place: Place) -> None:
    define(place.workspace, "two", TWO_STEPS)
    with place.http("--profile", "midex") as house:
        async with house.client() as one, house.client(era="legacy") as other:
            begun = await start(one, "two", execution_id="exec_1")
            answers = await asyncio.gather(
                *(advance(client, begun["new_token"]) for client in (one, other) * 4)
            )
            codes: Sequence[str] = [a.get("code", "") for a in answers]
            assert codes.count("") == 1
            assert set(codes) - {""} == {"token_replayed"}
            assert (await read(other, "workflow_status/exec_1"))["progress"] == "1/2"


@pytest.mark.requirement("mcp:crash")
async def test_a_killed_server_is_followed_by_another_that_goes_on(place: Place) -> None:
    define(place.workspace, "two", TWO_STEPS)
    async with place.raw("--profile", "midex") as server:
        await server.open()
        arguments = {"workflow_name": "two", "execution_id": "exec_1"}
        begun = await server.ask("tools/call", name="workflow.start", arguments=arguments)
        token = json.loads(begun["result"]["content"][0]["text"])["new_token"]
        server.process.kill()
        await server.process.wait()
    async with place.client("--profile", "midex") as client:
        now = await read(client, "current_step/exec_1")
        assert (now["current_step"], now["progress"]) == ("first", "0/2")
        following = await advance(client, token)
        assert following["step_name"] == "second"
        done = await advance(client, following["new_token"])
        assert done["workflow_state"] == "completed"


@pytest.mark.requirement("mcp:hand-over")
async def test_an_execution_goes_from_a_client_to_our_agent_and_back(place: Place) -> None:
    define(place.workspace, "agreed", AGREED)
    script = place.folder / "script.json"
    model = ("--model", f"scripted:{script}")
    person = Person([replies("build it")])
    with place.http("--profile", "midex") as house:
        async with house.client(person=person) as client:
            await start(client, "agreed", execution_id="exec_1")
            # Our own agent does the step; then a person is needed, whom a headless run has not.
            script.write_text(json.dumps([{"text": "a bridge of stone"}]), "utf-8")
            assert (await run(place, "workflow", "run", "exec_1", *model))[0] == 3
            assert (await read(client, "current_step/exec_1"))["workflow_state"] == "paused"
            resumed = await call(client, "workflow.resume", execution_id="exec_1")
            built = await advance(client, resumed["new_token"])
            assert built["step_name"] == "build"
            history = await read(client, "step_history/exec_1")
            script.write_text(json.dumps([{"text": "built"}]), "utf-8")
            assert (await run(place, "workflow", "run", "exec_1", *model))[0] == 0
            assert (await read(client, "workflow_status/exec_1"))["state"] == "completed"
    drivers = {h["step_name"]: h["driver"] for h in history}
    assert "a bridge of stone" in person.asked[0].message
    assert drivers["design"].startswith("sam-tui") and drivers["build"].startswith("mcp: ")


@pytest.mark.requirement("mcp:one-writer")
async def test_a_conversation_that_another_server_has_open_is_refused_until_it_is_taken_over(
    place: Place,
) -> None:
    async with place.client("--conversation", "mine") as first:
        thought = ("think", {"thoughts": "x"})
        assert not (await first.call_tool(*thought)).is_error
        refused = await asyncio.create_subprocess_exec(
            *place.command("--conversation", "mine"), stderr=asyncio.subprocess.PIPE
        )
        _, errors = await refused.communicate()
        assert refused.returncode == 75 and b"sam-tui mcp serve (process" in errors
        async with place.client() as second:
            meta: Any = {"sam-tui/conversation": "mine"}
            told: Any = await second.call_tool(*thought, meta=meta)
            assert told.is_error and "name another conversation" in told.content[0].text
        async with place.client("--conversation", "mine", "--take-over") as third:
            assert not (await third.call_tool(*thought)).is_error
            assert (await first.call_tool(*thought)).is_error
        assert not (await first.call_tool(*thought)).is_error
