"""The list of public APIs that research may start from, and how well each fits an objective.

Endpoints and documentation are kept apart, and a template says what has to be filled in. No entry is
said to work that was not tried: the time of its last answer is noted by each installation. The list is
``table`` and the Markdown tables of the person's settings, which come first. Reliability only breaks
ties; 0 is that of a service that has ended, which comes last and is asked only by its name.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from urllib.parse import quote

from sam_tools.iron_manus.phases.roles import ROLES
from sam_tools.iron_manus.sources.table import TABLE

Auth = Literal["None", "API Key", "OAuth"]
UNKNOWN_RELIABILITY = 0.85
"""The reliability of an API for which the seed has no estimate."""
MINIMUM = 0.25
"""The least score of an entry that matches neither topic nor category."""
_MOST_KEYWORDS = 10
_MOST_FOR_WORDS = 0.6
_MOST_ENTRIES = 2000
_STOP = frozenset([
    "the",
    "api",
    "and",
    "or",
    "but",
    "for",
    "with",
    "to",
    "of",
    "in",
    "on",
    "at",
    "by",
])
_GENERAL = frozenset([
    "apis",
    "app",
    "data",
    "database",
    "information",
    "project",
    "public",
    "system",
])
"""Words that occur in objectives of every kind."""
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_RULE = re.compile(r"[|:\s-]*-{3}[|:\s-]*")
_COLUMNS: Mapping[str, str] = {
    "api": "name",
    "link": "url",
    "base url": "base",
    "base_url": "base",
    "documentation": "docs",
    "docs_url": "docs",
    "docs": "docs",
    "authentication": "auth",
}
"""Other names of columns, each with ours; unknown columns are left out."""


@dataclass(frozen=True)
class ApiEntry:
    """One API. ``endpoint`` is a template whose ``{names}`` have to be filled in.

    Without a ``base_url`` only its documentation is known, and nothing can be fetched from it.
    """

    name: str
    category: str
    keywords: tuple[str, ...]
    reliability: float
    auth: Auth
    base_url: str
    endpoint: str
    docs_url: str

    @property
    def needs(self) -> tuple[str, ...]:
        """The placeholders to fill in; ``query`` comes from the objective."""
        return tuple(dict.fromkeys(_PLACEHOLDER.findall(self.endpoint)))

    @property
    def ended(self) -> bool:
        """Whether the service is over, as far as is known."""
        return self.reliability == 0

    @property
    def https(self) -> bool:
        """Whether it is reached over TLS, as far as its addresses say."""
        return (self.base_url or self.docs_url).startswith("https:")

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The words that it is found by, in the singular."""
        words = {*self.keywords, *self.name.lower().replace(".", " ").split(), self.category}
        return tuple(word.removesuffix("s") for word in words - _STOP)

    def url(self, values: Mapping[str, str]) -> str | None:
        """The URL with its values; None while one is missing, or where no endpoint is known."""
        if not self.base_url or any(not values.get(name) for name in self.needs):
            return None
        filled = _PLACEHOLDER.sub(lambda m: quote(values[m[1]], safe=""), self.endpoint)
        return f"{self.base_url}{filled}"

    def as_object(self) -> dict[str, object]:
        """Return the form for answers; https and the seed's url are as in the entry."""
        return {
            "name": self.name,
            "category": self.category,
            "keywords": list(self.keywords),
            "auth_type": self.auth,
            "https": self.https,
            "base_url": self.base_url,
            "endpoint": self.endpoint,
            "needs": list(self.needs),
            "documentation_url": self.docs_url,
            "reliability_score": self.reliability,
            "reliability_basis": "estimate",
            "service_ended": self.ended,
        }


@dataclass(frozen=True, slots=True)
class Ranked:
    """An entry with its score and the reasons for it."""

    entry: ApiEntry
    score: float
    reasons: tuple[str, ...]
    topical: bool
    """Whether the entry matches a word of the objective that is not a general one."""


class ApiList:
    """The entries of the package and of the person's tables, which replace those of the same name."""

    def __init__(self, tables: Callable[[], Sequence[str]] = tuple) -> None:
        self._tables = tables

    @cached_property
    def entries(self) -> tuple[ApiEntry, ...]:
        """Every entry; the person's first."""
        unique: dict[str, ApiEntry] = {}
        for table in (*self._tables(), TABLE):
            for entry in read_tables(table):
                unique.setdefault(entry.name.casefold(), entry)
        return tuple(unique.values())

    def named(self, name: str) -> ApiEntry | None:
        """The entry with this name, in any case."""
        return next((e for e in self.entries if e.name.casefold() == name.strip().casefold()), None)

    def of_host(self, host: str) -> ApiEntry | None:
        """The entry whose endpoint or documentation is on a host; None if there is none."""
        folded = host.casefold()
        hosts = ((e, (_host(e.base_url), _host(e.docs_url))) for e in self.entries if folded)
        return next((entry for entry, of_entry in hosts if folded in of_entry), None)

    def ranked(
        self, objective: str, role: str, *, category: str = "", limit: int = 5
    ) -> tuple[Ranked, ...]:
        """The entries that fit, best first: those the objective speaks of before those that only the
        role prefers, then by score, reliability and name; services that have ended stand at the end.

        A category is filtered for before the list is cut, and what nothing speaks for is left out.
        """
        words = keywords_of(objective)
        sought = category.strip().casefold()
        scored = [_scored(e, words, role) for e in self.entries if sought in e.category]
        fitting = [
            r for r in scored if r.topical or r.score >= MINIMUM or r.entry.category == sought
        ]
        fitting.sort(key=_rank)
        return tuple(fitting[:limit])


