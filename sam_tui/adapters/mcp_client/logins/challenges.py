"""A server's answer to a request that requires a login, or one with more scopes."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from pydantic import BaseModel

LONGEST_CHALLENGE = 2000
_UNAUTHORIZED, _FORBIDDEN, _FAILED = 401, 403, 500
_HEADER = "WWW-Authenticate"
_PROOFS = re.compile(r"(?:^|,)\s*DPoP(?=[\s,]|$)", re.IGNORECASE)


class Challenge(BaseModel):
    """A server's answer to a request that requires a login, or one with more scopes."""

    status: int
    header: str = ""

    @property
    def wider(self) -> bool:
        """Whether it requires more scopes than a login has."""
        return self.status == _FORBIDDEN

    @property
    def response(self) -> httpx2.Response:
        """An answer with this challenge."""
        headers = {_HEADER: self.header} if self.header else {}
        return httpx2.Response(self.status, headers=headers)

    @property
    def scope(self) -> str:
        """The scopes that the server names, as text."""
        return extract_scope_from_www_auth(self.response) or ""


def challenge_of(response: httpx2.Response) -> Challenge | None:
    """The challenge of an answer that requires a login or more scopes; None of any other."""
    header = response.headers.get(_HEADER, "")
    header = header if len(header) <= LONGEST_CHALLENGE else ""
    if response.status_code == _UNAUTHORIZED:
        return Challenge(status=_UNAUTHORIZED, header=header)
    if response.status_code != _FORBIDDEN:
        return None
    error = extract_field_from_www_auth(response, "error")
    insufficient = header and error == "insufficient_scope"
    return Challenge(status=_FORBIDDEN, header=header) if insufficient else None


def accepts_proofs(response: httpx2.Response) -> bool:
    """Whether a refusal names the scheme of tokens that are bound to a key (RFC 9449, 7.1)."""
    named = _PROOFS.search(response.headers.get(_HEADER, ""))
    return response.status_code == _UNAUTHORIZED and named is not None


class PriorChallenge(httpx2.Auth):
    """A login that answers the ``prior`` refusal of another request, where the server does not refuse
    this one: it may let anybody list tools and refuse only calls.

    The present answer of the server decides. A prior demand for more scopes precedes a demand for a
    login alone, so that one page brings both.
    """

    def __init__(self, inner: httpx2.Auth, provider: OAuthClientProvider, prior: Challenge) -> None:
        self._inner = inner
        self._provider = provider
        self._prior: Challenge | None = prior

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sign a request, as ``inner`` does; the prior refusal may replace the answer to it."""
        async with aclosing(self._inner.async_auth_flow(request)) as flow:
            try:
                outgoing = await anext(flow)
                while True:
                    response = yield outgoing
                    if outgoing is request and self._precedes(response):
                        response = await self._replaced(request, response)
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return

    def _precedes(self, response: httpx2.Response) -> bool:
        """Whether the prior refusal precedes this answer; otherwise it is forgotten."""
        if self._prior is None or response.status_code >= _FAILED:
            return False
        now = challenge_of(response)
        if now is None or (self._prior.wider and not now.wider):
            return True
        self._prior = None
        return False

    async def _replaced(
        self, request: httpx2.Request, response: httpx2.Response
    ) -> httpx2.Response:
        """The prior refusal in place of an answer, which may be a stream without an end."""
        assert self._prior is not None and isinstance(response.stream, httpx2.AsyncByteStream)
        await response.stream.aclose()
        response.stream = httpx2.ByteStream(b"")
        self._provider.context.oauth_metadata = (
            None  # discovered again, with the resource's metadata
        )
        replaced, self._prior = self._prior.response, None
        replaced.request = request
        return replaced
