"""Offers: local servers that answer, keys that are set, and always the script."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from sam_tui.adapters.llm.catalog import LocalServer, ProviderCatalog
from sam_tui.adapters.llm.choice import OWN_KEY, Wish
from sam_tui.adapters.llm.direct import DirectModel
from sam_tui.adapters.llm.litellm_model import LiteLLMModel, load
from sam_tui.adapters.llm.providers import DIRECT, THROUGH_LITELLM
from sam_tui.adapters.llm.scripted import ScriptedModel
from sam_tui.core.errors import ModelAuthError
from sam_tui.core.ports.model import ModelOffer
from tests.fakes.openai_server import FakeServer, Reply
from tests.llm.folding import LITELLM_WARNINGS, answer

pytestmark = LITELLM_WARNINGS


@pytest.fixture
async def closed_port() -> AsyncIterator[int]:
    """A port that nobody listens on, held while the test runs."""
    import socket

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.mark.requirement("model:offers")
async def test_with_nothing_at_hand_there_is_the_script(closed_port: int) -> None:
    catalog = ProviderCatalog({}, servers=[LocalServer("Ollama", "ollama", closed_port)])
    [offer] = await catalog.offers()
    assert offer.model == "scripted"
    model = catalog.open(offer)
    assert isinstance(model, ScriptedModel)
    assert model.name == "scripted"


@pytest.mark.requirement("model:offers")
async def test_local_servers_that_answer_offer_their_models() -> None:
    async with FakeServer(
        [Reply(text="hi")], models=["qwen3", "nomic-embed-text", "a/b"]
    ) as server:
        catalog = ProviderCatalog({}, servers=[LocalServer("LM Studio", "lm_studio", server.port)])
        offers = await catalog.offers()
        assert [o.model for o in offers] == ["lm_studio/qwen3", "lm_studio/a/b", "scripted"]
        assert offers[0].source == f"LM Studio on 127.0.0.1:{server.port}"
        model = catalog.open(offers[0])
        assert isinstance(model, DirectModel)
        assert (await answer(model)).text == "hi"
        assert server.posts[0].json["model"] == "qwen3"
        await model.close()


@pytest.mark.requirement("model:offers-never-fail")
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 404 Not Found\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\n\r\n[1]",
        b'HTTP/1.1 200 OK\r\n\r\n{"data": [1, {"id": 2}, {"id": "\\u001b[31m"}]}',
        b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n{",
        b"\xff" * 200_000,
    ],
)
async def test_whatever_else_listens_there_is_left_out(said: bytes) -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    catalog = ProviderCatalog({}, servers=[LocalServer("vLLM", "hosted_vllm", port)])
    assert [o.model for o in await catalog.offers()] == ["scripted"]
    server.close()


@pytest.mark.requirement("model:offers-never-fail")
async def test_silent_servers_are_given_up_together() -> None:
    connected, most = 0, 0

    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connected, most
        connected += 1
        most = max(most, connected)
        await reader.read()
        connected -= 1
        writer.close()

    server = await asyncio.start_server(stay_silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    servers = [LocalServer(f"S{n}", "ollama", port) for n in range(8)]
    assert len(await ProviderCatalog({}, servers=servers).offers()) == 1
    assert most > 1, "one was asked after the other"
    server.close()


@pytest.mark.requirement("model:offers")
async def test_keys_in_the_environment_offer_a_model_each() -> None:
    environment = {
        "GEMINI_API_KEY": "g",
        "OPENAI_API_KEY": "o",
        "ANTHROPIC_API_KEY": "a",
        "XAI_API_KEY": "x",
        "GROQ_API_KEY": " ",
    }
    catalog = ProviderCatalog(environment, servers=[])
    offers = await catalog.offers()
    prefixes = [o.model.partition("/")[0] for o in offers]
    assert prefixes == ["openai", "anthropic", "gemini", "xai", "scripted"]
    assert offers[1].source == "ANTHROPIC_API_KEY is set"
    opened = [catalog.open(offer) for offer in offers]
    assert [type(m) for m in opened] == [
        DirectModel,
        LiteLLMModel,
        LiteLLMModel,
        DirectModel,
        ScriptedModel,
    ]
    assert "g" not in " ".join(o.source for o in offers).split()


@pytest.mark.requirement("model:offers")
def test_every_offered_model_is_one_that_litellm_knows() -> None:
    known = load().model_cost
    for provider in (*DIRECT, *THROUGH_LITELLM):
        if provider.offer and provider.prefix != "openrouter":
            bare = provider.offer.partition("/")[2]
            assert provider.offer in known or bare in known


@pytest.mark.requirement("model:key-of-its-host")
@pytest.mark.parametrize(
    ("begun", "name", "host", "key"),
    [
        (Wish("openai/a", "http://corp.invalid/v1", "own"), "openai/b", "corp.invalid", "own"),
        (Wish("a", "corp.invalid/v1", "own"), "b", "corp.invalid", "own"),
        (Wish("a", "corp.invalid/v1", "own"), "openrouter/b", "corp.invalid", "own"),
        (Wish("", "corp.invalid/v1", "own"), "b", "corp.invalid", "own"),
        (Wish("a", "corp.invalid/v1"), "b", "corp.invalid", "general"),
        (Wish("openai/a", api_key="own"), "openai/b", "api.openai.com", "own"),
        (Wish("openai/a", api_key="own"), "openrouter/b", "openrouter.ai", "routers"),
        (Wish("openai/a"), "openai/b", "api.openai.com", "general"),
        (Wish("openai/a"), "openrouter/b", "openrouter.ai", "routers"),
        (Wish("openai/a", api_key="own"), "ollama/b", "127.0.0.1:11434", ""),
        (Wish(""), "openrouter/b", "openrouter.ai", "general"),
    ],
)
def test_address_and_key_stay_together(begun: Wish, name: str, host: str, key: str) -> None:
    environment = {OWN_KEY: "general", "OPENROUTER_API_KEY": "routers"}
    catalog = ProviderCatalog(environment, servers=[], wish=begun)
    offer = ModelOffer(name, name, "")
    assert catalog.host(offer) == host
    model = catalog.open(offer)
    assert isinstance(model, DirectModel)
    assert (model.host, model.endpoint.key) == (host, key)


@pytest.mark.requirement("model:key-of-its-host")
def test_a_provider_of_another_wire_is_another_host_without_the_key() -> None:
    asked = Wish("a", "http://corp.invalid/v1", "own")
    catalog = ProviderCatalog({OWN_KEY: "general"}, servers=[], wish=asked)
    offer = ModelOffer("", "anthropic/claude-x", "")
    assert catalog.host(offer) == "anthropic"
    with pytest.raises(ModelAuthError, match="ANTHROPIC_API_KEY"):
        catalog.open(offer)
    assert catalog.open(offer, key="typed").host == "anthropic"
    assert catalog.open(offer).host == "anthropic"


@pytest.mark.requirement("model:key-of-its-host")
async def test_an_offer_of_another_provider_is_at_its_own_address() -> None:
    asked = Wish("a", "http://corp.invalid/v1", "own")
    catalog = ProviderCatalog({"OPENROUTER_API_KEY": "routers"}, servers=[], wish=asked)
    [offer] = [o for o in await catalog.offers() if o.model.startswith("openrouter/")]
    assert catalog.host(offer) == "openrouter.ai"
    model = catalog.open(offer)
    assert isinstance(model, DirectModel)
    assert (model.endpoint.model, model.endpoint.key) == ("openrouter/auto", "routers")


@pytest.mark.requirement("model:offers")
async def test_the_model_in_use_and_those_of_the_given_server_come_first() -> None:
    async with FakeServer(models=["x", "openai/oss", "an-embedding"]) as server:
        asked = Wish("openai/x", server.base, "own")
        catalog = ProviderCatalog({}, servers=[], wish=asked)
        current = catalog.open(ModelOffer("", "openai/x", ""))
        offers = await catalog.offers(current)
        assert [o.model for o in offers] == ["openai/x", "openai/openai/oss", "scripted"]
        assert offers[0].source == f"in use at 127.0.0.1:{server.port}" and offers[0].in_use
        assert server.requests[0].headers["authorization"] == "Bearer own"
        chosen = catalog.open(offers[1])
        assert isinstance(chosen, DirectModel)
        assert (chosen.endpoint.model, chosen.endpoint.base) == ("openai/oss", server.base)
