"""Values that several texts give of the same thing, and where they differ.

A heuristic over words: two values speak of the same thing where they have one dimension, the words beside
them are mostly the same, and neither the names nor the years beside them tell them apart.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice, pairwise
from typing import Any, cast

from sam_tui.core.text.units import Dimension, units

_NUMBER = re.compile(
    r"(?<![\w.,])(?P<money>[$€£])?(?P<sign>[-−])?(?P<digits>\d{1,3}(?:[,  ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:\s?(?P<scale>thousand|million|billion|trillion|bn|k(?=\b))(?![\w]))?"
    r"(?:\s?(?P<unit>%|[^\W\d_]{1,12}(?:\^?[23])?(?:/[a-z]{1,4})?))?"
)
_SCALES = {"thousand": 3, "k": 3, "million": 6, "billion": 9, "bn": 9, "trillion": 12}
_MONEY = {"$": "USD", "usd": "USD", "dollars": "USD", "€": "EUR", "eur": "EUR", "euros": "EUR",
          "euro": "EUR", "£": "GBP", "gbp": "GBP", "pounds": "GBP"}  # fmt: skip
_RANGE = re.compile(r"\s?(?:-|–|to|and)\s?")  # a dash as texts have it
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_PAIR = re.compile(r'"(\w{3,60})"\s*:\s*(-?\d+(?:\.\d+)?)(?=\s*[,}\]])')
_SAME = {
    "inhabitant": "population", "resident": "population", "people": "population",
    "citizen": "population", "populated": "population", "cost": "price", "costs": "price",
    "priced": "price", "tall": "height", "high": "height", "long": "length", "wide": "width",
    "deep": "depth", "heavy": "weight", "weigh": "weight", "established": "founded",
    "created": "founded", "temp": "temperature", "fast": "speed",
}  # fmt: skip
"""Synonyms of properties, each with the word that stands for them."""
_EMPTY_WORDS = """\
the and for with from that this these those has have had its was were are been being than about around
over under nearly almost roughly approximately some more most less least only just also which who count
counted live lives living estimate estimated total currently today now year according says said value data
result results"""
_BOOKKEEPING_WORDS = """\
id ids index page pages offset limit status code version timestamp time lat lon lng latitude longitude count
size width height elapsed generationtime utc_offset_seconds rank"""
_EMPTY, _BOOKKEEPING = frozenset(_EMPTY_WORDS.split()), frozenset(_BOOKKEEPING_WORDS.split())
_NAMES = frozenset([
    "name",
    "title",
    "country",
    "city",
    "label",
    "symbol",
    "place",
    "region",
    "location",
])
_MOST, _MOST_OF_SENTENCE = 24, 6
_FEWEST, _MOST_TOGETHER = 8, 160
"""The least values of each text, and the most of all texts, that are compared with each other."""
_MOST_DIFFERENCES = 50
_READ = 20_000
"""The most characters of a text in which values are searched for."""
_SHARE = 0.5
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in a text: ``low`` to ``high`` is its possible range, by its digits or as a range."""

    low: float
    high: float
    dimension: Dimension | str
    """The dimension of a unit; for others the currency, ``%`` or ``year``, or empty for a count."""
    words: frozenset[str]
    names: frozenset[str]
    years: frozenset[int]
    written: str

    def agrees(self, other: "Quantity") -> bool:
        """Whether both may be the same number, given their precision."""
        edge = 1e-9 * (abs(self.low) + abs(other.low))
        return self.low < other.high - edge and other.low < self.high - edge


@dataclass(frozen=True, slots=True)
class Difference:
    """Two sources, by their index, that give different values of one thing."""

    first: int
    second: int
    values: tuple[Quantity, Quantity]

    def explain(self, names: Sequence[str]) -> str:
        """Both values with their sources, and the words they share."""
        mine, other = self.values
        about = ", ".join(sorted(mine.words & other.words)[:4])
        return (
            f"{names[self.first]} says {mine.written}, {names[self.second]} says {other.written}: "
            f"{about}"
        )


