"""Streams over HTTP that break, and clients that come back to them."""

import http.client
import json
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from mcp.server.streamable_http import EventMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse

from sam_tui.mcp_server.http.sessions import SessionEvents, StoredEvents
from tests.mcp.conftest import SECONDS, House, Place
from tests.mcp.test_http import BOTH, begin, knock

WAITS = {"operation": "run_command", "command": "exec 9>alive; echo told $(cat go)"}


@dataclass(frozen=True, slots=True)
class Told:
    """One event of a stream."""

    id: str
    retry: str
    data: str

    @property
    def message(self) -> dict[str, Any]:
        """What it carries."""
        return json.loads(self.data) if self.data else {}


def events(response: http.client.HTTPResponse) -> Iterator[Told]:
    """The events of a stream, as they come."""
    fields: dict[str, str] = {}
    for line in response:
        name, _, value = line.decode().strip().partition(": ")
        if name:
            fields[name] = value
        elif fields:
            yield Told(fields.get("id", ""), fields.get("retry", ""), fields.get("data", ""))
            fields = {}


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a raw client; each request has a connection of its own."""

    house: House
    id: str

    def open(
        self, method: str, body: object = None, **headers: str
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send a request and leave its answer to be read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.house.port, timeout=SECONDS)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        keys: Mapping[str, str] = {**BOTH, **self.house.keys, "Mcp-Session-Id": self.id, **named}
        connection.request(method, "/mcp", json.dumps(body) if body else None, dict(keys))
        return connection, connection.getresponse()

    def call(
        self, arguments: Mapping[str, Any], **headers: str
    ) -> tuple[http.client.HTTPConnection, Iterator[Told]]:
        """Begin a call of the terminal; its stream."""
        params = {"name": "terminal_operations", "arguments": dict(arguments)}
        body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        connection, response = self.open("POST", body, **headers)
        return connection, events(response)

    def resume(self, last: str) -> list[Told]:
        """Come back after an event, and read to the end or to an answer."""
        connection, response = self.open("GET", Last_Event_ID=last)
        told: list[Told] = []
        with closing(connection):
            assert response.status == 200, response.read()
            for event in events(response):
                told.append(event)
                if "result" in event.message:
                    break
        return told


@pytest.fixture
def house(place: Place) -> Generator[House]:
    """A server over a workspace with two named pipes."""
    for name in ("alive", "go"):
        os.mkfifo(place.workspace / name)
    with place.http() as house:
        yield house


@pytest.mark.requirement("mcp:resume")
@pytest.mark.parametrize("named", ["2025-11-25", "2025-03-26", ""])
def test_a_stream_begins_with_where_to_resume_it_and_when(house: House, named: str) -> None:
    session = Session(house, begin(house))
    headers = {"Mcp_Protocol_Version": named} if named else {}
    connection, stream = session.call({"operation": "list_sessions"}, **headers)
    with closing(connection):
        first, *_, last = list(stream)
    assert (bool(first.id), first.retry, first.data) == (True, "1000", "")
    assert last.id and last.message["id"] == 7


@pytest.mark.requirement("mcp:resume")
def test_an_older_client_gets_no_event_that_it_cannot_read(house: House) -> None:
    session = Session(house, begin(house, "2025-06-18"))
    connection, stream = session.call({"operation": "list_sessions"})
    with closing(connection):
        assert all(event.data for event in stream)


@pytest.mark.requirement("mcp:resume")
def test_a_call_goes_on_while_its_client_comes_back(house: House, place: Place) -> None:
    session = Session(house, begin(house))
    connection, stream = session.call(WAITS)
    last = next(stream).id
    with (place.workspace / "alive").open("rb") as alive:
        connection.close()
        stranger = Session(house, begin(house))
        refused, answer = stranger.open("GET", Last_Event_ID=last)
        with closing(refused):
            assert answer.status == 400
        back, answer = session.open("GET", Last_Event_ID=last)
        back.close()
        (place.workspace / "go").write_text("late")
        assert alive.read() == b""
    told: list[Told] = []
    while not any("result" in event.message for event in told):
        told = session.resume(last)
    result = told[-1].message["result"]
    assert not result["isError"] and "told late" in result["content"][0]["text"]
    assert session.resume(told[-1].id) == []


@pytest.mark.requirement("mcp:resume")
def test_what_is_not_kept_is_refused_and_an_ended_session_keeps_nothing(house: House) -> None:
    session = Session(house, begin(house))
    for unknown in ("999999", "none", "-1", "9" * 40):
        connection, response = session.open("GET", Last_Event_ID=unknown)
        with closing(connection):
            assert (response.status, "no longer stored" in response.read().decode()) == (400, True)
    mine = {"Mcp-Session-Id": session.id}
    assert knock(house, b"", mine, method="DELETE")[0] == 200
    assert knock(house, b"", {**mine, "Last-Event-ID": "1"}, method="GET")[0] == 404


@pytest.mark.requirement("mcp:resume")
async def test_what_is_kept_has_bounds_and_the_oldest_goes_first() -> None:
    kept = StoredEvents(20_000)
    mine, other = SessionEvents(kept), SessionEvents(kept)
    first = await mine.store_event("1", None)
    stranger = await other.store_event("1", None)
    ids = [
        await mine.store_event(
            "1", JSONRPCNotification(jsonrpc="2.0", method="note", params={"text": "x" * 1000})
        )
        for _ in range(100)
    ]
    told: list[EventMessage] = []

    async def take(event: EventMessage) -> None:
        told.append(event)

    for gone in (first, ids[0], stranger):
        assert await mine.replay_events_after(gone, take) is None
    assert await other.replay_events_after(ids[-1], take) is None
    assert not told
    assert await mine.replay_events_after(ids[-4], take) == "1"
    assert [event.event_id for event in told] == ids[-3:]
    await mine.store_event("1", JSONRPCResponse(jsonrpc="2.0", id=1, result={}))
    assert await mine.replay_events_after(ids[-1], take) is None
    assert told[-1].message == JSONRPCResponse(jsonrpc="2.0", id=1, result={})
    kept.forget(mine)
    assert await mine.replay_events_after(ids[-1], take) is None
