"""Streamable HTTP through the URL guard: every request goes to an address that was checked."""

import asyncio
import ipaddress
import json
import secrets
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.streamable_http import streamable_http_client

from sam_tui.adapters.mcp_client.connection_context import Logins
from sam_tui.adapters.mcp_client.logins.challenges import Challenge, challenge_of
from sam_tui.adapters.mcp_client.logins.login import authorized
from sam_tui.adapters.mcp_client.logins.login_file import stored
from sam_tui.adapters.mcp_client.logins.refusals import login_words
from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.adapters.mcp_client.transports.sse_transport import sse_streams
from sam_tui.core.authorization.network.hosts import address_of
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.web import UrlGuard
from sam_tui.json_depth import shallow

MOST_BYTES = 32_000_000
"""The most bytes of an answer, or of one line of an event stream."""
_CONNECT_SECONDS = 15.0
_WITHDRAW_SECONDS = 3.0
_ANSWER_SECONDS = 30.0
_LOGIN_REQUIRED = -32001
_WHOLE_ANSWER = "sam_tui.whole_answer"
"""The request extension that has the response read to its end; its value is the event loop's deadline."""
_MOST_PAGES = 3
"""The most pages that one login may open: the login, and further ones for more scopes."""


class CheckedTransport(httpx2.AsyncBaseTransport):
    """Connects each request, redirects included, to the address that the URL guard resolved."""

    def __init__(self, server: str, url_guard: UrlGuard) -> None:
        self._server = server
        self.url_guard = url_guard
        without_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._plain = httpx2.AsyncHTTPTransport(verify=without_certificates, trust_env=False)
        self._secure: httpx2.AsyncHTTPTransport | None = None
        self._loading = asyncio.Lock()
        self.fault = ""
        """Why the last request could not be sent, in words."""
        self.mark = secrets.token_hex(16)
        """Identifies errors that this transport made; no server knows it."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request. Raises ``httpx2.ConnectError`` if the URL guard refuses."""
        deadline = request.extensions.get(_WHOLE_ANSWER)
        if deadline is None:
            return await self._exchange(request)
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._exchange(request)
                await response.aread()
                return response
        except TimeoutError:
            self.fault = f"{request.url.host} did not answer in time."
            raise httpx2.ReadTimeout(self.fault, request=request) from None

    async def _exchange(self, request: httpx2.Request) -> httpx2.Response:
        try:
            passage = await self.url_guard.passage(str(request.url))
        except ToolError as error:
            self.fault = error.explain()
            raise httpx2.ConnectError(self.fault, request=request) from None
        request.extensions = {**request.extensions, "sni_hostname": passage.host}
        name, response = request.url, None
        inner = await self._certified() if name.scheme == "https" else self._plain
        for number, address in enumerate(passage.addresses, start=1):
            request.url = name.copy_with(host=address)
            try:
                response = await inner.handle_async_request(request)
                break
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                self.fault = f"{passage.host} cannot be reached: {error or type(error).__name__}."
                if number == len(passage.addresses):
                    raise
            except httpx2.TimeoutException:
                self.fault = f"{passage.host} did not answer in time."
                raise
            finally:
                request.url = name
        assert response is not None
        return await self._bounded(request, response)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._plain.aclose()
        if self._secure is not None:
            await self._secure.aclose()

    async def _certified(self) -> httpx2.AsyncHTTPTransport:
        """The transport for TLS. Its certificates take 20 ms to load, so the first request does that."""
        async with self._loading:
            if self._secure is None:
                self._secure = await asyncio.to_thread(httpx2.AsyncHTTPTransport, trust_env=False)
        return self._secure

    async def _bounded(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            self.fault = "It answered in an encoding that was not requested."
            raise httpx2.RemoteProtocolError(self.fault, request=request)
        self.fault = "" if response.is_success else _said(response, self._server)
        of_login = _WHOLE_ANSWER in request.extensions
        challenge = challenge_of(response)
        if challenge is not None and not of_login:
            await response.aclose()
            return self._refused(request, response, challenge)
        kind = response.headers.get("content-type", "")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        events = kind.startswith("text/event-stream") and not of_login
        response.stream = (_Events if events else _Bounded)(response.stream)
        return response

    def _refused(
        self, request: httpx2.Request, response: httpx2.Response, challenge: Challenge
    ) -> httpx2.Response:
        """The answer to a request that requires a login, with an error by which its caller knows that."""
        data = {"mark": self.mark, "scope": challenge.scope, **challenge.model_dump()}
        error = {"code": _LOGIN_REQUIRED, "message": self.fault, "data": data}
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name.lower() not in ("content-type", "content-length", "transfer-encoding")
        ]
        body = {"jsonrpc": "2.0", "id": None, "error": error}
        return httpx2.Response(response.status_code, headers=headers, json=body, request=request)


def _said(response: httpx2.Response, server: str) -> str:
    login = f" It requires a login: {login_words(server)}, or set its headers."
    hint = {401: login, 403: " It refuses this login."}
    words = f"It answered {response.status_code} {response.reason_phrase}.".replace(" .", ".")
    return words + hint.get(response.status_code, "")


class _Bounded(httpx2.AsyncByteStream):
    """A response body: raises an error beyond its limit of bytes, and is cut where it nests too deep."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = bytearray()
        async for piece in self._inner:
            body += piece
            if len(body) > MOST_BYTES:
                raise httpx2.RemoteProtocolError("the answer is too large")
        yield shallow(bytes(body))

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Events(_Bounded):
    """A stream of events: each line comes once it is whole, and none is larger than an answer."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        line = bytearray()
        async for piece in self._inner:
            for part in piece.splitlines(keepends=True):
                line += part
                if len(line) > MOST_BYTES:
                    raise httpx2.RemoteProtocolError("an event is too large")
                if line.endswith((b"\n", b"\r")):
                    yield _shallow_event(bytes(line))
                    line.clear()
        yield bytes(line)


