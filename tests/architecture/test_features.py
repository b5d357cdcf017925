"""The table of features says nothing that no test holds."""

import re
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS

ROOT = Path(__file__).parents[2]
STATES = ("yes", "part", "no")


@pytest.mark.requirement("house:features")
def test_each_feature_names_the_requirements_that_hold_it_and_the_counts_are_right() -> None:
    text = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| (yes|part|no) \| ([^|]*) \|$", text, re.MULTILINE)
    faults: list[str] = []
    for feature, state, held in rows:
        names = re.findall(r"`([a-z0-9-]+:[a-z0-9-]+)`", held)
        faults += [
            f"{feature}: no requirement {name}" for name in names if name not in REQUIREMENTS
        ]
        if state == "yes" and not names:
            faults.append(f"{feature}: nothing holds it")
        if state == "part" and not re.search(r"[a-z]{3} [a-z]", held):
            faults.append(f"{feature}: it does not say what is missing")
    assert not faults
    counts = {state: sum(row[1] == state for row in rows) for state in STATES}
    said = re.search(r"Of (\d+) features (\d+) are there, (\d+) in part, (\d+) are not", text)
    assert said, "the counts are missing"
    assert tuple(map(int, said.groups())) == (len(rows), *counts.values())
