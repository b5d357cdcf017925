"""The web behind one guarded door, and the search engines that use it."""

from sam_tui.adapters.web.guarded_http import GuardedWeb
from sam_tui.adapters.web.providers import search_from
from sam_tui.adapters.web.serpapi import serpapi_from

__all__ = ["GuardedWeb", "search_from", "serpapi_from"]
