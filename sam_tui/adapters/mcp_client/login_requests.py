"""Addresses that a login is sent to: encrypted, admitted by the URL guard, and answering in time."""

import ipaddress
from collections.abc import AsyncGenerator
from contextlib import aclosing
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext

from sam_tui.core.errors import ToolError
from sam_tui.core.ports.web import UrlGuard

_ANSWER_SECONDS = 30.0
_MOST_PAGES = 3
"""Of one login: the login itself, and more scopes than it was given."""


class LoginAddresses:
    """Judges addresses that the server at ``url`` names for a login; its own is the person's choice."""

    def __init__(self, url: str, url_guard: UrlGuard) -> None:
        self._site = urlsplit(url)[:2]
        self._url_guard = url_guard
        self._pages = 0

    async def check(self, address: str) -> None:
        """Raises ``OAuthFlowError`` for an address that may get nothing of a login.

        OAuth 2.1, 1.5: encrypted, but for this machine; a host of a private network is one that the
        person's policy names.
        """
        scheme = urlsplit(address).scheme
        if scheme not in ("http", "https"):
            raise OAuthFlowError("The page of the login is no web page")
        try:
            passage = await self._url_guard.passage(address)
        except ToolError as refusal:
            raise OAuthFlowError(refusal.explain()) from None
        if scheme == "https" or urlsplit(address)[:2] == self._site:
            return
        if any(ipaddress.ip_address(text).is_global for text in passage.addresses):
            raise OAuthFlowError(f"{passage.host} takes logins without encryption (http)")

    async def check_page(self, address: str, context: OAuthContext) -> None:
        """Raises ``OAuthFlowError`` for a page that no browser is to open."""
        metadata = context.oauth_metadata
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise OAuthFlowError(
                "The authorization server does not say that it checks who began a login (PKCE, S256)"
            )
        self._pages += 1
        if self._pages > _MOST_PAGES:
            raise OAuthFlowError("It wants one login after another")
        await self.check(address)


class CheckedLogin(httpx2.Auth):
    """The authentication ``inner`` whose own requests go to checked addresses and have a time limit."""

    requires_response_body = True

    def __init__(self, inner: httpx2.Auth, addresses: LoginAddresses) -> None:
        self._inner = inner
        self._addresses = addresses

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sign a request, as ``inner`` does."""
        async with aclosing(self._inner.async_auth_flow(request)) as flow:
            try:
                outgoing = await anext(flow)
                while True:
                    if outgoing is not request:
                        await self._addresses.check(str(outgoing.url))
                        limits = httpx2.Timeout(_ANSWER_SECONDS).as_dict()
                        outgoing.extensions = {**outgoing.extensions, "timeout": limits}
                    response = yield outgoing
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return
