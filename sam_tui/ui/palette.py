"""The command palette's entries: the table of actions."""

from typing import Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from sam_tui.ui.controllers.desk import Desk


class HasDesk(Protocol):
    """An app whose actions can be searched."""

    desk: Desk


class ActionProvider(Provider):
    """Finds actions by their titles and helps."""

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for title, about, run in cast("HasDesk", self.app).desk.palette():
            yield DiscoveryHit(title, run, help=about)

    async def search(self, query: str) -> Hits:
        """Those that fit."""
        matcher = self.matcher(query)
        for title, about, run in cast("HasDesk", self.app).desk.palette():
            score = max(matcher.match(title), matcher.match(about) / 2)
            if score > 0:
                yield Hit(score, matcher.highlight(title), run, help=about)
