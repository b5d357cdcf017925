"""Who may open a workbench over HTTP on loopback, without a browser, and what is left of one."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager

import aiohttp
import pytest

from sam_tui.cli.commands.serve import (
    _workbench_arguments,  # pyright: ignore[reportPrivateUsage] # what a page's program starts with
    serve_command,
)
from sam_tui.loopback.server import MOST_CONNECTIONS
from sam_tui.web_server.entry import MOST_LOGINS, TICKET_SECONDS, PageLogins
from sam_tui.web_server.workbenches import Size, environment_of_page
from tests.browser.conftest import SECONDS, SEES_PROGRAMS, Server

pytestmark = pytest.mark.timeout(4 * SECONDS)
ELSEWHERE = "http://evil.example"
OPTIONS = [
    *("--api-key", "sk-of-nobody-0123456789", "--permission-mode", "plan", "--settings", "{}"),
    *("--add-dir", "/usr", "--add-dir", "/etc", "--rehearse"),
]
"""Options of each kind, for workbenches."""


def login(server: Server) -> tuple[str, str]:
    """The cookie and the key of a browser that was invited."""
    invitation = server.invitation().partition("#")[2]
    answer = server.ask(
        "POST", "/login", Authorization=f"Bearer {invitation}", Origin=server.origin
    )
    assert answer.status == 200
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Domain" not in cookie
    return cookie.partition(";")[0], answer.body["key"]


def ticket(server: Server, cookie: str, key: str) -> str:
    """Where a workbench is, once."""
    answer = server.ask(
        "POST", "/ticket", Authorization=f"Bearer {key}", Origin=server.origin, Cookie=cookie
    )
    assert answer.status == 200, answer
    return answer.body["path"]


@asynccontextmanager
async def connected(
    server: Server, path: str, **headers: str
) -> AsyncGenerator[aiohttp.ClientWebSocketResponse]:
    """A page's connection."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{server.origin}{path}", headers=headers) as socket,
    ):
        yield socket


async def refused(server: Server, path: str, **headers: str) -> int:
    """With which status a connection is refused."""
    with pytest.raises(aiohttp.WSServerHandshakeError) as error:
        async with connected(server, path, **headers):
            pass
    return error.value.status


async def drawn(socket: aiohttp.ClientWebSocketResponse, text: bytes) -> None:
    """Wait for a text of the workbench."""
    seen = b""
    while text not in seen:
        seen += await socket.receive_bytes(timeout=SECONDS)


@pytest.mark.requirement("browser:access")
def test_connections_that_send_half_a_request_keep_nobody_out(server: Server) -> None:
    with ExitStack() as clients:
        for _ in range(MOST_CONNECTIONS + 1):
            client = clients.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            client.sendall(b"GET / HTTP/1.1\r\nHost:")
        for _ in range(3):  # the first may be accepted before the others were read
            assert server.ask("GET", "/").status == 200


@pytest.mark.requirement("browser:access", "browser:login")
def test_what_is_answered_to_whom(server: Server) -> None:
    ours, token = server.origin, f"Bearer {server.token}"
    cookie, key = login(server)
    cases: list[tuple[int, str, str, dict[str, str]]] = [
        (200, "GET", "/", {}),
        (200, "GET", "/client.js", {"Origin": ours}),
        (421, "GET", "/", {"Host": f"evil.example:{server.port}"}),
        (421, "GET", "/", {"Host": "127.0.0.1"}),
        (403, "GET", "/", {"Origin": ELSEWHERE}),
        (403, "GET", "/", {"Origin": "null"}),
        (403, "GET", "/", {"Origin": f"http://127.0.0.1:{server.port + 1}"}),
        (404, "GET", "/elsewhere", {"Origin": ours}),
        (403, "GET", "/elsewhere", {}),
        (404, "GET", "/download/x", {"Origin": ours}),
        (404, "GET", "/static/js/textual.js", {"Origin": ours}),
        (404, "GET", "/..%2f..%2fetc%2fpasswd", {"Origin": ours}),
        (405, "POST", "/", {"Origin": ours}),
        (401, "POST", "/invitation", {}),
        (401, "POST", "/invitation", {"Authorization": f"Bearer {key}"}),
        (403, "POST", "/invitation", {"Authorization": token, "Origin": ELSEWHERE}),
        (401, "POST", "/login", {"Origin": ours}),
        (401, "POST", "/login", {"Origin": ours, "Authorization": token}),
        (403, "POST", "/login", {"Authorization": token}),
        (401, "POST", "/ticket", {"Origin": ours}),
        (401, "POST", "/ticket", {"Origin": ours, "Cookie": cookie}),
        (401, "POST", "/ticket", {"Origin": ours, "Authorization": f"Bearer {key}"}),
        (401, "POST", "/ticket", {"Origin": ours, "Authorization": token, "Cookie": cookie}),
        (403, "POST", "/ticket", {"Authorization": f"Bearer {key}", "Cookie": cookie}),
        (401, "GET", "/workbench/x", {"Origin": ours, "Cookie": cookie}),
    ]
    for status, method, path, headers in cases:
        answer = server.ask(method, path, **headers)
        assert answer.status == status, (method, path, headers, answer)
        assert answer.headers["x-frame-options"] == "DENY"
    policy = server.ask("GET", "/").headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.requirement("browser:login")
