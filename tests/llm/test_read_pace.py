"""A stream of many small pieces is read a few times a second, and nobody waits for its beginning."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from sam_tui.adapters.llm.direct import DirectModel
from sam_tui.adapters.llm.endpoint import Endpoint
from sam_tui.adapters.llm.response_bytes import AT_ONCE, INTERVAL, LITTLE, ReadPace, paced
from tests.fakes.openai_server import FakeServer, Reply
from tests.llm.folding import answer
from tests.web.test_tls import certificate

PIECES = 200


class Hand:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Steered(ReadPace):
    """Counts reads; each waits for an event in place of the time."""

    def __init__(self, due: asyncio.Event) -> None:
        super().__init__()
        self.due = due
        self.sizes: list[int] = []

    async def wait(self) -> None:
        await self.due.wait()

    def note(self, size: int) -> None:
        self.sizes.append(size)


async def waits(pace: ReadPace) -> bool:
    """Whether the next read is not due yet."""
    waiting = pace.wait()
    try:
        waiting.send(None)
    except StopIteration:
        return False
    waiting.close()
    return True


@pytest.mark.requirement("model:read-together")
async def test_the_first_reads_are_due_at_once_then_each_an_interval_after_the_last() -> None:
    clock = Hand()
    pace = ReadPace(clock)
    for _ in range(AT_ONCE - 1):
        pace.note(100)
        assert not await waits(pace)
    pace.note(100)
    assert await waits(pace)
    clock.now = INTERVAL
    assert not await waits(pace)


@pytest.mark.requirement("model:read-together")
async def test_after_a_read_of_much_the_next_is_due_at_once() -> None:
    pace = ReadPace(Hand())
    for _ in range(2 * AT_ONCE):
        pace.note(LITTLE)
    assert not await waits(pace)


@asynccontextmanager
async def piecemeal(
    tls: ssl.SSLContext | None, written: asyncio.Event
) -> AsyncGenerator[asyncio.Server]:
    """A server whose answer has its pieces one by one, with a record of TLS for each."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(PIECES):
            writer.write(b"4\r\nword\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        written.set()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server


@pytest.mark.requirement("model:read-together")
@pytest.mark.parametrize("secure", [False, True])
async def test_what_came_since_the_last_read_is_one_read(secure: bool, tmp_path: Path) -> None:
    tls, trust = certificate(tmp_path, "localhost") if secure else (None, False)
    written = asyncio.Event()
    pace = Steered(written)
    async with piecemeal(tls, written) as server, httpx.AsyncClient(verify=trust) as client:
        port = server.sockets[0].getsockname()[1]
        url = f"http{'s' if secure else ''}://localhost:{port}/"
        async with client.stream("GET", url) as response:
            with paced(response, pace):
                assert await response.aread() == b"word" * PIECES
    assert 0 < len(pace.sizes) < PIECES / 10  # one, unless the kernel hands some over later


@pytest.mark.requirement("model:read-together")
async def test_an_answer_is_read_at_the_pace_and_its_connection_goes_on_without() -> None:
    paces: list[Steered] = []

    def pace() -> Steered:
        paces.append(Steered(asyncio.Event()))
        paces[-1].due.set()
        return paces[-1]

    async with FakeServer([Reply(text="one " * 50, delay=0.001), Reply(text="two")]) as server:
        model = DirectModel(Endpoint(model="m", base=server.base, name="openai/m"), pace)
        assert (await answer(model)).text == "one " * 50
        assert (await answer(model)).text == "two"
        await model.close()
        assert server.connections == 1
    assert len(paces) == 2
    assert paces[0].sizes
