"""The URL guard against a real server: redirects, rebinding, time, headers."""

import asyncio

import pytest

from sam_tui.adapters.web import GuardedWeb
from sam_tui.core.errors import ToolError
from tests.fakes.web_server import Answer, Asked, WebServer, moved, page
from tests.web.names import Names


@pytest.mark.requirement("web:fetch")
async def test_a_page_comes_with_its_status_type_and_end_address(
    site: WebServer, web: GuardedWeb
) -> None:
    site.routes["/a"] = page("<p>Grüße</p>")
    got = await web.fetch(site.url("/a?x=1#part"))
    assert (got.status, got.media_type, got.body.decode()) == (200, "text/html", "<p>Grüße</p>")
    assert got.url == site.url("/a?x=1")
    assert not got.truncated
    asked = site.asked[0]
    assert asked.headers["host"] == site.origin
    assert asked.headers["user-agent"].startswith("sam-tui/")


@pytest.mark.requirement("web:allow-list")
async def test_loopback_is_refused_unless_exactly_this_server_is_allowed(site: WebServer) -> None:
    site.routes["/"] = page("private")
    for allowed in (
        frozenset[str](),
        frozenset({f"127.0.0.1:{site.port + 1}"}),
        frozenset({"127.0.0.1"}),
    ):
        with pytest.raises(ToolError):
            await GuardedWeb(allowed=allowed).fetch(site.url())
    assert site.asked == []
    allowed = frozenset({site.origin})
    for spelling in ("127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"):
        address = f"http://{spelling}:{site.port}/"
        if spelling.startswith("["):
            with pytest.raises(ToolError):
                await GuardedWeb(allowed=allowed).fetch(address)
        else:
            assert (await GuardedWeb(allowed=allowed).fetch(address)).body == b"private"


@pytest.mark.requirement("web:redirects")
async def test_a_redirect_is_checked_like_a_first_address(site: WebServer, web: GuardedWeb) -> None:
    for bad in (
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://2130706433/",
        f"http://127.0.0.1:{site.port + 1}/",
        "//10.0.0.1/",
        "file:///etc/passwd",
        "http://user:pw@example.com/",
        "http://metadata.google.internal/",
        "http://[bad/",
    ):
        site.routes["/go"] = moved(bad)
        with pytest.raises(ToolError):
            await web.fetch(site.url("/go"))
    assert set(site.paths) == {"/go"}


@pytest.mark.requirement("web:redirects")
async def test_five_redirects_are_followed_and_a_sixth_is_not(
    site: WebServer, web: GuardedWeb
) -> None:
    for number in range(7):
        site.routes[f"/{number}"] = moved(
            f"/{number + 1}", status=(301, 302, 303, 307, 308)[number % 5]
        )
    site.routes["/5"] = page("there")
    assert (await web.fetch(site.url("/0"))).url == site.url("/5")
    site.routes["/5"] = moved("/6")
    site.routes["/6"] = page("too far")
    with pytest.raises(ToolError, match="more than 5"):
        await web.fetch(site.url("/0"))
    assert "/6" not in site.paths


@pytest.mark.requirement("web:redirects")
async def test_what_was_sent_and_its_headers_stay_with_the_first_site(
    site: WebServer,
) -> None:
    async with WebServer({"/to": page("there")}) as other:
        web = GuardedWeb(allowed=frozenset({site.origin, other.origin}))
        site.routes["/go"] = moved(other.url("/to"))
        await web.fetch(site.url("/go"), headers={"Authorization": "Bearer k", "Cookie": "a=b"})
        assert site.asked[0].headers["authorization"] == "Bearer k"
        assert not {"authorization", "cookie"} & other.asked[0].headers.keys()
        site.routes["/post"] = moved(other.url("/to"), status=307)
        with pytest.raises(ToolError, match="not followed"):
            await web.fetch(site.url("/post"), method="POST", data=b"secret")
        site.routes["/see"] = moved("/done", status=303)
        site.routes["/done"] = page("done")
        await web.fetch(site.url("/see"), method="POST", data=b"secret")
        assert (site.asked[-1].method, site.asked[-1].body) == ("GET", b"")
        assert len(other.asked) == 1


@pytest.mark.requirement("web:no-cookies")
async def test_a_cookie_of_one_answer_is_not_sent_with_the_next(
    site: WebServer, web: GuardedWeb
) -> None:
    site.routes["/go"] = Answer(b"", 302, {"location": "/end", "set-cookie": "id=1; Path=/"})
    site.routes["/end"] = page("end")
    await web.fetch(site.url("/go"))
    await web.fetch(site.url("/end"))
    assert all("cookie" not in asked.headers for asked in site.asked)