def test_an_invitation_is_good_once(server: Server) -> None:
    invitation = server.invitation().partition("#")[2]
    headers = {"Authorization": f"Bearer {invitation}", "Origin": server.origin}
    assert [server.ask("POST", "/login", **headers).status for _ in range(2)] == [200, 401]


@pytest.mark.requirement("browser:access")
async def test_a_ticket_opens_one_workbench_for_the_browser_that_got_it(server: Server) -> None:
    cookie, key = login(server)
    other, _ = login(server)
    ours = server.origin
    assert (
        await refused(server, ticket(server, cookie, key), Origin=ELSEWHERE, Cookie=cookie) == 403
    )
    assert await refused(server, ticket(server, cookie, key), Cookie=cookie) == 403
    assert await refused(server, ticket(server, cookie, key), Origin=ours) == 401
    assert await refused(server, ticket(server, cookie, key), Origin=ours, Cookie=other) == 401
    host = {"Host": f"evil.example:{server.port}"}
    path = ticket(server, cookie, key)
    assert await refused(server, path, Origin=ours, Cookie=cookie, **host) == 421
    assert server.programs() == []
    async with connected(server, path, Origin=ours, Cookie=cookie) as socket:
        await drawn(socket, b"ready")
        assert await refused(server, path, Origin=ours, Cookie=cookie) == 401


@pytest.mark.requirement("browser:ends")
@pytest.mark.parametrize("server", [["--most-workbenches", "2"]], indirect=True)
async def test_so_many_at_most_and_each_ends_with_its_page(server: Server) -> None:
    cookie, key = login(server)
    headers = {"Origin": server.origin, "Cookie": cookie}
    async with connected(server, ticket(server, cookie, key), **headers) as first:
        third = ticket(server, cookie, key)
        async with connected(server, ticket(server, cookie, key), **headers) as second:
            assert await refused(server, third, **headers) == 503  # tickets hold for some seconds
            full = server.ask("POST", "/ticket", Authorization=f"Bearer {key}", **headers)
            assert full.status == 503
            # Both are read: who does not answer the server's pings is gone.
            await asyncio.gather(drawn(first, b"ready"), drawn(second, b"ready"))
        while server.ask("POST", "/ticket", Authorization=f"Bearer {key}", **headers).status == 503:
            pass  # the second one ends
        await first.send_json(["ping", "x"])
        async for message in first:
            if message.type is aiohttp.WSMsgType.TEXT:
                assert json.loads(message.data) == ["pong", "x"]
                break
        # What is no message of the page ends it.
        await first.send_json(["deliver_chunk_request", {"key": "x", "size": 1}])
        while (await first.receive(SECONDS)).type is aiohttp.WSMsgType.BINARY:
            pass
        assert first.close_code == aiohttp.WSCloseCode.POLICY_VIOLATION
    server.empty()


