"""Every search engine against its wire format on loopback, and the choice between them."""

from typing import Any

import pytest

from sam_tui.adapters.web import GuardedWeb, search_from, serpapi_from
from sam_tui.adapters.web.engines import Brave, DuckDuckGo, GoogleSearch, SearxNG, Tavily
from sam_tui.adapters.web.serpapi import SerpApiClient
from sam_tui.core.errors import ConfigurationError, ToolError
from sam_tui.core.ports.web import SerpQuestion, WebHit
from tests.fakes.web_server import Answer, Asked, WebServer, answered, page
from tests.web.results_page import NOTHING, ROBOT, results_page


@pytest.mark.requirement("web:keyless-search")
async def test_duckduckgo_gives_addresses_of_results_without_counters_and_advertisements(
    site: WebServer, web: GuardedWeb
) -> None:
    site.routes["/html/"] = results_page([
        ("Tides & <i>moons</i>", "https://example.com/a?b=1&c=2", "The <b>moon</b> pulls.\u202e"),
        ("Again", "https://example.com/a?b=1&c=2", "the same address"),
        ("Bad", "javascript:alert(1)", "no web address"),
        ("Second", "http://example.org/", ""),
    ])
    engine = DuckDuckGo(web, site.url("/html/"))
    assert await engine.search("moon & tide", limit=5) == [
        WebHit("Tides & moons", "https://example.com/a?b=1&c=2", "The moon pulls."),
        WebHit("Second", "http://example.org/", ""),
    ]
    assert site.asked[0].query == {"q": "moon & tide", "kl": "wt-wt"}
    assert len(await engine.search("moon", limit=1, kind="news")) == 1
    assert site.asked[1].query["df"] == "m"


@pytest.mark.requirement("web:keyless-search")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ROBOT, "robot"),
        (Answer(b"", 202), "robot"),
        (Answer(b"", 403), "robot"),
        (page("<html><body><p>A new design</p></body></html>"), "no readable results"),
        (page(""), "no readable results"),
        (Answer(b"", 500), "500"),
    ],
)
async def test_duckduckgo_says_clearly_when_it_refuses_or_has_changed(
    site: WebServer, web: GuardedWeb, answer: Answer, words: str
) -> None:
    site.routes["/html/"] = answer
    with pytest.raises(ToolError, match=words) as caught:
        await DuckDuckGo(web, site.url("/html/")).search("x", limit=5)
    if "500" not in words:
        assert "BRAVE_API_KEY" in caught.value.hint


@pytest.mark.requirement("web:keyless-search")
async def test_finding_nothing_is_not_an_error(site: WebServer, web: GuardedWeb) -> None:
    site.routes["/html/"] = NOTHING
    assert await DuckDuckGo(web, site.url("/html/")).search("x", limit=5) == []


@pytest.mark.requirement("web:engines")
async def test_searxng_brave_and_tavily_are_asked_in_their_own_way(
    site: WebServer, web: GuardedWeb
) -> None:
    site.routes["/s/search"] = answered({
        "results": [
            {"title": "A", "url": "https://a.example/", "content": "x", "publishedDate": "2024"}
        ]
    })
    assert await SearxNG(web, site.url("/s/")).search("q", limit=3, kind="technical") == [
        WebHit("A", "https://a.example/", "x", "2024")
    ]
    assert site.asked[-1].query == {"q": "q", "format": "json", "categories": "it,general"}
    rows = [
        {"title": "B", "url": "https://b.example/", "description": "<strong>y</strong> &amp; z"}
    ]
    site.routes["/b/web/search"] = answered({"web": {"results": rows}})
    site.routes["/b/news/search"] = answered({"results": [{**rows[0], "age": "2 hours"}]})
    brave = Brave(web, "key", site.url("/b"))
    assert await brave.search("q", limit=3) == [WebHit("B", "https://b.example/", "y & z")]
    assert site.asked[-1].headers["x-subscription-token"] == "key"
    assert (await brave.search("q", limit=3, kind="news"))[0].published == "2 hours"
    site.routes["/t/search"] = answered({
        "results": [{"title": "C", "url": "https://c.example/", "content": "w"}]
    })
    tavily = Tavily(web, "key", site.url("/t"))
    assert await tavily.search("q", limit=3, kind="news") == [
        WebHit("C", "https://c.example/", "w")
    ]
    assert site.asked[-1].headers["authorization"] == "Bearer key"
    assert site.asked[-1].json == {"query": "q", "max_results": 3, "topic": "news"}


