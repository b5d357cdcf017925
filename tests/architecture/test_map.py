"""What ARCHITECTURE.md names is there."""

import ast
import re
import tomllib
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


@pytest.mark.requirement("house:map")
def test_every_file_that_the_documents_for_contributors_name_is_there() -> None:
    """Written as code, with a slash and an ending, or ending in one: a path from anywhere in the tree."""
    documents = [*ROOT.glob("docs/design/*.md"), ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
    tops = ("sam_tui", "tools", "reminders", "tests", "docs", "scripts")
    files = [path.as_posix() for top in tops for path in (ROOT / top).rglob("*.*")]
    missing = [
        (document.name, path)
        for document in documents
        for path in re.findall(r"`([\w/]+/[\w/]+\.(?:py|md|toml|sh))`", document.read_text("utf-8"))
        if not any(file.endswith(f"/{path}") for file in files)
    ]
    assert not missing


@pytest.mark.requirement("house:map")
def test_every_dependency_has_a_row() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    rows = re.findall(
        r"^\| ([^|]+) \|", (ROOT / "docs/dependencies.md").read_text("utf-8"), re.MULTILINE
    )
    named = set(re.findall(r"[\w-]+", " ".join(rows)))
    required = {re.split(r"[ <>=;\[]", line)[0] for line in project["dependencies"]}
    grammars = {name for name in required if name.startswith("tree-sitter-")}
    assert required - grammars - named == set()
