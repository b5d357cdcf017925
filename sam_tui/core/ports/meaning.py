"""Embeddings: where meaning is to count beside words."""

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Texts -> vectors of one length. Raises ``errors.ModelError``."""

    @property
    def name(self) -> str:
        """Which model it is: vectors of another are not compared with its own."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector for each text, of any norm."""
        ...
