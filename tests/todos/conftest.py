"""Desks: one where nobody answers questions, and one where somebody may."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.todos.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Nobody is there to answer questions."""
    desk = Desk(tmp_path)
    yield desk
    desk.storage.close()


@pytest.fixture
def attended(tmp_path: Path) -> Iterator[Desk]:
    """Questions wait for an answer."""
    desk = Desk(tmp_path, attended=True)
    yield desk
    desk.storage.close()
