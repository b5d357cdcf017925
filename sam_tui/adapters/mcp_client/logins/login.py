"""Logins at servers over HTTP: OAuth by the SDK, its tokens in the person's keyring or a private file.

A file belongs to one name in one file of servers and to one URL: a project that names the same URL
does not use a person's own login. Without ``browse`` nobody is asked: tokens are used and refreshed.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import credentials_match_issuer
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import BaseModel, Field, ValidationError

from sam_tui.adapters.mcp_client.connection_context import Logins, LoginTexts, challenge_path
from sam_tui.adapters.mcp_client.logins.authorization import (
    LONGEST_CHALLENGE,
    PATH,
    BoundLogin,
    Callback,
    Challenge,
    WiderLogin,
    callback,
    challenge_of,
    client_metadata,
    port_of,
    registered,
    with_set_scope,
)
from sam_tui.adapters.mcp_client.logins.refusals import login_words
from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.core.local_files.cache import signature_of
from sam_tui.core.local_files.private_files import replace_file

MOST_BYTES = 200_000
PageCheck = Callable[[str, OAuthContext], Awaitable[None]]
"""Raises ``OAuthFlowError`` for a page that no browser is to open."""
_EARLY = 60.0
"""Seconds before its end from which a token is not used any more."""
_NOWHERE = f"http://127.0.0.1{PATH}"


class StoredLogin(BaseModel):
    """What a file holds; ``ends`` is in seconds since 1970, ``refusal`` is why it cannot be read now."""

    tokens: OAuthToken | None = None
    ends: float | None = None
    client: OAuthClientInformationFull | None = None
    server: OAuthMetadata | None = None
    refusal: str = Field(default="", exclude=True)


def _write_private(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    replace_file(path, text, flushed=False)


def _read_bounded(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read(2 * LONGEST_CHALLENGE)


async def stored(path: str, texts: LoginTexts) -> StoredLogin:
    """The login in a file, empty if the file is missing or unreadable."""
    try:
        text = await asyncio.to_thread(texts.read, path, MOST_BYTES)  # a keyring may be locked
    except PermissionError as error:
        return StoredLogin(refusal=f"Its login cannot be read: {error}")
    try:
        return StoredLogin.model_validate_json(text)
    except ValidationError:
        return StoredLogin()


class LoginFile:
    """The SDK's ``TokenStorage`` for one server: writes each change at once, reads by ``reread``."""

    def __init__(self, settings: ServerSettings, logins: Logins) -> None:
        self._server = settings.name
        self._oauth = settings.oauth
        self._path = logins.path(settings)
        self._folder = logins.folder
        self._learn, self._texts = logins.learn, logins.texts
        self.login = StoredLogin()
        self._read_as: object = None
        self._context: OAuthContext | None = None

    def serve(self, provider: OAuthClientProvider) -> OAuthClientProvider:
        """Store the metadata of the authorization server that the provider discovers, for refreshes."""
        self._context = provider.context
        self._context.oauth_metadata = self.server
        if isinstance(provider, BoundLogin):
            provider.issued = self
        return provider

    @property
    def server(self) -> OAuthMetadata | None:
        """The server that issued the tokens; None where it may not get the client's secret: that of a
        program without a person, or of a registration at another issuer."""
        server, client = self.login.server, self.login.client
        if server is None or client is None or self._oauth.grant == "client_credentials":
            return None
        known = credentials_match_issuer(
            client, str(server.issuer), self._oauth.metadata_url or None
        )
        return server if known else None

    @property
    def changed(self) -> bool:
        """Whether another process wrote the file since the last read."""
        return signature_of(self._path) != self._read_as

    async def reread(self) -> None:
        """Read the file again: another process may have refreshed the tokens."""
        self._read_as = signature_of(self._path)
        self.login = await stored(self._path, self._texts)
        self._learn(self._secrets())

    def require_readable(self) -> None:
        """Raises ``OAuthFlowError`` with the reason if a stored login cannot be read now."""
        if self.login.refusal:
            how = f"Unlock it, or log in again: {login_words(self._server)}"
            raise OAuthFlowError(f"{self.login.refusal}. {how}")

    async def demand_login(self, *_: str) -> NoReturn:
        """Raises ``OAuthFlowError`` that says how to log in: nobody is asked amid other work."""
        raise OAuthFlowError(f"It requires a new login: {login_words(self._server)}")

    async def note_challenge(self, challenge: Challenge) -> None:
        """Store the challenge of a refused request for the next login, whose server may refuse nothing
        before such a request."""
        if challenge != await self.challenge():
            text = challenge.model_dump_json()
            with suppress(OSError):  # the call is refused all the same
                await asyncio.to_thread(_write_private, challenge_path(self._path), text)

    async def challenge(self) -> Challenge | None:
        """The stored challenge."""
        with suppress(OSError, ValueError):
            text = await asyncio.to_thread(_read_bounded, challenge_path(self._path))
            return Challenge.model_validate_json(text)
        return None

    async def drop_challenge(self, answered: Challenge | None) -> None:
        """Delete the stored challenge if a login has ``answered`` it, or if any login does."""
        stored_now = await self.challenge()
        if stored_now is None or (stored_now.wider and stored_now != answered):
            return
        with suppress(OSError):
            os.unlink(challenge_path(self._path))

    def lock(self) -> int:
        """Wait for the lock on refreshing this login; closing the returned descriptor releases it."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(f"{self._path}.lock", flags, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return descriptor

    async def get_tokens(self) -> OAuthToken | None:
        """The stored tokens; an expired access token is emptied so that the SDK refreshes it."""
        login = self.login
        if login.tokens is None:
            return None
        update: dict[str, Any] = {}
        if login.ends is not None and login.ends - _EARLY < time.time():
            update["access_token"] = ""
        if self.server is None:  # nobody knows where it may be shown
            update["refresh_token"] = None
        return login.tokens.model_copy(update=update)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens. Raises ``OAuthTokenError`` for one that no header can hold."""
        token = tokens.access_token
        if not (token and token.isascii() and token.isprintable()):
            raise OAuthTokenError("Its access token is empty or cannot be sent")
        lasting = tokens.expires_in
        self.login.tokens = tokens
        if self._context is not None:
            self.login.server = self._context.oauth_metadata
        self.login.ends = None if lasting is None else time.time() + lasting
        self._learn(self._secrets())
        if self.server is None:
            tokens.refresh_token = None
        await self._write()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client registration at the authorization server."""
        return self.login.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Remember a registration. It is written with its first tokens; an unused one is never written."""
        self.login.client = client_info
        self._learn(self._secrets())

    def _secrets(self) -> dict[str, str]:
        tokens, client = self.login.tokens, self.login.client
        values = {
            "MCP_ACCESS_TOKEN": tokens.access_token if tokens else "",
            "MCP_REFRESH_TOKEN": (tokens.refresh_token or "") if tokens else "",
            "MCP_CLIENT_SECRET": (client.client_secret or "") if client else "",
        }
        return {name: value for name, value in values.items() if value}

    async def _write(self) -> None:
        text = self.login.model_dump_json(exclude_none=True)
        await asyncio.to_thread(self._texts.write, self._path, text)
        self._read_as = signature_of(self._path)