def differences(texts: Sequence[str]) -> tuple[Difference, ...]:
    """Different values that two texts give for the same thing: the nearest two of each, at most 50.

    A text with several values for a thing contradicts no text that gives one of them."""
    most = max(_FEWEST, _MOST_TOGETHER // max(1, len(texts)))
    rows = [_Row(i, q) for i, text in enumerate(texts) for q in quantities(text, most)]
    _pair_up(rows)
    return tuple(islice((d for row in rows for d in row.differences()), _MOST_DIFFERENCES))


@dataclass(slots=True)
class _Row:
    """A value, with the values of other sources that measure the same thing."""

    source: int
    quantity: Quantity
    same: "dict[int, list[_Row]]" = field(default_factory=dict[int, "list[_Row]"])

    def differences(self) -> Iterator[Difference]:
        """The later sources all of whose values of the same thing differ from this one."""
        for source, same in self.same.items():
            if source <= self.source or self._agrees_with(same):
                continue
            near = min(same, key=lambda o: abs(o.quantity.low - self.quantity.low))
            if not near._agrees_with(near.same[self.source]):
                yield Difference(self.source, source, (self.quantity, near.quantity))

    def _agrees_with(self, rows: "Sequence[_Row]") -> bool:
        return any(self.quantity.agrees(row.quantity) for row in rows)


def _pair_up(rows: Sequence[_Row]) -> None:
    """Link the values that measure one thing. Sets of words are bit masks, for speed."""
    bits: dict[str, int] = {}
    groups: dict[Dimension | str, list[tuple[_Row, int, int]]] = {}
    for row in rows:
        words = row.quantity.words
        mask = sum(1 << bits.setdefault(word, len(bits)) for word in words)
        groups.setdefault(row.quantity.dimension, []).append((row, mask, len(words)))
    for group in groups.values():
        for (a, words_a, count_a), (b, words_b, count_b) in combinations(group, 2):
            fewest = min(count_a, count_b)
            shared = (words_a & words_b).bit_count()
            if shared < min(2, fewest) or shared < _SHARE * fewest or a.source == b.source:
                continue
            if not _told_apart(a.quantity, b.quantity):
                a.same.setdefault(b.source, []).append(b)
                b.same.setdefault(a.source, []).append(a)


def _told_apart(a: Quantity, b: Quantity) -> bool:
    """Whether names or years show that two values measure different things."""
    pairs = ((a.names, b.names), (a.years, b.years))
    return any(bool(mine) and bool(other) and mine.isdisjoint(other) for mine, other in pairs)


def quantities(text: str, most: int = _MOST) -> list[Quantity]:
    """The values that a text gives first, JSON or prose."""
    text = text[:_READ].strip()
    return list(islice((q for q in _read(text) if q is not None), most))


def _read(text: str) -> Iterator[Quantity | None]:
    if text[:1] not in ("{", "["):
        return (q for sentence in _SENTENCE.split(text) for q in _of_sentence(sentence))
    try:
        return _of_json(json.loads(text), (), frozenset())
    except (ValueError, RecursionError):
        pairs = _PAIR.finditer(text)
        return (_plain(float(m[2]), m[2], (m[1],), frozenset()) for m in pairs)


def _of_json(
    value: object, path: tuple[str, ...], names: frozenset[str]
) -> Iterator[Quantity | None]:
    """Yield numbers of an object by their keys; short texts next to them are names."""
    if len(path) > _DEEPEST:
        return
    if isinstance(value, dict):
        fields = cast("Mapping[str, Any]", value)
        names |= _names_among(fields)
        for key, inner in fields.items():
            yield from _of_json(inner, (*path, key), names)
    elif isinstance(value, list):
        key = path[-1] if path else ""
        for inner in cast("list[Any]", value)[:_MOST]:
            yield from _of_json(inner, (*path, key), names)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield _plain(float(value), str(value), path, names)


def _names_among(fields: Mapping[str, object]) -> frozenset[str]:
    texts = [text for key, text in fields.items() if key.casefold() in _NAMES]
    short = [text for text in texts if isinstance(text, str) and len(text) <= 40]
    return frozenset(_singular(w.casefold()) for text in short for w in _WORD.findall(text))


def _plain(
    value: float, written: str, path: tuple[str, ...], names: frozenset[str]
) -> Quantity | None:
    key = path[-1].casefold() if path else ""
    if not key or key in _BOOKKEEPING or key.endswith("_id"):
        return None
    words = _content(re.sub(r"[_\W]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", path[-1])))
    if not words:
        return None
    year = _is_year(written) and bool(words & {"founded", "year"})
    low, high = _meant(value, _step(written))
    return Quantity(
        low, high, "year" if year else "", words | names, names, frozenset(), f"{key} {written}"
    )