def _shallow_event(line: bytes) -> bytes:
    """A line of an event; its data is read as a message would be."""
    text = line.rstrip(b"\r\n")
    field, colon, data = text.partition(b":")
    return field + colon + shallow(data) + line[len(text) :] if field == b"data" else line


class LoginAddresses:
    """Judges addresses that the server at ``url`` names for a login; its own is the person's choice."""

    def __init__(self, url: str, url_guard: UrlGuard) -> None:
        self._site = urlsplit(url)[:2]
        self._url_guard = url_guard
        self._pages = 0

    async def check(self, address: str) -> None:
        """Raise ``OAuthFlowError`` for an address that must not get data of a login.

        OAuth 2.1, 1.5: encrypted, except on this machine; a private host must be in the person's
        policy.
        """
        scheme = urlsplit(address).scheme
        if scheme not in ("http", "https"):
            raise OAuthFlowError("The page of the login is not a web page")
        try:
            passage = await self._url_guard.passage(address)
        except ToolError as refusal:
            raise OAuthFlowError(refusal.explain()) from None
        if scheme == "https" or urlsplit(address)[:2] == self._site:
            return
        if any(ipaddress.ip_address(text).is_global for text in passage.addresses):
            raise OAuthFlowError(
                f"{passage.host} would receive the login without encryption (http)"
            )

    async def check_page(self, address: str, context: OAuthContext) -> None:
        """Raises ``OAuthFlowError`` for a page that no browser is to open."""
        metadata = context.oauth_metadata
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise OAuthFlowError("The authorization server does not declare PKCE with S256")
        self._pages += 1
        if self._pages > _MOST_PAGES:
            raise OAuthFlowError("It asks for one login after another")
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
                        deadline = asyncio.get_running_loop().time() + _ANSWER_SECONDS
                        outgoing.extensions = {**outgoing.extensions, _WHOLE_ANSWER: deadline}
                    response = yield outgoing
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return


@asynccontextmanager
async def http_streams(
    settings: ServerSettings, transport: CheckedTransport, logins: Logins
) -> AsyncGenerator[tuple[object, object]]:
    """The two streams of a session over HTTP. Proxies in the environment are not used."""
    registration = _Registration(settings, logins)
    addresses = LoginAddresses(settings.url, transport.url_guard)
    async with authorized(settings, logins, addresses.check_page) as provider:
        auth = None if provider is None else CheckedLogin(provider, addresses)

        def client(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = auth,
            kind: Callable[..., httpx2.AsyncClient] = httpx2.AsyncClient,
        ) -> httpx2.AsyncClient:
            return kind(
                transport=transport,
                headers={**settings.headers, **(headers or {}), "accept-encoding": "identity"},
                timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
                trust_env=False,
                auth=auth,
                event_hooks={"response": [registration.read_response]},
            )

        if settings.sse:
            async with sse_streams(settings.url, client, auth) as streams:
                yield streams
            return
        async with (
            client() as http_client,
            registration.withdrawn(http_client),
            streamable_http_client(settings.url, http_client=http_client) as streams,
        ):
            yield streams


@dataclass(slots=True)
class _Registration:
    """A client registration of a login in progress; deleted at the end if unused (RFC 7592)."""

    settings: ServerSettings
    logins: Logins
    client: str = ""
    page: str = ""
    token: str = ""

    async def read_response(self, response: httpx2.Response) -> None:
        """Note the management URL of a registration response, if it is on the same server."""
        if response.request.method != "POST" or response.status_code != 201:
            return
        try:
            registered = json.loads(await response.aread())
            client, page, token = (
                str(registered[key])
                for key in ("client_id", "registration_client_uri", "registration_access_token")
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        self.logins.learn({"MCP_REGISTRATION_TOKEN": token})
        if token.isascii() and origin_of(page) == origin_of(str(response.request.url)):
            self.client, self.page, self.token = client, page, token

    @asynccontextmanager
    async def withdrawn(self, http: httpx2.AsyncClient) -> AsyncGenerator[None]:
        """Delete the registration at the end unless a login was stored with it."""
        try:
            yield
        finally:
            if self.client:
                await self._withdraw(http)

    async def _withdraw(self, http: httpx2.AsyncClient) -> None:
        login = await stored(self.logins.path(self.settings), self.logins.texts)
        if login.client is not None and login.client.client_id == self.client:
            return
        bearer = {"Authorization": f"Bearer {self.token}"}
        try:
            async with asyncio.timeout(_WITHDRAW_SECONDS):
                await http.delete(self.page, headers=bearer, auth=httpx2.Auth())
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError):
            return  # the registration stays on the server, unused


def origin_of(url: str) -> str:
    """``host:port`` of a URL, with the default port filled in; empty if the URL has no usable host."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    name = f"[{host}]" if ":" in host else host
    return f"{name}:{port or (443 if parts.scheme == 'https' else 80)}"


def names_address(url: str) -> bool:
    """Whether a URL's host is an IP address or this machine, so that no DNS server decides where it is."""
    host = origin_of(url).rpartition(":")[0].strip("[]")
    return f".{host}".endswith(".localhost") or address_of(host) is not None