class SharedLogin(BoundLogin):
    """A stored login that several processes use. One at a time refreshes it, as a refresh token may be
    valid only once; the others read the new tokens. Until a login is stored, requests have none."""

    def __init__(self, url: str, metadata: OAuthClientMetadata, file: LoginFile) -> None:
        super().__init__(url, metadata, file, file.demand_login, file.demand_login)
        self._file = file
        self._refreshed: StoredLogin | None = None

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sign a request; the lock is held for the refresh alone, not for the request."""
        descriptor = await self._prepared()
        if self._file.login.tokens is None:
            flow = _Unsigned().async_auth_flow(request)
        else:
            flow = super().async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is request and descriptor is not None:
                    os.close(descriptor)
                    descriptor = None
                response = yield outgoing
                if outgoing is request and (challenge := challenge_of(response)) is not None:
                    await self._file.note_challenge(challenge)
                    return  # the transport says what it requires; nobody is asked amid other work
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            if descriptor is not None:
                os.close(descriptor)
            await flow.aclose()

    async def _prepared(self) -> int | None:
        """Read changed tokens again; returns the lock's descriptor if they need a refresh."""
        if self._file.changed:
            await self._take()
        if self._file.login.tokens is None:
            return None
        if not self._initialized:
            await self._initialize()
        if self.context.is_token_valid():
            return None
        descriptor = await asyncio.to_thread(self._file.lock)
        if self._file.changed:
            await self._take()
        return descriptor

    async def _take(self) -> None:
        await self._file.reread()
        self._file.require_readable()
        self._initialized = False

    async def _initialize(self) -> None:
        await super()._initialize()
        ends = self._file.login.ends
        self.context.token_expiry_time = None if ends is None else ends - _EARLY

    async def _refresh_token(self) -> httpx2.Request:
        self._refreshed = self._file.login
        return await super()._refresh_token()

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        """Take new tokens, unless a login was stored meanwhile: it may be of another server."""
        if self._file.changed:
            await self._take()
        if self._file.login is self._refreshed:
            return await super()._handle_refresh_response(response)
        await self._initialize()
        return True


class _Unsigned(httpx2.Auth):
    """Sends a request as it is."""


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

    def serve(provider: OAuthClientProvider) -> OAuthClientProvider:
        return file.serve(with_set_scope(provider, settings.oauth.scope))

    if settings.oauth.grant == "client_credentials":
        yield serve(_by_itself(settings, file))
    elif (browse := logins.browse) is not None:
        async with callback(port_of(file.login.client)) as listening:
            provider = _by_a_person(settings, file, _Browser(listening, check_page, browse))
            answered, before = await file.challenge(), file.login.tokens
            if (refusal := logins.refusal) is not None:
                answered = Challenge(status=refusal.status, header=refusal.header)
            provider.challenge = answered
            yield serve(provider)
            if file.login.tokens is not before:
                await file.drop_challenge(answered)
    else:
        file.require_readable()
        yield serve(SharedLogin(settings.url, client_metadata(_NOWHERE), file))


def _by_itself(settings: ServerSettings, file: LoginFile) -> OAuthClientProvider:
    """Authentication of a program without a person, by a client secret or a key."""
    oauth, issuer = settings.oauth, settings.oauth.issuer or None
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
    """The browser of the person: what opens a page, and where it comes back to."""

    listening: Callback
    check_page: PageCheck
    browse: Callable[[str], None]


def _by_a_person(settings: ServerSettings, file: LoginFile, browser: _Browser) -> WiderLogin:
    """Authentication through a browser; a registration for another redirect URI is made anew."""
    oauth, client, listening = settings.oauth, file.login.client, browser.listening
    if oauth.client_id:
        file.login.client = registered(oauth, listening.url)
    elif client is not None and listening.url not in map(str, client.redirect_uris or ()):
        file.login.client = None

    async def redirect(url: str) -> None:
        await browser.check_page(url, provider.context)
        await asyncio.to_thread(browser.browse, url)

    provider = WiderLogin(
        settings.url,
        client_metadata(listening.url),
        file,
        redirect,
        listening.answer,
        client_metadata_url=oauth.metadata_url or None,
    )
    return provider
