"""The client for one endpoint."""

import gc
import importlib
from typing import TYPE_CHECKING

from sam_tui.adapters.llm.endpoint import Endpoint
from sam_tui.http_library import load

if TYPE_CHECKING:
    import httpx

_KEPT_ALIVE = 55.0
"""Seconds an idle connection is kept: longer than most tool calls, shorter than most servers wait."""

_LONGEST_LIST = 1024 * 1024


def warm() -> None:
    """Import all that a first request needs; meant for a thread while nothing is asked yet."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        load()
        for module in ("httpcore", "anyio._backends._asyncio"):
            importlib.import_module(module)
    finally:
        if enabled:
            gc.enable()


def timeout(between_bytes: float, connect: float) -> "httpx.Timeout":
    """Time-outs in seconds; waiting for a free connection has none."""
    load()
    import httpx

    return httpx.Timeout(between_bytes, connect=connect, pool=None)


def client_for(endpoint: Endpoint) -> "httpx.AsyncClient":
    """A client for one endpoint: no redirects, no proxy to this machine, idle connections kept.

    Certificates are always checked. A context without certificates stands in where no TLS can come
    up, because loading the real ones costs 16 ms.
    """
    load()
    import ssl
    from urllib.request import getproxies

    import httpx

    proxied = not endpoint.loopback and bool(getproxies())
    needs_tls = endpoint.secure or proxied
    return httpx.AsyncClient(
        verify=True if needs_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        trust_env=not endpoint.loopback,
        follow_redirects=False,
        timeout=timeout(endpoint.timeout, endpoint.connect_timeout),
        limits=httpx.Limits(keepalive_expiry=_KEPT_ALIVE),
    )


async def model_list(endpoint: Endpoint) -> bytes:
    """The first megabyte of what an endpoint lists as its models; empty where it refuses.

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
