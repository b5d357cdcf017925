"""The search engine, chosen by the environment.

| Engine     | Chosen by `SAM_TUI_SEARCH`, or without it by | Needs                          |
|------------|----------------------------------------------|--------------------------------|
| searxng    | `SAM_TUI_SEARXNG_BASE`                       | the address of one             |
| brave      | `BRAVE_API_KEY`                              | a key                          |
| tavily     | `TAVILY_API_KEY`                             | a key                          |
| google     | `SEARCH_API_KEY` and `CSE_ID`                | a key and the engine's id      |
| serpapi    | only by name                                 | `SERPAPI_API_KEY`              |
| duckduckgo | nothing of the above                         | nothing                        |
"""

from collections.abc import Callable, Mapping, Sequence

from sam_tui.adapters.web.engines import Brave, DuckDuckGo, GoogleSearch, SearxNG, Tavily
from sam_tui.adapters.web.guarded_http import GuardedWeb
from sam_tui.adapters.web.serpapi import KEY, SerpApiClient
from sam_tui.adapters.web.urls import canonical
from sam_tui.core.errors import ConfigurationError, SamError
from sam_tui.core.ports.web import Web, WebSearch

CHOICE = "SAM_TUI_SEARCH"
SEARXNG = "SAM_TUI_SEARXNG_BASE"
NEEDED: Mapping[str, Sequence[str]] = {
    "searxng": (SEARXNG,),
    "brave": ("BRAVE_API_KEY",),
    "tavily": ("TAVILY_API_KEY",),
    "google": ("SEARCH_API_KEY", "CSE_ID"),
    "serpapi": (KEY,),
    "duckduckgo": (),
}
"""The variables that each engine needs. The first engine whose variables are all set is used."""
_ONLY_BY_NAME = ("serpapi",)


def search_from(web: Web, environ: Mapping[str, str]) -> WebSearch:
    """The engine that the environment names or has a key for, else DuckDuckGo.

    Raises ``ConfigurationError`` for an unknown name or one whose variable is missing.
    """
    name = engine_of(environ)
    makers: Mapping[str, Callable[[Sequence[str]], WebSearch]] = {
        "searxng": lambda values: _searxng(values[0]),
        "brave": lambda values: Brave(web, values[0]),
        "tavily": lambda values: Tavily(web, values[0]),
        "google": lambda values: GoogleSearch(web, values[0], values[1]),
        "serpapi": lambda values: SerpApiClient(web, values[0]),
        "duckduckgo": lambda _: DuckDuckGo(web),
    }
    return makers[name](_values(name, environ))


def engine_of(environ: Mapping[str, str]) -> str:
    """The name of the engine that is used; raises as ``search_from`` does."""
    name = environ.get(CHOICE, "").strip().lower() or _implied(environ)
    if name not in NEEDED:
        raise ConfigurationError(
            f"{CHOICE}={name!r} is not a search engine.", hint=f"One of {', '.join(NEEDED)}."
        )
    missing = [
        v for v, value in zip(NEEDED[name], _values(name, environ), strict=True) if not value
    ]
    if missing:
        raise ConfigurationError(
            f"{CHOICE}={name} needs {' and '.join(missing)}.", hint="Set it, or unset both."
        )
    return name


def _values(name: str, environ: Mapping[str, str]) -> list[str]:
    return [environ.get(variable, "").strip() for variable in NEEDED[name]]


def _implied(environ: Mapping[str, str]) -> str:
    names = (name for name in NEEDED if name not in _ONLY_BY_NAME)
    return next(name for name in names if all(_values(name, environ)))


def _searxng(base: str) -> SearxNG:
    """A SearXNG instance of the person's own, which may be in the private network.

    It gets a URL guard of its own, so that pages the model names cannot use this exception.
    """
    try:
        origin = canonical(base).origin
    except SamError as error:
        raise ConfigurationError(f"{SEARXNG}: {error}", hint="Write http://host:port.") from None
    return SearxNG(GuardedWeb(allowed=frozenset({origin})), base)
