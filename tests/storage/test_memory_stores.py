"""Memory on disk: it lasts, it is shared between processes, and its relevance means something."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.adapters.storage.word_index import telling, terms
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.memory import (
    ArchivedChunk,
    ImportedDocument,
    LearntDraft,
    MemoryDraft,
    PruneRule,
    Scope,
)

C = ConversationId("c")
S = Scope("c")


def relevance(storage: Storage, query: str, scope: Scope = S) -> dict[str, float]:
    """What a query finds, with its relevance."""
    hits = storage.memories.search(scope, query, limit=50, threshold=0.0)
    return {hit.memory.draft.content: hit.relevance for hit in hits}


@pytest.mark.requirement("memory:durable")
def test_everything_that_is_remembered_is_there_in_another_process(data_dir: Path) -> None:
    first = open_storage(data_dir)
    draft = MemoryDraft("the text", "fact", ("a", "b"), "context", "doc1")
    memory, _ = first.memories.store(S, draft)
    first.notes.put(S, "k", "v")
    learnt = first.knowledge.add(S, LearntDraft("solution", "e", "s", ("x",), 0.8))
    document = ImportedDocument("id", "n.pdf", "/n.pdf", "digest", 5, 7.0)
    first.documents.record(C, document)
    chunk = ArchivedChunk("c", 1, 1.0, 2.0, "sum", ("topic",), (("user", "hi"), ("tool x", "y")))
    first.archive.add(chunk)
    first.choices.choose(C, "p", True)
    first.memories.set_topic(C, "t")
    first.close()
    again = open_storage(data_dir)
    assert again.memories.store(S, draft) == (memory, False)
    assert again.memories.search(S, "text", limit=1, threshold=0.1)[0].memory == memory
    assert again.notes.get(S, "k") == "v"
    assert again.knowledge.list(S) == [learnt]
    assert again.documents.imported(C) == [document]
    assert again.archive.search([C], "topic", hint="", limit=1) == [chunk]
    assert again.archive.last_number(C) == 1
    assert again.choices.chosen(C) == {"p": True}
    assert again.memories.scope_of(C) == "topic:t" and again.memories.conversations("t") == [C]
    again.close()


@pytest.mark.requirement("memory:duplicates")
def test_two_processes_that_store_the_same_get_one_memory(data_dir: Path) -> None:
    one, other = open_storage(data_dir), open_storage(data_dir)
    first, new = one.memories.store(S, MemoryDraft("same"))
    second, again = other.memories.store(S, MemoryDraft("same"))
    assert new and not again and first == second
    one.close()
    other.close()


@pytest.mark.requirement("memory:relevance")
def test_relevance_is_near_one_for_the_text_itself_and_falls_with_what_is_missing(
    storage: Storage,
) -> None:
    text = "The nightly backup of the billing database goes to the archive bucket"
    storage.memories.store(S, MemoryDraft(text))
    for number in range(30):
        storage.memories.store(S, MemoryDraft(f"Something else altogether, number {number}"))
    same = relevance(storage, text)[text]
    all_words = relevance(storage, "nightly backup of billing")[text]
    some_words = relevance(storage, "nightly backup of the payroll zebra spaceship")[text]
    one_word = relevance(storage, "is there a zebra, spaceship or yoghurt bucket anywhere")[text]
    assert same >= 0.99
    assert same > all_words > some_words > one_word > 0
    assert (
        relevance(storage, "qqqq wwww zzzz")
        == {}
        == relevance(storage, "")
        == relevance(storage, "…")
    )


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """One store for all examples of a property; opening one for each would take most of the time."""
    opened = open_storage(tmp_path_factory.mktemp("many"))
    yield opened
    opened.close()


@pytest.mark.requirement("memory:relevance")
@given(st.lists(st.text(max_size=60), max_size=6), st.text(max_size=60))
def test_relevance_is_between_zero_and_one_for_any_text(
    many: Storage, texts: list[str], query: str
) -> None:
    storage, scope = many, Scope(repr((texts, query)))
    for text in texts:
        storage.memories.store(scope, MemoryDraft(text))
    found = relevance(storage, query, scope)
    assert all(0 < score <= 1 for score in found.values())
    for text in texts:
        if terms(text):
            assert max(relevance(storage, text, scope).values()) >= 0.99


@pytest.mark.requirement("memory:words")
def test_identifiers_are_found_whole_and_by_their_parts(storage: Storage) -> None:
    text = "getUserProfileById in user_service.py raises HTTPError2 for missing rows"
    storage.memories.store(S, MemoryDraft(text))
    for query in (
        "getUserProfileById", "getuserprofilebyid", "profile", "user service", "user_service",
        "http error", "HTTPError2", "raising", "miss row",
    ):  # fmt: skip
        assert relevance(storage, query).get(text, 0) > 0.15, query


@pytest.mark.requirement("memory:words")
def test_terms_are_folded_and_the_common_words_count_only_alone() -> None:
    assert terms("Café CAFÉS cafes") == ["caf"] * 3
    assert terms("parseHTMLDoc") == ["parsehtmldoc", "pars", "html", "doc"]
    assert terms("東京都") == ["東京", "京都"]
    assert set(terms("storing stores stored store")) == {"stor"}
    assert telling(terms("what is the plan")) == ["plan"]
    assert telling(terms("who are you")) != []


@pytest.mark.requirement("memory:words")
@given(st.text())
def test_terms_never_hold_anything_that_a_query_could_mistake(text: str) -> None:
    for term in terms(text):
        assert term and all(c.isalnum() or c == "_" for c in term), (term, text)


@pytest.mark.requirement("memory:forget")
def test_what_came_from_a_source_can_be_forgotten_and_stored_again(storage: Storage) -> None:
    for part in ("one", "two"):
        storage.memories.store(S, MemoryDraft(f"part {part}", "document", source="doc1"))
    storage.memories.store(S, MemoryDraft("part of mine"))
    assert storage.memories.forget(S, source="doc1") == 2
    assert list(relevance(storage, "part")) == ["part of mine"]
    assert storage.memories.store(S, MemoryDraft("part one", source="doc1"))[1]
    totals = storage.database.query("SELECT texts FROM word_totals WHERE scope = 'c'")
    assert totals == [(2,)]


class Colours:
    """An embedder that knows two meanings."""

    name = "colours"

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Warm or cold."""
        warm = ("red", "crimson", "scarlet")
        return [[1.0, 0.0] if any(w in text for w in warm) else [0.0, 1.0] for text in texts]


