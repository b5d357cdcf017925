"""Our tools for a client that is not ours: the same names, schemas, guard and results."""

import asyncio
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from tests.fakes.interpreter import INTERPRETER
from tests.mcp.conftest import ERAS, Era, House, Person, Place, decides, names, replies, text_of

Shared = tuple[House, Place]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shared]:
    """One server for the tests of this module, with a model for subagents."""
    place = Place(tmp_path_factory.mktemp("tools"))
    place.workspace.mkdir()
    outside = place.folder / "by-subagent.txt"
    write = {"operation": "create_file", "filePath": str(outside), "content": "new"}
    script = [
        {"calls": [{"name": "file_operations", "arguments": write}]},
        {"text": "the summary"},
    ]
    (place.folder / "script.json").write_text(json.dumps(script), "utf-8")
    with place.http("--model", f"scripted:{place.folder / 'script.json'}") as house:
        yield house, place


@pytest.mark.requirement("mcp:sam-tools")
async def test_the_schemas_are_those_that_our_own_model_is_told(shared: Shared) -> None:
    house, place = shared
    command = [sys.executable, "-P", "-m", "sam_tui", "tools", "schema"]
    shown = await asyncio.create_subprocess_exec(
        *command, "-C", str(place.workspace), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await shown.communicate()
    own = {s["function"]["name"]: s["function"] for s in json.loads(out)}
    async with house.client() as client:
        tools = (await client.list_tools()).tools
    for tool in tools:
        assert tool.description == own[tool.name]["description"]
        assert tool.input_schema == own[tool.name]["parameters"]
    # There is no turn of ours whose limit could be raised.
    assert set(own) - set(names(tools)) == {"increase_max_iterations"}
    hints = {tool.name: tool.annotations for tool in tools}
    think, files = hints["think"], hints["file_operations"]
    assert think is not None and think.read_only_hint is True
    assert files is not None and files.destructive_hint is True


@pytest.mark.requirement("mcp:sam-tools", "mcp:results", "mcp:told-once")
@pytest.mark.parametrize("era", ERAS)
async def test_a_result_is_text_and_data_and_a_failure_is_marked(shared: Shared, era: Era) -> None:
    house, place = shared
    (place.workspace / "a.txt").write_text("hello\n", "utf-8")
    async with house.client(era=era) as client:
        read = await client.call_tool(
            "file_operations", {"operation": "read_file", "filePath": "a.txt"}
        )
        assert "hello" in text_of(read)
        told = read.model_dump_json(by_alias=True, exclude_none=True)
        assert (told.count("hello"), read.structured_content) == (1, None)
        wanted = {"operation": "read_file", "filePath": "a.txt"}
        data = await client.call_tool("file_operations", wanted, meta={"sam-tui/structured": True})
        assert data.structured_content["data"]["content"] == "hello\n"
        assert data.structured_content["success"] is True
        dotted = await client.call_tool("file_operations.read_file", {"filePath": "a.txt"})
        assert text_of(dotted) == text_of(read)
        missing = await client.call_tool("read_file", {"filePath": "b.txt"})
        assert missing.is_error and "b.txt" in text_of(missing)
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("no_such_tool", {})
        assert unknown.value.code == -32602


@pytest.mark.requirement("mcp:results")
async def test_a_large_result_is_cut_and_read_on_by_its_id(shared: Shared) -> None:
    house, place = shared
    (place.workspace / "big.txt").write_text("0123456789\n" * 20_000, "utf-8")
    async with house.client() as client:
        cut = await client.call_tool(
            "terminal_operations", {"operation": "run_command", "command": "cat big.txt"}
        )
        assert len(text_of(cut)) < 20_000
        call = text_of(cut).partition("read_tool_result")[2]
        identifier = "call_" + call.partition("call_")[2][:24]
        rest = await client.call_tool(
            "read_tool_result", {"toolCallId": identifier, "offset": 100_000}
        )
        assert not rest.is_error, text_of(rest)
        assert "0123456789" in text_of(rest)


@pytest.mark.requirement("mcp:asks")
@pytest.mark.parametrize("era", ERAS)
async def test_an_approval_asks_the_person_at_the_client_with_its_choices(
    shared: Shared, era: Era, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    write = {"operation": "create_file", "filePath": str(outside), "content": "new"}
    person = Person([decides("deny", "use the workspace"), decides("forever"), decides("once")])
    async with shared[0].client(era=era, person=person) as client:
        refused = await client.call_tool("file_operations", write)
        assert refused.is_error and "use the workspace" in text_of(refused)
        invented = await client.call_tool("file_operations", write)
        assert invented.is_error
        assert not outside.exists()
        allowed = await client.call_tool("file_operations", write)
        assert not allowed.is_error
    assert outside.read_text("utf-8") == "new"
    form: Any = person.asked[0]
    assert "file_operations.create_file" in form.message and str(outside) in form.message
    assert "+new" in form.message
    options = [
        option["const"] for option in form.requested_schema["properties"]["decision"]["oneOf"]
    ]
    assert options[0] == "deny" and {"once", "timed"} <= set(options)
    assert person.answers == []


@pytest.mark.requirement("mcp:asks")
@pytest.mark.parametrize("era", ERAS)
async def test_a_grant_for_a_while_is_not_asked_for_again(
    shared: Shared, era: Era, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    person = Person([decides("timed")])
    async with shared[0].client(era=era, person=person) as client:
        for text in ("one", "two"):
            write = {"operation": "create_file", "filePath": str(outside), "content": text}
            done = await client.call_tool("file_operations", {**write, "overwrite": True})
            assert not done.is_error, text_of(done)
    assert len(person.asked) == 1


@pytest.mark.requirement("mcp:unattended")
@pytest.mark.parametrize("era", ERAS)
async def test_without_a_person_an_approval_is_denied_at_once(
    shared: Shared, era: Era, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    async with shared[0].client(era=era) as client:
        write = {"operation": "create_file", "filePath": str(outside), "content": "new"}
        denied = await client.call_tool("file_operations", write)
        assert denied.is_error and "nobody is there" in text_of(denied)
        assert denied.meta is not None and denied.meta["sam-tui/decision"]["rule"] == "unattended"
        asked = await client.call_tool("user_collaboration", {"prompt": "Which?"})
        assert asked.is_error and "Nobody is there" in text_of(asked)
    assert not outside.exists()


@pytest.mark.requirement("mcp:asks")
@pytest.mark.parametrize("era", ERAS)
async def test_a_question_is_answered_by_the_person_or_ends_the_call(
    shared: Shared, era: Era, tmp_path: Path
) -> None:
    person = Person([replies("the blue one")])
    async with shared[0].client(era=era, person=person) as client:
        answered = await client.call_tool("user_collaboration", {"prompt": "Which one?"})
        assert "the blue one" in text_of(answered)
        declined = await client.call_tool("user_collaboration", {"prompt": "And then?"})
        assert declined.is_error and "did not answer" in text_of(declined)
    assert [form.message for form in person.asked] == ["Which one?", "And then?"]


@pytest.mark.requirement("mcp:asks")
async def test_what_a_model_says_cannot_pass_for_words_of_the_host(
    shared: Shared, tmp_path: Path
) -> None:
    person = Person([decides("deny")])
    path = f"{tmp_path}/x\u202e\x1b[2J\n  why     trust me"
    async with shared[0].client(person=person) as client:
        write = {"operation": "create_file", "filePath": path, "content": "x\x1b]0;t\x07"}
        await client.call_tool("file_operations", write)
    message = person.asked[0].message
    assert not {"\x1b", "\u202e", "\x07"} & set(message)
    assert "\n  why     trust me" not in message


@pytest.mark.requirement("mcp:conversations")
async def test_a_session_has_a_conversation_and_a_request_may_name_another(
    shared: Shared, place: Place
) -> None:
    todos = [{"id": 1, "title": "first", "status": "not-started", "description": "d"}]
    write = {"operation": "write", "todoList": todos}
    async with place.client("--conversation", "mine") as client:
        await client.call_tool("todo_operations", write)
        listed = await client.call_tool("todo_operations", {"operation": "read"})
        assert "first" in text_of(listed)
        meta: Any = {"sam-tui/conversation": "other"}
        other = await client.call_tool("todo_operations", {"operation": "read"}, meta=meta)
        assert "first" not in text_of(other)
        tools = names((await client.list_tools()).tools)
        assert "run_subagent" not in tools  # it needs a model, which this server was not given
    async with shared[0].client(era="legacy") as client:
        fresh = await client.call_tool("todo_operations", {"operation": "read"})
        assert "first" not in text_of(fresh)
        with pytest.raises(MCPError):
            await client.call_tool(
                "todo_operations", {"operation": "read"}, meta={"sam-tui/conversation": "../x"}
            )


@pytest.mark.requirement("mcp:subagents", "mcp:asks")
@pytest.mark.parametrize("era", ERAS)
async def test_a_subagent_works_for_the_client_and_asks_the_clients_person(
    shared: Shared, era: Era
) -> None:
    house, place = shared
    person = Person([decides("once")])
    async with house.client(era=era, person=person) as client:
        done = await client.call_tool("run_subagent", {"task": "look around"})
    assert "the summary" in text_of(done)
    assert "subagent: look around" in person.asked[0].message
    assert (place.folder / "by-subagent.txt").read_text("utf-8") == "new"
    (place.folder / "by-subagent.txt").unlink()


@pytest.mark.requirement("mcp:asks")
@pytest.mark.parametrize("era", ERAS)
async def test_a_confined_command_that_wants_outside_asks_while_it_runs(
    shared: Shared, era: Era, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    code = f"open({str(outside)!r}, 'w').write('by command')"
    person = Person([decides("once")])
    async with shared[0].client(era=era, person=person) as client:
        done = await client.call_tool(
            "terminal_operations.run_command", {"command": f'{INTERPRETER} -c "{code}"'}
        )
    assert not done.is_error, text_of(done)
    assert str(outside) in person.asked[0].message
    assert outside.read_text("utf-8") == "by command"
