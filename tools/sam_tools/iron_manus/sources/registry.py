"""The list of public APIs that research may start from, and how well each fits an objective.

Endpoints and documentation are kept apart, and a template says what has to be filled in. Nothing is
said to work that was not tried: when an entry was last seen to answer is noted where it was tried.
Reliability is seed 000's estimate, or 0.85 where the seed has none; it only breaks ties.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal
from urllib.parse import quote

from sam_tools.iron_manus.phases.roles import ROLES

Auth = Literal["None", "API Key", "OAuth"]
UNKNOWN_RELIABILITY = 0.85
"""Of an API that the seed does not estimate."""
MINIMUM = 0.25
"""Below this score nothing speaks for an entry but that it exists."""
_MOST_KEYWORDS = 10
_MOST_FOR_WORDS = 0.6
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
"""Words that objectives of every kind have."""
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")

_TABLE = """\
Cat Facts API|animals|cats,facts,animals,pets,random|0.9|None|https://catfact.ninja|/fact|https://catfact.ninja/
Dog API|animals|dogs,images,breeds,animals,pets|0.95|None|https://dog.ceo|/api/breeds/image/random|https://dog.ceo/dog-api/documentation/
Random Fox API|animals|fox,images,animals,random,wildlife|0.85|None|https://randomfox.ca|/floof/|https://randomfox.ca/
GBIF API|animals|species,biodiversity,wildlife,plants,animals|0.85|None|https://api.gbif.org|/v1/species/search?limit=5&q={query}|https://techdocs.gbif.org/en/openapi/
Lorem Picsum|art|images,placeholder,random,photos,design|0.9|None|https://picsum.photos|/v2/list?limit=10|https://picsum.photos/
Metropolitan Museum API|art|museum,art,collection,metropolitan,culture,objects|0.9|None|https://collectionapi.metmuseum.org|/public/collection/v1/search?q={query}|https://metmuseum.github.io/
Art Institute of Chicago API|art|art,institute,chicago,museum,collection,paintings|0.9|None|https://api.artic.edu|/api/v1/artworks/search?limit=5&q={query}|https://api.artic.edu/docs/
The Color API|color|color,palette,design,ui,scheme|0.85|None|https://www.thecolorapi.com|/scheme?mode=analogic&count=5&hex={hex}|https://www.thecolorapi.com/docs
Fontsource API|fonts|fonts,typography,design,css|0.85|None|https://api.fontsource.org|/v1/fonts?subsets=latin|https://fontsource.org/docs/api/introduction
Open Library API|books|books,library,education,reading,literature|0.9|None|https://openlibrary.org|/search.json?limit=5&q={query}|https://openlibrary.org/developers/api
Nager.Date API|calendar|holidays,calendar,dates,countries,public|0.9|None|https://date.nager.at|/api/v3/PublicHolidays/{year}/{country}|https://date.nager.at/Api
CoinGecko API|cryptocurrency|crypto,bitcoin,ethereum,finance,trading,market|0.91|None|https://api.coingecko.com|/api/v3/coins/markets?vs_currency=usd&per_page=10|https://docs.coingecko.com/
Frankfurter API|finance|currency,exchange,rates,finance,euro,dollar|0.85|None|https://api.frankfurter.dev|/v1/latest|https://frankfurter.dev/
World Bank API|statistics|economy,population,indicators,statistics,development,countries|0.85|None|https://api.worldbank.org|/v2/country/{country}/indicator/{indicator}?format=json|https://datahelpdesk.worldbank.org/knowledgebase/topics/125589
Free Dictionary API|dictionaries|dictionary,words,definitions,language,english|0.9|None|https://api.dictionaryapi.dev|/api/v2/entries/en/{word}|https://dictionaryapi.dev/
JokeAPI|entertainment|jokes,humor,programming,entertainment,random|0.9|None|https://v2.jokeapi.dev|/joke/Any?safe-mode|https://jokeapi.dev/
TheMealDB API|food|recipes,meals,cooking,ingredients,food|0.9|None|https://www.themealdb.com|/api/json/v1/1/search.php?s={query}|https://www.themealdb.com/api.php
TheCocktailDB API|food|cocktails,drinks,recipes,alcohol,beverages|0.85|None|https://www.thecocktaildb.com|/api/json/v1/1/search.php?s={query}|https://www.thecocktaildb.com/api.php
Deck of Cards API|games|cards,deck,games,shuffle,draw|0.9|None|https://deckofcardsapi.com|/api/deck/new/shuffle/?deck_count=1|https://deckofcardsapi.com/
Pokemon API|games|pokemon,games,stats,types,abilities|0.95|None|https://pokeapi.co|/api/v2/pokemon/{name}|https://pokeapi.co/docs/v2
Rick and Morty API|games|rick,morty,characters,episodes,tv|0.9|None|https://rickandmortyapi.com|/api/character/?name={query}|https://rickandmortyapi.com/documentation
Open Trivia Database|games|trivia,questions,quiz,knowledge,game|0.85|None|https://opentdb.com|/api.php?amount=10|https://opentdb.com/api_config.php
REST Countries API|geocoding|countries,geography,population,currencies,data|0.95|None|https://restcountries.com|/v3.1/name/{country}|https://restcountries.com/
Nominatim API|geocoding|address,places,maps,coordinates,geocode|0.85|None|https://nominatim.openstreetmap.org|/search?format=json&limit=5&q={query}|https://nominatim.org/release-docs/latest/api/Overview/
Stack Overflow API|development|programming,questions,answers,community,developers,help|0.89|None|https://api.stackexchange.com|/2.3/search/advanced?order=desc&sort=relevance&site=stackoverflow&q={query}|https://api.stackexchange.com/docs
JSONPlaceholder API|development|testing,prototype,mock,development,rest,json|0.9|None|https://jsonplaceholder.typicode.com|/posts/1|https://jsonplaceholder.typicode.com/guide/
GitHub API|development|github,repositories,code,software,programming|0.85|None|https://api.github.com|/search/repositories?per_page=5&q={query}|https://docs.github.com/rest
OSV API|security|vulnerabilities,security,advisories,packages,cve|0.85|None|https://api.osv.dev|/v1/vulns/{id}|https://google.github.io/osv.dev/api/
NVD API|security|cve,vulnerabilities,security,advisories|0.85|None|https://services.nvd.nist.gov|/rest/json/cves/2.0?resultsPerPage=5&keywordSearch={query}|https://nvd.nist.gov/developers/vulnerabilities
Wikipedia API|reference|encyclopedia,facts,knowledge,articles,history|0.85|None|https://en.wikipedia.org|/w/api.php?action=query&list=search&format=json&srlimit=5&srsearch={query}|https://www.mediawiki.org/wiki/API:Search
Crossref API|academic|papers,research,citations,doi,journals|0.85|None|https://api.crossref.org|/works?rows=5&query={query}|https://www.crossref.org/documentation/retrieve-metadata/rest-api/
arXiv API|academic|papers,preprints,research,physics,mathematics,computing,quantum|0.85|None|https://export.arxiv.org|/api/query?max_results=5&search_query=all:{query}|https://info.arxiv.org/help/api/index.html
Hacker News Search API|news|news,technology,startups,discussion|0.85|None|https://hn.algolia.com|/api/v1/search?hitsPerPage=5&query={query}|https://hn.algolia.com/api
NASA APOD API|science|nasa,astronomy,space,pictures,daily|0.9|API Key|https://api.nasa.gov|/planetary/apod?api_key={api_key}|https://api.nasa.gov/
USGS Earthquake API|science|earthquakes,seismic,geology,disasters|0.85|None|https://earthquake.usgs.gov|/fdsnws/event/1/query?format=geojson&limit=10|https://earthquake.usgs.gov/fdsnws/event/1/
Disease.sh COVID-19 API|health|covid,coronavirus,statistics,health,data|0.9|None|https://disease.sh|/v3/covid-19/all|https://disease.sh/docs/
openFDA API|health|drugs,medicine,recalls,food,health|0.85|None|https://api.fda.gov|/drug/label.json?limit=3&search={query}|https://open.fda.gov/apis/
Open-Meteo API|weather|weather,temperature,forecast,climate,wind|0.85|None|https://api.open-meteo.com|/v1/forecast?latitude={latitude}&longitude={longitude}&current=temperature_2m,wind_speed_10m|https://open-meteo.com/en/docs
Random User Generator|random|users,random,testing,fake,data|0.9|None|https://randomuser.me|/api/?results=5|https://randomuser.me/documentation
"""


@dataclass(frozen=True, slots=True)
class ApiEntry:
    """One API. ``endpoint`` is a template whose ``{names}`` have to be filled in."""

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
        """What has to be filled in; ``query`` comes from the objective."""
        return tuple(dict.fromkeys(_PLACEHOLDER.findall(self.endpoint)))

    def url(self, values: Mapping[str, str]) -> str | None:
        """The URL with its values; None while one is missing."""
        if any(not values.get(name) for name in self.needs):
            return None
        filled = _PLACEHOLDER.sub(lambda m: quote(values[m[1]], safe=""), self.endpoint)
        return f"{self.base_url}{filled}"

    def as_object(self) -> dict[str, object]:
        """For answers; https and the seed's url are told as there."""
        return {
            "name": self.name,
            "category": self.category,
            "keywords": list(self.keywords),
            "auth_type": self.auth,
            "https": self.base_url.startswith("https:"),
            "base_url": self.base_url,
            "endpoint": self.endpoint,
            "needs": list(self.needs),
            "documentation_url": self.docs_url,
            "reliability_score": self.reliability,
            "reliability_basis": "estimate",
        }


