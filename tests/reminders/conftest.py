"""A store whose clock stands still, and views of a conversation."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.storage import Storage, open_storage

NOW = 1_000_000.0


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    """An open store; everything in it is stored at ``NOW``."""
    opened = open_storage(tmp_path / "data", now=lambda: NOW)
    yield opened
    opened.close()
