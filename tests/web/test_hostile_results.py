"""The keyless engine's page, changed or hostile: hits with web addresses, a clear error, nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.adapters.web import GuardedWeb
from sam_tui.adapters.web.engines import DuckDuckGo, read_results
from sam_tui.core.errors import ToolError
from tests.fakes.web_server import Answer, WebServer
from tests.web.results_page import results_page

GOOD = results_page([("Title", "https://example.com/", "A snippet.")])
PIECES = (
    *('<div class="result">', "</div>", '<a class="result__a" href="', '">', "</a>", "&#0;"),
    *("//duckduckgo.com/l/?uddg=", "https%3A%2F%2Fe.example", "javascript:alert(1)", "[::1"),
    *("http://", "\x00", "\ud83e".encode("utf-8", "replace").decode(), "<!--", "<![CDATA[", "é"),
    *('<a class="result__snippet">', "<svg><script>", "&lt;b&gt;", 'class="result result--ad"'),
)
HOSTILE = {
    "deep": b"<div class='result'>" * 50_000,
    "wide": b"<a class='result__a' href='https://e.example/'>x</a>" * 20_000,
    "long attribute": b"<div class='result'><a class='result__a' href='"
    + b"x" * 1_000_000
    + b"'>t",
    "not text": bytes(range(256)) * 2_000,
    "utf-16": "<div class='result'>ü</div>".encode("utf-16"),
    "entities": b"<div class='result'>" + b"&amp;" * 200_000,
    "empty tags": b"<>" * 100_000,
    "cut in a tag": GOOD.body[: len(GOOD.body) // 2],
    "another list": b"<ul class='results'><li><a href='https://e.example'>x</a></li></ul>",
    "json": b'{"error": "moved"}',
}


def harmless(body: bytes) -> None:
    """Whatever a page holds, only hits with web addresses and bounded text come out."""
    for found in read_results(body) or []:
        assert found.url.startswith(("http://", "https://"))
        assert len(found.title) <= max(300, len(found.url)) and len(found.snippet) <= 600
        assert found.title.isprintable() and found.snippet.isprintable()


@pytest.mark.requirement("web:keyless-search")
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_page_that_is_changed_or_hostile_gives_hits_or_a_clear_error(
    name: str, site: WebServer, web: GuardedWeb
) -> None:
    site.routes["/html/"] = Answer(HOSTILE[name], 200, {"content-type": "text/html"})
    try:
        hits = await DuckDuckGo(web, site.url("/html/")).search("x", limit=5)
    except ToolError as error:
        assert "no readable results" in str(error) and "BRAVE_API_KEY" in error.hint
    else:
        assert all(hit.url.startswith(("http://", "https://")) for hit in hits)
    harmless(HOSTILE[name])


@pytest.mark.requirement("web:keyless-search")
@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_no_mixture_of_its_pieces_breaks_the_reader(pieces: list[str]) -> None:
    harmless("".join(pieces).encode())


@pytest.mark.requirement("web:keyless-search")
@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(body: bytes) -> None:
    harmless(body)