def _rank(ranking: Ranked) -> tuple[bool, bool, float, float, str]:
    """The key by which entries are sorted: lowest first, and total."""
    entry = ranking.entry
    return entry.ended, not ranking.topical, -ranking.score, -entry.reliability, entry.name


def read_tables(text: str) -> list[ApiEntry]:
    """Return the entries of the Markdown tables in a text; other rows are left out (spec A13).

    A table has a header that names its columns: API or name, and of description, keywords, url, base
    URL, endpoint, documentation, category, auth, HTTPS, CORS, reliability as far as they exist. Without
    a column the category is the heading above. A name may be a link to the documentation.
    """
    entries: list[ApiEntry] = []
    columns: list[str] = []
    heading = ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading, columns = line.lstrip("#").strip(), []
        cells = _cells(line)
        if len(cells) < 2:
            columns = [] if not cells else columns
            continue
        names = [_COLUMNS.get(cell.casefold(), cell.casefold()) for cell in cells]
        if "name" in names:
            columns = names
        elif columns and not _RULE.fullmatch(line.strip()):
            entries += _entry(dict(zip(columns, cells, strict=False)), heading)
    return entries[:_MOST_ENTRIES]


def _cells(line: str) -> list[str]:
    text = line.strip()
    if "|" not in text:
        return []
    return [cell.strip().strip("`") for cell in text.removeprefix("|").removesuffix("|").split("|")]


def _entry(cells: Mapping[str, str], heading: str) -> Iterator[ApiEntry]:
    """The entry of one row, or nothing where it names none or no address."""
    name, docs = _linked(cells["name"])
    docs = cells.get("docs") or docs or cells.get("url", "")
    base, endpoint = cells.get("base", "").rstrip("/"), cells.get("endpoint", "")
    addresses = [url for url in (base, docs) if url]
    if not name or not addresses or not all(map(_address, addresses)):
        return
    category = (cells.get("category") or heading or "other").casefold()
    words = cells.get("keywords") or f"{name} {cells.get('description', '')}"
    keywords = tuple(w for w in re.findall(r"[\w.-]+", words.lower()) if w not in _STOP)
    auth = _auth(cells.get("auth", ""))
    reliability = _reliability(cells.get("reliability", ""))
    yield ApiEntry(name, category, keywords[:40], reliability, auth, base, endpoint, docs)


def _linked(name: str) -> tuple[str, str]:
    """A name, and where it leads as a Markdown link."""
    link = _LINK.fullmatch(name)
    return (link[1], link[2]) if link else (name, "")


def _address(url: str) -> bool:
    return url.startswith(("https://", "http://")) and bool(_host(url))


def _auth(text: str) -> Auth:
    folded = text.casefold()
    if "oauth" in folded:
        return "OAuth"
    return "API Key" if "key" in folded or "token" in folded else "None"


def _reliability(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return UNKNOWN_RELIABILITY


def keywords_of(objective: str) -> tuple[str, ...]:
    """The words of an objective that an API may be found by: at most ten, each once."""
    words = re.sub(r"[^\w]", " ", objective.lower()).split()
    useful = [word for word in words if len(word) > 2 and word not in _STOP]
    return tuple(dict.fromkeys(useful))[:_MOST_KEYWORDS]


def _scored(entry: ApiEntry, words: Sequence[str], role: str) -> Ranked:
    hits = [word for word in words if _speaks_for(word.removesuffix("s"), entry.vocabulary)]
    score = min(_MOST_FOR_WORDS, 0.1 * len(hits))
    reasons = [f"words: {', '.join(hits)}"] if hits else []
    spec = ROLES.get(role)
    if spec is not None and entry.category in spec.categories:
        score += 0.3
        reasons.append(f"{role} prefers {entry.category}")
    score += entry.reliability * 0.1
    score += (0.05 if entry.auth == "None" else 0) + 0.025  # CORS: every listed API allows it
    score += 0.025 if entry.https else 0
    topical = any(word not in _GENERAL for word in hits)
    return Ranked(entry, round(min(1.0, score), 3), tuple(reasons), topical)


def _speaks_for(word: str, vocabulary: Sequence[str]) -> bool:
    """Whether the word is one of them, in singular and plural, or a long one begins with the other."""
    if word in vocabulary:
        return True
    if len(word) < 5:
        return False
    return any(len(v) >= 5 and (word.startswith(v) or v.startswith(word)) for v in vocabulary)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].casefold()
