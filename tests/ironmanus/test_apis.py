"""The list of APIs and the ways to them: scores in one order, honest entries, careful fetching."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sam_tools.iron_manus.phases.roles import ROLES
from sam_tools.iron_manus.sources.arguments import ApiTask
from sam_tools.iron_manus.sources.registry import ApiList
from sam_tools.iron_manus.sources.research import chosen
from sam_tui.core.ids import CallId, ConversationId
from tests.fakes.web_server import Answer, Asked, WebServer, answered, moved
from tests.ironmanus.harness import PHASES, Harness

APIS = ApiList()
PLAIN_HTTP = frozenset({
    "Animal Crossing API",
    "Chuck Norris Database",
    "Colormind API",
    "Meme Maker API",
    "Numbers API",
    "Open Notify ISS API",
    "IP-API",
    "Shibe Online API",
})
"""Services of the seed that have no TLS."""
SEED = """\
Cat Facts API catfact.ninja; Dog API dog.ceo; Random Fox API randomfox.ca; HTTPCat API http.cat;
AnimeChan API api.animechan.io; Studio Ghibli API ghibliapi.vercel.app; Open Library API
openlibrary.org; Clearbit Logo API logo.clearbit.com; Nager.Date API date.nager.at; CoinDesk
Bitcoin Price API api.coindesk.com; CoinGecko API api.coingecko.com; Free Dictionary API
api.dictionaryapi.dev; Bored API www.boredapi.com; JokeAPI v2.jokeapi.dev; Chuck Norris Jokes API
api.chucknorris.io; Official Joke API official-joke-api.appspot.com; TheMealDB API
www.themealdb.com; TheCocktailDB API www.thecocktaildb.com; Deck of Cards API deckofcardsapi.com;
Pokemon API pokeapi.co; Rick and Morty API rickandmortyapi.com; Open Trivia Database opentdb.com;
Lorem Picsum picsum.photos; Colormind API colormind.io; REST Countries API restcountries.com;
IP-API ip-api.com; ipapi.co ipapi.co; GeoJS get.geojs.io; Stack Overflow API
api.stackexchange.com; JSONPlaceholder API jsonplaceholder.typicode.com; NASA APOD API
api.nasa.gov; Numbers API numbersapi.com; Open Notify ISS API api.open-notify.org; Disease.sh
COVID-19 API disease.sh; Random User Generator randomuser.me; Lorem Ipsum API loripsum.net;
OpenWeatherMap API api.openweathermap.org; Data.gov API api.gsa.gov; ESPN API api.espn.com; UK
Transport API transportapi.com; is.gd URL Shortener is.gd; QR Server API api.qrserver.com;
Lyrics.ovh API api.lyrics.ovh; Quotable API api.quotable.io; Pokemon-3D-api
pokemon-3d-api.onrender.com; Pokemon TCG API api.pokemontcg.io; AmiiboAPI amiiboapi.com; Animal
Crossing API acnhapi.com; Age of Empires II API age-of-empires-2-api.herokuapp.com; Axolotl API
axoltlapi.herokuapp.com; Cataas API cataas.com; HTTP Dogs API httpstatusdogs.com; MeowFacts API
meowfacts.herokuapp.com; Shibe Online API shibe.online; Chuck Norris Database api.icndb.com;
Imgflip API api.imgflip.com; Meme Maker API alpha-meme-maker.herokuapp.com; CountAPI
api.countapi.xyz; Ciprand API ciprand.p3p.repl.co; ExtendsClass JSON Storage
json.extendsclass.com; Metropolitan Museum API collectionapi.metmuseum.org; Art Institute of
Chicago API api.artic.edu
"""
"""The names of the seed's registry (spec A12), each with the host that answers for it."""
KEYED = {"NASA APOD API", "OpenWeatherMap API", "Data.gov API", "ESPN API", "UK Transport API"}
"""Of these, services that want a key; the seed says of all that they want none."""


