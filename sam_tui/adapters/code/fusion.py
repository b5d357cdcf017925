"""Two orders of the same passages made one: by words, and by the likeness of vectors."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import mul

from sam_tui.adapters.code.shelf import PassageHit

_DAMPING = 60
"""How little the very first ranks count more than the next (reciprocal rank fusion)."""


def likeness(left: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors; 0 where one is null or they are of two models."""
    if len(left) != len(other):
        return 0.0
    norm = math.sqrt(_dot(left, left) * _dot(other, other))
    return _dot(left, other) / norm if norm else 0.0


def fused(ranked: Sequence[PassageHit], near: Mapping[int, float]) -> list[PassageHit]:
    """Passages by the sum of their reciprocal ranks in both orders."""
    by_vector = sorted(near, key=lambda chunk: -near[chunk])
    ranks = {chunk: rank for rank, chunk in enumerate(by_vector, 1)}
    scored = [
        replace(
            item,
            score=1 / (_DAMPING + rank)
            + (1 / (_DAMPING + ranks[item.chunk]) if item.chunk in ranks else 0.0),
        )
        for rank, item in enumerate(ranked, 1)
    ]
    return sorted(scored, key=lambda item: -item.score)


def _dot(left: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(mul, left, other))
