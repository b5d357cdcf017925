"""A bench for every test: its own store, project and clock."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflow.bench import OPENED, Bench


@pytest.fixture(autouse=True)
def closed_databases() -> Iterator[None]:
    """No database of a test stays open."""
    yield
    while OPENED:
        OPENED.pop()()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Workflows without the bundled ones."""
    bench = Bench(tmp_path)
    yield bench
    bench.close()
