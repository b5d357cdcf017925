"""Full-text search within a scope: text as search terms, and a relevance between 0 and 1.

SQLite's FTS5 finds the candidates by its BM25. Each is then weighed by BM25 within its own scope and
divided by what the query itself would score as a text of that scope, at most 1. For one query this
rises with the score and with nothing else. It is 1 for a text that says all the query says at least
as densely (the same text above all), about 0.6 for a text of ordinary length with every telling word
of the query once, proportionally less where words are missing, and a text with none is not found.
"""

import hashlib
import math
import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sam_tui.adapters.storage.database import Database

LONGEST_TERM = 64

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_COMPOUND = re.compile(r"_|[a-z][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z]\d|\d[A-Za-z]")
_WIDE = r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
"""Characters of scripts without spaces between words, which are indexed as pairs of characters.

Compiled with the first word that is not ASCII: it takes 3 ms.
"""
_VOWEL = re.compile(r"[aeiouy]")

COMMON = frozenset(
    re.findall(
        r"\w+",
        "a about all also am an and any are as at be because been but by can could did do does for"
        " from get had has have he her his how i if in into is it its just me more my no not of on"
        " or our out she should so some than that the their them then there these they this to up"
        " us was we were what when where which who why will with would you your",
    )
)
"""English words that are too common to distinguish texts."""


def terms(text: str) -> list[str]:
    """The search terms of a text, in its order, repeats included."""
    return [term for word in _WORD.findall(_folded(text)) for term in _of_word(word)]


def telling(words: list[str]) -> list[str]:
    """The distinct terms without the common ones; all of them if no other remains."""
    distinct = list(dict.fromkeys(words))
    return [term for term in distinct if term not in _COMMON_STEMS] or distinct


def _of_word(word: str) -> Iterator[str]:
    if not word.isascii() and re.search(_WIDE, word):
        yield from (word[i : i + 2] for i in range(max(1, len(word) - 1)))
        return
    yield _stem(word.casefold())
    if _COMPOUND.search(word):
        for part in _PART.findall(word):
            if len(part) > 1 and len(part) < len(word):
                yield _stem(part.casefold())


def _folded(text: str) -> str:
    """Compatibility forms made plain and accents dropped; case is kept for splitting."""
    if text.isascii():
        return text
    split = unicodedata.normalize("NFKD", text)
    plain = "".join(c for c in split if not 0x300 <= ord(c) <= 0x36F)
    return unicodedata.normalize("NFC", plain)


_INFLECTED = re.compile("(.{3,})(?:ing|(?<!e)ed)")


def _stem(word: str) -> str:
    """Return the word without a common English ending; other text is only cut to length."""
    if not (word.isascii() and word.isalpha()) or len(word) < 4:
        return word[:LONGEST_TERM]
    word = _singular(word[:LONGEST_TERM])
    inflected = _INFLECTED.fullmatch(word)
    if inflected and _VOWEL.search(stem := inflected[1]):
        doubled = stem[-1] == stem[-2] and stem[-1] not in "lsz"
        word = stem[:-1] if doubled else stem
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("xes", "zes", "ches", "shes", "sses")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_COMMON_STEMS = frozenset(_stem(word) for word in COMMON)


CANDIDATES = 200
MOST_TERMS = 48
"""The most distinct terms of a query that are searched for."""

_K, _B = 1.2, 0.75
"""BM25's k1, how soon repeated terms stop counting, and b, how much the length of a text matters."""
_PRIOR_TEXTS, _PRIOR_LENGTH = 20, 30
"""How many texts of how many terms each scope is assumed to have besides its own. Without them, every word
of a single memory would count as common."""


@dataclass(frozen=True, slots=True)
class WordHit:
    """The row of a text that matched, and its relevance."""

    row: int
    relevance: float


class WordIndex:
    """One FTS5 table with the columns ``scope`` and ``words``, and a row for each indexed text."""

    def __init__(self, database: Database, table: str) -> None:
        self._database = database
        self._table = table

    def add(self, connection: sqlite3.Connection, row: int, scope: str, text: str) -> None:
        """Index a text, inside the caller's transaction."""
        words = terms(text)
        connection.execute(
            f"INSERT INTO {self._table} (rowid, scope, words) VALUES (?, ?, ?)",
            (row, scope_term(scope), " ".join(words)),
        )
        self._count(connection, scope, 1, len(words))

    def remove(self, connection: sqlite3.Connection, rows: Collection[int], scope: str) -> None:
        """Drop texts of one scope, inside the caller's transaction."""
        for row in rows:
            words = connection.execute(
                f"SELECT words FROM {self._table} WHERE rowid = ?", (row,)
            ).fetchone()
            if words is not None:
                connection.execute(f"DELETE FROM {self._table} WHERE rowid = ?", (row,))
                self._count(connection, scope, -1, -len(words[0].split()))

    def search(self, scope: str, query: str) -> list[WordHit]:
        """Return the texts with any telling word of the query, best first."""
        query_terms = terms(query)
        sought = telling(query_terms)[:MOST_TERMS]
        if not sought:
            return []
        candidates = self._database.query(
            f"SELECT rowid, words FROM {self._table} WHERE {self._table} MATCH ?"
            f" ORDER BY bm25({self._table}, 0.0, 1.0), rowid LIMIT ?",
            f"scope : {scope_term(scope)} AND words : ({any_of(sought)})",
            CANDIDATES,
        )
        if not candidates:
            return []
        weigh = self._weigher(scope, sought)
        best = weigh.score(query_terms)
        hits = [
            WordHit(row, min(1.0, weigh.score(words.split()) / best)) for row, words in candidates
        ]
        return sorted(hits, key=lambda item: (-item.relevance, item.row))

    def _weigher(self, scope: str, sought: Sequence[str]) -> "_Weigher":
        totals = self._database.query(
            "SELECT texts, words FROM word_totals WHERE name = ? AND scope = ?", self._table, scope
        )
        count, length = totals[0] if totals else (0, 0)
        texts = count + _PRIOR_TEXTS
        weights: dict[str, float] = {}
        for term in sought:
            holding = self._database.query(
                f"SELECT count(*) FROM {self._table} WHERE {self._table} MATCH ?",
                f'scope : {scope_term(scope)} AND words : "{term}"',
            )[0][0]
            weights[term] = math.log(1 + (texts - holding + 0.5) / (holding + 0.5))
        return _Weigher(weights, (length + _PRIOR_TEXTS * _PRIOR_LENGTH) / texts)

    def _count(self, connection: sqlite3.Connection, scope: str, texts: int, words: int) -> None:
        connection.execute(
            "INSERT INTO word_totals VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " texts = texts + excluded.texts, words = words + excluded.words",
            (self._table, scope, texts, words),
        )


@dataclass(frozen=True, slots=True)
class _Weigher:
    """BM25 of texts for one query: ``weights`` by term, ``usual`` the usual number of terms."""

    weights: dict[str, float]
    usual: float

    def score(self, words: Sequence[str]) -> float:
        """The relevance of a text for the query; 0 if no term occurs in it."""
        counts = Counter(words)
        norm = _K * (1 - _B + _B * len(words) / self.usual)
        return sum(
            weight * counts[term] * (_K + 1) / (counts[term] + norm)
            for term, weight in self.weights.items()
        )


def scope_term(scope: str) -> str:
    """A scope as one search term."""
    return "s" + hashlib.sha256(scope.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def any_of(words: Sequence[str]) -> str:
    """An FTS5 expression for any of these terms."""
    return " OR ".join(f'"{term}"' for term in words)
