"""The door of the HTTP server, knocked on by hand."""

import asyncio
import http.client
import json
import os
import socket
import stat
import subprocess
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import SECONDS, House, Person, Place, decides, text_of
from tests.mcp.fuzz import frames

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}
BOTH = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[House, Place]]:
    """One server for the tests of this module."""
    place = Place(tmp_path_factory.mktemp("http"))
    place.workspace.mkdir()
    with place.http() as house:
        yield house, place


def knock(
    house: House,
    body: Any = PING,
    headers: Mapping[str, str | None] | None = None,
    *,
    method: str = "POST",
    path: str = "/mcp",
) -> tuple[int, Mapping[str, str], str]:
    """One request as it is; headers named None are left out. Status, headers and body."""
    given: dict[str, str | None] = {
        "Host": f"127.0.0.1:{house.port}",
        **BOTH,
        **house.keys,
        **(headers or {}),
    }
    connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=SECONDS)
    try:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(text)))
        connection.endheaders(text)
        response = connection.getresponse()
        return response.status, dict(response.headers), response.read().decode()
    finally:
        connection.close()


def begin(house: House, version: str = "2025-11-25") -> str:
    """The handshake; the id of its session."""
    hello = {**HELLO, "params": {**HELLO["params"], "protocolVersion": version}}
    return {k.lower(): v for k, v in knock(house, hello)[1].items()}["mcp-session-id"]


@pytest.mark.requirement("mcp:access")
@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (401, {"Authorization": None}),
        (401, {"Authorization": "Bearer wrong"}),
        (401, {"Authorization": "Basic {token}"}),
        (401, {"Authorization": "Bearer {token}x"}),
        (403, {"Origin": "https://evil.example"}),
        (403, {"Origin": "null"}),
        (403, {"Origin": "http://localhost:1"}),
        (403, {"Origin": "http://127.0.0.1:{port}.evil.example"}),
        (421, {"Host": "evil.example"}),
        (421, {"Host": "evil.example:{port}"}),
        (421, {"Host": "127.0.0.1"}),
        (421, {"Host": "127.0.0.1:{port}.evil.example"}),
    ],
)
def test_who_has_no_token_or_comes_from_elsewhere_stays_outside(
    shared: tuple[House, Place], status: int, headers: dict[str, str | None]
) -> None:
    house = shared[0]
    filled = {
        name: value and value.replace("{port}", str(house.port)).replace("{token}", house.token)
        for name, value in headers.items()
    }
    for body in (HELLO, PING):
        answered, told, text = knock(house, body, filled)
        assert answered == status
        assert house.token not in text
        assert "mcp-session-id" not in {name.lower() for name in told}
    if status == 401:
        assert told["www-authenticate"] == "Bearer"


@pytest.mark.requirement("mcp:access")
@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}"])
def test_who_has_the_token_comes_in_by_every_name_of_this_machine(
    shared: tuple[House, Place], host: str
) -> None:
    house = shared[0]
    name = host.replace("{port}", str(house.port))
    status, headers, _ = knock(house, HELLO, {"Host": name, "Origin": f"http://{name}"})
    assert status == 200
    session = {k.lower(): v for k, v in headers.items()}["mcp-session-id"]
    mine, another = ({"Host": name, "Mcp-Session-Id": i} for i in (session, "another"))
    assert knock(house, PING, mine)[0] == 200
    assert knock(house, PING, another)[0] == 404
    assert knock(house, b"", mine, method="DELETE")[0] == 200
    assert knock(house, PING, mine)[0] == 404


@pytest.mark.requirement("mcp:handshake")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_version_of_the_handshake_is_spoken(
    shared: tuple[House, Place], version: str
) -> None:
    params = {**HELLO["params"], "protocolVersion": version}
    status, _, text = knock(shared[0], {**HELLO, "params": params})
    data = next(line for line in text.splitlines() if line.startswith("data: {"))
    opened = json.loads(data.removeprefix("data: "))["result"]
    assert (status, opened["protocolVersion"]) == (200, version)
    assert opened["serverInfo"]["name"] == "sam-tui"