@pytest.mark.requirement("ironmanus:api-list")
def test_every_entry_of_the_seed_is_there_with_its_host_its_documentation_and_its_key() -> None:
    rows = (row.rpartition(" ") for row in " ".join(SEED.split()).split("; "))
    hosts = {name: host for name, _, host in rows}
    assert len(hosts) == 62
    entries = {name: APIS.named(name) for name in hosts}
    assert {n: e and urlsplit(e.base_url).netloc for n, e in entries.items()} == hosts
    assert {n for n, e in entries.items() if e and e.auth != "None"} == KEYED
    assert [
        n for n, e in entries.items() if e and e.docs_url in ("", e.base_url + e.endpoint)
    ] == []


@pytest.mark.requirement("ironmanus:api-list")
def test_every_entry_keeps_endpoint_and_documentation_apart_and_claims_no_test() -> None:
    names = [entry.name for entry in APIS.entries]
    categories = {entry.category for entry in APIS.entries}
    assert len(set(names)) == len(names) >= 65
    assert len(categories) >= 25
    told = f"{len(names)} in {len(categories)} categories"
    assert told in (Path(__file__).parents[2] / "docs/iron-manus.md").read_text("utf-8")
    for entry in APIS.entries:
        assert entry.base_url.startswith("https://") or entry.name in PLAIN_HTTP
        assert entry.docs_url.startswith("https://") or entry.name in PLAIN_HTTP
        assert entry.endpoint.startswith("/")
        assert entry.keywords and 0 <= entry.reliability <= 1
        assert ("api_key" in entry.needs) == (entry.auth == "API Key")
        assert "verified" not in entry.as_object()
    assert APIS.named("coingecko api") is not None
    assert APIS.named("nothing") is None


@pytest.mark.requirement("ironmanus:api-ended")
async def test_a_service_that_has_ended_stands_last_and_is_asked_by_its_name_alone(
    harness: Harness,
) -> None:
    found = await harness.answer(
        "APISearch", objective="bitcoin price market", user_role="analyzer", max_results=20
    )
    over = [api["service_ended"] for api in found["apis"]]
    assert over == sorted(over) and over[0] is False and over[-1] is True
    assert "CoinDesk Bitcoin Price API" in [api["name"] for api in found["apis"][1:]]
    boredom = ApiTask(objective="activities against boredom", user_role="coder")
    assert chosen(APIS, boredom) == ()
    named = ApiTask.model_validate({
        "objective": "boredom",
        "user_role": "coder",
        "apis": [{"api_name": "Bored API"}],
    })
    assert [choice.entry.name for choice in chosen(APIS, named)] == ["Bored API"]


@pytest.mark.requirement("ironmanus:api-scores")
@pytest.mark.parametrize(
    ("objective", "role", "name", "score"),
    [
        ("Analyze cryptocurrency market trends", "analyzer", "CoinGecko API", 0.691),
        ("Research quantum computing advancements", "researcher", "Open Library API", 0.49),
        ("Research quantum computing advancements", "researcher", "Nager.Date API", 0.49),
        ("Research quantum computing advancements", "researcher", "NASA APOD API", 0.44),
        ("Design responsive dashboard layout", "ui_architect", "Lorem Picsum", 0.59),
        ("Design responsive dashboard layout", "ui_architect", "Metropolitan Museum API", 0.49),
        ("Implement REST API with database integration", "coder", "JSONPlaceholder API", 0.59),
        ("Implement REST API with database integration", "coder", "Stack Overflow API", 0.489),
    ],
)
def test_scores_are_the_seed_s_where_the_entry_is(
    objective: str, role: str, name: str, score: float
) -> None:
    found = {r.entry.name: r.score for r in APIS.ranked(objective, role, limit=200)}
    assert found[name] == score


