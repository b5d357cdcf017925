"""Measures the research tools: a search in the list of APIs, and twenty sources held against each other.

``python -m bench.research [--json FILE] [--strict]``. Times are the best of several, of processor time.
The targets are seed 001's own figures, by far: it names 50 to 200 ms and 200 to 1000 ms.
"""

import random
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.figures import Figure, judged, options
from sam_tools.iron_manus.sources.registry import ApiList
from sam_tools.iron_manus.sources.synthesis import Mode, Statement, synthesize

MOST_SEARCH, MOST_SYNTHESIS = 2.0, 20.0
SOURCES = 20
OBJECTIVES = (
    ("Weather data APIs", "coder"),
    ("Analyze cryptocurrency market trends", "analyzer"),
    (
        "Recent research papers on climate economics and population statistics of Europe",
        "researcher",
    ),
)
MODES: tuple[Mode, ...] = ("consensus", "weighted", "hierarchical", "conflict_resolution")


def best(act: Callable[[], Any], times: int = 15) -> float:
    """Milliseconds of processor time that the quickest of some runs takes."""
    taken: list[float] = []
    for _ in range(times):
        begun = time.process_time()
        act()
        taken.append(1000 * (time.process_time() - begun))
    return min(taken)


def sources(chance: random.Random) -> list[Statement]:
    """Twenty texts of two thousand characters with values that some of them dispute."""
    words = [f"word{number}" for number in range(600)]
    texts: list[Statement] = []
    for number in range(SOURCES):
        parts = [" ".join(chance.choices(words, k=20)) + "." for _ in range(12)]
        millions = chance.choice(("2.1", "2.1", "2.2"))
        parts.insert(number % 12, f"The population of Paris is {millions} million.")
        parts.insert(3, f"The tower of town {number} is {chance.randint(10, 400)} m tall.")
        texts.append(Statement(f"source {number}", " ".join(parts), chance.random()))
    return texts


def measure() -> list[Figure]:
    """Every figure."""
    apis = ApiList()
    figures = [
        Figure(
            f"APISearch: {objective[:28]}",
            best(lambda o=objective, r=role: apis.ranked(o, r, limit=20)),
            "ms",
            target=MOST_SEARCH,
        )
        for objective, role in OBJECTIVES
    ]
    texts = sources(random.Random(1))
    figures += [
        Figure(
            f"synthesis of {SOURCES} sources, {mode}",
            best(lambda m=mode: synthesize(texts, m, threshold=0)),
            "ms",
            target=MOST_SYNTHESIS,
        )
        for mode in MODES
    ]
    return figures


def main() -> int:
    """Measure, print, and judge."""
    return judged("research", measure(), options("Measure the research tools.").parse_args())


if __name__ == "__main__":
    sys.exit(main())
