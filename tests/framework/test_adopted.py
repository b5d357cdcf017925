"""The table of adopted rows and the tests that exist name each other, both ways."""

import importlib
import re
from pathlib import Path

import pytest

from tests.framework.adopted import ROWS

HERE = Path(__file__).parent
COUNTS = {"10.1": 32, "10.2": 30, "10.3": 4, "10.4": 33}
"""How many rows each section of spec/sam.md has."""

pytestmark = pytest.mark.requirement("framework:adopted")


@pytest.fixture(scope="module")
def collected() -> list[str]:
    """The row ids of the tests that pytest finds."""
    tests = (
        test
        for path in sorted(HERE.glob("test_sam_suite_*.py"))
        for name, test in vars(importlib.import_module(f"tests.framework.{path.stem}")).items()
        if name.startswith("test_")
    )
    marks = (mark for test in tests for mark in getattr(test, "pytestmark", ()))
    values = (value for mark in marks if mark.name == "parametrize" for value in mark.args[1])
    return [value.id for value in values if re.match(r"10\.\d-", getattr(value, "id", None) or "")]


def test_every_row_to_adopt_names_tests_that_run(collected: list[str]) -> None:
    missing = {
        name: [test for test in row.tests if test not in collected]
        for name, row in ROWS.items()
        if any(test not in collected for test in row.tests)
    }
    assert missing == {}


def test_every_test_of_a_row_belongs_to_exactly_one(collected: list[str]) -> None:
    named = [test for row in ROWS.values() for test in row.tests]
    assert sorted(set(collected) - set(named)) == []
    assert len(named) == len(set(named)) == len(set(collected)) == len(collected)


def test_no_row_is_left_out_and_none_is_adopted_without_a_test() -> None:
    found = {section: sum(n.startswith(f"{section}/") for n in ROWS) for section in COUNTS}
    assert found == COUNTS
    for name, row in ROWS.items():
        assert bool(row.tests) == (row.adopt in ("Y", "M")), name
        assert bool(row.note) == (row.adopt in ("M", "N")), name
