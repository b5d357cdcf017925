"""The scopes of a login: those that a person set, and those that a call was refused for."""

from collections.abc import AsyncGenerator
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import OAuthClientMetadata

LONGEST_CHALLENGE = 2000
_FORBIDDEN = 403
_HEADER = "WWW-Authenticate"


def challenge_of(response: httpx2.Response) -> str:
    """The challenge of an answer that requires more scopes than the login has; else empty."""
    if response.status_code != _FORBIDDEN:
        return ""
    error = extract_field_from_www_auth(response, "error")
    challenge = response.headers.get(_HEADER, "") if error == "insufficient_scope" else ""
    return challenge if len(challenge) <= LONGEST_CHALLENGE else ""


class WiderLogin(OAuthClientProvider):
    """A login by a person, who agrees anew if a call was refused with ``challenge``: the scopes that it
    names join those of the stored login."""

    challenge = ""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sign a request; the stored challenge stands in for the first answer."""
        flow = super().async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is request and self.challenge:
                    self.context.oauth_metadata = None  # found anew, with the resource's own
                    headers = {_HEADER: self.challenge}
                    self.challenge = ""
                    response = httpx2.Response(_FORBIDDEN, headers=headers, request=request)
                else:
                    response = yield outgoing
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


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
