"""What is advertised is what runs: generated from the schemas of the assembled tools."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from sam_tools import offers
from sam_tui.assembly.catalogue import FILE
from sam_tui.core.agent.tokens import text_tokens
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult, operation_key
from sam_tui.core.tooling.offer import arguments_schema, example_call
from sam_tui.core.tooling.registry import Registry
from scripts.catalogue import text_of
from tests.fakes.openai_server import FakeServer, Reply
from tests.fakes.preloaded import SCRIPT
from tests.fakes.web_server import WebServer
from tests.framework.bench import LISTED, Bench
from tests.framework.conftest import Opened
from tests.framework.pace import SPEAKING, keys_of, told
from tests.framework.routes import ROUTES, prepare
from tests.framework.tour import Readings, Tour, parameters

pytestmark = pytest.mark.requirement("framework:contract")

MOST_BYTES = 32_000
"""Of system prompt and schemas together."""


def operations(registry: Registry) -> Iterator[tuple[Tool, Operation[Any]]]:
    """Every operation with its tool, in the order they are advertised."""
    for tool in registry.tools:
        for operation in tool.operations:
            yield tool, operation


def schema_of(registry: Registry, name: str) -> dict[str, Any]:
    """A tool as it is advertised."""
    found = [schema["function"] for schema in registry.schemas]
    return next(schema for schema in found if schema["name"] == name)


def nodes(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a schema with its path."""
    if isinstance(value, dict):
        node = cast("dict[str, Any]", value)
        yield path, node
        for key, inner in node.items():
            yield from nodes(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(cast("list[Any]", value)):
            yield from nodes(inner, f"{path}/{place}")


def example(prop: Mapping[str, Any]) -> Any:
    """A value that fits a property and is not its usual default."""
    if "enum" in prop:
        return prop["enum"][-1]
    match prop.get("type"):
        case "integer":
            return max(7, prop.get("minimum", 0)) if prop.get("maximum", 99) >= 7 else 2
        case "number":
            return min(0.25 + prop.get("minimum", 0), prop.get("maximum", 99))
        case "boolean":
            return True
        case "array":
            return [example(prop.get("items", {}))]
        case "object":
            fields = prop.get("properties")
            return {n: example(p) for n, p in fields.items()} if fields else {"name": "value"}
        case _:
            return "some text"


# Where any text or any truth will not do.
EXAMPLES: Mapping[str, Any] = {
    "operation": None,
    "progress": 0.5,
    "dependencies": [3],
    "modifiedAfter": "2024-01-01",
    "headingSizes": [20.0, 18.0, 16.0],
    "content_type": "fact",
    "enableTerminalAccess": True,
}


def complete(operation: Operation[Any]) -> dict[str, Any]:
    """Arguments with every parameter that an operation takes."""
    schema = arguments_schema(operation.arguments)
    return {
        name: EXAMPLES[name] if name in EXAMPLES else example(prop)
        for name, prop in schema["properties"].items()
    }


# Order and names


@pytest.mark.requirement("framework:order")
def test_tools_and_operations_are_those_of_the_seed_in_its_order(full: Runtime) -> None:
    advertised = {
        schema["function"]["name"]: tuple(
            schema["function"]["parameters"]["properties"].get("operation", {}).get("enum", ())
        )
        for schema in full.registry.schemas
    }
    assert list(advertised) == list(LISTED)
    assert advertised == LISTED


@pytest.mark.requirement("framework:catalogue")
def test_what_is_advertised_before_a_tool_is_made_is_what_the_tool_says(still: Runtime) -> None:
    tools = [offer.tool() for offer in offers(still, {})]
    assert FILE.read_text(encoding="utf-8") == text_of(tools), "make catalogue"


@pytest.mark.requirement("framework:order")
def test_without_a_provider_serpapi_and_images_are_not_offered(still: Runtime) -> None:
    names = [tool.name for tool in still.registry.tools]
    assert names == [name for name in LISTED if name != "image_generation"]
    web = schema_of(still.registry, "web_operations")["parameters"]["properties"]["operation"]
    assert web["enum"] == [name for name in LISTED["web_operations"] if name != "serpapi"]


@pytest.mark.requirement("framework:order")
def test_sixteen_eleven_five_four_and_three_operations(full: Runtime) -> None:
    counts = {tool.name: len(tool.operations) for tool in full.registry.tools if tool.consolidated}
    assert counts == {
        "memory_operations": 14,
        "todo_operations": 4,
        "web_operations": 6,
        "document_operations": 3,
        "file_operations": 16,
        "terminal_operations": 11,
        "build_and_version_control": 5,
        "image_generation": 1,
        "workflow": 11,
    }


# Size and bytes


@pytest.mark.requirement("framework:prefix-size")
async def test_system_prompt_and_schemas_stay_below_32_kb(opened: Opened, site: WebServer) -> None:
    async with FakeServer([Reply(text="Hello.")]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key="k")
        await bench.session.run("Hi.")
        body = server.requests[-1].json
    tools = json.dumps(body["tools"], ensure_ascii=False, separators=(",", ":"))
    system = json.dumps(body["messages"][0]["content"], ensure_ascii=False)
    assert body["messages"][0]["role"] == "system"
    assert tools == bench.runtime.registry.schemas_json
    assert 1_000 < len(tools.encode()) + len(system.encode()) < MOST_BYTES
    assert text_tokens(tools + system) < MOST_BYTES / 3


@pytest.mark.requirement("framework:prefix-size")
def test_with_every_provider_the_schemas_still_leave_room_for_the_prompt(full: Runtime) -> None:
    assert len(full.registry.schemas_json.encode()) < MOST_BYTES - 4_000


@pytest.mark.requirement("framework:stable-bytes", "schema:same-bytes")
def test_schemas_and_system_prompt_are_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from sam_tui.assembly import Options, build\n"
        "from sam_tui.core.messages import UserMessage\n"
        "options = Options(sys.argv[1], sys.argv[2])\n"
        "runtime = build(options, {'HOME': sys.argv[1]})\n"
        "request = runtime.engine.requests.build([UserMessage('hi')])\n"
        "print(request.system)\n"
        "print(request.tools_json)\n"
        "runtime.release()\n"
    )
    (tmp_path / "ws").mkdir()
    environ = os.environ | {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    anew = ([sys.executable, "-c"], {"PYTHONHASHSEED": "4242"})
    starts = ((SCRIPT, dict[str, str]()), anew)
    outputs = {
        subprocess.run(
            [*start, program, str(tmp_path / "ws"), str(tmp_path / f"data{number}")],
            env=environ | seed,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for number, (start, seed) in enumerate(starts)
    }
    assert len(outputs) == 1
    assert '"name":"build_and_version_control"' in outputs.pop()


# Schemas


def test_no_reference_no_alternative_and_no_noise_in_the_schemas(full: Runtime) -> None:
    banned = {"$ref", "anyOf", "oneOf", "allOf", "$defs"}
    found = [
        path
        for path, node in nodes(full.registry.schemas)
        if banned & node.keys() or ("title" in node and not path.endswith("/properties"))
    ]
    assert found == []


def test_every_property_has_a_type_and_arrays_say_of_what(full: Runtime) -> None:
    poor: list[str] = []
    for tool in full.registry.tools:
        for path, node in nodes(schema_of(full.registry, tool.name)["parameters"]):
            for name, prop in node.get("properties", {}).items() if "properties" in node else ():
                whole = prop.get("type") != "array" or prop.get("items", {}).get("type")
                if "type" not in prop or not whole:
                    poor.append(f"{tool.name}{path}/{name}")
    assert poor == []


def test_descriptions_say_something_and_name_every_operation_with_its_parameters(
    full: Runtime,
) -> None:
    for tool in full.registry.tools:
        described: str = schema_of(full.registry, tool.name)["description"]
        assert len(described) > 10
        for operation in tool.operations if tool.consolidated else ():
            fields = arguments_schema(operation.arguments)
            names = [n if n in fields["required"] else f"{n}?" for n in fields["properties"]]
            assert f"\n- {operation.name}({', '.join(names)}): {operation.about}" in described
            assert operation.about
    empty = [p for p, n in nodes(full.registry.schemas) if n.get("description") == ""]
    assert empty == []


def test_advertised_parameters_are_exactly_those_that_operations_take(full: Runtime) -> None:
    for tool in full.registry.tools:
        advertised = schema_of(full.registry, tool.name)["parameters"]
        taken = {name for o in tool.operations for name in o.arguments.model_fields}
        assert set(advertised["properties"]) - {"operation"} == taken - {"operation"}
        if tool.consolidated:
            assert advertised["required"] == ["operation"]
        else:
            assert (
                advertised["required"] == arguments_schema(tool.operations[0].arguments)["required"]
            )
        assert set(advertised["required"]) <= set(advertised["properties"])


def test_required_is_what_cannot_be_left_out(full: Runtime) -> None:
    for tool, operation in operations(full.registry):
        given = complete(operation)
        required = set(arguments_schema(operation.arguments)["required"])
        for name in given:
            rest = {key: value for key, value in given.items() if key != name}
            accepted = _accepts(operation, rest)
            assert accepted == (name not in required), f"{tool.name}.{operation.name}: {name}"


def test_the_example_of_every_operation_is_a_call_that_parses(full: Runtime) -> None:
    for tool, operation in operations(full.registry):
        given = json.loads(example_call(tool, operation))
        assert given.pop("operation", operation.name) == operation.name
        assert _accepts(operation, given), f"{tool.name}.{operation.name}: {given}"


def test_giving_an_optional_parameter_changes_what_is_parsed(full: Runtime) -> None:
    for tool, operation in operations(full.registry):
        given = complete(operation)
        required = arguments_schema(operation.arguments)["required"]
        bare = {name: given[name] for name in required}
        without = operation.arguments.model_validate(bare)
        for name in given.keys() - set(required):
            parsed = operation.arguments.model_validate({**bare, name: given[name]})
            assert parsed != without, f"{tool.name}.{operation.name}: {name}={given[name]!r}"


def test_numbers_as_text_and_other_spellings_of_names_mean_the_same(full: Runtime) -> None:
    for tool, operation in operations(full.registry):
        given = complete(operation)
        plain = operation.arguments.model_validate(given)
        said = {name: _as_text(value) for name, value in given.items()}
        assert operation.arguments.model_validate(said) == plain, f"{tool.name}.{operation.name}"
        snake = {_snake(name): value for name, value in given.items()}
        assert operation.arguments.model_validate(snake) == plain, f"{tool.name}.{operation.name}"
        more = {**given, "unheard_of": 1}
        assert operation.arguments.model_validate(more) == plain


def test_bare_operation_names_are_made_from_the_live_schemas(full: Runtime) -> None:
    seen: dict[str, int] = {}
    for tool, operation in operations(full.registry):
        if tool.consolidated:
            seen[operation.name] = seen.get(operation.name, 0) + 1
    for tool, operation in operations(full.registry):
        if tool.consolidated:
            dotted = full.registry.resolve(operation_key(tool, operation))
            assert dotted.operation is operation
            if seen[operation.name] == 1:
                assert full.registry.resolve(operation.name).operation is operation


# Every operation runs, and reads what it was given


@pytest.mark.requirement("framework:every-operation")
@pytest.mark.parametrize("tool", ROUTES)
async def test_every_operation_succeeds_and_reads_every_parameter(
    opened: Opened, online: WebServer, tool: str
) -> None:
    async with FakeServer([Reply(text="An answer.")] * 40) as server:
        settings = {"model": "openai/x", "api_base": server.base, "api_key": "k"}
        bench = opened(context_tokens=20_000, **settings)
        readings = Readings()
        tour = Tour(bench, online, readings)
        prepare(bench, online)
        bench.events.drain()
        with readings.watch():
            await ROUTES[tool](tour)
        found = next(t for t in bench.runtime.registry.tools if t.name == tool)
        missing = [
            key
            for operation in found.operations
            if (key := operation_key(found, operation)) not in tour.succeeded | MOVED
        ]
        assert (tour.failed, missing) == ({}, [])
        wanted: set[str] = set()
        for operation in found.operations:
            wanted |= parameters(operation, operation_key(found, operation))
        assert sorted(SPEAKING & keys_of(found) - told(bench)) == [], "these say nothing"
        assert sorted(wanted - tour.given) == [], "the tour does not give these"
        assert sorted(wanted - tour.read) == [], "these are advertised and never read"


MOVED = {"memory_operations.manage_todos"}
"""Only says where its work went, as an error."""


def test_the_tours_are_of_every_tool() -> None:
    assert list(ROUTES) == list(LISTED)


async def test_a_parameter_that_nothing_reads_would_be_found(bench: Bench, site: WebServer) -> None:
    class Asked(Arguments):
        used: str = ""
        idle: str = ""

    async def run(arguments: Asked, _: ToolContext) -> ToolResult:
        return ToolResult(arguments.used)

    operation = Operation("ask", "ask", Asked, run, lambda a: f"Asking {a.used} {a.idle}")
    tool = Tool("asker", "Asks things.", (operation,), consolidated=False)
    bench.runtime.executor.registry = Registry([tool])
    readings = Readings()
    tour = Tour(bench, site, readings)
    with readings.watch():
        await tour.take("asker", used="a", idle="b")
    assert tour.given == {"asker.used", "asker.idle"}
    assert parameters(operation, "asker") - tour.read == {"asker.idle"}


def _accepts(operation: Operation[Any], given: Mapping[str, Any]) -> bool:
    try:
        operation.arguments.model_validate(given)
    except ValueError:
        return False
    return True


def _as_text(value: Any) -> Any:
    """Numbers, lists and objects as a model writes them that puts everything into quotes."""
    if isinstance(value, bool | str):
        return value
    return str(value) if isinstance(value, int | float) else json.dumps(value)


def _snake(name: str) -> str:
    """``filePath`` -> ``file_path``, and ``file_path`` -> ``filePath``."""
    if "_" in name:
        head, *tail = name.split("_")
        return head + "".join(part.capitalize() for part in tail)
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
