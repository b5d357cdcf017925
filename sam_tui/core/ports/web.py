"""The web, its searches and images: every request goes through one URL guard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, Protocol

from sam_tui.core.errors import ToolError

AspectRatio = Literal["1:1", "3:2", "2:3", "4:3", "3:4", "16:9", "9:16"]


@dataclass(frozen=True, slots=True)
class ImageOrder:
    """An order for images. ``width`` and ``height``: pixels, both or neither; no ``model``: the default."""

    prompt: str
    count: int = 1
    width: int = 0
    height: int = 0
    aspect_ratio: AspectRatio | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image as it came. ``extension`` is of png, jpg, webp, gif, with its dot."""

    data: bytes
    extension: str
    revised_prompt: str = ""


class ImageMaker(Protocol):
    """A provider of images; exists only if one is configured."""

    @property
    def name(self) -> str:
        """The address and the model by which images are made."""
        ...

    async def make(self, order: ImageOrder) -> Sequence[ImageFile]:
        """The images. Raises ``errors.ToolError``: refused, too slow, a size the model does not make."""
        ...


SearchKind = Literal["general", "news", "technical"]
SerpEngine = Literal[
    "google", "google_ai_overview", "bing", "amazon", "ebay", "walmart", "tripadvisor", "yelp"
]


@dataclass(frozen=True, slots=True)
class Page:
    """The response of a URL, decompressed. ``url`` is the last one after redirects.

    Header names are lower case; ``media_type`` is without parameters. ``truncated`` when the body
    was cut at the limit.
    """

    url: str
    status: int
    media_type: str
    headers: Mapping[str, str]
    body: bytes
    truncated: bool

    @property
    def phrase(self) -> str:
        """The HTTP status in words; empty for an unknown number."""
        try:
            return HTTPStatus(self.status).phrase
        except ValueError:
            return ""

    def accepted(self) -> "Page":
        """Itself where the status is a success; else raises ``ToolError`` with the status in words."""
        if 200 <= self.status < 300:
            return self
        phrase = f"{self.status} {self.phrase}".strip()
        hint = _STATUS_HINTS.get(self.status, "")
        if self.status in (429, 503) and (after := self.headers.get("retry-after", "")).isdigit():
            hint = f"The server asks to wait {after[:6]} s."
        raise ToolError(f"{self.url} answered {phrase}.", hint=hint)


_STATUS_HINTS: Mapping[int, str] = {
    401: "It requires a login, which this tool does not have.",
    403: "The site refuses automated readers or requires a login; look for another source.",
    404: "Check the address, or search for the page.",
    410: "The page was removed; search for another source.",
    429: "The site wants fewer requests; wait, or use another source.",
}


@dataclass(frozen=True, slots=True)
class WebHit:
    """One search result, in plain text. ``published`` is a date as the engine wrote it, or empty."""

    title: str
    url: str
    snippet: str
    published: str = ""


@dataclass(frozen=True, slots=True)
class SerpQuestion:
    """A question to one engine of SerpApi. ``location`` is a place in words, or empty."""

    query: str
    engine: SerpEngine = "google"
    location: str = ""
    limit: int = 10


class Web(Protocol):
    """Fetches public pages. Raises ``errors.ToolError``: refused address, time-out, no connection.

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
        """One page with any status; a redirect is followed at most five times.

        ``headers`` and ``data`` go to the first site only, never to one it redirects to. ``seconds``
        bounds the whole exchange, the wait for the site's request allowance apart.
        """
        ...

    def refusal(self, url: str) -> str:
        """Return why a URL is refused before its name is resolved; empty if it is not."""
        ...


@dataclass(frozen=True, slots=True)
class WebPassage:
    """The permitted connection for a checked URL: its host by name, and the addresses, best first."""

    host: str
    addresses: tuple[str, ...]


class UrlGuard(Protocol):
    """Judges the URLs of requests that other parts send, such as the MCP client."""

    async def passage(self, url: str) -> WebPassage:
        """Return the connection for this URL. Raises ``ToolError`` for one that is refused or not found."""
        ...


class WebSearch(Protocol):
    """A search engine."""

    @property
    def address(self) -> str:
        """The URL that queries are sent to."""
        ...

    async def search(
        self, query: str, *, limit: int, kind: SearchKind = "general"
    ) -> Sequence[WebHit]:
        """The best results. Raises ``errors.ToolError`` when the engine refuses or has changed."""
        ...


class SerpApi(Protocol):
    """SerpApi's engines; there is one only where a key is configured."""

    @property
    def address(self) -> str:
        """The URL that queries are sent to."""
        ...

    async def ask(self, question: SerpQuestion) -> Sequence[WebHit]:
        """The best results. Raises ``errors.ToolError`` when SerpApi refuses."""
        ...
