"""The web: every request goes through one guarded door."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Page:
    """What a URL gave. ``url`` is where it ended after redirects; ``truncated`` when it was cut."""

    url: str
    status: int
    media_type: str
    headers: Mapping[str, str]
    body: bytes
    truncated: bool


@dataclass(frozen=True, slots=True)
class WebHit:
    """One search result."""

    title: str
    url: str
    snippet: str


class Web(Protocol):
    """Fetches public pages. Raises ``errors.ToolError``: refused address, time-out, status, size.

    Addresses are checked after resolution, connected to as checked, and checked again on redirects.
    """

    async def fetch(
        self,
        url: str,
        *,
        method: Literal["GET", "POST"] = "GET",
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
        most_bytes: int = 5_000_000,
        seconds: float = 20.0,
    ) -> Page:
        """One page; a redirect is followed at most five times."""
        ...


class WebSearch(Protocol):
    """A search engine."""

    async def search(self, query: str, *, limit: int) -> Sequence[WebHit]:
        """The best results. Raises ``errors.ToolError`` when the engine refuses."""
        ...
