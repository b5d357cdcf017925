"""Bodies of HTTP requests before the SDK sees them, without a server."""

import asyncio
import json

import pytest

from sam_tui.loopback.access import Message, Receive, Scope, Send
from sam_tui.mcp_server.http.messages import messages_only


@pytest.mark.requirement("mcp:access")
async def test_of_two_requests_with_one_id_the_second_is_refused_while_the_first_is_answered() -> (
    None
):
    held, begun = asyncio.Event(), asyncio.Event()

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        await receive()
        begun.set()
        await held.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    served = messages_only(app)

    async def post(session: bytes, identifier: object) -> int:
        body = json.dumps({"jsonrpc": "2.0", "id": identifier, "method": "ping"}).encode()
        answers: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body}

        async def send(message: Message) -> None:
            answers.append(message)

        headers = [(b"mcp-session-id", session)] if session else []
        await served({"type": "http", "method": "POST", "headers": headers}, receive, send)
        return answers[0]["status"]

    async with asyncio.TaskGroup() as group:
        first = group.create_task(post(b"a", 7))
        await begun.wait()
        assert [await post(b"a", again) for again in (7, "7", "\ud800")] == [400, 400, 400]
        others = [group.create_task(post(*other)) for other in ((b"b", 7), (b"a", 8), (b"", 7))]
        held.set()
    assert [task.result() for task in (first, *others)] == [200] * 4
    assert await post(b"a", 7) == 200
