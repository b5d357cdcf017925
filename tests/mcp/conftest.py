"""A real ``sam-tui mcp serve`` process, and clients that are not ours: the SDK's, and raw JSON."""

import asyncio
import json
import os
import re
import ssl
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitRequestParams, ElicitResult

SECONDS = 50.0
Era = Literal["legacy", "auto"]
ERAS: tuple[Era, Era] = ("legacy", "auto")
"""The handshake protocols up to 2025-11-25, and 2026-07-28."""


@dataclass
class Person:
    """Who sits at the client: answers each form with the next of their answers, and keeps it."""

    answers: list[ElicitResult] = field(default_factory=list[ElicitResult])
    asked: list[Any] = field(default_factory=list[Any])

    async def __call__(self, context: object, params: ElicitRequestParams) -> ElicitResult:
        """Answer one form; whoever has no answer left dismisses it."""
        self.asked.append(params)
        return self.answers.pop(0) if self.answers else ElicitResult(action="cancel")


def decides(choice: str, comment: str = "") -> ElicitResult:
    """An approval's form, filled in."""
    content: dict[str, Any] = {"decision": choice}
    return ElicitResult(
        action="accept", content=content | ({"comment": comment} if comment else {})
    )


def replies(answer: str) -> ElicitResult:
    """A question's form, filled in."""
    return ElicitResult(action="accept", content={"answer": answer})


@dataclass
class Place:
    """A workspace, a data folder, and the server over them."""

    folder: Path

    @property
    def workspace(self) -> Path:
        """Where the tools work."""
        return self.folder / "ws"

    @property
    def data(self) -> Path:
        """Where the program keeps things."""
        return self.folder / "data"

    def command(self, *arguments: str) -> list[str]:
        """The command line of the server."""
        place = ["-C", str(self.workspace), "--data-dir", str(self.data)]
        return [sys.executable, "-P", "-m", "sam_tui", "mcp", "serve", *place, *arguments]

    @asynccontextmanager
    async def client(
        self, *arguments: str, era: Era = "auto", person: Person | None = None, **options: Any
    ) -> AsyncGenerator[Client]:
        """The SDK's client on the standard streams of a server of its own."""
        command, *rest = self.command(*arguments)
        parameters = StdioServerParameters(command=command, args=rest, env=dict(os.environ))
        with (self.folder / "stderr.txt").open("a", encoding="utf-8") as errors:
            transport = stdio_client(parameters, errlog=errors)
            async with Client(
                transport,
                mode=era,
                elicitation_callback=person,
                read_timeout_seconds=SECONDS,
                **options,
            ) as client:
                yield client

    @asynccontextmanager
    async def raw(
        self, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> AsyncGenerator["Raw"]:
        """A server that is spoken to in lines; it is killed at the end if it still runs."""
        process = await asyncio.create_subprocess_exec(
            *self.command(*arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **(environ or {})},
            limit=1 << 26,
        )
        try:
            yield Raw(process)
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    @contextmanager
    def http(self, *arguments: str) -> Generator["House"]:
        """A server on loopback; it is ended by a signal, and has to end well."""
        process = subprocess.Popen(
            self.command("--transport", "http", "--port", "0", *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        try:
            said = process.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", said)
            assert found, said + process.stderr.read()
            token = (self.data / "mcp-token").read_text("ascii").strip()
            yield House(process, found[0], int(found[1]), token)
        finally:
            process.terminate()
            out, err = process.communicate(timeout=SECONDS)
        assert (process.returncode, out) == (0, ""), err


@dataclass
class House:
    """A server on loopback, and what one needs to come in."""

    process: "subprocess.Popen[str]"
    url: str
    port: int
    token: str

    @property
    def keys(self) -> dict[str, str]:
        """The header that opens the door."""
        return {"Authorization": f"Bearer {self.token}"}

    @asynccontextmanager
    async def client(
        self, *, era: Era = "auto", person: Person | None = None, heard: Any = None
    ) -> AsyncGenerator[Client]:
        """The SDK's client over HTTP; ``heard`` is told what the server says unasked."""
        without_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # loading them takes 20 ms
        async with httpx2.AsyncClient(
            headers=self.keys, timeout=SECONDS, verify=without_certificates
        ) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(
                transport,
                mode=era,
                elicitation_callback=person,
                message_handler=heard,
                read_timeout_seconds=SECONDS,
            ) as client:
                yield client


class Raw:
    """Lines of JSON to and from a server on its standard streams."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []
        self._number = 0

    async def send(self, *lines: str | Mapping[str, Any]) -> None:
        """Send lines as they are, objects as JSON."""
        assert self.process.stdin is not None
        for line in lines:
            text = line if isinstance(line, str) else json.dumps({"jsonrpc": "2.0", **line})
            self.process.stdin.write(text.encode() + b"\n")
        await self.process.stdin.drain()

    async def line(self) -> bytes:
        """The next line."""
        assert self.process.stdout is not None
        return await asyncio.wait_for(self.process.stdout.readline(), SECONDS)

    async def next(self) -> dict[str, Any]:
        """The next message; every line has to be one."""
        line = await self.line()
        assert line, "the server has ended"
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        self.seen.append(message)
        return message

    async def answer(self, request: int | str | None) -> dict[str, Any]:
        """The answer to a request; what comes before it is kept in ``seen``."""
        while True:
            message = await self.next()
            if "method" not in message and message.get("id") == request:
                return message

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self._number += 1
        await self.send({"id": self._number, "method": method, "params": params})
        return await self.answer(self._number)

    async def open(
        self, version: str = "2025-11-25", capabilities: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The handshake; its result."""
        about = {"name": "raw", "version": "1"}
        answer = await self.ask(
            "initialize",
            protocolVersion=version,
            capabilities=capabilities or {},
            clientInfo=about,
        )
        await self.send({"method": "notifications/initialized"})
        return answer["result"]

    async def end(self) -> int:
        """Close the server's standard input and wait until it has ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await asyncio.wait_for(self.process.wait(), SECONDS)


@asynccontextmanager
async def sleeping(server: Raw, place: Place) -> AsyncGenerator[str]:
    """A call whose command sleeps for ever; at the end of the block the command has to end.

    The command holds one end of a named pipe open, whose other end is ours.
    """
    alive = place.workspace / "alive"
    os.mkfifo(alive)
    arguments = {"operation": "run_command", "command": "exec 9>alive; exec sleep 1000"}
    params = {"name": "terminal_operations", "arguments": arguments}
    await server.send({"id": "sleep", "method": "tools/call", "params": params})
    file = await asyncio.wait_for(asyncio.to_thread(alive.open, "rb"), SECONDS)
    with file:
        yield "sleep"
        assert await asyncio.wait_for(asyncio.to_thread(file.read), SECONDS) == b""


def text_of(result: Any) -> str:
    """The text of a tool's result."""
    return "\n".join(block.text for block in result.content if block.type == "text")


def names(entries: Sequence[Any]) -> list[str]:
    """The names of listed things."""
    return [entry.name for entry in entries]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty workspace."""
    (tmp_path / "ws").mkdir()
    return Place(tmp_path)
