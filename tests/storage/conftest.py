"""A data folder and the stores in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.storage import Storage, open_storage


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Where the database is; not made yet."""
    return tmp_path / "data"


@pytest.fixture
def storage(data_dir: Path) -> Iterator[Storage]:
    """Open stores over an empty database."""
    opened = open_storage(data_dir)
    yield opened
    opened.close()
