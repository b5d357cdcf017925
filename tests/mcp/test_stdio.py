"""The protocol on standard streams, line by line, as a client sees it that knows nothing of us."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import SECONDS, Place, sleeping
from tests.mcp.fuzz import frames

NOISE = """
import os, sys
def noisy(event, arguments):
    # Only once the server has been loaded: what is printed before is not its doing.
    if event == "open" and "uvicorn" in sys.modules and not sys.is_finalizing():
        print("noise", flush=True)
        os.write(1, b"more noise\\n")
sys.addaudithook(noisy)
"""


@pytest.mark.requirement("mcp:handshake", "mcp:errors", "mcp:fuzzed")
async def test_what_is_no_request_has_the_error_that_json_rpc_has_for_it(place: Place) -> None:
    async with place.raw() as server:
        opened = await server.open("1999-01-01")
        assert opened["protocolVersion"] == "2025-11-25"
        assert opened["serverInfo"]["name"] == "sam-tui"
        assert str(place.workspace) in opened["instructions"]
        assert {"tools", "logging", "resources", "prompts"} <= set(opened["capabilities"])
        surrogate = '{"jsonrpc":"2.0","id":"s","method":"ping","params":{"x":"\\ud800"}}'
        await server.send("{not json", "[]", '{"jsonrpc":"2.0","id":"x"}', '{"result":1}', "", "{}")
        deep = '{"a":' * 5_000 + "1" + "}" * 5_000
        await server.send(surrogate)
        await server.send(f'{{"jsonrpc":"2.0","id":"deep","method":"ping","params":{deep}}}')
        faults = [await server.next() for _ in range(6)]
        assert [(f["id"], f["error"]["code"]) for f in faults] == [
            (None, -32700),
            (None, -32600),
            ("x", -32600),
            (None, -32600),
            ("s", -32600),
            ("deep", -32600),
        ]
        for none in ("null", "true", "1.5", '{"a":1}'):
            await server.send(f'{{"jsonrpc":"2.0","id":{none},"method":"ping"}}')
            fault = await server.next()
            assert (fault["id"], fault["error"]["code"]) == (None, -32600)
        await server.send({"method": "notifications/no-such", "params": {"id": 1}})
        codes = {
            "unknown method": await server.ask("no/such"),
            "unknown tool": await server.ask("tools/call", name="no_such", arguments={}),
            "arguments that are no object": await server.ask(
                "tools/call", name="think", arguments=[]
            ),
            "a cursor nobody gave": await server.ask("tools/list", cursor="abc"),
        }
        assert {why: answer["error"]["code"] for why, answer in codes.items()} == {
            "unknown method": -32601,
            "unknown tool": -32602,
            "arguments that are no object": -32602,
            "a cursor nobody gave": -32602,
        }
        wrong = await server.ask("tools/call", name="file_operations", arguments={"operation": "x"})
        assert wrong["result"]["isError"] is True
        assert "read_file" in wrong["result"]["content"][0]["text"]
        assert await server.ask("ping") == {"jsonrpc": "2.0", "id": 7, "result": {}}
        # Messages that are nearly right end nothing and do nothing.
        marker, before = place.folder / "marker", len(server.seen)
        assert server.process.stdin is not None
        for line in frames(1, 60, marker):
            server.process.stdin.write(line + b"\n")
        await server.send({"id": "last", "method": "ping"})
        assert (await server.answer("last"))["result"] == {}
        assert len(server.seen) - before > 25
    assert not marker.exists()


@pytest.mark.requirement("mcp:handshake")
async def test_a_request_before_the_handshake_is_refused_and_a_ping_is_not(place: Place) -> None:
    async with place.raw() as server:
        assert (await server.ask("tools/list"))["error"]["code"] == -32602
        assert (await server.ask("ping"))["result"] == {}


@pytest.mark.requirement("mcp:stateless")
async def test_the_protocol_without_handshake_is_spoken_and_knows_its_versions(
    place: Place,
) -> None:
    async with place.raw() as server:
        meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        found = await server.ask("server/discover", _meta=meta)
        assert found["result"]["supportedVersions"] == ["2026-07-28"]
        meta["io.modelcontextprotocol/protocolVersion"] = "2199-01-01"
        refused = await server.ask("server/discover", _meta=meta)
        assert refused["error"]["code"] == -32022
        assert refused["error"]["data"]["supported"] == ["2026-07-28"]


@pytest.mark.requirement("mcp:stable-list", "mcp:pages")
async def test_the_list_of_tools_is_the_same_bytes_in_every_process_whole_or_in_pages(
    place: Place,
) -> None:
    lists: list[bytes] = []
    for _ in range(2):
        async with place.raw() as server:
            await server.open()
            await server.send({"id": "list", "method": "tools/list"})
            lists.append(await server.line())
    assert lists[0] == lists[1]
    whole = [tool["name"] for tool in json.loads(lists[0])["result"]["tools"]]
    paged: list[str] = []
    async with place.raw("--page-size", "3") as server:
        await server.open()
        answer = await server.ask("tools/list")
        while True:
            paged += [tool["name"] for tool in answer["result"]["tools"]]
            assert len(answer["result"]["tools"]) <= 3
            if "nextCursor" not in answer["result"]:
                break
            answer = await server.ask("tools/list", cursor=answer["result"]["nextCursor"])
    assert paged == whole
    assert len(whole) > 10


@pytest.mark.requirement("mcp:stdout")
async def test_nothing_but_the_protocol_is_on_standard_output_whatever_prints(
    place: Place, tmp_path: Path
) -> None:
    noise = tmp_path / "noise"
    noise.mkdir()
    (noise / "sitecustomize.py").write_text(NOISE, "utf-8")
    async with place.raw(environ={"PYTHONPATH": str(noise)}) as server:
        await server.open()
        command = {"operation": "run_command", "command": "echo out; echo err >&2"}
        done = await server.ask("tools/call", name="terminal_operations", arguments=command)
        assert "out" in done["result"]["content"][0]["text"]
        assert await server.end() == 0
        assert server.process.stdout is not None
        assert await server.process.stdout.read() == b""
        assert server.process.stderr is not None
        assert b"noise" in await server.process.stderr.read()


@pytest.mark.requirement("mcp:endings")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_the_server_and_what_it_runs(place: Place, number: int) -> None:
    async with place.raw() as server:
        await server.open()
        async with sleeping(server, place):
            server.process.send_signal(number)
            assert await asyncio.wait_for(server.process.wait(), SECONDS) == 0


@pytest.mark.requirement("mcp:endings")
async def test_a_client_that_hangs_up_in_the_middle_cancels_its_calls(place: Place) -> None:
    async with place.raw() as server:
        await server.open()
        async with sleeping(server, place):
            assert await server.end() == 0


@pytest.mark.requirement("mcp:endings")
async def test_questions_in_a_pipe_that_ends_still_have_their_answers(place: Place) -> None:
    async with place.raw() as server:
        about: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}
        await server.send(
            {
                "id": 1,
                "method": "initialize",
                "params": {**about, "clientInfo": {"name": "x", "version": "1"}},
            },
            {"id": 2, "method": "tools/list"},
        )
        assert server.process.stdin is not None
        server.process.stdin.close()
        capabilities = (await server.answer(1))["result"]["capabilities"]
        assert capabilities["resources"]["listChanged"] is True
        assert (await server.answer(2))["result"]["tools"]
        assert await asyncio.wait_for(server.process.wait(), SECONDS) == 0


@pytest.mark.requirement("mcp:cancel")
async def test_a_cancelled_call_ends_what_it_runs_and_the_server_goes_on(place: Place) -> None:
    async with place.raw() as server:
        await server.open()
        async with sleeping(server, place) as request:
            params = {"requestId": request, "reason": "enough"}
            await server.send({"method": "notifications/cancelled", "params": params})
        assert (await server.ask("ping"))["result"] == {}


@pytest.mark.requirement("mcp:progress")
async def test_progress_grows_and_comes_before_the_result(place: Place) -> None:
    async with place.raw() as server:
        await server.open()
        command = {"operation": "run_command", "command": "echo one; echo two; echo three"}
        params = {
            "name": "terminal_operations",
            "arguments": command,
            "_meta": {"progressToken": "t"},
        }
        await server.send({"id": "run", "method": "tools/call", "params": params})
        await server.answer("run")
        told = [m["params"] for m in server.seen if m.get("method") == "notifications/progress"]
        assert [p["progressToken"] for p in told] == ["t"] * len(told)
        assert [p["progress"] for p in told] == sorted({p["progress"] for p in told})
        assert "three" in "".join(p["message"] for p in told)


@pytest.mark.requirement("mcp:log")
async def test_the_log_is_heard_from_the_level_that_was_asked_for(place: Place) -> None:
    async with place.raw() as server:
        await server.open()
        await server.ask("tools/call", name="think", arguments={"thoughts": "quiet"})
        assert not [m for m in server.seen if m.get("method") == "notifications/message"]
        assert (await server.ask("logging/setLevel", level="debug"))["result"] == {}
        await server.ask("tools/call", name="think", arguments={"thoughts": "loud"})
        told = [m["params"] for m in server.seen if m.get("method") == "notifications/message"]
        assert {"debug", "info"} == {entry["level"] for entry in told}
        assert any(entry["data"].get("operation") == "think" for entry in told)
        assert (await server.ask("logging/setLevel", level="loud"))["error"]["code"] == -32602
