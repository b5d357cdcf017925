"""Logins at servers over HTTP: OAuth by the SDK, its tokens in the person's keyring or a private file.

A file belongs to one name in one file of servers and to one URL: a project that names the same URL
does not use a person's own login. Without ``browse`` nobody is asked: tokens are used and refreshed.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientMetadata

from sam_tui.adapters.mcp_client.connection_context import Logins
from sam_tui.adapters.mcp_client.logins.assertions import (
    AssertionLogin,
    ExchangedLogin,
    audience_of,
    read_assertion,
)
from sam_tui.adapters.mcp_client.logins.authorization import (
    PATH,
    BoundLogin,
    Callback,
    callback,
    client_metadata,
    port_of,
    registered,
    with_set_scope,
)
from sam_tui.adapters.mcp_client.logins.challenges import Challenge, PriorChallenge, challenge_of
from sam_tui.adapters.mcp_client.logins.login_file import EARLY, LoginFile, StoredLogin
from sam_tui.adapters.mcp_client.logins.proofs import ProvenLogin
from sam_tui.adapters.mcp_client.settings import ServerSettings

PageCheck = Callable[[str, OAuthContext], Awaitable[None]]
"""Checks the address of a login page. Raises ``OAuthFlowError`` if no browser may open it."""
_NOWHERE = f"http://127.0.0.1{PATH}"


class SharedLogin(BoundLogin):
    """A stored login that several processes use. One at a time refreshes it, as a refresh token may be
    valid only once; the others read the new tokens. Until a login is stored, requests have none."""

    def __init__(self, url: str, metadata: OAuthClientMetadata, file: LoginFile) -> None:
        super().__init__(url, metadata, file, file.demand_login, file.demand_login)
        self._file = file
        self._refreshed: StoredLogin | None = None
        self._reading = asyncio.Lock()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sign a request; the lock is held for the refresh alone, not for the request."""
        with ExitStack() as refresh_lock:
            await self._prepare(refresh_lock)
            signed = super() if self._file.login.tokens is not None else _Unsigned()
            async with aclosing(signed.async_auth_flow(request)) as flow:
                try:
                    outgoing = await anext(flow)
                    while True:
                        if outgoing is request:
                            refresh_lock.close()
                        response = yield outgoing
                        if outgoing is request and (challenge := challenge_of(response)):
                            await self._file.note_challenge(challenge)
                            return  # the transport reports what it requires; no person is asked now
                        outgoing = await flow.asend(response)
                except StopAsyncIteration:
                    return

    async def _prepare(self, refresh_lock: ExitStack) -> None:
        """Read changed tokens again, and hold the lock on them if they need a refresh."""
        await self._take_changes()
        if self._file.login.tokens is None:
            return
        if not self._initialized:
            await self._initialize()
        if not self.context.is_token_valid():
            refresh_lock.callback(os.close, await self._file.lock())
            await self._take_changes()

    async def _take_changes(self) -> None:
        """Read a changed file again; a request beside another waits until it is read."""
        async with self._reading:
            if self._file.changed:
                await self._file.reread()
                self._initialized = False
        self._file.require_readable()

    async def _initialize(self) -> None:
        await super()._initialize()
        ends = self._file.login.ends
        self.context.token_expiry_time = None if ends is None else ends - EARLY

    async def _refresh_token(self) -> httpx2.Request:
        self._refreshed = self._file.login
        return await super()._refresh_token()

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        """Take new tokens, unless a login was stored meanwhile: it may be of another server."""
        await self._take_changes()
        if self._file.login is self._refreshed:
            return await super()._handle_refresh_response(response)
        await self._initialize()
        return True


class _Unsigned(httpx2.Auth):
    """Sends a request unchanged."""


@asynccontextmanager
async def authorized(
    settings: ServerSettings, logins: Logins, check_page: PageCheck
) -> AsyncGenerator[httpx2.Auth | None]:
    """The authentication of a session's requests; None without a login or a person to make one."""
    if any(name.lower() == "authorization" for name in settings.headers):
        yield None
        return
    file = LoginFile(settings, logins)
    await file.reread()

    def proven(provider: OAuthClientProvider) -> ProvenLogin:
        return ProvenLogin(file.serve(with_set_scope(provider, settings.oauth.scope)), file)

    if settings.oauth.by_itself:
        yield proven(await _by_itself(settings, file))
    elif (browse := logins.browse) is not None:
        async with callback(port_of(file.login.client)) as listening:
            provider = _by_a_person(settings, file, _Browser(listening, check_page, browse))
            prior, before = await file.challenge(), file.login.tokens
            if (refusal := logins.refusal) is not None:
                prior = Challenge(status=refusal.status, header=refusal.header)
            login = proven(provider)
            yield login if prior is None else PriorChallenge(login, provider, prior)
            if file.login.tokens is not before:
                await file.drop_challenge(prior)
    else:
        file.require_readable()
        yield proven(SharedLogin(settings.url, client_metadata(_NOWHERE), file))


async def _by_itself(settings: ServerSettings, file: LoginFile) -> OAuthClientProvider:
    """Authentication of a program without a person, by a client secret, a key or an assertion.
    Raises ``OAuthFlowError``."""
    oauth, issuer = settings.oauth, settings.oauth.issuer or None
    if oauth.asserts:
        issuer = issuer or audience_of(await read_assertion(oauth, file.learn))
        login = ExchangedLogin if oauth.grant == "token_exchange" else AssertionLogin
        return login(settings, file, issuer)
    if not oauth.private_key:
        return ClientCredentialsOAuthProvider(
            settings.url, file, oauth.client_id, oauth.client_secret, issuer=issuer
        )
    signed = SignedJWTParameters(
        issuer=oauth.client_id,
        subject=oauth.client_id,
        signing_algorithm=oauth.algorithm,
        signing_key=oauth.private_key,
    )
    assertions = signed.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(
        settings.url, file, oauth.client_id, assertions, issuer=issuer
    )


@dataclass(frozen=True, slots=True)
class _Browser:
    """The browser of the person: the function that opens a page, and the address to which it returns."""

    listening: Callback
    check_page: PageCheck
    browse: Callable[[str], None]


def _by_a_person(settings: ServerSettings, file: LoginFile, browser: _Browser) -> BoundLogin:
    """Authentication through a browser; a registration for another redirect URI is made anew."""
    oauth, client, listening = settings.oauth, file.login.client, browser.listening
    if oauth.client_id:
        file.login.client = registered(oauth, listening.url)
    elif client is not None and listening.url not in map(str, client.redirect_uris or ()):
        file.login.client = None

    async def redirect(url: str) -> None:
        await browser.check_page(url, provider.context)
        await asyncio.to_thread(browser.browse, url)

    provider = BoundLogin(
        settings.url,
        client_metadata(listening.url),
        file,
        redirect,
        listening.answer,
        client_metadata_url=oauth.metadata_url or None,
    )
    return provider
