"""Servers that turn on the person who allowed them: other tools, and questions that imitate ours."""

import asyncio
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from sam_tui.adapters.mcp_client.lifetime import Life
from sam_tui.adapters.mcp_client.session import BURST, Paced
from sam_tui.adapters.mcp_client.tool_descriptions import RawTool
from sam_tui.cli.tool_patterns import allowing
from sam_tui.core.ids import CallId
from sam_tui.core.inquiry import Approval, ApprovalRequest, Question, alike
from sam_tui.core.messages import ToolCall
from sam_tui.headless.answers import read_answers
from sam_tui.headless.approvals import Approvals, BlockedEntry
from tests.servers.broken_server import BROKEN
from tests.servers.conftest import House, raw
from tests.servers.http_server import serving


@pytest.mark.requirement("servers:changed-tool")
async def test_a_tool_that_changed_since_it_was_allowed_is_asked_for_anew(house: House) -> None:
    house.user(one=raw())
    house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n')
    async with house.open() as sam:
        await sam.arrive()
        assert await sam.text("mcp__one__echo", text="a") == "a"
        house.person.choice, house.person.asked = Approval("deny", "not like that"), []
        await sam.text("mcp__one__mutate", text="aloud")
        # In the same turn, before the model has read the new description.
        assert "changed its tool echo" in await sam.text("mcp__one__echo", text="b")
        (asked,) = house.person.approvals
        assert "changed the description, arguments or hints of" in asked.why
    house.user(one=raw("changed"))
    house.person.choice = Approval("once")
    async with house.open() as sam:
        await sam.arrive()
        house.person.choice, house.person.asked = Approval("deny"), []
        assert "changed its tool echo" in await sam.text("mcp__one__echo", text="c")
        house.person.choice = Approval("once")
        assert await sam.text("mcp__one__echo", text="d") == "d"
        assert len(house.person.approvals) == 2
        house.person.choice = Approval("deny")
        assert await sam.text("mcp__one__echo", text="e") == "e"
    house.user(one=raw())
    async with house.open(mode="bypass") as sam:
        await sam.arrive()
        assert await sam.text("mcp__one__echo", text="f") == "f"
        assert len(house.person.approvals) == 2