@pytest.mark.requirement("mcp:access", "mcp:errors")
def test_what_is_no_request_is_refused_in_the_words_of_http_and_json_rpc(
    shared: tuple[House, Place],
) -> None:
    house = shared[0]
    assert knock(house, path="/")[0] == 404
    assert knock(house, path="/mcp/../etc/passwd")[0] == 404
    assert knock(house, b"{nonsense")[0] == 400
    assert knock(house, HELLO, {"Content-Type": "text/plain"})[0] == 400
    assert knock(house, HELLO, {"Accept": "text/html"})[0] == 406
    assert knock(house, b"x" * (17 * 1024 * 1024))[0] == 413
    odds: tuple[Any, ...] = (1.5, None, True, [], {})
    for odd in odds:  # who waits for an answer gets one
        status, _, text = knock(house, {**PING, "id": odd})
        assert (status, json.loads(text)["error"]["code"]) == (400, -32600)
    assert json.loads(knock(house, [PING])[2])["error"]["code"] == -32600
    unknown: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
    assert knock(house, unknown, {"MCP-Protocol-Version": "2199-01-01"})[0] == 400


@pytest.mark.requirement("mcp:access")
def test_two_hosts_or_two_tokens_are_one_too_many(shared: tuple[House, Place]) -> None:
    house = shared[0]
    for twice in (f"Host: localhost:{house.port}", f"Authorization: Bearer {house.token}"):
        with socket.create_connection(("127.0.0.1", house.port), timeout=SECONDS) as raw:
            lines = [
                "POST /mcp HTTP/1.1",
                f"Host: 127.0.0.1:{house.port}",
                f"Authorization: Bearer {house.token}",
                twice,
                "Content-Length: 0",
                "Connection: close",
            ]
            raw.sendall("\r\n".join([*lines, "", ""]).encode())
            answer = b"".join(iter(lambda: raw.recv(65536), b""))
        assert answer.split()[1] in (b"400", b"401", b"421")