@pytest.mark.requirement("browser:ends")
async def test_a_workbench_that_ends_closes_its_page_and_a_server_that_ends_its_workbenches(
    server: Server,
) -> None:
    cookie, key = login(server)
    headers = {"Origin": server.origin, "Cookie": cookie}
    async with connected(server, ticket(server, cookie, key), **headers) as socket:
        await drawn(socket, b"ready")
        await socket.send_json(["stdin", "/quit\r"])
        async with asyncio.timeout(SECONDS):
            async for _ in socket:
                pass
    async with connected(server, ticket(server, cookie, key), **headers) as socket:
        await drawn(socket, b"ready")
        server.process.terminate()
        async with asyncio.timeout(SECONDS):
            async for _ in socket:
                pass
    await asyncio.to_thread(server.process.wait, SECONDS)
    assert server.programs() == []


@SEES_PROGRAMS
@pytest.mark.requirement("browser:ends")
async def test_workbenches_end_with_a_server_that_is_killed(server: Server) -> None:
    cookie, key = login(server)
    headers = {"Origin": server.origin, "Cookie": cookie}
    async with connected(server, ticket(server, cookie, key), **headers) as socket:
        await drawn(socket, b"ready")
        assert server.programs()
        server.process.kill()
        server.killed.append(True)
    server.empty()


@SEES_PROGRAMS
@pytest.mark.requirement("browser:arguments")
@pytest.mark.parametrize("server", [OPTIONS], indirect=True)
async def test_a_page_adds_no_arguments_and_a_key_is_in_no_list(server: Server) -> None:
    cookie, key = login(server)
    path = ticket(server, cookie, key) + "?width=99&height=30&arguments=--print&model=x"
    async with connected(server, path, Origin=server.origin, Cookie=cookie) as socket:
        await drawn(socket, b"ready")
        (line, *_) = [
            line for line in server.programs() if "sam_tui --" in line or "-m sam_tui" in line
        ]
        assert "sk-of-nobody" not in " ".join(server.programs())
        assert "--print" not in line and "serve" not in line
        assert f"--workspace={server.folder / 'ws'}" in line
        assert "--permission-mode=plan" in line and "--settings={}" in line
        assert "--add-dir=/usr --add-dir=/etc" in line and "--rehearse" in line
        assert "--dangerously" not in line


@pytest.mark.requirement("browser:arguments")
def test_a_flag_for_one_value_of_an_option_reaches_a_workbench_as_that_option() -> None:
    words = ["--web", "--dangerously-skip-permissions"]
    with serve_command.make_context("serve", words) as context:
        assert _workbench_arguments(context.params) == ("--permission-mode=bypass",)


@pytest.mark.requirement("browser:access")
@pytest.mark.parametrize(
    "server", [["--public-url", "https://harness.example.ts.net"]], indirect=True
)
def test_a_tunnel_that_was_named_may_come_in_and_gets_a_secure_cookie(server: Server) -> None:
    public = {"Host": "harness.example.ts.net", "Origin": "https://harness.example.ts.net"}
    invitation = server.invitation().partition("#")[2]
    answer = server.ask("POST", "/login", Authorization=f"Bearer {invitation}", **public)
    assert answer.status == 200 and "Secure" in answer.headers["set-cookie"]
    assert server.ask("GET", "/", Host="other.example.ts.net").status == 421


@pytest.mark.requirement("browser:login")
def test_tickets_end_after_a_while_and_old_logins_are_forgotten() -> None:
    now = [0.0]
    logins = PageLogins(clock=lambda: now[0])
    first = logins.login({logins.invitation()}.__contains__)
    assert first is not None
    late = logins.ticket(first.cookie, first.key.__eq__)
    assert late is not None
    now[0] += TICKET_SECONDS + 1
    assert not logins.admits(late, first.cookie)
    for _ in range(MOST_LOGINS):
        assert logins.login({logins.invitation()}.__contains__)
    assert logins.ticket(first.cookie, first.key.__eq__) is None


@pytest.mark.requirement("browser:workbench")
def test_a_workbench_hears_of_its_own_terminal_alone() -> None:
    around = {"PATH": "/bin", "TMUX": "x", "LC_ALL": "C", "TERM": "dumb", "TERM_PROGRAM": "y"}
    assert environment_of_page(around) == {
        "PATH": "/bin",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_CTYPE": "C.UTF-8",
    }
    sizes = [Size.of("40", "30"), Size.of(None, "x"), Size.of(-1, 10**9), Size.of([], {})]
    assert sizes == [Size(40, 30), Size(80, 24), Size(20, 200), Size(80, 24)]