def _of_sentence(sentence: str) -> Iterator[Quantity]:
    matches = list(_NUMBER.finditer(sentence))
    if len(matches) > _MOST_OF_SENTENCE:
        return
    years = frozenset(int(m["digits"]) for m in matches if _bare_year(m))
    measured = [m for m in matches if not _bare_year(m)]
    units_here = {m["unit"].casefold() for m in measured if m["unit"] and _unit(m) is not None}
    words, names = _content(sentence) - units_here - set(_SCALES), _names(sentence)
    if not words:
        return
    for first, last in _ranges(sentence, measured):
        low, high, dimension = _span(first, last)
        written = sentence[first.start() : last.end()].strip()
        yield Quantity(low, high, dimension, words, names, years, written)
    for year in () if measured else sorted(years):
        yield Quantity(year - 0.5, year + 0.5, "year", words, names, frozenset(), str(year))


def _ranges(
    sentence: str, matches: Sequence[re.Match[str]]
) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Each number, and the end of the range that it begins; else itself."""
    numbers = iter(matches)
    following = dict(pairwise(matches))
    for match in numbers:
        last = following.get(match)
        if last is not None and _begins_range(sentence, match, last):
            yield match, next(numbers)
        else:
            yield match, match


def _begins_range(sentence: str, first: re.Match[str], second: re.Match[str]) -> bool:
    between = sentence[first.end("digits") : second.start("digits")]
    return _RANGE.fullmatch(between) is not None


def _span(first: re.Match[str], last: re.Match[str]) -> tuple[float, float, Dimension | str]:
    """Return the possible meaning of two numbers of a range, or one twice; the scale is the last one's."""
    scale = 10.0 ** _SCALES.get((last["scale"] or "").lower(), 0)
    dimension, factor = _unit(last) or _unit(first) or ("", 1.0)
    edges: list[float] = []
    for match in (first, last):
        digits = re.sub(r"[,  ]", "", match["digits"])
        sign = -1 if match["sign"] else 1
        edges += _meant(sign * float(digits) * scale * factor, _step(digits) * scale * factor)
    return min(edges), max(edges), dimension


def _meant(value: float, step: float) -> tuple[float, float]:
    """The range that a number may mean: half a unit of its last digit, at most a tenth of it."""
    room = min(step / 2, 0.1 * abs(value)) or step / 2
    return value - room, value + room


def _unit(match: re.Match[str]) -> tuple[Dimension | str, float] | None:
    """Return what a number measures, and the factor to the dimension's own unit; None for a count."""
    unit = match["unit"] or ""
    if money := _MONEY.get(match["money"] or "") or _MONEY.get(unit.casefold()):
        return money, 1.0
    if unit == "%" or unit.casefold() in ("percent", "per"):
        return "%", 1.0
    measured = units().get(unit)
    return None if measured is None else (measured.dimension, float(measured.factor))


def _bare_year(match: re.Match[str]) -> bool:
    plain = not (match["money"] or match["sign"] or match["scale"]) and _unit(match) is None
    return plain and _is_year(match["digits"])


def _is_year(digits: str) -> bool:
    return len(digits) == 4 and digits.isdecimal() and 1000 <= int(digits) <= 2100


def _step(digits: str) -> float:
    """Return the value of a step of the last digit; three zeros and more at the end may be rounded."""
    whole, _, decimals = digits.lstrip("-").partition(".")
    if decimals:
        return 10.0 ** -len(decimals)
    zeros = len(whole) - len(whole.rstrip("0"))
    return 10.0**zeros if zeros >= 3 and whole.strip("0") else 1.0


def _content(text: str) -> frozenset[str]:
    words = (word.casefold() for word in _WORD.findall(text))
    singular = (_singular(word) for word in words if word not in _EMPTY)
    return frozenset(_SAME.get(word, word) for word in singular)


def _singular(word: str) -> str:
    return word if word.endswith(("is", "us", "ss")) else word.removesuffix("s")


def _names(sentence: str) -> frozenset[str]:
    """The capitalised words inside a sentence; its first word only if there is no other."""
    words = [(m.start(), m[0]) for m in _WORD.finditer(sentence) if m[0][0].isupper()]
    within = [word for start, word in words if sentence[:start].strip(" \"'(-*#")]
    chosen = within or [word for _, word in words]
    return frozenset(_singular(w.casefold()) for w in chosen) - _EMPTY - set(_SCALES)
