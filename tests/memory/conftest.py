"""A harness with the tools of memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.harness import Harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    """One conversation and an open store."""
    harness = Harness(tmp_path)
    yield harness
    harness.storage.close()
