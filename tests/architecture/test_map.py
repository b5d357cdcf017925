"""What ARCHITECTURE.md names is there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DEFINING = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
STEP = re.compile(r"^\d+\. `(?P<module>[\w/]+\.py)` `(?P<name>[\w.]+)`: ", re.MULTILINE)


def names(module: Path) -> set[str]:
    """Functions, classes and methods (``Class.method``) of a module."""
    found: set[str] = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, DEFINING):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{part.name}" for part in node.body if isinstance(part, DEFINING)
            }
    return found


@pytest.mark.requirement("house:map")
def test_every_function_on_the_five_ways_is_where_the_map_says() -> None:
    steps = [(match["module"], match["name"]) for match in STEP.finditer(MAP)]
    assert len(steps) == len(re.findall(r"^\d+\. ", MAP, re.MULTILINE)) > 25
    assert not [step for step in steps if step[1] not in names(ROOT / step[0])]


def in_the_table() -> list[str]:
    """What stands in the first column: a place, or the end of one beside the place before it."""
    cells = re.findall(r"^\| (`[^|]+`) \|", MAP, re.MULTILINE)
    return [path for cell in cells for path in re.findall(r"`([\w/]+)`", cell)]


@pytest.mark.requirement("house:map")
def test_every_package_in_the_table_is_there() -> None:
    paths = in_the_table()
    places = ("", "sam_tui", "sam_tui/adapters", "tools")
    missing = [
        path
        for path in paths
        if not any((ROOT / at / end).exists() for at in places for end in (path, f"{path}.py"))
    ]
    assert paths and not missing


@pytest.mark.requirement("house:map")
def test_every_package_and_adapter_is_in_the_table() -> None:
    ends = {Path(path).name for path in in_the_table()}
    places = [*(ROOT / "sam_tui").iterdir(), *(ROOT / "sam_tui/adapters").iterdir()]
    parts = {place.stem for place in places if not place.stem.startswith("__")}
    assert parts - {"adapters", "py"} - ends == set()
