"""The address of an OpenAI-compatible model, its dialect, and the HTTP client for it."""

import gc
import importlib
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from sam_tui.adapters.llm.failures import FailureSource
from sam_tui.adapters.llm.wire import Dialect
from sam_tui.core.errors import ModelAuthError, ModelRejected, UsageError
from sam_tui.http_library import load

if TYPE_CHECKING:
    import httpx

_KEPT_ALIVE = 55.0
"""Seconds for which an idle connection stays open: longer than most calls, shorter than servers wait."""
_LONGEST_LIST = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a model, with the key, the limits in seconds and the dialect of its requests.

    ``model`` is the name the server knows, ``name`` the one people see. ``base`` ends before
    ``/chat/completions`` and has no slash at its end. ``timeout`` is in seconds between bytes.
    ``priced``: whether public prices hold there. ``options`` are further fields of the request.
    """

    model: str
    base: str
    name: str
    key: str = field(default="", repr=False)
    key_variable: str = ""
    timeout: float = 300.0
    connect_timeout: float = 10.0
    priced: bool = False
    dialect: Dialect = field(default_factory=Dialect)
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        parts = split(self.base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"{self.base!r} is not an address of a model's server.",
                hint="Pass one such as http://127.0.0.1:11434/v1 with --api-base.",
            )
        if not all("!" <= c <= "~" for c in self.key):
            # Caught here, because the HTTP library would show the header, and the key in it.
            raise ModelAuthError(
                "The API key has a space, a line break or a letter that keys do not have.",
                hint=f"Check {self.key_variable or '--api-key'}.",
            )

    @property
    def loopback(self) -> bool:
        """Whether the endpoint is on this machine."""
        return is_loopback(self.base)

    @property
    def secure(self) -> bool:
        """Whether the address is https."""
        return split(self.base).scheme == "https"

    @property
    def url(self) -> str:
        """The URL of chat completions."""
        return f"{self.base}/chat/completions"

    @property
    def source(self) -> FailureSource:
        """This endpoint, for error messages."""
        where = host_of(self.base)
        return FailureSource(self.name, where, self.key, self.key_variable, self.loopback)


def host_of(base: str) -> str:
    """Host and port of an address, without any other part of it."""
    parts = split(base)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else f"{parts.hostname}"
    return f"{host}:{parts.port}" if parts.port else host


def is_loopback(base: str) -> bool:
    """Whether an address names this machine: ``localhost`` or a loopback address."""
    host = (split(base).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def split(base: str) -> SplitResult:
    """The parts of an address; UsageError when it is none."""
    try:
        parts = urlsplit(base)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{base!r} is not an address: {error}.") from error
    return parts


def warm_http() -> None:
    """Import all that a first request needs; for a thread before the first request."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        load()
        for module in ("httpcore", "anyio._backends._asyncio"):
            importlib.import_module(module)
    finally:
        if enabled:
            gc.enable()


def timeouts(between_bytes: float, connect: float) -> "httpx.Timeout":
    """Time-outs in seconds; waiting for a free connection has none."""
    load()
    import httpx

    return httpx.Timeout(between_bytes, connect=connect, pool=None)


def client_for(endpoint: Endpoint) -> "httpx.AsyncClient":
    """A client for one endpoint: no redirects, no proxy to this machine, idle connections kept.

    Certificates are always checked. A context without certificates is used where no TLS can occur,
    because loading the real ones costs 16 ms. Raises ``ModelRejected`` where the environment names a
    proxy or certificates that cannot be used.
    """
    load()
    import ssl
    from urllib.request import getproxies

    import httpx

    proxies = {} if endpoint.loopback else getproxies()
    needs_tls = endpoint.secure or proxies
    try:
        for address in proxies.values():
            _ = urlsplit(address).port  # httpx takes any number
        return httpx.AsyncClient(
            verify=True if needs_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            trust_env=not endpoint.loopback,
            follow_redirects=False,
            timeout=timeouts(endpoint.timeout, endpoint.connect_timeout),
            limits=httpx.Limits(keepalive_expiry=_KEPT_ALIVE),
        )
    except OSError as error:
        text = (
            f"The certificates of SSL_CERT_FILE and SSL_CERT_DIR cannot be read: {error.strerror}."
        )
        raise ModelRejected(text, hint="Correct or unset these variables.") from error
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        socks = isinstance(error, ImportError)
        # The address is not named: it may have a password.
        why = "SOCKS is not supported" if socks else "it is not like http://HOST:PORT"
        text = f"The proxy in the environment cannot be used: {why}."
        raise ModelRejected(text, hint="Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY.") from error


async def model_list(endpoint: Endpoint) -> bytes:
    """Return the first megabyte of an endpoint's list of models; empty if it refuses.

    Raises ``OSError`` when nobody answers.
    """
    load()
    import httpx

    headers = {"accept": "application/json", "accept-encoding": "identity"}
    if endpoint.key:
        headers["authorization"] = f"Bearer {endpoint.key}"
    body = bytearray()
    try:
        async with (
            client_for(endpoint) as client,
            client.stream("GET", f"{endpoint.base}/models", headers=headers) as response,
        ):
            if response.status_code != 200 or response.headers.get("content-encoding"):
                return b""
            async for data in response.aiter_bytes():
                body += data
                if len(body) > _LONGEST_LIST:
                    break
    except httpx.HTTPError as error:
        raise ConnectionError(str(error)) from error
    return bytes(body)
