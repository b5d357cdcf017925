"""The web behind one URL guard, the search engines that use it, and the person's tables of APIs."""

from sam_tui.adapters.web.api_tables import read_api_tables
from sam_tui.adapters.web.guarded_http import GuardedWeb
from sam_tui.adapters.web.providers import engine_of, search_from
from sam_tui.adapters.web.serpapi import serpapi_from

__all__ = ["GuardedWeb", "engine_of", "read_api_tables", "search_from", "serpapi_from"]