@pytest.mark.requirement("ironmanus:api-scores")
@pytest.mark.parametrize("role", sorted(ROLES))
def test_the_order_is_total_and_what_nothing_speaks_for_is_left_out(role: str) -> None:
    found = APIS.ranked("weather and market data for a museum", role, limit=200)
    keys = [
        (r.entry.ended, not r.topical, -r.score, -r.entry.reliability, r.entry.name) for r in found
    ]
    assert keys == sorted(keys)
    assert all((r.topical or r.score >= 0.25) and r.reasons for r in found)
    assert APIS.ranked("zzz", "synthesizer") == ()


@pytest.mark.requirement("ironmanus:api-scores")
async def test_a_category_is_filtered_before_the_list_is_cut(harness: Harness) -> None:
    found = await harness.answer(
        "APISearch", objective="paintings", user_role="coder", category_filter="art", max_results=2
    )
    assert [api["category"] for api in found["apis"]] == ["art", "art"]
    assert found["apis"][0]["name"] == "Art Institute of Chicago API"
    assert found["apis"][0]["verified"] is None
    none = await harness.answer("APISearch", objective="zzz", user_role="synthesizer")
    assert (none["count"], none["apis"]) == (0, [])
    assert not (await harness.call("APISearch", objective="x", user_role="wizard")).finished.ok


TABLES = """\
## Weather

| API | Description | Auth | HTTPS | CORS | Link |
|:---|---|---|---|---|---|
| [Storm API](https://storm.example.org/docs) | Weather API of storms | `apiKey` | Yes | No | |
| Bad row | no address | No | Yes | No | javascript:alert(1) |
| | nameless | No | Yes | No | https://a.invalid |

| Name | Keywords | Category | Base URL | Endpoint | Docs | Reliability |
|---|---|---|---|---|---|---|
| wttr.in | weather, ours | weather | https://mine.example.org/ | /{city} | https://mine.example.org | 0.9 |
"""


@pytest.mark.requirement("ironmanus:api-tables")
async def test_the_person_s_tables_join_the_list_and_replace_what_has_their_name(
    tmp_path: Path,
) -> None:
    harness = Harness(tmp_path, tables=[TABLES, "no table", "| a |\n|---|\n| b |"])
    found = await harness.answer(
        "APISearch", objective="Weather data APIs", user_role="coder", max_results=20
    )
    by_name = {api["name"]: api for api in found["apis"]}
    assert found["apis"][0]["name"] == "wttr.in"
    assert by_name["wttr.in"]["base_url"] == "https://mine.example.org"
    storm = by_name["Storm API"]
    assert (storm["auth_type"], storm["category"]) == ("API Key", "weather")
    assert (storm["base_url"], storm["documentation_url"]) == ("", "https://storm.example.org/docs")
    assert not by_name.keys() & {"Bad row", ""}
    unknown = await harness.call(
        "APITaskAgent", objective="storms", user_role="coder", apis=[{"api_name": "Storm API"}]
    )
    assert not unknown.finished.ok
    harness.close()


@pytest.mark.requirement("ironmanus:api-scores")
async def test_topic_counts_before_role_and_research_asks_no_api_off_the_topic(
    harness: Harness,
) -> None:
    found = await harness.answer("APISearch", objective="Weather data APIs", user_role="coder")
    assert [api["category"] for api in found["apis"][:4]] == ["weather"] * 4
    chosen_apis = chosen(APIS, ApiTask(objective="Weather data APIs", user_role="coder"))
    assert {source.entry.category for source in chosen_apis} == {"weather"}


def failing(times: int, status: int, *, after: str = "") -> Any:
    """A page that fails so often and then answers."""
    left = [times]

    def play(_: Asked) -> Answer:
        left[0] -= 1
        if left[0] < 0:
            return answered({"ok": True})
        headers = {"retry-after": after} if after else {}
        return Answer(b"no", status, headers)

    return play


