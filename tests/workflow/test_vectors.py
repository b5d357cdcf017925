"""The table of the originals' vectors and the tests that exist name each other; none is missing."""

import ast
from pathlib import Path

import pytest

from tests.workflow.vectors import COUNTS, MACHINE, MOVES, STATE
from tests.workflow.vectors_manus import FETCHING, GRAPH, REGISTRY
from tests.workflow.vectors_plans import MANUS, PLANS

ROOT = Path(__file__).parents[2]
VECTORS = {**MACHINE, **STATE, **REGISTRY, **FETCHING, **GRAPH, **MOVES, **PLANS, **MANUS}
OWN = ("tests/ironmanus/test_vectors.py", "tests/workflow/test_vectors_more.py")
"""Modules that exist for the table alone: each of their tests is named in it."""

pytestmark = pytest.mark.requirement("workflow:vectors")


@pytest.fixture(scope="module")
def collected() -> set[str]:
    """The tests of every module that the table names, read from their text: importing all takes seconds."""
    named = {node.partition("::")[0] for vector in VECTORS.values() for node in vector.nodes}
    return {
        f"{module}::{item.name}"
        for module in named | set(OWN)
        for item in ast.parse((ROOT / module).read_text("utf-8")).body
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
        and item.name.startswith("test_")
    }


def test_every_vector_names_tests_that_run(collected: set[str]) -> None:
    lost = {name: sorted(set(v.nodes) - collected) for name, v in VECTORS.items()}
    assert {name: nodes for name, nodes in lost.items() if nodes} == {}


@pytest.mark.parametrize("module", OWN)
def test_every_test_made_for_the_table_is_named_in_it(collected: set[str], module: str) -> None:
    named = {node for vector in VECTORS.values() for node in vector.nodes}
    assert sorted(node for node in collected - named if node.startswith(module)) == []


@pytest.mark.parametrize("section", COUNTS)
def test_no_vector_of_a_section_is_missing_and_each_is_held_or_says_why_not(section: str) -> None:
    expected = [f"{section}.{number}" for number in range(1, COUNTS[section] + 1)]
    assert [name for name in VECTORS if name.startswith(f"{section}.")] == expected
    for name in expected:
        vector = VECTORS[name]
        assert vector.asks, name
        assert vector.tests or vector.note, name
        assert len(set(vector.nodes)) == len(vector.nodes), name