@pytest.mark.requirement("mcp:token")
def test_the_token_is_kept_for_its_owner_alone_and_stays_the_same(
    shared: tuple[House, Place], tmp_path: Path
) -> None:
    house, place = shared
    path = place.data / "mcp-token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(house.token) >= 43
    again = Place(tmp_path)
    again.workspace.mkdir()
    again.data.mkdir()
    kept = again.data / "mcp-token"
    kept.write_text(house.token + "\n", "ascii")
    kept.chmod(0o600)
    with again.http() as second:
        assert second.token == house.token
        assert knock(second)[0] == 400  # inside: a ping without a session
    kept.chmod(0o644)
    refused = subprocess.run(
        again.command("--transport", "http", "--port", "0"),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert refused.returncode == 52
    assert "Others can read" in refused.stderr and house.token not in refused.stderr


@pytest.mark.requirement("mcp:token")
async def test_the_agent_reads_the_token_by_no_way(shared: tuple[House, Place]) -> None:
    house, place = shared
    path = str(place.data / "mcp-token")
    async with house.client() as client:
        for name, arguments in (
            ("file_operations.read_file", {"filePath": path}),
            ("terminal_operations.run_command", {"command": f"cat {path}"}),
            ("terminal_operations.run_command", {"command": f"cd {place.data} && cat mcp-tok*"}),
        ):
            result = await client.call_tool(name, arguments)
            assert house.token not in text_of(result)
            assert house.token not in json.dumps(result.structured_content)


@pytest.mark.requirement("mcp:token")
def test_a_port_that_is_taken_is_said_in_a_sentence(shared: tuple[House, Place]) -> None:
    house, place = shared
    refused = subprocess.run(
        place.command("--transport", "http", "--port", str(house.port)),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert refused.returncode == 2
    assert f"Port {house.port}" in refused.stderr and "--port" in refused.stderr


@pytest.mark.requirement("mcp:two-clients", "mcp:conversations")
async def test_two_clients_at_once_have_their_own_todos_and_their_own_person(
    shared: tuple[House, Place], tmp_path: Path
) -> None:
    house = shared[0]
    yes, no = Person([decides("once")]), Person([decides("deny")])
    async with (
        house.client(era="legacy", person=yes) as one,
        house.client(era="legacy", person=no) as two,
    ):
        todos = [{"id": 1, "title": "mine", "status": "not-started", "description": "d"}]
        await one.call_tool("todo_operations", {"operation": "write", "todoList": todos})
        write = {"operation": "create_file", "content": "x"}
        done, refused, seen = await asyncio.gather(
            one.call_tool("file_operations", {**write, "filePath": str(tmp_path / "one")}),
            two.call_tool("file_operations", {**write, "filePath": str(tmp_path / "two")}),
            two.call_tool("todo_operations", {"operation": "read"}),
        )
    assert (done.is_error, refused.is_error) == (False, True)
    assert "mine" not in text_of(seen)
    assert os.listdir(tmp_path) == ["one"]
    assert (len(yes.asked), len(no.asked)) == (1, 1)


@pytest.mark.requirement("mcp:endings")
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2026-07-28"])
async def test_a_connection_that_breaks_cancels_its_call(place: Place, version: str) -> None:
    with place.http("--resume-within", "0") as house:
        await breaks(house, place, version)


async def breaks(house: House, place: Place, version: str) -> None:
    """Hang up in the middle of a call and wait until what it runs has ended."""
    name = "alive"
    alive = place.workspace / name
    os.mkfifo(alive)
    headers = {"Host": f"127.0.0.1:{house.port}", **BOTH, **house.keys}
    params: dict[str, Any] = {
        "name": "terminal_operations",
        "arguments": {"operation": "run_command", "command": f"exec 9>{name}; exec sleep 1000"},
    }
    if version == "2026-07-28":
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}
        headers["Mcp-Name"] = "terminal_operations"
    else:
        headers["Mcp-Session-Id"] = await asyncio.to_thread(begin, house, version)
    body = json.dumps({
        "jsonrpc": "2.0",
        "id": 9,
        "method": "tools/call",
        "params": params,
    }).encode()
    head = [f"{key}: {value}" for key, value in headers.items()]
    lines = ["POST /mcp HTTP/1.1", *head, f"Content-Length: {len(body)}", "", ""]
    _, writer = await asyncio.open_connection("127.0.0.1", house.port)
    writer.write("\r\n".join(lines).encode() + body)
    await writer.drain()
    file = await asyncio.wait_for(asyncio.to_thread(alive.open, "rb"), SECONDS)
    with file:
        writer.close()
        assert await asyncio.wait_for(asyncio.to_thread(file.read), SECONDS) == b""


@pytest.mark.requirement("mcp:access")
def test_unfinished_requests_large_bodies_and_chosen_sessions_keep_nobody_out(
    shared: tuple[House, Place],
) -> None:
    house = shared[0]
    slow = [socket.create_connection(("127.0.0.1", house.port)) for _ in range(100)]
    try:
        for one in slow:
            one.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        # A stranger's body is refused by its headers, and the owner's by its size.
        assert _status_of_headers(house, "") == 401
        assert _status_of_headers(house, house.token) == 413
        assert knock(house, HELLO, {"Mcp-Session-Id": "chosen-by-somebody"})[0] in (400, 404)
        session = begin(house)
        assert session != "chosen-by-somebody"
        assert knock(house, PING, {"Mcp-Session-Id": session})[0] == 200
    finally:
        for one in slow:
            one.close()


def _status_of_headers(house: House, token: str) -> int:
    """The answer to a request whose body of a terabyte is announced and hardly begun."""
    with socket.create_connection(("127.0.0.1", house.port)) as connection:
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{house.port}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            "Content-Length: 1000000000000\r\n\r\n{"
        )
        connection.sendall(head.encode())
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.requirement("mcp:fuzzed")
def test_requests_that_are_nearly_right_end_nothing_and_do_nothing(
    shared: tuple[House, Place], tmp_path: Path
) -> None:
    house, _ = shared
    marker = tmp_path / "marker"
    session = knock(house, HELLO)[1]["mcp-session-id"]
    modern = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}
    faults: list[tuple[bytes, int]] = []
    for number, body in enumerate(frames(2, 120, marker)):
        headers = modern if number % 2 else {"Mcp-Session-Id": session}
        status = knock(house, body, headers)[0]
        if status >= 500:
            faults.append((body, status))
    assert faults == []
    assert knock(house, PING, {"Mcp-Session-Id": session})[0] == 200
    assert not marker.exists()


@pytest.mark.requirement("mcp:tasks")
@pytest.mark.parametrize(("named", "code"), [("a", -32602), ("b", -32020), (None, -32602)])
def test_a_header_that_names_another_task_is_refused(
    shared: tuple[House, Place], named: str | None, code: int
) -> None:
    capabilities: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tasks/get",
        "params": {"taskId": "a", "_meta": meta},
    }
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tasks/get", "Mcp-Name": named}
    answer = knock(shared[0], body, headers)[2]
    data = next(
        (line for line in answer.splitlines() if line.startswith("data:")), f"data:{answer}"
    )
    assert json.loads(data[5:])["error"]["code"] == code
