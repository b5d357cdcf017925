"""What the model is told comes from the models that parse it, and is the same bytes everywhere."""

import json
from typing import Any

import pytest

from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.offer import canonical, example_call, parameters_schema
from sam_tui.core.tooling.registry import Registry, built_ins_first
from tests.fakes.engine_kit import Kit


class Number(Arguments):
    """A number."""

    value: int


class Words(Arguments):
    """Words under the same name."""

    value: str


async def run(_: Any, __: ToolContext) -> ToolResult:
    """Do nothing."""
    return ToolResult("")


def operation(name: str, arguments: type[Arguments]) -> Operation[Any]:
    """An operation that does nothing."""
    return Operation(name, "nothing", arguments, run, lambda _: name)


@pytest.mark.requirement("schema:flat")
def test_operations_share_one_flat_schema(kit: Kit) -> None:
    voice = kit.registry.schemas[0]["function"]
    properties = voice["parameters"]["properties"]
    assert list(properties) == ["operation", "text", "filePath", "times", "marks"]
    assert properties["operation"]["enum"] == ["murmur", "speak", "shout", "note"]
    assert properties["marks"] == {"type": "array", "items": {"type": "integer"}}
    assert voice["parameters"]["required"] == ["operation"]
    assert "note(filePath, text?, times?, marks?)" in voice["description"]


@pytest.mark.requirement("schema:one-type")
def test_one_name_with_two_types_is_refused_at_start() -> None:
    tool = Tool("t", "d", (operation("a", Number), operation("b", Words)))
    with pytest.raises(ValueError, match="'value' has two types"):
        parameters_schema(tool)


@pytest.mark.requirement("schema:same-bytes")
def test_words_of_any_language_cost_the_model_no_escapes() -> None:
    assert canonical({"größe": ["é", 1]}) == '{"größe":["é",1]}'


@pytest.mark.requirement("execute:clear-faults")
def test_an_example_is_a_call_that_parses(kit: Kit) -> None:
    for tool in kit.registry.tools:
        for each in tool.operations:
            example = json.loads(example_call(tool, each))
            example.pop("operation", None)
            each.arguments.model_validate(example)


@pytest.mark.requirement("registry:order")
def test_plug_ins_follow_the_built_ins_by_name(kit: Kit) -> None:
    plugins = [Tool(n, "d", (operation("o", Number),)) for n in ("zz", "aa")]
    registry = Registry(built_ins_first(list(kit.registry.tools), plugins))
    assert [tool.name for tool in registry.tools] == ["voice", "ping", "aa", "zz"]
