"""What there is to choose from: local servers that answer, keys in the environment, the script."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from sam_tui.adapters.llm.choice import Wish, choose
from sam_tui.adapters.llm.providers import DIRECT, THROUGH_LITELLM
from sam_tui.core.ports.model import Model, ModelOffer

_PROBE_SECONDS = 0.5
_MOST_MODELS = 12
_LONGEST_ANSWER = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server to look for on this machine: ``prefix`` begins its model strings."""

    title: str
    prefix: str
    port: int


LOCAL_SERVERS = (
    LocalServer("Ollama", "ollama", 11434),
    LocalServer("LM Studio", "lm_studio", 1234),
    LocalServer("llama.cpp", "llamacpp", 8080),
    LocalServer("vLLM", "hosted_vllm", 8000),
)


class Catalog:
    """The ``ModelCatalog`` of this machine and environment."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        servers: Sequence[LocalServer] = LOCAL_SERVERS,
        timeout: float = 300.0,
    ) -> None:
        self._environment = environment
        self._servers = servers
        self._timeout = timeout

    async def offers(self) -> Sequence[ModelOffer]:
        """Everything at hand, local servers first, the embedded script last. Takes half a second
        at most; a server that does not answer is left out, never an error."""
        found = await asyncio.gather(*(_look(server) for server in self._servers))
        local = [offer for offers in found for offer in offers]
        return [*local, *self._with_keys(), _SCRIPT]

    def open(self, offer: ModelOffer) -> Model:
        """The offered model; raises what ``choice.choose`` raises."""
        wish = Wish(offer.model, api_base=offer.api_base, timeout=self._timeout)
        return choose(wish, self._environment)

    def _with_keys(self) -> list[ModelOffer]:
        by_prefix = {p.prefix: p for p in (*DIRECT, *THROUGH_LITELLM)}
        order = ["openai", "anthropic", "gemini", *by_prefix]
        offers: dict[str, ModelOffer] = {}
        for provider in (by_prefix[prefix] for prefix in order):
            variable = next((k for k in provider.keys if self._environment.get(k, "").strip()), "")
            if variable and provider.offer:
                name = provider.offer.partition("/")[2]
                label = f"{name} · {provider.title}"
                offers[provider.prefix] = ModelOffer(label, provider.offer, f"{variable} is set")
        return list(offers.values())


_SCRIPT = ModelOffer(
    "Scripted demo", "scripted", "comes with sam-tui: a short tour without a network"
)


async def _look(server: LocalServer) -> list[ModelOffer]:
    names: list[str] = []
    with suppress(OSError, TimeoutError, ValueError, RecursionError):
        async with asyncio.timeout(_PROBE_SECONDS):
            names = _names(await _get_models(server.port))
    base = f"http://127.0.0.1:{server.port}/v1"
    source = f"{server.title} on 127.0.0.1:{server.port}"
    return [
        ModelOffer(f"{name} · {server.title}", f"{server.prefix}/{name}", source, base)
        for name in names
    ]


async def _get_models(port: int) -> bytes:
    """The body of ``GET /v1/models``, by HTTP/1.0: no library to import, no chunks to put together."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = f"GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode())
        status, *headers = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        if status.split(b" ")[1:2] != [b"200"]:
            return b""
        lengths = [h for h in headers if h.startswith(b"content-length:")]
        if not lengths:
            return await reader.read(_LONGEST_ANSWER)
        length = int(lengths[0].partition(b":")[2])
        return await reader.readexactly(min(length, _LONGEST_ANSWER))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return b""
    finally:
        writer.transport.abort()


def _names(body: bytes) -> list[str]:
    """The ids of a model list; without those that only embed."""
    if not body:
        return []
    parsed: object = json.loads(body)
    data = cast("Mapping[str, Any]", parsed).get("data") if isinstance(parsed, dict) else None
    listed = cast("list[object]", data) if isinstance(data, list) else []
    entries = (cast("Mapping[str, Any]", e) for e in listed if isinstance(e, dict))
    names = [n for e in entries if isinstance(n := e.get("id"), str) and n and n.isprintable()]
    return [n for n in names if "embed" not in n.lower()][:_MOST_MODELS]
