"""The arguments of every operation, under the seed's names. Shared names have one meaning."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from sam_tui.core.ports.web import SearchKind, SerpEngine
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.arguments import Arguments

Depth = Literal["shallow", "standard", "comprehensive"]
_LONGEST_QUERY = 400


def _query(text: str) -> str:
    line = one_line(text)
    if not line:
        raise PydanticCustomError("empty", "is empty: say what to look for")
    return line[:_LONGEST_QUERY]


def _address(url: str) -> str:
    """A URL as people write it: ``example.com/a`` means https."""
    text = url.strip()
    if not text:
        raise PydanticCustomError("empty", "is empty: give an address")
    return text if "://" in text else f"https://{text}"


def _word(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


Query = Annotated[str, AfterValidator(_query)]
Address = Annotated[str, AfterValidator(_address)]


class Research(Arguments):
    """The arguments of ``research``."""

    query: Query
    depth: Annotated[Depth, BeforeValidator(_word)] = Field(
        default="standard", description="3, 6 or 12 pages"
    )
    type: Annotated[SearchKind, BeforeValidator(_word)] = "general"


class Retrieve(Arguments):
    """The arguments of ``retrieve``."""

    query: Query


class WebSearching(Arguments):
    """The arguments of ``web_search``."""

    query: Query
    limit: int = Field(default=8, ge=1, le=20)


class SerpApiSearching(Arguments):
    """The arguments of ``serpapi``."""

    query: Query
    engine: Annotated[SerpEngine, BeforeValidator(_word)] = "google"
    location: str = Field(default="", description="a place in words")
    num_results: int = Field(default=10, ge=1, le=100)


class Scrape(Arguments):
    """The arguments of ``scrape``."""

    url: Address
    selectors: dict[str, str] | None = Field(
        default=None, description='name -> CSS selector; "a@href" takes an attribute'
    )


class Fetching(Arguments):
    """The arguments of ``fetch``."""

    url: Address
