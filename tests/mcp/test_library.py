"""Prompts and resources of the workbench itself, for people at other clients."""

import asyncio
import base64
import json
import os
from typing import Any

import pytest
from mcp import MCPError
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated

from tests.fakes.web_server import WebServer, answered
from tests.mcp.conftest import SECONDS, Place, names, text_of


@pytest.mark.requirement("mcp:sam-library")
async def test_prompts_are_listed_and_take_a_task(place: Place) -> None:
    folder = place.workspace / ".sam" / "prompts" / "system"
    folder.mkdir(parents=True)
    (folder / "mine.md").write_text("---\nname: Mine\n---\nObey the file.\n", "utf-8")
    async with place.client() as client:
        prompts = (await client.list_prompts()).prompts
        assert {"built-in:default", "built-in:tests-first"} <= set(names(prompts))
        # Prompts of a folder that nobody trusts stay out.
        assert not [name for name in names(prompts) if name.endswith(":mine")]
        plain: Any = await client.get_prompt("built-in:tests-first")
        with_task: Any = await client.get_prompt("built-in:tests-first", {"task": "Add a flag."})
        assert with_task.messages[0].content.text == (
            f"{plain.messages[0].content.text}\n\nAdd a flag."
        )
        with pytest.raises(MCPError) as unknown:
            await client.get_prompt("no-such")
        assert unknown.value.code == -32602


@pytest.mark.requirement("mcp:results")
async def test_names_that_are_no_text_and_bytes_of_every_kind_pass_the_wire(place: Place) -> None:
    (place.workspace / os.fsdecode(b"odd\xff.txt")).write_text("x", "utf-8")
    (place.workspace / "bytes").write_bytes(bytes(range(256)) * 10)
    async with place.client() as client:
        listed = await client.call_tool("file_operations.list_dir", {"path": "."})
        assert "odd" in text_of(listed)
        shown = await client.call_tool(
            "terminal_operations.run_command", {"command": "cat bytes; ls"}
        )
        assert not shown.is_error
        assert (await client.list_tools()).tools


@pytest.mark.requirement("mcp:results")
async def test_images_that_a_tool_made_come_as_images(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + b"pixels"
    drawn = {"data": [{"b64_json": base64.b64encode(picture).decode()}]}
    async with WebServer({"/v1/images/generations": answered(drawn)}) as site:
        monkeypatch.setenv("SAM_TUI_IMAGE_BASE", site.url("/v1"))
        async with place.client() as client:
            made = await client.call_tool("image_generation.generate", {"prompt": "a cat"})
    assert not made.is_error, text_of(made)
    [image] = [block for block in made.content if block.type == "image"]
    assert (image.mime_type, base64.b64decode(image.data)) == ("image/png", picture)


@pytest.mark.requirement("mcp:sam-library")
async def test_todos_and_whole_results_are_read_as_resources(place: Place) -> None:
    secret = "ghp_" + "a1B2" * 9
    (place.workspace / "big.txt").write_text(f"{secret}\n" + "0123456789\n" * 2000, "utf-8")
    todos = [{"id": 1, "title": f"try {secret}", "status": "not-started", "description": "d"}]
    async with place.client() as client:
        async with client.listen(resource_subscriptions=["sam://todos"]) as stream:
            await client.call_tool("todo_operations", {"operation": "write", "todoList": todos})
            async with asyncio.timeout(SECONDS):
                assert await anext(aiter(stream)) == ResourceUpdated(uri="sam://todos")
        listed: Any = (await client.read_resource("sam://todos")).contents[0]
        (title,) = (todo["title"] for todo in json.loads(listed.text))
        assert title.startswith("try <secret:")
        cut = await client.call_tool("terminal_operations.run_command", {"command": "cat big.txt"})
        uris = [r.uri for r in (await client.list_resources()).resources]
        [kept] = [uri for uri in uris if uri.startswith("sam://results/")]
        assert kept.rpartition("/")[2] in text_of(cut)
        async with client.listen(resources_list_changed=True) as stream:
            await client.call_tool("terminal_operations.run_command", {"command": "cat big.txt"})
            async with asyncio.timeout(SECONDS):
                assert await anext(aiter(stream)) == ResourcesListChanged()
        whole: Any = (await client.read_resource(kept)).contents[0]
        assert whole.text.count("0123456789") == 2000
        assert secret not in whole.text
        conversations: Any = (await client.read_resource("sam://conversations")).contents[0]
        assert json.loads(conversations.text) == []
