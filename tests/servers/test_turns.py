"""When tools of servers join a conversation: with a message, and never in the middle of a turn."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator

import pytest

from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.model import Delta, ModelRequest, TextDelta
from tests.fakes.engine_kit import RawModel, calls
from tests.servers.conftest import RAW, SECONDS, House, raw


class ToldModel(RawModel):
    """A model that keeps which tools it was told of."""

    def __init__(self, *answers: object) -> None:
        super().__init__(*answers)  # pyright: ignore[reportArgumentType]
        self.told: list[str] = []
        self.asked = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The next answer."""
        self.told.append(request.tools_json)
        self.asked.set()
        async for delta in super().stream(request):
            yield delta


@pytest.mark.requirement("servers:late")
async def test_a_server_that_comes_late_joins_with_the_next_message_and_not_before(
    house: House,
) -> None:
    house.user(one=raw("late"))
    go = house.workspace / "go"
    os.mkfifo(go)
    gate = asyncio.Event()
    listing = calls(("todo_operations", {"operation": "read"}))
    model = ToldModel([gate, *listing], [TextDelta("done")], [TextDelta("again")])
    async with house.open(attended=True) as sam:
        runtime = sam.runtime
        runtime.use_model(model)
        session = runtime.open_session()
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
            turn = group.create_task(session.run("first"))
            await model.asked.wait()
            await asyncio.to_thread(go.write_text, "go", "utf-8")
            assert await runtime.servers.settled(SECONDS)
            await runtime.servers.arrive(ConversationId("another"))
            assert "mcp__one__echo" in runtime.registry.names
            gate.set()
            await turn
        assert model.told[0] == model.told[1]
        assert "mcp__one__" not in model.told[0]
        await session.run("second")
        assert model.told[2].startswith(model.told[0][:-1])
        assert "mcp__one__echo" in model.told[2]


@pytest.mark.requirement("servers:tools")
async def test_a_model_calls_a_servers_tool_like_any_other(house: House) -> None:
    house.user(one=raw())
    model = ToldModel(calls(("mcp__one__echo", {"text": "hello"})), [TextDelta("done")])
    async with house.open() as sam:
        sam.runtime.use_model(model)
        session = sam.runtime.open_session()
        finished = await session.run("go")
        assert finished.answer == "done"
        assert "hello" in str(model.seen[1][-1])


@pytest.mark.requirement("servers:remembered")
async def test_tools_of_last_time_are_told_at_once_and_a_call_waits_for_the_server(
    house: House,
) -> None:
    house.user(one=raw("late"))
    go = house.workspace / "go"
    os.mkfifo(go)
    async with asyncio.timeout(SECONDS):
        async with house.open() as sam:
            sam.runtime.servers.begin()
            await asyncio.to_thread(go.write_text, "go", "utf-8")
            names = await sam.arrive()
            told = sam.runtime.registry.schemas_json
        async with house.open() as sam:
            await sam.runtime.servers.arrive(sam.conversation)
            assert sam.reports["one"].standing == "starting"
            assert sam.runtime.registry.schemas_json == told
            async with asyncio.TaskGroup() as group:
                call = group.create_task(sam.text("mcp__one__echo", text="late"))
                await asyncio.to_thread(go.write_text, "go", "utf-8")
            assert call.result() == "late"
            assert await sam.arrive() == names
        async with house.open() as sam:
            # Nobody lets it come up: the run ends all the same, and with it the server.
            await sam.runtime.servers.arrive(sam.conversation)


@pytest.mark.requirement("servers:remembered")
async def test_what_was_remembered_is_of_exactly_these_settings_and_holds_no_secret(
    house: House,
) -> None:
    house.user(one=raw(env={"TOKEN": "ghp_" + "a1B2" * 9}))
    async with house.open() as sam:
        await sam.arrive()
    (kept,) = (house.folder / "data" / "mcp-tools").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    assert "a1B2" not in kept.read_text("utf-8")
    kept.write_text('[{"name": "gone", "about": "It was there.", "schema": []}, 3]', "utf-8")
    async with house.open() as sam:
        assert sam.reports["one"].tools == ("mcp__one__gone",)
        assert "mcp__one__gone" not in await sam.arrive()
    house.user(one=raw("exit", env={"TOKEN": "x"}))
    async with house.open() as sam:
        assert sam.reports["one"].tools == ()
    kept.write_text("{", "utf-8")
    house.user(one=raw(env={"TOKEN": "x"}))
    async with house.open() as sam:
        assert sam.reports["one"].tools == ()
        assert "mcp__one__echo" in await sam.arrive()


@pytest.mark.requirement("servers:remembered")
async def test_a_server_that_no_longer_comes_up_takes_its_tools_with_it(house: House) -> None:
    script = house.workspace / "server.py"
    script.write_text(RAW.read_text("utf-8"), encoding="utf-8")
    house.user(one={"command": sys.executable, "args": [str(script)]})
    async with house.open() as sam:
        assert "mcp__one__echo" in await sam.arrive()
    script.write_text("raise SystemExit(5)", encoding="utf-8")
    async with house.open() as sam:
        assert await sam.arrive() == []
        assert "exit code 5" in sam.reports["one"].error


@pytest.mark.requirement("servers:hooked")
async def test_a_hook_sees_a_servers_call_by_name_and_arguments_and_may_stop_it(
    house: House,
) -> None:
    house.user(one=raw())
    hook = {"type": "command", "command": "cat > seen.json; echo not this one >&2; exit 2"}
    wanted = {"PreToolUse": [{"matcher": "mcp__one__.*", "hooks": [hook]}]}
    hooks = house.settings / "hooks.json"
    hooks.write_text(json.dumps({"hooks": wanted}), encoding="utf-8")
    async with house.open() as sam:
        await sam.arrive()
        assert "not this one" in await sam.text("mcp__one__write", text="a.txt")
    seen = json.loads((house.workspace / "seen.json").read_text("utf-8"))
    assert (seen["tool_name"], seen["tool_input"]) == ("mcp__one__write", {"text": "a.txt"})
    assert not (house.workspace / "a.txt").exists()