@dataclass(frozen=True, slots=True)
class Ranked:
    """An entry with its score and what made it."""

    entry: ApiEntry
    score: float
    reasons: tuple[str, ...]
    topical: bool
    """Whether a word of the objective that says what it is about speaks for it."""


@cache
def entries() -> tuple[ApiEntry, ...]:
    """The list, in its own order."""
    return tuple(_entry(line) for line in _TABLE.splitlines())


def _entry(line: str) -> ApiEntry:
    name, category, keywords, reliability, auth, base, endpoint, docs = line.split("|")
    kind: Auth = "API Key" if auth == "API Key" else "None"
    words = tuple(keywords.split(","))
    return ApiEntry(name, category, words, float(reliability), kind, base, endpoint, docs)


def api_named(name: str) -> ApiEntry | None:
    """The entry of that name, whatever its case."""
    return next((e for e in entries() if e.name.casefold() == name.strip().casefold()), None)


def api_of_host(host: str) -> ApiEntry | None:
    """The entry whose endpoint or documentation lies on a host."""
    folded = host.casefold()
    return next((e for e in entries() if folded in (_host(e.base_url), _host(e.docs_url))), None)


def keywords_of(objective: str) -> tuple[str, ...]:
    """The words of an objective that an API may be found by: at most ten, each once."""
    words = re.sub(r"[^\w]", " ", objective.lower()).split()
    useful = [word for word in words if len(word) > 2 and word not in _STOP]
    return tuple(dict.fromkeys(useful))[:_MOST_KEYWORDS]


