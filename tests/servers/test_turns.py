"""When tools of servers join a conversation: with a message, and never in the middle of a turn."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.model import Delta, ModelRequest, TextDelta
from tests.fakes.engine_kit import RawModel, calls
from tests.servers.conftest import SECONDS, House, raw


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
            assert runtime.engine.arrivals is not None
            await runtime.engine.arrivals(ConversationId("another"))
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
