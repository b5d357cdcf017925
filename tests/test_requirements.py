"""Every requirement has a test and every test names a requirement: read from the source of the tests."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS

TESTS = Path(__file__).parent
TEST = re.compile(r"^ *(?:async )?def test", re.MULTILINE)
FUNCTION = re.compile(r"^( *)((?:async )?def \w+).*\n(?:(?:\1[ )].*)?\n)*", re.MULTILINE)
"""With all that is indented below it."""


def marked(decorators: Iterable[ast.expr]) -> set[str]:
    """Ids in ``pytest.mark.requirement(...)`` among decorators or the value of ``pytestmark``."""
    found: set[str] = set()
    for decorator in decorators:
        for node in ast.walk(decorator):
            match node:
                case ast.Call(func=ast.Attribute(attr="requirement"), args=arguments):
                    found |= {
                        argument.value
                        for argument in arguments
                        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                    }
                case _:
                    pass
    return found


def read_marks(source: str) -> Iterator[tuple[str, set[str]]]:
    """Each test function of a module with the ids it carries, its class's and module's included.

    What functions do is not parsed, if not for a text over several lines that looks like a function.
    """
    try:
        tests = list(_marks_of(ast.parse(FUNCTION.sub(r"\1\2(): ...\n", source)).body, set()))
    except SyntaxError:
        tests = []
    if len(tests) != len(TEST.findall(source)):
        tests = list(_marks_of(ast.parse(source).body, set()))
    yield from tests


def _marks_of(body: list[ast.stmt], inherited: set[str]) -> Iterator[tuple[str, set[str]]]:
    marks = set(inherited)
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                marks |= marked([value])
            case ast.AnnAssign(target=ast.Name(id="pytestmark"), value=ast.expr() as value):
                marks |= marked([value])
            case _:
                pass
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name.startswith("test"):
                yield node.name, marks | marked(node.decorator_list)
            case ast.ClassDef() if node.name.startswith("Test"):
                yield from _marks_of(node.body, marks | marked(node.decorator_list))
            case _:
                pass


@pytest.fixture(scope="module")
def found() -> dict[str, set[str]]:
    """``file::test`` of the whole suite with the ids that each carries."""
    return {
        f"{file.relative_to(TESTS)}::{name}": ids
        for file in sorted(TESTS.rglob("test_*.py"))
        for name, ids in read_marks(file.read_text(encoding="utf-8"))
    }


@pytest.mark.requirement("house:requirements")
def test_every_test_names_a_requirement(found: dict[str, set[str]]) -> None:
    assert [name for name, ids in found.items() if not ids] == []


@pytest.mark.requirement("house:requirements")
def test_every_name_is_a_requirement(found: dict[str, set[str]]) -> None:
    unknown = {name: ids - REQUIREMENTS.keys() for name, ids in found.items()}
    assert {name: ids for name, ids in unknown.items() if ids} == {}


@pytest.mark.requirement("house:requirements")
def test_every_requirement_has_a_test(found: dict[str, set[str]]) -> None:
    proved = set[str]().union(*found.values())
    assert sorted(REQUIREMENTS.keys() - proved) == []


@pytest.mark.requirement("house:requirements")
def test_a_requirement_is_a_sentence_with_a_source() -> None:
    poor = [
        name
        for name, requirement in REQUIREMENTS.items()
        if ":" not in name or not requirement.sentence.endswith(".") or not requirement.source
    ]
    assert poor == []


@pytest.mark.requirement("house:requirements")
def test_marks_are_read_from_functions_classes_and_modules() -> None:
    source = (
        'pytestmark = pytest.mark.requirement("a:module")\n'
        '@pytest.mark.requirement("a:one", "a:two")\nasync def test_f(): ...\n'
        'class TestG:\n    pytestmark = [pytest.mark.requirement("a:class")]\n    def test_g(self): ...\n'
        "def helper(): ...\n"
    )
    assert dict(read_marks(source)) == {
        "test_f": {"a:module", "a:one", "a:two"},
        "test_g": {"a:module", "a:class"},
    }
    assert dict(read_marks("def test_h(): ...")) == {"test_h": set()}
