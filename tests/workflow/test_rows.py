"""Every weakness that the specification lists of the originals has a place and a test that hold it off.

``make mutants ARGS=--rows`` breaks each place and sees its test fail.
"""

import ast
import functools
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS: list[dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("rows.toml").read_text(encoding="utf-8")
)["row"]
COUNT = {"E1": 19, "E2": 14, "E3": 20}
"""How many weaknesses the specification lists of each of the three."""


@functools.cache
def functions(file: str) -> list[str]:
    """The functions of a module, by their names."""
    source = (ROOT / file).read_text(encoding="utf-8")
    return re.findall(r"^(?:async )?def (\w+)", source, re.MULTILINE)


@functools.cache
def syntax(source: str) -> str:
    """What a module says, however it is laid out."""
    return ast.dump(ast.parse(source))


@pytest.mark.requirement("workflow:rows")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_each_row_names_a_test_that_is_there_and_a_place_that_can_be_broken(
    row: dict[str, str],
) -> None:
    file, _, name = row["test"].partition("::")
    assert functions(file).count(name) == 1
    source = (ROOT / row["module"]).read_text(encoding="utf-8")
    assert source.count(row["was"]) == 1
    broken = source.replace(row["was"], row["becomes"])
    assert ast.dump(ast.parse(broken)) != syntax(source)


@pytest.mark.requirement("workflow:rows")
def test_every_row_stands_there_once() -> None:
    names = [row["name"] for row in ROWS]
    assert len(set(names)) == len(names)
    assert {head: sum(n.startswith(head) for n in names) for head in COUNT} == COUNT
