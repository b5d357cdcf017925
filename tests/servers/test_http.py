"""Servers over HTTP: through the URL guard, and nowhere else."""

import re
import ssl
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import httpcore2
import httpx2
import pytest

from sam_tui.adapters.mcp_client.transports.http_transport import CheckedTransport
from sam_tui.adapters.web import GuardedWeb
from tests.fakes.preloaded import RUN, SCRIPT
from tests.fakes.web_server import WebServer, page
from tests.servers.conftest import House
from tests.servers.http_server import Site, serving
from tests.web.names import Names
from tests.web.test_tls import certificate

SDK = Path(__file__).with_name("sdk_server.py")
"""Runs a script where most of what it imports is imported already."""


@pytest.fixture
def site() -> Generator[Site]:
    """A server on loopback."""
    with serving() as made:
        yield made


@contextmanager
def sdk_over_http(*features: str, script: Path = SDK, kind: str = "http") -> Generator[str]:
    """A server of the SDK at a free port; its URL. It is forked, and a confined one is not."""
    process = subprocess.Popen(
        [*SCRIPT, RUN, str(script), kind, *features],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                yield f"{found[0]}/{'sse' if kind == 'sse' else 'mcp'}"
                break
    finally:
        process.kill()
        process.communicate()


@pytest.mark.requirement("servers:http")
async def test_a_server_on_this_machine_that_the_persons_file_names_is_spoken_to(
    house: House, site: Site
) -> None:
    token = "glpat-" + "a1B2c3D4" * 3
    url = f"{site.url}?key=of-the-url"
    house.user(web={"type": "http", "url": url, "headers": {"Authorization": "Bearer ${T}"}})
    async with house.open(environ={"T": token}) as sam:
        assert await sam.arrive() == ["mcp__web__echo"]
        assert await sam.text("mcp__web__echo", a=1) == '{"a": 1}'
        done = await sam.call("mcp__web__echo", a=token)
        assert token not in done.finished.text
        assert "<secret:" in done.finished.text
        assert done.decision is not None
        targets = ("mcp__web__echo", f"http://127.0.0.1:{site.server_port}/")
        assert done.decision.targets == targets
    assert {headers["authorization"] for headers in site.headers} == {f"Bearer {token}"}
    assert {headers["accept-encoding"] for headers in site.headers} == {"identity"}


@pytest.mark.requirement("servers:http")
async def test_a_project_reaches_this_machine_only_where_the_person_lists_it(
    house: House, site: Site
) -> None:
    house.project(web={"url": site.url}, usual={"url": "http://127.0.0.1:8999/mcp"})
    async with house.open() as sam:
        sam.runtime.trust.trust()
        assert await sam.arrive() == []
        assert "Only ports 80, 443" in sam.reports["web"].error
        assert "is not on the public internet" in sam.reports["usual"].error
        assert site.headers == []
    house.policy(f'local = ["127.0.0.1:{site.server_port}"]\n')
    async with house.open() as sam:
        assert await sam.arrive() == ["mcp__web__echo"]
    assert site.headers


@pytest.mark.requirement("servers:http")
async def test_a_redirect_to_somewhere_else_is_not_followed(house: House, site: Site) -> None:
    with serving() as other:
        site.elsewhere = other.url
        house.user(web={"url": site.url.replace("/mcp", "/moved")})
        async with house.open() as sam:
            assert await sam.arrive() == []
            assert "307" in sam.reports["web"].error
        assert other.headers == []


@pytest.mark.requirement("servers:http")
async def test_a_login_that_is_missing_and_a_port_where_nobody_listens_are_said(
    house: House, site: Site
) -> None:
    closed = site.url.replace("/mcp", "/closed")
    house.user(closed={"url": closed}, nobody={"url": "http://127.0.0.1:1/mcp"})
    async with house.open() as sam:
        assert await sam.arrive() == []
        assert "It answered 401 Unauthorized. It requires a login" in sam.reports["closed"].error
        assert "127.0.0.1 cannot be reached" in sam.reports["nobody"].error


@pytest.mark.requirement("servers:http-flood")
async def test_an_event_without_an_end_is_cut_off(house: House, site: Site) -> None:
    house.user(web={"type": "http", "url": site.url})
    async with house.open() as sam:
        await sam.arrive()
        site.flood = b"data: " + b"x" * 1_000_000
        done = await sam.call("mcp__web__echo", a=1)
        assert not done.finished.ok
        assert re.search(r"ended during the call: \w", done.finished.text), done.finished.text
        assert site.flooded < 100_000_000
        site.flood = b""
        assert await sam.text("mcp__web__echo", a=2) == '{"a": 2}'


@pytest.mark.requirement("servers:http")
async def test_a_compressed_answer_that_nobody_asked_for_is_refused(
    house: House, site: Site
) -> None:
    site.encoding = "gzip"
    house.user(web={"url": site.url})
    async with house.open() as sam:
        assert await sam.arrive() == []
        assert "encoding that was not requested" in sam.reports["web"].error


@pytest.mark.requirement("servers:restart")
async def test_a_session_that_the_server_forgot_is_begun_again_by_the_next_call(
    house: House, site: Site
) -> None:
    house.user(web={"url": site.url})
    async with house.open() as sam:
        await sam.arrive()
        assert await sam.text("mcp__web__echo") == "{}"
        site.session = "second"
        assert "ended during the call" in await sam.text("mcp__web__echo")
        assert await sam.text("mcp__web__echo") == "{}"


@pytest.mark.requirement("servers:http")
@pytest.mark.parametrize("effect", ["deny", "ask"])
async def test_rules_for_its_host_hold_for_a_server(house: House, site: Site, effect: str) -> None:
    house.user(web={"url": site.url})
    house.policy(f'[[rule]]\neffect = "{effect}"\nhost = "127.0.0.1"\n')
    async with house.open(responder=None) as sam:
        names = await sam.arrive()
        if effect == "deny":
            assert names == []
            assert "may not be reached" in sam.reports["web"].error
            assert site.headers == []
        else:
            assert "needs an approval" in await sam.text("mcp__web__echo")


@pytest.mark.requirement("servers:resources")
async def test_resources_of_a_server_are_listed_and_read_by_two_tools(house: House) -> None:
    with sdk_over_http("resources") as url:
        house.user(sdk={"url": url})
        async with house.open() as sam:
            assert {"mcp__sdk__resources_list", "mcp__sdk__resources_read"} <= set(
                await sam.arrive()
            )
            assert "notes://first" in await sam.text("mcp__sdk__resources_list")
            read = await sam.text("mcp__sdk__resources_read", uri="notes://first")
            assert read == "what the note says"
            assert "ERROR" in await sam.text("mcp__sdk__resources_read", uri="notes://second")
    asked = [request.operation for request in house.person.approvals]
    assert asked[0] == "mcp__sdk__resources_list"


@pytest.mark.requirement("servers:sdk")
@pytest.mark.parametrize("kind", ["stdio", "http", "sse"])
async def test_a_server_of_the_sdk_is_spoken_to_over_every_transport(
    house: House, kind: str
) -> None:
    house.person.replies = ["green"]
    with sdk_over_http(kind=kind) if kind != "stdio" else nullcontext("") as url:
        own = {"command": sys.executable, "args": [*SCRIPT[1:], RUN, str(SDK)]}
        house.user(sdk=own if kind == "stdio" else {"type": kind, "url": url})
        async with house.open(attended=True) as sam:
            assert await sam.arrive() == ["mcp__sdk__add", "mcp__sdk__paint"]
            added = await sam.call("mcp__sdk__add", a=2, b="3")
            assert "must be integer" in added.finished.text
            added = await sam.call("mcp__sdk__add", a=2, b=3)
            assert (added.finished.text, added.data["structuredContent"]) == ("5", {"result": 5})
            painted = await sam.text("mcp__sdk__paint", what="door")
            assert painted == "door: accept colour='green'"


@pytest.mark.requirement("servers:context7")
async def test_documentation_of_a_library_comes_from_context7_in_two_calls(house: House) -> None:
    tool = "Context7DocumentationTool"
    with sdk_over_http(script=SDK.with_name("context7_server.py")) as url:
        async with house.open(environ={"CONTEXT7_SERVER_URL": url}) as sam:
            assert tool in sam.runtime.registry.descriptions  # before anything is started
            names = ["mcp__context7__get-library-docs", "mcp__context7__resolve-library-id"]
            assert sorted(await sam.arrive()) == names
            assert tool in sam.runtime.registry.names
            done = await sam.call(tool, libraryName="React", topic="hooks", maxTokens=900)
            assert "docs of /facebook/react, topic hooks, 900 tokens" in done.finished.text
            assert done.data["libraryId"] == "/facebook/react"
            assert done.decision is not None
            assert url.removesuffix("/mcp") + "/" in done.decision.targets
            assert "5000 tokens" in await sam.text(tool, libraryName="/vuejs/core")
            assert "/remix-run/react-router" in await sam.text(tool, libraryName="react thing")
            nothing = await sam.text(tool, libraryName="React", topic="nothing")
            assert "no documentation of /facebook/react on nothing" in nothing
            assert "knows no library 'cobol'" in await sam.text(tool, libraryName="cobol")
            assert "Context7, resolve-library-id" in await sam.text(tool, libraryName="broken")
            assert "ERROR" in await sam.text(tool, libraryName="")
            capabilities = sam.runtime.workflows.workflows().capabilities()
            (research,) = [c for c in capabilities if c.role == "ResearchAgent"]
            assert tool in research.tools


@pytest.mark.requirement("servers:context7")
async def test_a_newer_context7_is_asked_by_its_own_names(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = "Context7DocumentationTool"
    monkeypatch.setenv("CONTEXT7_NEWER", "1")
    with sdk_over_http(script=SDK.with_name("context7_server.py")) as url:
        async with house.open(environ={"CONTEXT7_SERVER_URL": url}) as sam:
            names = ["mcp__context7__query-docs", "mcp__context7__resolve-library-id"]
            assert sorted(await sam.arrive()) == names
            done = await sam.call(tool, libraryName="React", topic="hooks", maxTokens=100)
            text = done.data["documentation"]
            assert (text.startswith("docs of /facebook/react on hooks: "), len(text)) == (True, 400)


@pytest.mark.requirement("servers:context7")
async def test_without_context7_its_tool_is_not_there_and_planning_says_so(
    house: House, site: Site
) -> None:
    tool = "Context7DocumentationTool"
    async with house.open() as sam:
        assert await sam.arrive() == []
        assert not sam.runtime.registry.knows(tool)
        capabilities = sam.runtime.workflows.workflows().capabilities()
        (research,) = [c for c in capabilities if c.role == "ResearchAgent"]
        assert research.missing == (tool,)
    async with house.open(environ={"CONTEXT7_SERVER_URL": "http://127.0.0.1:1/mcp"}) as sam:
        await sam.arrive()  # nobody listens there
        assert not sam.runtime.registry.knows(tool)
        capabilities = sam.runtime.workflows.workflows().capabilities()
        assert [c.missing for c in capabilities if c.role == "ResearchAgent"] == [(tool,)]
    house.policy('[[rule]]\neffect = "deny"\nhost = "127.0.0.1"\n')
    async with house.open(environ={"CONTEXT7_SERVER_URL": site.url}) as sam:
        await sam.arrive()
        assert "docs" not in await sam.text(tool, libraryName="React")
        assert site.headers == []


@pytest.mark.requirement("servers:http")
async def test_certificates_are_loaded_once_for_the_first_server_that_is_spoken_to_over_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, trust = certificate(tmp_path, "secure.example")
    loaded: list[ssl.SSLContext] = []

    def load(**_: object) -> ssl.SSLContext:
        loaded.append(trust)
        return trust

    monkeypatch.setattr(httpcore2, "default_ssl_context", load)
    sites = WebServer({"/": page("plain")}), WebServer({"/": page("secure")}, server)
    async with sites[0] as plain, sites[1] as secure:
        hosts = (f"{name}.example:{secure.port}" for name in ("secure", "other"))
        allowed = frozenset({plain.origin, *hosts})
        guard = GuardedWeb(allowed=allowed, resolver=Names([["127.0.0.1"]]))
        async with httpx2.AsyncClient(transport=CheckedTransport("web", guard)) as client:
            assert (await client.get(plain.url())).text == "plain"
            assert not loaded
            for _ in range(2):
                response = await client.get(f"https://secure.example:{secure.port}/")
                assert response.text == "secure"
            with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                await client.get(f"https://other.example:{secure.port}/")
    assert loaded == [trust]