def ranked(objective: str, role: str, *, category: str = "", limit: int = 5) -> tuple[Ranked, ...]:
    """The entries that fit, best first: those the objective speaks of before those that only the role
    prefers, then by score, reliability and name.

    A category is filtered for before the list is cut, and what nothing speaks for is left out.
    """
    words = keywords_of(objective)
    sought = category.strip().casefold()
    pool = [e for e in entries() if not sought or sought in e.category]
    scored = [_scored(entry, words, role) for entry in pool]
    fitting = [r for r in scored if r.score >= MINIMUM or (sought and sought == r.entry.category)]
    fitting.sort(key=lambda r: (not r.topical, -r.score, -r.entry.reliability, r.entry.name))
    return tuple(fitting[:limit])


def _scored(entry: ApiEntry, words: Sequence[str], role: str) -> Ranked:
    vocabulary = {*entry.keywords, *entry.name.lower().replace(".", " ").split(), entry.category}
    hits = [word for word in words if any(_same(word, other) for other in vocabulary - _STOP)]
    score = min(_MOST_FOR_WORDS, 0.1 * len(hits))
    reasons = [f"words: {', '.join(hits)}"] if hits else []
    spec = ROLES.get(role)
    if spec is not None and entry.category in spec.categories:
        score += 0.3
        reasons.append(f"{role} prefers {entry.category}")
    score += entry.reliability * 0.1
    score += (0.05 if entry.auth == "None" else 0) + 0.025  # CORS, which all of them allow
    score += 0.025 if entry.base_url.startswith("https:") else 0
    topical = any(word not in _GENERAL for word in hits)
    return Ranked(entry, round(min(1.0, score), 3), tuple(reasons), topical)


def _same(word: str, other: str) -> bool:
    """Whether two words are one, in singular and plural, or a long one begins with the other."""
    a, b = word.removesuffix("s"), other.removesuffix("s")
    return a == b or (min(len(a), len(b)) >= 5 and (a.startswith(b) or b.startswith(a)))


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