@pytest.mark.requirement("ironmanus:fetch")
async def test_endpoints_are_fetched_side_by_side_and_bodies_kept_whole(
    online: Harness, site: WebServer
) -> None:
    large = {"rows": ["x" * 100] * 100}
    site.routes |= {"/a": answered({"a": 1}), "/b": answered(large), "/c": answered({}, status=404)}
    urls = [site.url("/a"), site.url("/b"), site.url("/c")]
    found = await online.answer("MultiAPIFetch", api_endpoints=urls, timeout_ms=9000)
    summary = found["summary"]
    assert (summary["queried"], summary["successful"], summary["failed"]) == (3, 2, 1)
    assert (summary["success_rate"], summary["errors_by_type"]) == ("66.7%", {"HTTP": 1})
    assert (found["timeout_ms"], found["max_concurrent"]) == (9000, 3)
    first, second, third = found["results"]
    assert json.loads(first["data"]) == {"a": 1}
    assert len(second["data"]) == 1500
    kept = online.storage.results.load(
        ConversationId("c"), CallId(second["reference"]["toolCallId"])
    )
    assert json.loads(kept or "") == large
    assert (third["status"], third["error"]["type"], third["attempts"]) == (404, "HTTP", 1)
    assert all(len(r["headers"]) <= 10 for r in found["results"])


@pytest.mark.requirement("ironmanus:fetch")
async def test_a_body_belongs_to_the_phase_it_was_fetched_in(
    online: Harness, site: WebServer
) -> None:
    site.routes["/b"] = answered({"rows": "x" * 3000})
    await online.begin()
    for phase, payload in PHASES[:2]:
        await online.done(phase, payload)
    found = await online.answer("MultiAPIFetch", api_endpoints=[site.url("/b")])
    artifact = found["results"][0]["reference"]["artifactId"]
    assert "xxx" in online.workflows.records.read_artifact(artifact, 0, 100_000).text
    assert online.workflows.records.artifacts("s")[0].step == "knowledge"


@pytest.mark.requirement("ironmanus:retries")
@pytest.mark.parametrize(
    ("status", "attempts", "ok"), [(503, 3, True), (429, 3, True), (404, 1, False), (401, 1, False)]
)
async def test_only_what_may_pass_is_tried_again(
    online: Harness, site: WebServer, status: int, attempts: int, ok: bool
) -> None:
    site.routes["/a"] = failing(2, status)
    executed = await online.call("MultiAPIFetch", api_endpoints=[site.url("/a")])
    (result,) = executed.data["results"]
    assert (result["attempts"], result["success"], executed.finished.ok) == (attempts, ok, ok)


@pytest.mark.requirement("ironmanus:retries")
async def test_the_server_says_how_long_to_wait(online: Harness, site: WebServer) -> None:
    site.routes["/a"] = failing(1, 503, after="7")
    site.routes["/b"] = failing(1, 503, after="9999")
    await online.call("MultiAPIFetch", api_endpoints=[site.url("/a")])
    await online.call("MultiAPIFetch", api_endpoints=[site.url("/b")])
    assert online.clock.waits == [7.0, 10.0]


@pytest.mark.requirement("ironmanus:headers")
async def test_what_identifies_somebody_goes_to_one_host_alone(
    online: Harness, site: WebServer
) -> None:
    seen: list[Asked] = []

    def play(asked: Asked) -> Answer:
        seen.append(asked)
        return answered({})

    site.routes |= {"/a": play, "/r": moved("http://elsewhere.invalid/")}
    secret = {"Authorization": "Bearer s3cret-value"}
    both = [site.url("/a"), "http://other.invalid/"]
    executed = await online.call("MultiAPIFetch", api_endpoints=both, headers=secret)
    assert not executed.finished.ok
    assert "2 hosts" in executed.finished.text
    assert seen == []
    host = site.url("/a").split("/")[2].split(":")[0]
    bound = {host: secret, "Accept": "text/plain"}
    executed = await online.call("MultiAPIFetch", api_endpoints=both, headers=bound)
    assert seen[0].headers["authorization"] == "Bearer s3cret-value"
    assert seen[0].headers["accept"] == "text/plain"
    wrong = {"nobody.invalid": secret}
    executed = await online.call("MultiAPIFetch", api_endpoints=both, headers=wrong)
    assert "no endpoint lies on" in executed.finished.text


