"""The ``Web`` port: one URL guard, through which only requests to checked public addresses go."""

import asyncio
import ipaddress
import socket
import ssl
import sys
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sam_tui import __version__, http_library
from sam_tui.adapters.web.allowance import Allowance, Allowances
from sam_tui.adapters.web.urls import UrlTarget, canonical
from sam_tui.core.authorization.network.addresses import IPAddress, not_public, refusal
from sam_tui.core.clock import Clock, SystemClock
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.web import Page, WebPassage

if TYPE_CHECKING:
    import httpx


OFFERED = "gzip, deflate"
"""The encodings that are accepted; brotli and zstd would need more libraries."""


_HEADER = 64
"""How many of the first bytes are stored until they expand, so that they can be tried as raw deflate."""


class Decoder:
    """Decodes a body, reading and returning at most ``most`` bytes: a compression bomb ends there, and so
    does a body that decodes to nothing, such as an endless header."""

    def __init__(self, encoding: str, most: int) -> None:
        self._most = most
        self._raw_start = b""
        self._taken = 0
        self.body = bytearray()
        self.full = False
        """Whether there was more content than the limit."""
        match encoding.strip().lower():
            case "" | "identity":
                self._inflate: Any = None
            case "gzip" | "x-gzip" | "deflate":
                self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
            case other:
                raise ToolError(f"The page has an encoding that was not requested: {other[:40]!a}.")

    def feed(self, data: bytes) -> None:
        """Add a piece of the body; raises ``ToolError`` if its encoding is broken."""
        if self._inflate is None:
            self._keep(data)
            return
        self._taken += len(data)
        self.full = self.full or self._taken > self._most
        try:
            self._keep(self._expanded(self._inflate, data))
        except zlib.error:
            if self.body:
                raise ToolError("The page's compression is broken.") from None
            # Some servers mean raw deflate when they say deflate.
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            try:
                self._keep(self._expanded(self._inflate, self._raw_start + data))
            except zlib.error:
                raise ToolError("The page's compression is broken.") from None
        if not self.body and len(self._raw_start) < _HEADER:
            self._raw_start += data

    def _expanded(self, inflate: Any, data: bytes) -> bytes:
        # One byte more than allowed shows whether there is more.
        return inflate.decompress(data, self._most - len(self.body) + 1)

    def _keep(self, data: bytes) -> None:
        room = self._most - len(self.body)
        self.body += data[:room]
        self.full = self.full or len(data) > room


Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns all addresses of a host, as text. Raises ``OSError`` if there are none."""

MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_ADDRESSES = 4
_FORBIDDEN_HEADERS = frozenset({"host", "connection", "content-length", "transfer-encoding"})
_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,text/*;q=0.9,*/*;q=0.5"


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host from the system's resolver, in its order."""
    loop = asyncio.get_running_loop()
    answers = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in answers))


@dataclass(frozen=True, slots=True)
class _Ask:
    """One request of a chain. ``headers`` are the caller's own."""

    target: UrlTarget
    method: str
    headers: Mapping[str, str]
    data: bytes | None


