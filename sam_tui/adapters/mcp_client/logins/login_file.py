"""The stored login at a server: its tokens, their key, and the server's refusal of a request.

It lies in the person's keyring or in a private file."""

import asyncio
import fcntl
import os
import time
from contextlib import ExitStack, suppress
from typing import Any, NoReturn

from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthTokenError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import credentials_match_issuer
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken
from pydantic import BaseModel, Field, ValidationError

from sam_tui.adapters.mcp_client.connection_context import Logins, LoginTexts, challenge_path
from sam_tui.adapters.mcp_client.logins.authorization import BoundLogin
from sam_tui.adapters.mcp_client.logins.challenges import LONGEST_CHALLENGE, Challenge
from sam_tui.adapters.mcp_client.logins.refusals import login_words
from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.core.local_files.cache import signature_of
from sam_tui.core.local_files.private_files import replace_file

MOST_BYTES = 200_000
_LOCK_SECONDS = 0.05
"""How often the lock is tried while another process refreshes the tokens."""
EARLY = 60.0
"""A token is not used during its last seconds, so many before it expires."""


class StoredLogin(BaseModel):
    """The content of a file; ``ends`` is in seconds since 1970, ``refusal`` is why it cannot be read now.

    ``key`` is the private key that the tokens are bound to; empty if they are bound to none.
    """

    tokens: OAuthToken | None = None
    ends: float | None = None
    key: str = ""
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
        self._next_key = ""

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
        if server is None or client is None or self._oauth.by_itself:
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
        read_as = signature_of(self._path)
        self.login = await stored(self._path, self._texts)
        self._read_as = read_as  # not before: who gives up while it is read has not read it
        self._learn(self._secrets())

    def require_readable(self) -> None:
        """Raises ``OAuthFlowError`` with the reason if a stored login cannot be read now."""
        if self.login.refusal:
            how = f"Unlock it, or log in again: {login_words(self._server)}"
            raise OAuthFlowError(f"{self.login.refusal}. {how}")

    async def demand_login(self, *_: str) -> NoReturn:
        """Raises ``OAuthFlowError`` with how to log in: a person is never asked in the midst of a call."""
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

    async def lock(self) -> int:
        """Wait for the lock on refreshing this login; closing the returned descriptor releases it."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with ExitStack() as unlocked:
            descriptor = os.open(f"{self._path}.lock", flags, 0o600)
            unlocked.callback(os.close, descriptor)
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    await asyncio.sleep(_LOCK_SECONDS)  # a thread that waits cannot be cancelled
                    continue
                unlocked.pop_all()
                return descriptor

    async def get_tokens(self) -> OAuthToken | None:
        """The stored tokens; an expired access token is emptied so that the SDK refreshes it."""
        login = self.login
        if login.tokens is None:
            return None
        update: dict[str, Any] = {}
        if login.ends is not None and login.ends - EARLY < time.time():
            update["access_token"] = ""
        if self.server is None:  # it is unknown which server may get it
            update["refresh_token"] = None
        return login.tokens.model_copy(update=update)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens. Raises ``OAuthTokenError`` for one that no header can hold."""
        token = tokens.access_token
        if not (token and token.isascii() and token.isprintable()):
            raise OAuthTokenError("Its access token is empty or cannot be sent")
        lasting = tokens.expires_in
        self.login.tokens = tokens
        self.login.key = self._next_key
        if self._context is not None:
            self.login.server = self._context.oauth_metadata
        self.login.ends = None if lasting is None else time.time() + lasting
        self._learn(self._secrets())
        if self.server is None:
            tokens.refresh_token = None
        await self._write()

    @property
    def key(self) -> str:
        """The private key that the stored tokens are bound to; empty if they are bound to none."""
        return self.login.key

    def bind(self, key: str) -> None:
        """Store this key with the next tokens; empty if they are bound to none."""
        self._next_key = key

    def learn(self, name: str, secret: str) -> None:
        """Have a secret masked that a login uses and does not store."""
        self._learn({name: secret})

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
            "MCP_DPOP_KEY": self.login.key,
        }
        return {name: value for name, value in values.items() if value}

    async def _write(self) -> None:
        text = self.login.model_dump_json(exclude_none=True)
        await asyncio.to_thread(self._texts.write, self._path, text)
        self._read_as = signature_of(self._path)