@pytest.mark.requirement("web:engines")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (answered({"error": "bad key"}, status=401), "did not accept the key. It says: bad key"),
        (answered({"detail": {"error": "limit"}}, status=429), "limits requests. It says: limit"),
        (answered([1], status=200), "status 200"),
        (page("<html>maintenance</html>"), "status 200"),
        (answered({"error": {"message": "boom\u0007"}}, status=500), "status 500. It says: boom"),
    ],
)
async def test_an_engine_that_refuses_is_quoted(
    site: WebServer, web: GuardedWeb, answer: Answer, words: str
) -> None:
    site.routes["/t/search"] = answer
    with pytest.raises(ToolError, match=words):
        await Tavily(web, "key", site.url("/t")).search("q", limit=3)


@pytest.mark.requirement("web:engines")
async def test_odd_rows_of_an_engine_are_left_out(site: WebServer, web: GuardedWeb) -> None:
    rows: list[Any] = [
        7,
        None,
        {"title": "no address"},
        {"url": 3},
        {"url": "ftp://x/"},
        {"url": "https://ok.example/"},
    ]
    site.routes["/t/search"] = answered({"results": rows})
    got = await Tavily(web, "k", site.url("/t")).search("q", limit=9)
    assert got == [WebHit("https://ok.example/", "https://ok.example/", "")]


@pytest.mark.requirement("web:serpapi")
async def test_each_engine_of_serpapi_gets_its_own_parameters(
    site: WebServer, web: GuardedWeb
) -> None:
    row = {
        "title": "A",
        "link": "https://a.example/",
        "snippet": "x",
        "price": {"raw": "$3"},
        "rating": 4.5,
    }
    site.routes["/serp"] = answered({"organic_results": [row]})
    client = SerpApiClient(web, "s3cret", site.url("/serp"))
    expected: dict[str, dict[str, str]] = {
        "google": {"q": "tea", "num": "7"},
        "bing": {"q": "tea", "count": "7"},
        "amazon": {"k": "tea"},
        "ebay": {"_nkw": "tea", "_ipg": "25"},
        "walmart": {"query": "tea"},
        "tripadvisor": {"q": "tea"},
    }
    for engine, parameters in expected.items():
        hits = await client.ask(SerpQuestion("tea", engine, "", 7))  # pyright: ignore[reportArgumentType]
        assert hits == [WebHit("A", "https://a.example/", "x; price $3; rating 4.5")]
        assert site.asked[-1].query == {"engine": engine, "api_key": "s3cret", **parameters}
    await client.ask(SerpQuestion("tea", "yelp", "Berlin", 7))
    assert site.asked[-1].query["find_loc"] == "Berlin"
    await client.ask(SerpQuestion("tea", "google", "Austin, Texas", 7))
    assert site.asked[-1].query["location"] == "Austin, Texas"
    with pytest.raises(ToolError, match="takes no location"):
        await client.ask(SerpQuestion("tea", "amazon", "Berlin"))
    with pytest.raises(ToolError, match="needs a location"):
        await client.ask(SerpQuestion("tea", "yelp"))


@pytest.mark.requirement("web:serpapi")
async def test_an_overview_is_fetched_by_its_token_where_it_is_not_in_the_results(
    site: WebServer, web: GuardedWeb
) -> None:
    overview = {
        "text_blocks": [
            {"snippet": "Tea is a drink."},
            {"list": [{"title": "Green:", "snippet": "mild"}]},
        ],
        "references": [{"title": "Tea", "link": "https://tea.example/", "snippet": "s"}],
    }

    def play(asked: Any) -> Answer:
        if asked.query["engine"] == "google":
            return answered({"ai_overview": {"page_token": "t0"}})
        assert asked.query["page_token"] == "t0"
        return answered({"ai_overview": overview})

    site.routes["/serp"] = play
    client = SerpApiClient(web, "k", site.url("/serp"))
    hits = await client.ask(SerpQuestion("tea", "google_ai_overview"))
    assert hits[0].snippet == "Tea is a drink. Green: mild"
    assert hits[1].url == "https://tea.example/"
    site.routes["/serp"] = answered({"organic_results": []})
    with pytest.raises(ToolError, match="no AI overview"):
        await client.ask(SerpQuestion("tea", "google_ai_overview"))