@pytest.mark.requirement("memory:embedder")
async def test_an_embedder_finds_by_meaning_what_words_do_not(data_dir: Path) -> None:
    storage = open_storage(data_dir, embedder=Colours())
    await storage.memories.prepare(["a crimson coat", "a blue hat", "scarlet"])
    for text in ("a crimson coat", "a blue hat"):
        storage.memories.store(S, MemoryDraft(text))
    found = relevance(storage, "scarlet")
    assert list(found) == ["a crimson coat"] and abs(found["a crimson coat"] - 0.5) < 1e-6
    assert relevance(storage, "a crimson coat")["a crimson coat"] >= 0.99
    storage.close()


@pytest.mark.requirement("memory:notes")
def test_notes_are_searched_whatever_their_case_newest_first(data_dir: Path) -> None:
    times = iter(range(100))
    storage = open_storage(data_dir, now=lambda: float(next(times)))
    for key in ("b", "a", "c"):
        storage.notes.put(S, key, f"STRASSE {key}")
    assert [key for key, _ in storage.notes.search(S, "straße")] == ["c", "a", "b"]
    assert [key for key, _ in storage.notes.keys(S)] == ["a", "b", "c"]
    assert storage.notes.search(Scope("other"), "") == []
    storage.close()


@pytest.mark.requirement("memory:knowledge")
def test_pruning_keeps_the_surest_of_each_kind_in_its_own_scope(storage: Storage) -> None:
    for number in range(60):
        storage.knowledge.add(
            S, LearntDraft("discovery", f"d{number}", confidence=0.4 + number / 200)
        )
    storage.knowledge.add(Scope("other"), LearntDraft("discovery", "theirs", confidence=0.0))
    assert storage.knowledge.prune(S, PruneRule()) == 10
    kept = storage.knowledge.list(S, "discovery")
    assert len(kept) == 50 and kept[0].subject == "d59" and kept[-1].subject == "d10"
    assert len(storage.knowledge.list(Scope("other"))) == 1


@pytest.mark.requirement("memory:recall")
def test_a_chunk_stored_again_replaces_the_first_of_its_number(storage: Storage) -> None:
    for word in ("first", "second"):
        storage.archive.add(ArchivedChunk("c", 1, 0.0, 0.0, word, (word,), (("user", word),)))
    assert storage.archive.search([C], "first", hint="", limit=5) == []
    assert storage.archive.topics([C], 5) == ["second"]


@pytest.mark.requirement("memory:durable")
def test_a_failure_in_the_middle_of_storing_leaves_nothing_half_done(storage: Storage) -> None:
    connection = sqlite3.connect(storage.database.path)
    connection.execute("ALTER TABLE memory_words RENAME TO gone")
    connection.commit()
    with pytest.raises(Exception, match="written"):
        storage.memories.store(S, MemoryDraft("lost"))
    connection.execute("ALTER TABLE gone RENAME TO memory_words")
    connection.commit()
    connection.close()
    assert storage.memories.counts(S) == {}
    assert storage.memories.store(S, MemoryDraft("lost"))[1]
