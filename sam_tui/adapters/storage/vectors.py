"""Vectors of memories, where an embedder is given: meaning counts beside words."""

import logging
import math
import sqlite3
from array import array
from collections.abc import Mapping, Sequence

from sam_tui.adapters.storage.database import Database
from sam_tui.core.errors import ModelError
from sam_tui.core.ports.model import Embedder

_BATCH, _KEPT = 64, 2048
logger = logging.getLogger(__name__)

MOST = 2000
"""The newest memories of a scope that are compared; plain Python needs about 10 ms for them."""


class MemoryVectors:
    """One unit vector per memory and embedding model."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder
        self._prepared: dict[str, bytes] = {}

    async def prepare(self, texts: Sequence[str]) -> None:
        """Compute vectors ahead, a batch at a time; a refusal leaves it to the words."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._prepared]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            try:
                vectors = await self._embedder.embed(batch)
            except ModelError as refusal:
                logger.warning("no embeddings: %s", refusal)
                return
            for text, vector in zip(batch, vectors, strict=True):
                self._prepared[text] = array("f", _unit(vector)).tobytes()
        while len(self._prepared) > _KEPT:
            del self._prepared[next(iter(self._prepared))]

    def add(self, connection: sqlite3.Connection, memory: int, vector: bytes) -> None:
        """Keep a memory's vector, inside the caller's transaction."""
        connection.execute(
            "INSERT OR REPLACE INTO memory_vectors VALUES (?, ?, ?)",
            (memory, self._embedder.name, vector),
        )

    def of(self, text: str) -> bytes | None:
        """The unit vector of a prepared text, as stored; None for one that was not."""
        return self._prepared.get(text)

    def similar(self, scope: str, query: str) -> Mapping[int, float]:
        """How near the memories of a scope are: cosine by row, only where it is positive."""
        prepared = self.of(query)
        if prepared is None:
            return {}
        query_vector = _floats(prepared)
        rows = self._database.query(
            "SELECT v.memory, v.vector FROM memory_vectors v JOIN memories m ON m.number = v.memory"
            " WHERE m.scope = ? AND v.model = ? ORDER BY v.memory DESC LIMIT ?",
            scope,
            self._embedder.name,
            MOST,
        )
        near = {row: _dot(query_vector, _floats(vector)) for row, vector in rows}
        return {row: min(1.0, cosine) for row, cosine in near.items() if cosine > 0}


def fused(words: float, meaning: float) -> float:
    """Relevance from both: meaning can raise what words say, to their mean, and never lowers it."""
    return max(words, (words + meaning) / 2)


def _unit(vector: Sequence[float]) -> list[float]:
    norm = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [x / norm for x in vector]


def _floats(data: bytes) -> Sequence[float]:
    return array("f", data)


def _dot(left: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, other, strict=False))
