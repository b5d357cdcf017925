"""The client's description for an authorization server, its scopes, and the callback of the browser."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthTokenError, TokenStorage
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
)
from pydantic import AnyUrl

from sam_tui.adapters.mcp_client.oauth_settings import OAuthSettings

PATH = "/callback"
LOGIN_SECONDS = 300.0
"""Seconds that a person has to log in on the web page."""
_PAGE = "<!doctype html><meta charset=utf-8><title>sam-tui</title><p>{}</p>"


class IssuedTokens(TokenStorage, Protocol):
    """Tokens with the metadata of the server that issued them; None where it may get nothing."""

    @property
    def server(self) -> OAuthMetadata | None: ...


class BoundLogin(OAuthClientProvider):
    """Gives a refresh token only to the server that issued it, whatever a flow discovered since."""

    issued: IssuedTokens

    async def _refresh_token(self) -> httpx2.Request:
        if self.issued.server is None:  # the SDK would guess an address
            raise OAuthTokenError("No server is known that issued its refresh token")
        self.context.oauth_metadata = self.issued.server
        return await super()._refresh_token()


class _FixedScope(OAuthClientMetadata):
    """Requests the scope that the person set; the SDK would take the server's instead."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "scope":
            super().__setattr__(name, value)


def with_set_scope(provider: OAuthClientProvider, scope: str) -> OAuthClientProvider:
    """The provider with a fixed scope; with an empty ``scope`` the SDK chooses."""
    if scope:
        metadata = provider.context.client_metadata.model_dump()
        provider.context.client_metadata = _FixedScope.model_validate({**metadata, "scope": scope})
    return provider


def registered(oauth: OAuthSettings, url: str) -> OAuthClientInformationFull:
    """The registration that the settings give, for a client that the person registered by hand."""
    return OAuthClientInformationFull(
        client_id=oauth.client_id,
        client_secret=oauth.client_secret or None,
        redirect_uris=[AnyUrl(url)],
        token_endpoint_auth_method="client_secret_basic" if oauth.client_secret else "none",
        issuer=oauth.issuer or None,
    )


def client_metadata(url: str) -> OAuthClientMetadata:
    """The metadata with which this program registers as an OAuth client."""
    return OAuthClientMetadata(
        client_name="sam-tui",
        redirect_uris=[AnyUrl(url)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )


def port_of(client: OAuthClientInformationFull | None) -> int:
    """The port of a registration's redirect URI; 0 if any port will do."""
    urls = client.redirect_uris or () if client is not None else ()
    return next((url.port or 0 for url in urls), 0)


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