@pytest.mark.requirement("web:keys-stay-secret")
async def test_the_key_stands_in_no_error(site: WebServer, web: GuardedWeb) -> None:
    site.routes["/serp"] = Answer(b"", cut=True)
    with pytest.raises(ToolError) as caught:
        await SerpApiClient(web, "s3cret", site.url("/serp")).ask(SerpQuestion("tea"))
    assert "s3cret" not in caught.value.explain()


@pytest.mark.requirement("web:engines")
async def test_google_gives_ten_results_a_request_and_its_key_stands_in_no_error(
    site: WebServer, web: GuardedWeb
) -> None:
    def play(asked: Asked) -> Answer:
        start = int(asked.query["start"])
        numbers = range(start, start + int(asked.query["num"]))
        items = [
            {"title": f"T{n}", "link": f"https://a.example/{n}", "snippet": "s"} for n in numbers
        ]
        return answered({"items": items})

    site.routes["/cse"] = play
    engine = GoogleSearch(web, "s3cret", "engine-1", site.url("/cse"))
    assert len(await engine.search("tea & cake", limit=14, kind="news")) == 14
    first, second = (asked.query for asked in site.asked)
    assert first == {"q": "tea & cake", "num": "10", "start": "1", "dateRestrict": "m1",
                     "cx": "engine-1", "key": "s3cret"}  # fmt: skip
    assert (second["start"], second["num"]) == ("11", "4")
    site.routes["/cse"] = answered({})
    assert await engine.search("nothing", limit=5) == []
    for answer in (Answer(b"", cut=True), answered({"error": {"message": "bad"}}, status=403)):
        site.routes["/cse"] = answer
        with pytest.raises(ToolError) as caught:
            await engine.search("tea", limit=5)
        assert "s3cret" not in caught.value.explain()


@pytest.mark.requirement("web:engine-choice")
def test_the_environment_chooses_the_engine() -> None:
    web = GuardedWeb()

    def chosen(**environ: str) -> str:
        return type(search_from(web, environ)).__name__

    assert chosen() == "DuckDuckGo"
    assert chosen(SERPAPI_API_KEY="k") == "DuckDuckGo"
    assert chosen(BRAVE_API_KEY="k", TAVILY_API_KEY="k") == "Brave"
    assert chosen(TAVILY_API_KEY="k") == "Tavily"
    assert chosen(SEARCH_API_KEY="k", CSE_ID="e") == "GoogleSearch"
    assert chosen(SEARCH_API_KEY="k") == "DuckDuckGo"
    assert chosen(SAM_TUI_SEARXNG_BASE="http://127.0.0.1:8888", BRAVE_API_KEY="k") == "SearxNG"
    assert chosen(SAM_TUI_SEARCH="serpapi", SERPAPI_API_KEY="k") == "SerpApiClient"
    assert chosen(SAM_TUI_SEARCH=" DuckDuckGo ", BRAVE_API_KEY="k") == "DuckDuckGo"
    for environ in (
        {"SAM_TUI_SEARCH": "altavista"},
        {"SAM_TUI_SEARCH": "brave"},
        {"SAM_TUI_SEARCH": "google", "SEARCH_API_KEY": "k"},
        {"SAM_TUI_SEARXNG_BASE": "not a url"},
    ):
        with pytest.raises(ConfigurationError):
            search_from(web, environ)
    assert serpapi_from(web, {}) is None
    assert serpapi_from(web, {"SERPAPI_API_KEY": "k"}) is not None


@pytest.mark.requirement("web:engine-choice")
async def test_an_engine_of_ones_own_may_be_private_and_opens_nothing_else(
    site: WebServer,
) -> None:
    site.routes["/search"] = answered({"results": []})
    web = GuardedWeb()
    engine = search_from(web, {"SAM_TUI_SEARXNG_BASE": site.url()})
    assert await engine.search("q", limit=3) == []
    with pytest.raises(ToolError):
        await web.fetch(site.url("/search"))