@pytest.mark.requirement("servers:changed-tool")
async def test_calls_beside_each_other_are_both_judged_by_what_the_tool_is_now(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.user(one=raw())
    house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n')
    listed = Life.listed

    async def slowly(self: Life) -> list[RawTool] | None:
        for _ in range(100):  # the other call comes as far as it can
            await asyncio.sleep(0.001)
        return await listed(self)

    async with house.open() as sam:
        await sam.arrive()
        assert await sam.text("mcp__one__echo", text="a") == "a"
        house.person.choice = Approval("deny")
        await sam.text("mcp__one__mutate", text="aloud")
        monkeypatch.setattr(Life, "listed", slowly)
        beside = (sam.text("mcp__one__echo", text=text) for text in ("b", "c"))
        for text in await asyncio.gather(*beside):
            assert "changed its tool echo" in text


@pytest.mark.requirement("servers:changed-tool")
async def test_a_yes_that_was_written_before_a_tool_changed_does_not_count_for_the_change(
    house: House,
) -> None:
    """Neither do names of tools, a pattern of a file, nor an approval of the same call."""
    root, echo = str(house.workspace), "mcp__one__echo"
    file = house.folder / "answers.json"
    file.write_text('[{"match": "(?s)^.*$", "reply": "approve"}]', encoding="utf-8")
    house.user(one=raw())
    async with house.open() as sam:
        await sam.arrive()
        assert await sam.text(echo, text="a") == "a"
    before = house.person.asked[-1]
    house.user(one=raw("changed"))
    revisions = set[str]()
    for responder in (allowing(["mcp__one", echo], root), read_answers(str(file)), house.person):
        house.person.choice = Approval("deny")
        house.policy(f'[[rule]]\neffect = "allow"\noperation = "{echo}"\n')
        async with house.open(responder=responder) as sam:
            await sam.arrive()
            ended = await sam.call(echo, text="a")
        assert "changed its tool echo" in ended.finished.text and ended.decision is not None
        revisions.add(ended.decision.reason.rpartition("changed: ")[2].rstrip(")"))
    changed, (revision,) = house.person.asked[-1], revisions
    arguments: dict[str, object] = {"text": "a"}
    request = before.request
    assert isinstance(request, ApprovalRequest)
    entry = BlockedEntry(
        "approve", request.operation, "", list(request.targets), "", echo, arguments, "call",
        change=request.difference,
    )  # fmt: skip
    approvals = Approvals("", "c", (replace(entry, hash=entry.sealed("c")),))
    (again,) = approvals.made_again([ToolCall(CallId("call"), echo, json.dumps(arguments))])
    answers = [approvals.responder(None)(replace(i, call=again.id)) for i in (before, changed)]
    assert answers == [Approval("once"), None]
    assert alike([changed, changed]) == []
    file.write_text(f'[{{"match": "changed: {revision}", "reply": "yes"}}]', encoding="utf-8")
    async with house.open(responder=read_answers(str(file))) as sam:
        await sam.arrive()
        assert await sam.text(echo, text="b") == "b"


@pytest.mark.requirement("servers:asks-person")
async def test_a_form_draws_no_question_of_its_own_and_has_bounds(house: House) -> None:
    house.user(one=raw())
    house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n')
    house.person.replies = ["decline"]
    async with house.open(attended=True) as sam:
        await sam.arrive()
        for kind in ("fields", "options", "words"):
            answered = json.loads(await sam.text("mcp__one__pose", text=kind))
            assert answered["action"] == "decline"
    asked = house.person.asked[-1].request
    assert isinstance(asked, Question)
    assert len([one for one in house.person.asked if isinstance(one.request, Question)]) == 1
    assert asked.prompt.startswith("The MCP server one asks: ")
    assert "it allows nothing here" in asked.context
    for text in (asked.prompt, asked.context, *asked.choices):
        assert "\n" not in text and "\x1b" not in text and "\u202e" not in text
        assert len(text) < 1500


@pytest.mark.requirement("servers:resources")
async def test_a_link_to_a_file_of_this_machine_opens_no_file(house: House) -> None:
    for place in (house.workspace / "notes.txt", house.folder / "secret.txt"):
        place.write_text("what the file holds")
        house.user(one=raw())
        house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n')
        async with house.open() as sam:
            await sam.arrive()
            told = await sam.call("mcp__one__link", text=place.as_uri())
            assert place.as_uri() in told.finished.text
            assert "what the file holds" not in told.finished.text + json.dumps(dict(told.data))


@pytest.mark.requirement("servers:storm")
@pytest.mark.parametrize("kind", ["tells", "asks"])
async def test_a_server_that_never_stops_talking_is_called_as_before(
    house: House, kind: str
) -> None:
    house.user(one=raw())
    house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n')
    async with house.open(attended=True) as sam:
        await sam.arrive()
        await sam.text("mcp__one__storm", text=kind)
        for word in "ab":
            assert await sam.text("mcp__one__echo", text=word) == word
        assert len(asyncio.all_tasks()) < 2_000
        assert len(house.person.asked) <= 20


@pytest.mark.requirement("servers:patience")
async def test_a_program_that_reads_nothing_for_a_minute_is_ended(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, ahead = asyncio.get_running_loop(), 0.0
    real = loop.time
    house.user(one=raw())
    house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n')
    async with house.open() as sam:
        await sam.arrive()
        process = int(await sam.text("mcp__one__deafen"))
        monkeypatch.setattr(loop, "time", lambda: real() + ahead)
        async with asyncio.TaskGroup() as group:
            call = group.create_task(sam.text("mcp__one__echo", text="x" * 1_000_000))
            while not call.done():
                # Far from the five minutes of a call; where the first byte is sent late, real time goes on.
                ahead = min(ahead + 0.01, 200)
                await asyncio.sleep(0)
        assert ahead >= 60, await call
        assert "it does not read its input" in await call
        assert await sam.text("mcp__one__echo", text="a") == "a"
        while await asyncio.to_thread(os.path.exists, f"/proc/{process}/fd/0"):
            pass


@pytest.mark.requirement("servers:storm")
@pytest.mark.parametrize(
    ("message", "price"),
    [
        (JSONRPCNotification(jsonrpc="2.0", method="notifications/message"), 1),
        (JSONRPCRequest(jsonrpc="2.0", id=1, method="roots/list"), 5),
        (JSONRPCResponse(jsonrpc="2.0", id=1, result={}), 0),
    ],
)
async def test_what_nobody_asked_for_is_left_unread_after_a_burst(
    message: JSONRPCMessage, price: int
) -> None:
    many = 50_000
    sending, received = anyio.create_memory_object_stream[Any](many)
    for _ in range(many):
        sending.send_nowait(SessionMessage(message))
    first = int(BURST) // price if price else many
    read, came = 0, asyncio.Event()

    async def take() -> None:
        nonlocal read
        async with Paced(received) as paced:
            async for _ in paced:
                read += 1
                if read == first:
                    came.set()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(take())
        await came.wait()
        for _ in range(2_000):
            await asyncio.sleep(0)
        task.cancel()
    assert (read == many) is (price == 0)
    sending.close()


def broken(*following: str) -> dict[str, Any]:
    """How a file names the server of broken lists."""
    script = Path(__file__).with_name("broken_server.py")
    return {"command": sys.executable, "args": ["-I", "-S", str(script), *following]}


_LEFT_OUT = (
    ("nothing", "inputSchema: is missing"),
    ("list", "inputSchema: must be an object"),
    ("text", "inputSchema.type: must be 'object'"),
    ("fields", "inputSchema.properties: "),
    ("(no name)", "a tool needs a name"),
    ("(entry 8)", "name: must be text"),
    ("good", "another tool is called mcp__one__good, too"),
    ("told", "description: must be text"),
    ("(entry 12)", "it is not an object"),
    ("(entry 13)", "it is not an object"),
    ("deep", "its schema is nested too deep"),
    ("resource (entry 2)", "uri: must be text"),
    ("resource (entry 3)", "it is not an object"),
    ("template (entry 2)", "uriTemplate: is missing"),
    ("prompt q", "arguments.0.name: must be text"),
)


@pytest.mark.requirement("servers:broken-lists")
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_entries_that_do_not_fit_the_protocol_are_left_out_alone_and_told(
    house: House, transport: str
) -> None:
    with serving() as site:
        site.lists = BROKEN
        house.user(one=broken() if transport == "stdio" else {"url": site.url})
        house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n')
        async with house.open() as sam:
            names = await sam.arrive()
            assert sam.reports["one"].standing == "ready"
            resources = ["mcp__one__resources_list", "mcp__one__resources_read"]
            assert names[:4] == ["mcp__one__good", "mcp__one__hints", *resources]
            assert [len(name) for name in names[4:]] == [64]
            left_out = sam.reports["one"].left_out
            for name, why in _LEFT_OUT:
                assert any(line.startswith(f"{name}: {why}") for line in left_out), (name, left_out)
            assert len(left_out) == len(_LEFT_OUT)
            assert (await sam.call("mcp__one__good")).finished.ok
            told = await sam.text("mcp__one__resources_list")
            assert told.splitlines() == [
                "a://b  b",
                "a://{b}  t",
                "(3 more do not fit the protocol.)",
            ]
            names = await sam.runtime.servers.names()
            assert [prompt.name for prompt in names.prompts] == ["p"]
        async with house.open() as sam:  # as it was remembered, before the server is there
            assert set(sam.reports["one"].left_out) == set(left_out)


@pytest.mark.requirement("servers:broken-lists")
@pytest.mark.parametrize(
    ("following", "why"),
    [
        ("again", "nextCursor: the list does not end: 2 pages were read"),
        ("", "nextCursor: the list does not end: 50 pages were read"),
        ("number", "nextCursor: it is not text, so the rest is not read"),
    ],
)
async def test_a_list_that_does_not_end_is_read_so_far_and_told(
    house: House, following: str, why: str
) -> None:
    house.user(one=broken(following))
    async with house.open() as sam:
        assert "mcp__one__good" in await sam.arrive()
        assert why in sam.reports["one"].left_out