class GuardedWeb:
    """Fetches from public addresses, on ports 80, 443 and 8000 to 8999.

    ``allowed`` are ``host:port`` pairs, as in URLs, that may be reached although they are private or on
    another port: development servers, a search engine of one's own. ``named`` pairs may have any port but
    must be public. Only the person's configuration may fill either. Proxies of the environment are not
    used: a proxy would resolve the name again, and reach any address that it gets.
    """

    def __init__(
        self,
        *,
        allowed: frozenset[str] = frozenset(),
        named: frozenset[str] = frozenset(),
        resolver: Resolver = resolve,
        clock: Clock | None = None,
        allowance: Allowance | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed = frozenset(canonical(f"http://{entry}").origin for entry in allowed)
        self._named = frozenset(canonical(f"http://{entry}").origin for entry in named)
        self._resolver = resolver
        self._allowances = Allowances(allowance or Allowance(), clock or SystemClock())
        self._tls = tls

    async def fetch(
        self,
        url: str,
        *,
        method: Literal["GET", "POST"] = "GET",
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
        most_bytes: int = 5_000_000,
        seconds: float = 20.0,
    ) -> Page:
        """One page with any status; see ``ports.Web``."""
        ask = _Ask(canonical(url), method, _checked_headers(headers or {}), data)
        left, time = seconds, asyncio.get_running_loop().time
        for _ in range(MOST_REDIRECTS + 1):
            await self._allowances.take(ask.target.host)
            started = time()
            try:
                async with asyncio.timeout(left):
                    page = await self._once(ask, most_bytes)
            except TimeoutError:
                raise ToolError(
                    f"{ask.target.url} did not answer in full within {seconds:g} s.",
                    hint="Try again later, or use another source.",
                ) from None
            left -= time() - started
            location = page.headers.get("location", "")
            if page.status not in _REDIRECTS or not location:
                return page
            ask = _redirected(ask, page.status, location)
        raise ToolError(f"{url[:200]!a} redirects more than {MOST_REDIRECTS} times.")

    async def addresses(self, target: UrlTarget) -> tuple[IPAddress, ...]:
        """The addresses a target may be reached at; raises ``ToolError`` where even one is refused."""
        self._check(target)
        if target.address is not None:
            return (target.address,)
        addresses = await self._resolved(target)
        if target.origin not in self._allowed:
            for address in addresses:
                _refuse_address(target, address)
        return addresses

    def refusal(self, url: str) -> str:
        """Return why a URL is refused as it stands, before its name is resolved; empty if it is not."""
        try:
            self._check(canonical(url))
        except ToolError as refused:
            return refused.explain()
        return ""

    def _check(self, target: UrlTarget) -> None:
        """Judge the port, name and address of a target before it is resolved. Raises ``ToolError``."""
        if target.origin in self._allowed:
            return
        if target.origin not in self._named:
            _refuse_port(target)
        if target.address is not None:
            _refuse_address(target, target.address)
        elif why := not_public(target.host):
            raise _refused(target, why)

    async def passage(self, url: str) -> WebPassage:
        """Return the connection for a request of another program; see ``UrlGuard``."""
        target = canonical(url)
        addresses = await self.addresses(target)
        return WebPassage(target.host, tuple(str(a) for a in addresses[:_MOST_ADDRESSES]))

    async def _resolved(self, target: UrlTarget) -> tuple[IPAddress, ...]:
        try:
            texts = await self._resolver(target.host, target.port)
            addresses = tuple(ipaddress.ip_address(text) for text in texts)
        except (OSError, UnicodeError, ValueError):
            addresses = ()
        if not addresses:
            hint = "Check the spelling and the network."
            raise ToolError(f"The name {target.host} was not found.", hint=hint)
        return addresses

    async def _once(self, ask: _Ask, most_bytes: int) -> Page:
        loaded = "httpx" in sys.modules
        httpx = http_library.load() if loaded else await asyncio.to_thread(http_library.load)
        addresses = await self.addresses(ask.target)
        for number, address in enumerate(addresses[:_MOST_ADDRESSES], start=1):
            try:
                return await self._exchange(ask, address, most_bytes)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if number < min(len(addresses), _MOST_ADDRESSES) and not _is_certificate(error):
                    continue
                raise _unreachable(ask.target, error) from None
            except httpx.TimeoutException:
                raise TimeoutError from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                what = type(error).__name__
                raise ToolError(f"{ask.target.url} broke off the answer ({what}).") from None
        raise ToolError(f"{ask.target.host} has no address.")

    async def _exchange(self, ask: _Ask, address: IPAddress, most_bytes: int) -> Page:
        """Connect to exactly this address, under the name that was asked for."""
        import httpx

        target = ask.target
        bracketed = f"[{address}]" if address.version == 6 else str(address)
        headers = {
            "user-agent": f"sam-tui/{__version__}",
            "accept": _ACCEPT,
            "accept-language": "en,*;q=0.5",
            **ask.headers,
            "host": target.authority,
            "accept-encoding": OFFERED,
        }
        # TLS is brought up for, and the certificate checked against, the name and not the address.
        extensions = {"sni_hostname": target.host}
        verify = await self._context() if target.scheme == "https" else _NO_TLS
        async with (
            httpx.AsyncClient(
                verify=verify,
                trust_env=False,
                follow_redirects=False,
                timeout=httpx.Timeout(None, connect=8.0),
            ) as client,
            client.stream(
                ask.method,
                f"{target.scheme}://{bracketed}:{target.port}{target.path}",
                content=ask.data,
                headers=headers,
                extensions=extensions,
            ) as response,
        ):
            return await _read(target, response, most_bytes)

    async def _context(self) -> ssl.SSLContext:
        """The usual certificates, loaded once and off the loop: it takes 16 ms."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(http_library.load().create_ssl_context)
        return self._tls


_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""The TLS context of requests without TLS. It has no certificates, so it trusts no server."""


async def _read(target: UrlTarget, response: "httpx.Response", most_bytes: int) -> Page:
    decoder = Decoder(response.headers.get("content-encoding", ""), most_bytes)
    redirect = response.status_code in _REDIRECTS and "location" in response.headers
    if not redirect:
        async for piece in response.aiter_raw():
            decoder.feed(piece)
            if decoder.full:
                break
    return Page(
        target.url,
        response.status_code,
        response.headers.get("content-type", "").partition(";")[0].strip().lower(),
        {name.lower(): value for name, value in response.headers.items()},
        bytes(decoder.body),
        decoder.full,
    )


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers by lower-case name. Raises ``ToolError`` for a forbidden or invalid one."""
    lowered = {name.lower(): value for name, value in headers.items()}
    if bad := _FORBIDDEN_HEADERS & lowered.keys():
        raise ToolError(f"The header {min(bad)} cannot be set.")
    if not all(name.isascii() and value.isascii() for name, value in lowered.items()):
        raise ToolError(
            "A header (a key, perhaps) contains characters that headers cannot contain."
        )
    return lowered


def _redirected(ask: _Ask, status: int, location: str) -> _Ask:
    old, new = ask.target, ask.target.follow(location)
    if old.scheme == "https" and new.scheme == "http":
        raise ToolError(f"{old.url} redirects to {new.url}, which is not encrypted: not followed.")
    same = (old.scheme, old.origin) == (new.scheme, new.origin)
    headers: Mapping[str, str] = ask.headers if same else {}
    if ask.method == "GET" or status in (301, 302, 303):
        return _Ask(new, "GET", headers, None)
    if not same:
        raise ToolError(f"{old.url} redirects the sent data to {new.host}: not followed.")
    return _Ask(new, ask.method, headers, ask.data)


def _refuse_port(target: UrlTarget) -> None:
    if target.port not in (80, 443) and not 8000 <= target.port <= 8999:
        raise ToolError(
            f"Port {target.port} of {target.host} is not fetched from.",
            hint="Only ports 80, 443 and 8000 to 8999 are.",
        )


def _refuse_address(target: UrlTarget, address: IPAddress) -> None:
    if why := refusal(address):
        raise _refused(target, f"{address} is {why}")


def _refused(target: UrlTarget, why: str) -> ToolError:
    return ToolError(f"{target.host} is not on the public internet ({why}), so it is not fetched.")


def _is_certificate(error: Exception) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _unreachable(target: UrlTarget, error: Exception) -> ToolError:
    if _is_certificate(error):
        return ToolError(f"The certificate of {target.host} is not valid for it.")
    return ToolError(
        f"{target.host} cannot be reached on port {target.port}.",
        hint="Check the address and the network.",
    )
