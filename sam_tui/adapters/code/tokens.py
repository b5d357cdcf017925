"""Words of code: whole identifiers, and their parts."""

import re
from collections.abc import Iterable
from functools import lru_cache

_WORD = re.compile(r"\w{2,64}")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_ENGLISH = """
a an and any are as at be by can do does each for from get has have how i if in into is it its let me
my no not of on or our out set so such that the their them then there these they this to up use used
using was we what when where which who why will with you
"""
_COMMON = frozenset(_ENGLISH.split())


def indexed(text: str) -> str:
    """The words of a text as the index takes them: ``readFile`` as ``readfile read file``."""
    return " ".join(map(_spread, _WORD.findall(text)))


def sought(query: str) -> tuple[str, ...]:
    """The distinct words of a query, common English ones left out unless there are no others."""
    words = tuple(dict.fromkeys(indexed(query).split()))
    telling = tuple(word for word in words if word not in _COMMON)
    return telling or words


def match_expression(words: Iterable[str]) -> str:
    """An FTS5 query for any of the words."""
    return " OR ".join(f'"{word}"' for word in words)


@lru_cache(maxsize=1 << 16)
def _spread(word: str) -> str:
    whole = word.lower()
    if word.isdigit() and len(word) > 6:
        return ""
    parts = [part.lower() for part in _PART.findall(word) if len(part) > 1]
    if parts == [whole] or not parts:
        return whole
    return " ".join([whole, *(part for part in parts if part != whole)])
