"""Embeddings through litellm against a real server, and what is told when it refuses."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.llm.embedding import BASE, KEY, MODEL, LiteLLMEmbedder, embedder_from
from sam_tui.assembly import Options, build
from sam_tui.core.errors import ModelAuthError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import ToolCall
from sam_tui.core.redaction.shield import Shield
from tests.fakes.openai_server import FakeServer, Recorded, Reply, failure
from tests.llm.folding import LITELLM_WARNINGS

pytestmark = [pytest.mark.requirement("model:embedding"), LITELLM_WARNINGS]


def vectors(request: Recorded) -> Reply:
    """An answer whose vectors are the lengths of the texts, out of order."""
    texts: Sequence[str] = request.json["input"]
    data: list[dict[str, Any]] = [
        {"object": "embedding", "index": i, "embedding": [len(t), 1.0]} for i, t in enumerate(texts)
    ]
    body = {"object": "list", "model": "e", "data": data[::-1], "usage": {"prompt_tokens": 1}}
    return Reply(raw=json.dumps(body), content_type="application/json")


async def test_each_text_gets_its_vector_in_order() -> None:
    async with FakeServer([vectors]) as server:
        embedder = LiteLLMEmbedder("openai/e", server.base, "k")
        assert await embedder.embed(["a", "bcd"]) == [[1.0, 1.0], [3.0, 1.0]]
        assert server.requests[0].path.endswith("/embeddings")


async def test_a_refusal_is_one_of_our_errors_after_one_try() -> None:
    async with FakeServer([failure(401, "no such key")] * 3) as server:
        with pytest.raises(ModelAuthError):
            await LiteLLMEmbedder("openai/e", server.base, "k").embed(["a"])
        assert len(server.requests) == 1


async def test_texts_are_sent_without_secrets() -> None:
    async with FakeServer([vectors]) as server:
        shield = Shield({"APP_KEY": "kept-to-ourselves-1"})
        embedder = LiteLLMEmbedder("openai/e", server.base, "k", lambda t: shield.mask(t).text)
        await embedder.embed(["it is kept-to-ourselves-1"])
        assert "kept-to" not in json.dumps(server.requests[0].json)


@pytest.mark.requirement("framework:assembled")
async def test_memories_and_code_are_found_by_what_they_mean_and_no_secret_is_sent(
    tmp_path: Path,
) -> None:
    secret = "correct-horse-battery-9"
    for name, text in (("a.py", f"# a door, {secret}\n"), ("b.py", "# another door\n")):
        (tmp_path / name).write_text(text, "utf-8")
    async with FakeServer([vectors] * 9) as server:
        environ = {MODEL: "openai/e", BASE: server.base, KEY: "k", "MY_PASSWORD": secret}
        options = Options(str(tmp_path), str(tmp_path / "data"))
        runtime = build(options, {"HOME": str(tmp_path), **environ})
        memory = {"content": f"It is {secret}.", "query": "is it what opens the gate"}
        calls = (
            ("store_memory", memory),
            ("search_memory", memory),
            ("semantic_search", {"query": "door"}),
        )
        for name, arguments in calls:
            call = ToolCall(CallId(name), name, json.dumps(arguments))
            done = await runtime.executor.execute(call, ConversationId("c"))
            assert done.finished.ok, done.finished.text
        await runtime.close()
    sent = [text for request in server.requests for text in request.json["input"]]
    assert [text for text in sent if secret in text] == []
    told = ("It is <secret:", "opens the gate", "a door, <secret:", "another door")
    assert [words for words in told if not any(words in text for text in sent)] == []


def test_only_a_configured_model_embeds() -> None:
    assert embedder_from({}) is None
    found = embedder_from({"SAM_TUI_EMBEDDING_MODEL": "ollama/nomic"})
    assert found is not None
    assert found.name == "ollama/nomic"