@pytest.mark.requirement("web:rebinding")
async def test_the_checked_address_is_the_one_connected_to(site: WebServer) -> None:
    """A name that is public when checked and loopback when looked up again is asked for only once."""
    site.routes["/"] = page("reached")
    names = Names([["127.0.0.1"], ["10.0.0.1"]])
    web = GuardedWeb(allowed=frozenset({f"rebind.example:{site.port}"}), resolver=names)
    got = await web.fetch(f"http://rebind.example:{site.port}/")
    assert got.body == b"reached"
    assert names.asked == [("rebind.example", site.port)]
    assert site.asked[0].headers["host"] == f"rebind.example:{site.port}"
    assert got.url == f"http://rebind.example:{site.port}/"


@pytest.mark.requirement("web:rebinding")
async def test_a_name_with_one_private_address_is_refused(site: WebServer) -> None:
    for answers in (
        ["127.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        ["::ffff:127.0.0.1"],
        ["fe80::1%lo"],
    ):
        web = GuardedWeb(resolver=Names([answers]))
        with pytest.raises(ToolError, match="not on the public internet"):
            await web.fetch("http://rebind.example:8080/")
    assert site.asked == []


@pytest.mark.requirement("web:rebinding")
async def test_a_name_is_looked_up_again_after_a_redirect_to_itself(site: WebServer) -> None:
    site.routes["/"] = moved(f"http://rebind.example:{site.port}/again")
    names = Names([["127.0.0.1"], []])
    web = GuardedWeb(allowed=frozenset({f"rebind.example:{site.port}"}), resolver=names)
    with pytest.raises(ToolError, match="was not found"):
        await web.fetch(f"http://rebind.example:{site.port}/")
    assert len(names.asked) == 2


@pytest.mark.requirement("web:unreachable")
async def test_a_name_that_is_not_there_and_a_closed_port_are_told() -> None:
    with pytest.raises(ToolError, match="was not found"):
        await GuardedWeb().fetch("http://nowhere.invalid/")
    async with WebServer() as gone:
        pass
    with pytest.raises(ToolError, match="cannot be reached"):
        await GuardedWeb(allowed=frozenset({gone.origin})).fetch(gone.url())


@pytest.mark.requirement("web:unreachable")
async def test_the_next_address_is_tried_where_one_does_not_answer(site: WebServer) -> None:
    site.routes["/"] = page("second")
    names = Names([["::1", "127.0.0.1"]])
    web = GuardedWeb(allowed=frozenset({f"two.example:{site.port}"}), resolver=names)
    assert (await web.fetch(f"http://two.example:{site.port}/")).body == b"second"


@pytest.mark.requirement("web:time")
async def test_a_server_that_never_ends_is_left_at_the_time_limit(
    site: WebServer, web: GuardedWeb
) -> None:
    site.routes["/slow"] = Answer(b"a little", hang=True)
    with pytest.raises(ToolError, match=r"did not answer in full within 0\.2 s"):
        await web.fetch(site.url("/slow"), seconds=0.2)


@pytest.mark.requirement("web:time")
async def test_a_connection_that_breaks_is_told(site: WebServer, web: GuardedWeb) -> None:
    site.routes["/cut"] = Answer(b"half", cut=True)
    with pytest.raises(ToolError, match="broke off"):
        await web.fetch(site.url("/cut"))


@pytest.mark.requirement("web:status")
async def test_a_status_is_an_answer_until_it_must_be_a_success(
    site: WebServer, web: GuardedWeb
) -> None:
    site.routes["/busy"] = Answer(b"", 429, {"retry-after": "7"})
    got = await web.fetch(site.url("/busy"))
    assert got.status == 429
    with pytest.raises(ToolError, match="429 Too Many Requests") as caught:
        got.accepted()
    assert "7 s" in caught.value.hint
    with pytest.raises(ToolError, match="404 Not Found"):
        (await web.fetch(site.url("/nothing"))).accepted()


@pytest.mark.requirement("web:headers")
async def test_the_host_header_belongs_to_the_door(site: WebServer, web: GuardedWeb) -> None:
    with pytest.raises(ToolError, match="host cannot be set"):
        await web.fetch(site.url(), headers={"Host": "evil.example"})
    with pytest.raises(ToolError, match="headers cannot contain"):
        await web.fetch(site.url(), headers={"X-Key": "schlüssel"})
    assert site.asked == []


@pytest.mark.requirement("web:no-proxy")
async def test_proxies_of_the_environment_are_not_used(
    site: WebServer, web: GuardedWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with WebServer() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        site.routes["/"] = page("direct")
        assert (await web.fetch(site.url())).body == b"direct"
        assert proxy.asked == []


@pytest.mark.requirement("web:cancel")
async def test_cancelling_ends_the_request(site: WebServer, web: GuardedWeb) -> None:
    arrived = asyncio.Event()

    def hang(_: Asked) -> Answer:
        arrived.set()
        return Answer(b"", hang=True)

    site.routes["/"] = hang
    task = asyncio.get_running_loop().create_task(web.fetch(site.url()))
    await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
