"""Every weakness that the specification lists of the originals has a place and a test that hold it off.

``make mutants ARGS=--rows`` breaks each place and sees its test fail.
"""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS: list[dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("rows.toml").read_text(encoding="utf-8")
)["row"]
COUNT = {"E1": 19, "E2": 14, "E3": 20}
"""How many weaknesses the specification lists of each of the three."""


@pytest.mark.requirement("workflow:rows")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_each_row_names_a_test_that_is_there_and_a_place_that_can_be_broken(
    row: dict[str, str],
) -> None:
    file, _, name = row["test"].partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    assert [n.name for n in tree.body if isinstance(n, kinds)].count(name) == 1
    source = (ROOT / row["module"]).read_text(encoding="utf-8")
    assert source.count(row["was"]) == 1
    broken = source.replace(row["was"], row["becomes"])
    assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(source))


@pytest.mark.requirement("workflow:rows")
def test_every_row_stands_there_once() -> None:
    names = [row["name"] for row in ROWS]
    assert len(set(names)) == len(names)
    assert {head: sum(n.startswith(head) for n in names) for head in COUNT} == COUNT
