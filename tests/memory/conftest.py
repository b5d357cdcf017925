"""A desk with the tools of memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """One conversation and an open store."""
    desk = Desk(tmp_path)
    yield desk
    desk.storage.close()