@pytest.mark.requirement("ironmanus:ssrf")
@pytest.mark.parametrize(
    "url",
    [
        "http://[::1]/", "http://[::]/", "http://[fe80::1]/", "http://[fd12::1]/",
        "http://[::ffff:127.0.0.1]/", "http://localhost./", "http://foo.localhost/",
        "http://0.0.0.1/", "http://100.64.0.1/", "http://192.0.0.1/", "http://198.18.0.1/",
        "http://224.0.0.1/", "http://255.255.255.255/", "http://[2001:db8::1]/",
        "http://10.0.0.1/", "http://169.254.169.254/", "http://2130706433/", "http://0x7f.1/",
        "file:///etc/hosts", "ftp://ftp.invalid/", "javascript:alert(1)",
    ],
)  # fmt: skip
async def test_an_address_that_is_not_public_is_refused_and_not_tried_again(
    harness: Harness, url: str
) -> None:
    executed = await harness.call("MultiAPIFetch", api_endpoints=[url])
    assert not executed.finished.ok
    (result,) = executed.data["results"]
    assert result["error"]["type"] in ("Refused", "Network")
    assert result["attempts"] == 1


@pytest.mark.requirement("ironmanus:fetch")
@pytest.mark.parametrize(
    "arguments",
    [
        {"api_endpoints": []},
        {"api_endpoints": ["https://a.invalid"] * 11},
        {"api_endpoints": ["https://a.invalid"], "timeout_ms": 999},
        {"api_endpoints": ["https://a.invalid"], "max_concurrent": 6},
        {"api_endpoints": ["https://a.invalid"], "headers": "x"},
    ],
)
async def test_arguments_that_do_not_fit_are_an_error(
    harness: Harness, arguments: dict[str, Any]
) -> None:
    assert not (await harness.call("MultiAPIFetch", **arguments)).finished.ok


@pytest.mark.requirement("ironmanus:validate")
async def test_an_endpoint_is_tried_and_what_is_known_of_it_told(
    online: Harness, site: WebServer
) -> None:
    site.routes["/a"] = answered({})
    good = await online.answer("APIValidator", api_endpoint={"name": "mine", "url": site.url("/a")})
    assert (good["valid"], good["corrected"], good["endpoint"]) == (True, False, site.url("/a"))
    docs = {"url": site.url("/gone"), "name": "Pokemon API"}
    bad = await online.answer("APIValidator", api_endpoint=docs)
    assert (bad["valid"], bad["documentation_url"]) == (False, "https://pokeapi.co/docs/v2")
    assert [t["endpoint"] for t in bad["tried"]] == [site.url("/gone")]
    nothing = await online.call("APIValidator", api_endpoint={"name": "Pokemon API"})
    assert "needs name" in nothing.finished.text
    assert not (await online.call("APIValidator", api_endpoint={})).finished.ok


@pytest.mark.requirement("ironmanus:api-task")
async def test_research_says_what_it_lacks_and_makes_nothing_up(online: Harness) -> None:
    lacking = await online.call(
        "APITaskAgent", objective="pokemon stats", user_role="coder", category_filter="games",
        apis=[{"api_name": "Pokemon API"}],
    )  # fmt: skip
    assert not lacking.finished.ok
    assert "needs name" in lacking.finished.text
    unknown = await online.call(
        "APITaskAgent", objective="x", user_role="coder", apis=[{"api_name": "Nonsense"}]
    )
    assert "not on the list" in unknown.finished.text
    for role in (
        "synthesizer",
        "researcher",
    ):  # of the latter are APIs that speak of something else
        nothing = await online.call("APITaskAgent", objective="zzz", user_role=role)
        assert "No API fits 'zzz' as it is.\nSearch the web instead." in nothing.finished.text
