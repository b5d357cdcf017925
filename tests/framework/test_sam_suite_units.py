"""spec/sam.md 10.1: what SAM's unit tests asked of its tools, asked of the assembled ones.

Rows marked N are left out. M: ``manage_todos`` says where its work went; user-initiated calls do not
exist here, because a caller cannot vouch for itself (9.1, S11).
"""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from sam_tui.core.accesses import Location
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import (
    INLINE_LIMIT,
    Operation,
    Permit,
    Tool,
    ToolContext,
    ToolResult,
)
from sam_tui.core.tooling.offer import parameters_schema
from tests.framework.bench import LISTED, Bench, Person
from tests.framework.rows import Rows

pytestmark = pytest.mark.requirement("framework:sam-suite")

Row = Callable[[Bench], Any]
SCHEMA: Rows[Row] = Rows()
EIGHT = (
    *("file_operations", "terminal_operations", "memory_operations", "build_and_version_control"),
    *("think", "read_tool_result", "run_subagent", "user_collaboration"),
)
CONSOLIDATED = EIGHT[:4]


def properties(bench: Bench, tool: str) -> dict[str, Any]:
    """The advertised parameters of a tool."""
    return bench.schema(tool)["parameters"]["properties"]


@SCHEMA.add("10.1-protocol-conformance")
def _conformance(bench: Bench) -> None:
    tool = bench.schema("file_operations")
    assert tool["name"] and tool["description"] and tool["parameters"]["properties"]


@SCHEMA.add("10.1-registration")
def _registration(bench: Bench) -> None:
    for name in CONSOLIDATED:
        assert "operation" in properties(bench, name)
    assert "thoughts" in properties(bench, "think")
    assert "operation" not in properties(bench, "think")


@SCHEMA.add("10.1-file-name-and-description")
def _file_name(bench: Bench) -> None:
    tool = bench.schema("file_operations")
    assert tool["name"] == "file_operations"
    assert "file" in tool["description"].lower()


@SCHEMA.add("10.1-file-operations-enum")
def _file_operations(bench: Bench) -> None:
    assert set(bench.operations("file_operations")) == set(LISTED["file_operations"])
    assert len(bench.operations("file_operations")) == 16


@SCHEMA.add("10.1-file-parameters")
def _file_parameters(bench: Bench) -> None:
    tool = bench.schema("file_operations")["parameters"]
    assert {"operation", "filePath"} <= tool["properties"].keys()
    assert tool["required"] == ["operation"]


@SCHEMA.add("10.1-terminal-name-and-operations")
def _terminal(bench: Bench) -> None:
    assert bench.schema("terminal_operations")["name"] == "terminal_operations"
    assert set(bench.operations("terminal_operations")) == set(LISTED["terminal_operations"])


@SCHEMA.add("10.1-memory-operations-and-manage-todos-moved")
async def _memory(bench: Bench) -> None:
    seed = {"search_memory", "store_memory", "list_collections", "manage_todos"}
    assert seed <= set(bench.operations("memory_operations"))
    told = await bench.bad("memory_operations.manage_todos", todoOperation="read")
    assert '{"operation": "read"}' in told and "todo_operations" in told


@SCHEMA.add("10.1-build-operations")
def _build(bench: Bench) -> None:
    assert set(bench.operations("build_and_version_control")) == set(
        LISTED["build_and_version_control"]
    )


@SCHEMA.add("10.1-think")
def _think(bench: Bench) -> None:
    tool = bench.schema("think")
    assert tool["name"] == "think"
    assert tool["parameters"]["required"] == ["thoughts"]


@SCHEMA.add("10.1-read-tool-result")
def _read_tool_result(bench: Bench) -> None:
    assert list(properties(bench, "read_tool_result")) == ["toolCallId", "offset", "length"]


@SCHEMA.add("10.1-run-subagent-and-user-collaboration")
def _subagent(bench: Bench) -> None:
    assert bench.schema("run_subagent")["name"] == "run_subagent"
    assert "task" in properties(bench, "run_subagent")
    assert bench.schema("user_collaboration")["name"] == "user_collaboration"
    assert "prompt" in properties(bench, "user_collaboration")


@SCHEMA.add("10.1-descriptions")
def _descriptions(bench: Bench) -> None:
    for name in EIGHT:
        assert len(bench.schema(name)["description"]) > 10


@SCHEMA.add("10.1-parameter-types")
def _types(bench: Bench) -> None:
    found = properties(bench, "file_operations")
    assert (found["filePath"]["type"], found["content"]["type"]) == ("string", "string")


@SCHEMA.add("10.1-unique-names")
def _unique(bench: Bench) -> None:
    names = [schema["function"]["name"] for schema in bench.runtime.registry.schemas]
    assert len(names) == len(set(names)) >= 15


@SCHEMA.add("10.1-consolidated-consistency")
def _consolidated(bench: Bench) -> None:
    for name in CONSOLIDATED:
        tool = bench.schema(name)["parameters"]
        assert "operation" in tool["required"]
        assert tool["properties"]["operation"]["enum"]


@SCHEMA.add("10.1-execution-suite-names")
def _execution(bench: Bench) -> None:
    files = "read_file create_file replace_string multi_replace_string insert_edit rename_file"
    more = "delete_file list_dir file_search grep_search semantic_search"
    assert {*files.split(), *more.split()} <= set(bench.operations("file_operations"))
    terminal = {"run_command", "get_terminal_output", "create_directory"}
    assert terminal <= set(bench.operations("terminal_operations"))
    memory = {"search_memory", "store_memory", "list_collections", "manage_todos"}
    assert memory <= set(bench.operations("memory_operations"))


