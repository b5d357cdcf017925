"""recall_history: what left the context is found again, and nothing that is not its own."""

import re

import pytest

from sam_tui.core.agent.compaction import compact
from sam_tui.core.agent.context_window import chunks
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import AssistantMessage, Message, UserMessage
from sam_tui.core.ports.memory import ArchivedChunk
from tests.memory.harness import Harness

OTHER = ConversationId("other")


def chunk(harness: Harness, number: int, text: str, *, conversation: str = "c") -> None:
    """An archived chunk about one thing, an hour after the one before it."""
    at = number * 3600.0
    messages = (("user", text), ("assistant", f"Noted: {text}"))
    topics = tuple(word for word in text.lower().split() if len(word) > 4)[:5]
    harness.storage.archive.add(
        ArchivedChunk(conversation, number, at, at + 600, text, topics, messages)
    )


async def recall(harness: Harness, query: str, **arguments: object) -> str:
    done = await harness.call("recall_history", {"query": query, **arguments})
    assert done.finished.ok, done.finished.text
    return done.finished.text


@pytest.mark.requirement("memory:recall")
async def test_what_a_compaction_dropped_is_recalled_in_its_own_words(harness: Harness) -> None:
    messages: list[Message] = []
    for number in range(30):
        messages += [
            UserMessage(
                f"Question {number}: what about the {'kumquat' if number == 3 else 'plum'}?"
            ),
            AssistantMessage(f"Answer {number}. " + "filler " * 200),
        ]
    done = compact(messages, 3_000)
    moments = [1_000.0 + place for place in done.indices]
    last = harness.storage.archive.last_number(harness.conversation)
    for one in chunks(harness.conversation, done.dropped, moments, last=last):
        harness.storage.archive.add(one)
    text = await recall(harness, "kumquat")
    assert "**user**: Question 3: what about the kumquat?" in text
    assert re.search(r"## Part 1, \d{4}-\d\d-\d\d \d\d:\d\d–\d\d:\d\d", text)
    assert "Summary: " in text and "Topics: " in text and "messages in all" in text


@pytest.mark.requirement("memory:recall")
async def test_an_empty_archive_and_no_match_say_different_things(harness: Harness) -> None:
    assert "Nothing is archived yet" in await recall(harness, "anything")
    chunk(harness, 1, "The lighthouse keeper")
    text = await recall(harness, "zebra")
    assert "Nothing in the archive matches" in text and "lighthouse" in text


@pytest.mark.requirement("memory:recall-hints")
async def test_hints_order_by_time_and_else_the_best_match_is_first(harness: Harness) -> None:
    chunk(harness, 1, "parser rewrite begins")
    chunk(harness, 2, "lunch, and a word on the parser in passing among many other words entirely")
    chunk(harness, 3, "parser parser parser: the parser is done")

    async def parts(**arguments: object) -> list[str]:
        return re.findall(r"## Part (\d)", await recall(harness, "parser", **arguments))

    assert await parts(time_hint="recent") == ["3", "2", "1"]
    assert await parts(time_hint="early") == ["1", "2", "3"]
    assert (await parts(time_hint="whenever"))[0] == "3"
    assert await parts(limit=1, time_hint="early") == ["1"]
    assert "More parts match" in await recall(harness, "parser", limit=1)


@pytest.mark.requirement("memory:recall-limits")
@pytest.mark.parametrize("arguments", [{"query": " "}, {"query": "x", "limit": 11}, {"limit": 1}])
async def test_limits_are_one_to_ten_and_a_query_is_needed(
    harness: Harness, arguments: dict[str, object]
) -> None:
    done = await harness.call("recall_history", arguments)
    assert not done.finished.ok and "recall_history:" in done.finished.text


@pytest.mark.requirement("memory:recall-topic")
async def test_a_topic_opens_its_conversations_only_to_those_that_share_it(
    harness: Harness,
) -> None:
    chunk(harness, 1, "The harbour plan", conversation="other")
    assert "Nothing is archived" in await recall(harness, "harbour")
    harness.storage.memories.set_topic(OTHER, "port")
    closed = await harness.call("recall_history", {"query": "harbour", "topic_id": "port"})
    assert not closed.finished.ok and "does not share" in closed.finished.text
    harness.storage.memories.set_topic(harness.conversation, "port")
    assert "The harbour plan" in await recall(harness, "harbour", topic_id="port")
    assert "Nothing is archived" in await recall(harness, "harbour")


@pytest.mark.requirement("memory:recall")
async def test_an_excerpt_shows_the_words_asked_for_wherever_they_stand(harness: Harness) -> None:
    long = "start " * 2_000 + "the needle is here " + "end " * 2_000
    others = tuple(("tool x", f"noise {n}") for n in range(20))
    harness.storage.archive.add(
        ArchivedChunk("c", 1, 0.0, 1.0, "things", (), (*others, ("assistant", long), *others))
    )
    text = await recall(harness, "needle")
    assert "the needle is here" in text and text.count("**") == 2 * 5
    assert len(text) < 5 * 600 + 600
