"""The models to choose from: local servers that answer, keys in the environment, the script."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeGuard, cast

from sam_tui.adapters.llm import choice
from sam_tui.adapters.llm.endpoint import host_of, model_list
from sam_tui.adapters.llm.providers import (
    DIRECT,
    THROUGH_LITELLM,
    Provider,
    by_prefix,
    of_bare_name,
)
from sam_tui.core.errors import SamError, UsageError
from sam_tui.core.ports.model import Model, ModelFacts, ModelOffer
from sam_tui.core.usage import Price

_PROBE_SECONDS = 0.5
_GIVEN_SECONDS = 2.0
_MOST_MODELS, _MOST_OF_GIVEN = 12, 200
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


class ProviderCatalog:
    """The ``ModelCatalog`` of this machine and environment; ``asked`` is the person's first choice."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        servers: Sequence[LocalServer] = LOCAL_SERVERS,
        wish: choice.Wish | None = None,
        prices: Callable[[], Mapping[str, Price]] = dict,
        facts: Callable[[Iterable[str]], Mapping[str, ModelFacts]] = lambda _: {},
    ) -> None:
        self._environment = environment
        self._servers = servers
        self._asked = choice.with_tidy_address(wish or choice.Wish(""))
        self._prices = prices
        self._facts_of = facts
        self._home = ""
        """The host that the person's key is for; empty if they named neither a host nor a model."""
        self._keys: dict[str, str] = {}
        """Keys that were entered later, by host."""

    async def offers(self, current: Model | None = None) -> Sequence[ModelOffer]:
        """All available models, the one in use first, the embedded script last. Takes two seconds at
        most; a server that does not answer is left out, never an error."""
        looks = (self._look_given(), *(_look(server) for server in self._servers))
        answers = await asyncio.gather(*looks)
        offers = [*_in_use(current), *(offer for answer in answers for offer in answer)]
        distinct: dict[tuple[str, str], ModelOffer] = {}
        for offer in (*offers, *self._with_keys(), _SCRIPT):
            distinct.setdefault((offer.model, self._address(offer)), offer)
        return await asyncio.to_thread(self._with_facts, list(distinct.values()), current)

    def _with_facts(self, offers: list[ModelOffer], current: Model | None) -> list[ModelOffer]:
        """The offers with facts about a provider's own models; elsewhere a name may mean another."""
        facts = self._facts_of(offer.model for offer in offers if not self._address(offer))
        return [replace(offer, facts=self._facts(offer, facts, current)) for offer in offers]

    def _facts(
        self, offer: ModelOffer, by_model: Mapping[str, ModelFacts], current: Model | None
    ) -> ModelFacts:
        facts = by_model.get(offer.model, ModelFacts())
        if offer.in_use and current is not None and current.context_tokens is not None:
            facts = replace(facts, context_tokens=current.context_tokens)
        price = self._prices().get(offer.model)
        return facts if price is None else replace(facts, price=price)

    def host(self, offer: ModelOffer) -> str:
        """Return the target of requests to the offered model. Raises ``UsageError``."""
        return choice.destination(self._wish(offer), self._environment)

    def service(self, name: str) -> ModelOffer:
        """The model of a provider that can be used now. Raises ``UsageError`` naming those there are."""
        services = {offer.model.partition("/")[0]: offer for offer in self._with_keys()}
        model = self._asked.model
        if model:
            services[model.partition("/")[0].partition(":")[0]] = ModelOffer(model, model, "")
        if name not in services:
            names = ", ".join(sorted(services)) or "none"
            raise UsageError(f"There is no AI service {name!r}.", hint=f"There are: {names}.")
        return services[name]

    def open(
        self, offer: ModelOffer, *, key: str = "", options: Mapping[str, Any] | None = None
    ) -> Model:
        """Open the offered model; raises as ``choice.choose`` does."""
        wish, host = self._wish(offer), self.host(offer)
        if key:
            self._keys[host] = key
        self._home = self._home or self._first_host() or host
        if options:
            wish = replace(wish, options=options)
        if not self._address(offer):
            sight, price = partial(self._sight, offer.model), partial(self.price, offer)
            wish = replace(wish, sight=cache(sight), price=cache(price))
        if host in self._keys:
            return choice.choose(replace(wish, api_key=self._keys[host]), self._environment)
        if host == self._home:
            return choice.choose(replace(wish, api_key=self._asked.api_key), self._environment)
        elsewhere = {name: v for name, v in self._environment.items() if name != choice.OWN_KEY}
        return choice.choose(wish, elsewhere)

    def _sight(self, model: str) -> bool | None:
        return self._facts_of((model,)).get(model, ModelFacts()).images

    def price(self, offer: ModelOffer) -> Price | None:
        """The person's own price, else the public one at the provider's own address."""
        personal = self._prices().get(offer.model)
        if personal is not None or self._address(offer):
            return personal
        return self._facts_of((offer.model,)).get(offer.model, ModelFacts()).price

    def key_variable(self, offer: ModelOffer) -> str:
        """The variable of the provider's key; empty if requests go to another host."""
        prefix, slash, _ = offer.model.partition("/")
        provider = by_prefix(prefix) if slash else of_bare_name(offer.model)
        if provider is None or not provider.keys or self._address(offer):
            return ""
        return provider.keys[0]

    def _first_host(self) -> str:
        wish = self._asked
        if wish.model:
            return choice.destination(wish, self._environment)
        return host_of(wish.api_base) if wish.api_base else ""

    def _wish(self, offer: ModelOffer) -> choice.Wish:
        """The wish for an offer, without a key."""
        return replace(self._asked, model=offer.model, api_base=self._address(offer), api_key="")

    def _address(self, offer: ModelOffer) -> str:
        """The offer's own address, else the person's if it fits."""
        wish = self._asked
        if offer.api_base or not wish.api_base:
            return offer.api_base
        other_wire = choice.speaks_own_wire(offer.model) and not choice.speaks_own_wire(wish.model)
        return "" if other_wire else wish.api_base

    async def _look_given(self) -> list[ModelOffer]:
        """The models of the server at the person's address."""
        own_wish = self._asked
        if not own_wish.api_base or choice.speaks_own_wire(own_wish.model):
            return []
        where = host_of(own_wish.api_base)
        wish = replace(own_wish, model=own_wish.model or "x", timeout=_GIVEN_SECONDS)
        wish = replace(wish, api_key=self._keys.get(where, own_wish.api_key))
        names: list[str] = []
        with suppress(SamError, OSError, TimeoutError, ValueError, RecursionError):
            async with asyncio.timeout(_GIVEN_SECONDS):
                listed = await model_list(choice.endpoint_for(wish, self._environment))
                names = _names(listed, _MOST_OF_GIVEN)
        return [
            ModelOffer(
                name, choice.model_string(name, own_wish.model), f"at {where}", own_wish.api_base
            )
            for name in names
        ]

    def _own_base(self, provider: Provider) -> str:
        """A provider's own address, for offers whose name alone would mean the person's address."""
        configured = (
            self._environment.get(provider.base_variable, "") if provider.base_variable else ""
        )
        return configured.strip() or provider.base

    def _with_keys(self) -> list[ModelOffer]:
        by_prefix = {p.prefix: p for p in (*DIRECT, *THROUGH_LITELLM)}
        order = ["openai", "anthropic", "gemini", *by_prefix]
        offers: dict[str, ModelOffer] = {}
        for provider in (by_prefix[prefix] for prefix in order):
            variable = next((k for k in provider.keys if self._environment.get(k, "").strip()), "")
            if variable and provider.offer:
                name = provider.offer.partition("/")[2]
                label = f"{name} · {provider.title}"
                base = self._own_base(provider) if self._asked.api_base else ""
                source = f"{variable} is set"
                offers[provider.prefix] = ModelOffer(label, provider.offer, source, base)
        return list(offers.values())


_SCRIPT = ModelOffer(
    "Scripted demo", "scripted", "comes with sam-tui: a short tour without a network"
)


def _in_use(model: Model | None) -> list[ModelOffer]:
    if model is None or model.name.startswith(_SCRIPT.model):
        return []
    where = f" at {model.host}" if model.host else ""
    return [ModelOffer(model.name, model.name, f"in use{where}", in_use=True)]


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


def _names(body: bytes, most: int = _MOST_MODELS) -> list[str]:
    """The ids of a model list; without those that only embed."""
    if not body:
        return []
    match parsed := json.loads(body):
        case {"data": list()}:
            entries = cast("Mapping[str, list[object]]", parsed)["data"]
        case _:
            return []
    names = [str(entry["id"]) for entry in entries if _is_named(entry)]
    return [name for name in names if "embed" not in name.lower()][:most]


def _is_named(entry: object) -> TypeGuard[Mapping[str, object]]:
    """Whether an entry of a list has an id that can be shown."""
    match entry:
        case {"id": str(name)}:
            return bool(name) and name.isprintable()
        case _:
            return False
