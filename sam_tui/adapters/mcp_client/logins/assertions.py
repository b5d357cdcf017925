"""Logins by a signed assertion: the identity of a workload (RFC 7523), or that of a person at the identity
provider of their company, which is first exchanged there (RFC 8693, SEP-990)."""

import asyncio
import json
import re
from base64 import b64encode, urlsafe_b64decode
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from urllib.parse import quote

import httpx2
from mcp.client.auth import OAuthFlowError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE

from sam_tui.adapters.mcp_client.logins.login_file import LoginFile
from sam_tui.adapters.mcp_client.oauth_settings import OAuthSettings
from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.core.local_files.bounded import UnusableFile, read_bounded

MOST_BYTES = 65_536
_LONGEST_FAULT = 500
_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_IDENTITY = "urn:ietf:params:oauth:token-type:id_token"
_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_FORM = "application/x-www-form-urlencoded"

Learn = Callable[[str, str], None]
"""Gets the name and the value of a secret, which is redacted from then on."""


async def read_assertion(oauth: OAuthSettings, learn: Learn) -> str:
    """Return the assertion of an entry, from its present file. Raises ``OAuthFlowError`` for none."""
    path, text = oauth.assertion_file, oauth.assertion
    if path:
        try:
            data = await asyncio.to_thread(read_bounded, path, most=MOST_BYTES)
        except UnusableFile as why:
            raise OAuthFlowError(f"{path}, the assertion of its login, {why}") from None
        text = data.decode("ascii", "replace")
    text = text.strip()
    if not _JWT.fullmatch(text):
        raise OAuthFlowError(
            f"{path or 'The assertion of its login'} is not a signed JSON web token"
        )
    learn("MCP_ASSERTION", text)
    return text


def audience_of(assertion: str) -> str:
    """The authorization server that an assertion names. Raises ``OAuthFlowError`` if it names none."""
    payload = assertion.split(".")[1]
    try:
        audience = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["aud"]
        [name] = [audience] if isinstance(audience, str) else audience
    except (ValueError, KeyError, TypeError, RecursionError):
        name = ""
    if isinstance(name, str) and name.startswith(("https://", "http://")):
        return name
    raise OAuthFlowError(
        "The audience of the assertion is not the address of one authorization server: set “issuer”"
    )


class AssertionLogin(ClientCredentialsOAuthProvider):
    """Gets tokens for an assertion, which is read anew each time and sent to one issuer alone."""

    def __init__(self, settings: ServerSettings, file: LoginFile, issuer: str) -> None:
        oauth = settings.oauth
        super().__init__(settings.url, file, oauth.client_id, oauth.client_secret, issuer=issuer)
        self._oauth, self._only, self._learn = oauth, issuer, file.learn

    async def _perform_authorization(self) -> httpx2.Request:
        self._require_issuer()
        return self._grant(await read_assertion(self._oauth, self._learn))

    def _require_issuer(self) -> None:
        metadata = self.context.oauth_metadata
        if metadata is None or not issuers_match(str(metadata.issuer), self._only):
            named = "none" if metadata is None else str(metadata.issuer)
            raise OAuthFlowError(
                f"The assertion is for the issuer {self._only}, and the server names {named}"
            )

    def _grant(self, assertion: str) -> httpx2.Request:
        """The request of tokens for an assertion (RFC 7523, 2.1)."""
        form = {"grant_type": JWT_BEARER_GRANT_TYPE, "assertion": assertion}
        if not self._oauth.client_secret:
            form["client_id"] = self._oauth.client_id
        form, headers = self.context.prepare_token_auth(form, {"Content-Type": _FORM})
        if self.context.should_include_resource_param(self.context.protocol_version):
            form["resource"] = self.context.get_resource_url()
        if self.context.client_metadata.scope:
            form["scope"] = self.context.client_metadata.scope
        return httpx2.Request("POST", self._get_token_endpoint(), data=form, headers=headers)


class ExchangedLogin(AssertionLogin):
    """Exchanges an identity token for an assertion at the company's identity provider, then that one."""

    _exchange: httpx2.Request | None = None

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sign a request; the answer to the exchange leads to the request of tokens."""
        async with aclosing(super().async_auth_flow(request)) as flow:
            try:
                outgoing = await anext(flow)
                while True:
                    response = yield outgoing
                    if outgoing is self._exchange:
                        self._exchange = None
                        response = yield self._grant(await self._exchanged(response))
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return

    async def _perform_authorization(self) -> httpx2.Request:
        self._require_issuer()
        oauth = self._oauth
        form = {
            "grant_type": _EXCHANGE,
            "requested_token_type": _ID_JAG,
            "subject_token": await read_assertion(oauth, self._learn),
            "subject_token_type": _IDENTITY,
            "audience": self._only,
            "resource": self.context.get_resource_url(),
        }
        if self.context.client_metadata.scope:
            form["scope"] = self.context.client_metadata.scope
        headers = {"Content-Type": _FORM}
        if oauth.idp_client_secret:  # RFC 6749, 2.3.1
            pair = (
                f"{quote(oauth.idp_client_id, safe='')}:{quote(oauth.idp_client_secret, safe='')}"
            )
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode('ascii')}"
        else:
            form["client_id"] = oauth.idp_client_id
        self._exchange = httpx2.Request("POST", oauth.idp_token_url, data=form, headers=headers)
        return self._exchange

    async def _exchanged(self, response: httpx2.Response) -> str:
        """The assertion in an answer of the identity provider. Raises ``OAuthTokenError``."""
        body = (await response.aread()).decode("utf-8", "replace")
        if response.status_code != 200:
            raise OAuthTokenError(
                f"The identity provider refused ({response.status_code}): {body[:_LONGEST_FAULT]}"
            )
        try:
            answer = json.loads(body)
            kind, assertion = answer["issued_token_type"], answer["access_token"]
        except (ValueError, KeyError, TypeError, RecursionError):
            kind, assertion = "", ""
        if kind != _ID_JAG or not isinstance(assertion, str) or not _JWT.fullmatch(assertion):
            raise OAuthTokenError(
                "The identity provider issued no assertion for this server (ID-JAG)"
            )
        self._learn("MCP_ID_JAG", assertion)
        return assertion
