"""The published schema of stream-json is current, and knows every line and field. Costs 2 s of CPU."""

import re
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator, ValidationError

from sam_tui.cli.program import program as cli
from sam_tui.headless import lines as lines_module
from sam_tui.headless.outcome import EXIT_CODES
from sam_tui.headless.schema import SYSTEM, event_schemas, line_schema
from tests.headless.conftest import Program, call, shell

ROOT = Path(__file__).parents[2]
TODO = {"id": 1, "title": "a", "description": "b", "status": "in-progress"}


def closed(schema: Any) -> Any:
    """The schema without room for a field that it does not name."""
    if isinstance(schema, list):
        return [closed(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in cast("dict[str, Any]", schema).items()}
    return inner | ({"additionalProperties": False} if "properties" in inner else {})


def faults_of(validator: Any, line: dict[str, Any]) -> list[ValidationError]:
    """What is wrong with a line."""
    return list(validator.iter_errors(line))


@pytest.mark.requirement("headless:schema")
def test_the_published_schema_is_what_the_program_prints() -> None:
    printed = CliRunner().invoke(cli, ["schema", "events"]).output
    assert (ROOT / "docs" / "events.schema.json").read_text(encoding="utf-8") == printed
    Draft202012Validator.check_schema(line_schema())


@pytest.mark.requirement("headless:schema")
def test_every_system_line_of_the_code_and_of_the_docs_is_in_the_schema() -> None:
    assert lines_module.__file__ is not None
    told = (Path(lines_module.__file__).read_text(encoding="utf-8")).replace("\n", "")
    assert {*re.findall(r'self\.system\(\s*"(\w+)"', told), "init"} == SYSTEM.keys()
    docs = (ROOT / "docs" / "headless.md").read_text(encoding="utf-8")
    for name in event_schemas():
        assert f"`{name}`" in docs, name


@pytest.mark.requirement("headless:exit-codes")
def test_the_table_of_exit_codes_is_that_of_the_program() -> None:
    docs = (ROOT / "docs" / "headless.md").read_text(encoding="utf-8")
    table = docs.partition("## Exit codes")[2].partition("\n**Blocked")[0]
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|", table, re.MULTILINE)
    told = {name: int(code) for code, names in rows for name in re.findall(r"`(\w+)`", names)}
    assert told == EXIT_CODES


@pytest.mark.requirement("headless:schema")
def test_each_line_of_a_run_has_the_fields_of_its_schema_and_no_others(program: Program) -> None:
    todos = {"name": "todo_operations", "arguments": {"operation": "write", "todoList": [TODO]}}
    model = program.script(
        {"reasoning": "hm", "text": "I begin.", "calls": [todos, *shell("echo hi")["calls"]]},
        {"calls": [call("file_operations", "create_file", filePath="/etc/x", content="")]},
        {"text": "{}"},
    )
    words = ("--include-partial-messages", "--include-hook-events", "--json-schema", "{}")
    ended = program.stream("go", "--model", model, *words)
    schemas = {name: Draft202012Validator(closed(each)) for name, each in event_schemas().items()}
    seen: set[str] = set()
    for line in ended.lines:
        kind, subtype = line["type"], line.get("subtype", "")
        name = f"system/{subtype}" if kind == "system" else kind
        if kind == "stream_event":
            line["event"] = {"type": line["event"]["type"]}
        assert [fault.message for fault in faults_of(schemas[name], line)] == []
        seen.add(name)
    assert {"system/init", "system/todo", "assistant", "user", "stream_event", "result"} <= seen
