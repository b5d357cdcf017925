"""Text as search terms: words and identifiers whole, the parts of identifiers, simple stems.

Everything that is indexed and everything that is asked goes through ``terms``, so SQLite only ever
splits at spaces. A term holds letters, digits and underscores: it needs no quoting rules.
"""

import re
import unicodedata
from collections.abc import Iterator

LONGEST_TERM = 64

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_COMPOUND = re.compile(r"_|[a-z][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z]\d|\d[A-Za-z]")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
"""Scripts without spaces between words; they are indexed by pairs of characters."""
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
"""English words that say nothing about a text."""


def terms(text: str) -> list[str]:
    """The search terms of a text, in its order, repeats included."""
    return [term for word in _WORD.findall(_folded(text)) for term in _of_word(word)]


def telling(words: list[str]) -> list[str]:
    """The distinct terms without the common ones, or all of them where no other is left."""
    distinct = list(dict.fromkeys(words))
    return [term for term in distinct if term not in _COMMON_STEMS] or distinct


def _of_word(word: str) -> Iterator[str]:
    if _WIDE.search(word):
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


def _stem(word: str) -> str:
    """The word without a common English ending; what is no plain word stays (but for its length)."""
    if not (word.isascii() and word.isalpha()) or len(word) < 4:
        return word[:LONGEST_TERM]
    word = _singular(word[:LONGEST_TERM])
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and _VOWEL.search(stem) and not word.endswith("eed"):
            doubled = stem[-1] == stem[-2] and stem[-1] not in "lsz"
            word = stem[:-1] if doubled else stem
            break
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
