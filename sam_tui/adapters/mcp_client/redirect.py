"""The loopback address to which the browser of a login returns."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult

PATH = "/callback"
LOGIN_SECONDS = 300.0
"""How long a person has for the page."""
_PAGE = "<!doctype html><meta charset=utf-8><title>sam-tui</title><p>{}</p>"


class Callback:
    """The loopback address to which the browser is redirected."""

    def __init__(self, server: asyncio.Server, answers: "asyncio.Queue[str]") -> None:
        self._server = server
        self._answers = answers

    @property
    def url(self) -> str:
        """The redirect URI for the authorization server."""
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{PATH}"

    async def answer(self) -> AuthorizationCodeResult:
        """The code and state of the redirect. Raises ``OAuthFlowError``."""
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                query = parse_qs(await self._answers.get())
        except TimeoutError:
            raise OAuthFlowError("Nobody logged in in time") from None
        values = {name: texts[0] for name, texts in query.items()}
        if "code" not in values:
            why = values.get("error_description") or values.get("error", "no code came back")
            raise OAuthFlowError(f"The login was refused: {why}")
        return AuthorizationCodeResult(
            code=values["code"], state=values.get("state"), iss=values.get("iss")
        )


@asynccontextmanager
async def callback(port: int) -> AsyncGenerator[Callback]:
    """Listen on loopback, at ``port`` if it is free; requests of any other path are refused."""
    answers: asyncio.Queue[str] = asyncio.Queue(8)

    async def serve(reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(10):
                head = await reads.readuntil(b"\r\n\r\n")
                target = urlsplit(head.split(b" ", 2)[1].decode("ascii"))
                ours = head.startswith(b"GET ") and target.path == PATH
                words = "You can close this page." if ours else "Not found."
                body = _PAGE.format(words).encode()
                status = b"200 OK" if ours else b"404 Not Found"
                writes.write(
                    b"HTTP/1.1 %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\n"
                    b"Cache-Control: no-store\r\nConnection: close\r\n\r\n%b"
                    % (status, len(body), body)
                )
                await writes.drain()
                if ours and not answers.full():
                    answers.put_nowait(target.query)
        writes.close()

    try:
        server = await asyncio.start_server(serve, "127.0.0.1", port)
    except OSError:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield Callback(server, answers)
