"""Which search engine is used, by the environment.

| Engine     | Chosen by `SAM_TUI_SEARCH`, or without it by | Needs                  |
|------------|----------------------------------------------|------------------------|
| searxng    | `SAM_TUI_SEARXNG_BASE`                       | the address of one     |
| brave      | `BRAVE_API_KEY`                              | a key                  |
| tavily     | `TAVILY_API_KEY`                             | a key                  |
| serpapi    | only by name                                 | `SERPAPI_API_KEY`      |
| duckduckgo | nothing of the above                         | nothing                |
"""

from collections.abc import Callable, Mapping

from sam_tui.adapters.web.duckduckgo import DuckDuckGo
from sam_tui.adapters.web.engines import Brave, SearxNG, Tavily
from sam_tui.adapters.web.guarded_http import GuardedWeb
from sam_tui.adapters.web.serpapi import KEY, SerpApiClient
from sam_tui.adapters.web.urls import canonical
from sam_tui.core.errors import ConfigurationError, SamError
from sam_tui.core.ports.web import Web, WebSearch

CHOICE = "SAM_TUI_SEARCH"
SEARXNG = "SAM_TUI_SEARXNG_BASE"
NEEDED: Mapping[str, str] = {
    "searxng": SEARXNG,
    "brave": "BRAVE_API_KEY",
    "tavily": "TAVILY_API_KEY",
    "serpapi": KEY,
    "duckduckgo": "",
}
"""The engines, and the variable that each needs; the first that is set is taken."""


def search_from(web: Web, environ: Mapping[str, str]) -> WebSearch:
    """The engine that the environment names or has a key for, else DuckDuckGo.

    Raises ``ConfigurationError`` for an unknown name or one whose variable is missing.
    """
    name = environ.get(CHOICE, "").strip().lower() or _implied(environ)
    if name not in NEEDED:
        raise ConfigurationError(
            f"{CHOICE}={name!r} is no search engine.", hint=f"One of {', '.join(NEEDED)}."
        )
    variable = NEEDED[name]
    value = environ.get(variable, "").strip() if variable else ""
    if variable and not value:
        raise ConfigurationError(
            f"{CHOICE}={name} needs {variable}.", hint="Set it, or unset both."
        )
    makers: Mapping[str, Callable[[], WebSearch]] = {
        "searxng": lambda: _searxng(value),
        "brave": lambda: Brave(web, value),
        "tavily": lambda: Tavily(web, value),
        "serpapi": lambda: SerpApiClient(web, value),
        "duckduckgo": lambda: DuckDuckGo(web),
    }
    return makers[name]()


def _implied(environ: Mapping[str, str]) -> str:
    implied = (
        name for name in ("searxng", "brave", "tavily") if environ.get(NEEDED[name], "").strip()
    )
    return next(implied, "duckduckgo")


def _searxng(base: str) -> SearxNG:
    """An instance of the person's own: it may stand in the private network, and only it may.

    It gets a door of its own, so that pages the model names cannot use the exception.
    """
    try:
        origin = canonical(base).origin
    except SamError as error:
        raise ConfigurationError(f"{SEARXNG}: {error}", hint="Write http://host:port.") from None
    return SearxNG(GuardedWeb(allowed=frozenset({origin})), base)