@SCHEMA.add("10.1-invalid-operation")
async def _invalid(bench: Bench) -> None:
    for name in CONSOLIDATED:
        assert "invalid_operation" not in bench.operations(name)
        told = await bench.bad(name, operation="invalid_operation")
        assert "'invalid_operation'" in told and bench.operations(name)[0] in told


@pytest.mark.parametrize("row", SCHEMA.all)
async def test_what_sam_s_unit_tests_asked_of_its_tools_holds(row: Row, still: Runtime) -> None:
    found = row(Bench(still, Path(), Person(), still.open_session(), still.bus.subscribe()))
    if found is not None:
        await found


# Values


class _Three(Arguments):
    """A required parameter, one of three words, and an optional number."""

    name: str = Field(description="Its name")
    mode: str = Field(json_schema_extra={"enum": ["read", "write", "list"]})
    count: int | None = None


async def _nothing(_: Any, __: ToolContext) -> ToolResult:
    return ToolResult("")


@pytest.mark.parametrize(
    ("parameter", "expected", "required"),
    [
        pytest.param(
            "name", {"type": "string", "description": "Its name"}, True, id="10.1-required"
        ),
        pytest.param(
            "mode", {"type": "string", "enum": ["read", "write", "list"]}, True, id="10.1-enum"
        ),
        pytest.param("count", {"type": "integer"}, False, id="10.1-optional-integer"),
    ],
)
def test_a_parameter_keeps_what_it_was_declared_with(
    parameter: str, expected: dict[str, Any], required: bool
) -> None:
    operation = Operation("three", "three", _Three, _nothing, lambda _: "three")
    schema = parameters_schema(Tool("three", "Three.", (operation,), consolidated=False))
    assert schema["properties"][parameter] == expected
    assert (parameter in schema["required"]) == required


@pytest.mark.parametrize(
    ("root", "user"),
    [
        pytest.param("/tmp/test", False, id="10.1-context-creation"),
        pytest.param("/Users/test/project", True, id="10.1-context-working-directory"),
    ],
)
def test_a_context_keeps_what_it_was_made_with(root: str, user: bool) -> None:
    where = Location("a", f"{root}/a", root)
    told: list[str] = []
    made = ToolContext(
        ConversationId("c"), CallId("call_1"), root, Permit({"filePath": where}, user), told.append
    )
    assert (made.conversation, made.call, made.workspace) == ("c", "call_1", root)
    assert made.location("filePath") is where and made.permit.confined is user
    made.emit("progress")
    assert told == ["progress"]
    # There is no field by which a caller could say that the person started the call.
    assert not any("user" in field.name.lower() for field in fields(made))


@pytest.mark.parametrize(
    ("name", "arguments", "ok", "words"),
    [
        pytest.param("think", {"thoughts": "Success message"}, True, "Success", id="10.1-success"),
        pytest.param("think", {"thoughts": " "}, False, "ERROR", id="10.1-failure"),
    ],
)
async def test_a_result_keeps_its_flag_its_name_and_its_content(
    bench: Bench, name: str, arguments: dict[str, str], ok: bool, words: str
) -> None:
    done = (await bench.call(name, arguments)).finished
    assert (done.ok, done.operation if ok else name) == (ok, name)
    assert words in done.text


@pytest.mark.parametrize("key", [pytest.param("key", id="10.1-output-data")])
async def test_data_beside_the_content_is_kept(bench: Bench, key: str) -> None:
    await bench.good("memory_operations.store", key=key, content="value")
    done = await bench.call("memory_operations.retrieve", key=key)
    assert (done.finished.text, done.data) == ("value", {"key": key, "content": "value"})
    assert done.mime_type == "text/plain"


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        pytest.param(29, "whole", id="10.1-small-result"),
        pytest.param(INLINE_LIMIT, "whole", id="10.1-constants-8192-is-inline"),
        pytest.param(INLINE_LIMIT + 1, "preview", id="10.1-constants-beyond-is-stored"),
        pytest.param(10_000, "preview", id="10.1-large-result"),
    ],
)
async def test_a_large_result_becomes_a_preview(bench: Bench, size: int, shown: str) -> None:
    assert INLINE_LIMIT == 8192
    text = await bench.good("think", thoughts="x" * size)
    if shown == "whole":
        assert text == "x" * size
    else:
        assert "[TOOL_RESULT_PREVIEW:" in text
        assert "[TOOL_RESULT_STORED: toolCallId=call_0, " in text


ROOT = "/Users/test/project"


@pytest.mark.parametrize(
    ("root", "given", "real"),
    [
        pytest.param(ROOT, "./src/file.swift", f"{ROOT}/src/file.swift", id="10.1-relative"),
        pytest.param(ROOT, "./subdir/file.txt", f"{ROOT}/subdir/file.txt", id="10.1-exact"),
        pytest.param(ROOT, "/tmp/other/file.txt", "/tmp/other/file.txt", id="10.1-absolute"),
        pytest.param("/srv", "/Users/test/file.txt", "/Users/test/file.txt", id="10.1-absolute-2"),
        pytest.param(
            f"{ROOT}/sub", "../other/file.txt", f"{ROOT}/other/file.txt", id="10.1-dotdot"
        ),
        pytest.param(ROOT, "~/Documents/file.txt", "HOME/Documents/file.txt", id="10.1-tilde"),
    ],
)
def test_a_path_is_resolved_as_sam_resolved_it(
    root: str, given: str, real: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/of/nobody")
    where = Workspace(root).locate(given)
    assert where.real == real.replace("HOME", "/home/of/nobody")
    assert where.inside == real.startswith(f"{root}/")
    assert ".." not in where.real and "~" not in where.real
