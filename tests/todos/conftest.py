"""Harnesses: one where nobody answers questions, and one where somebody may."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.todos.harness import Harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    """Nobody is there to answer questions."""
    harness = Harness(tmp_path)
    yield harness
    harness.storage.close()


@pytest.fixture
def attended(tmp_path: Path) -> Iterator[Harness]:
    """Questions wait for an answer."""
    harness = Harness(tmp_path, attended=True)
    yield harness
    harness.storage.close()
