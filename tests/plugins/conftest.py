"""An engine over real storage and a real folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.engine_kit import Kit, open_kit


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    """A kit over a fresh workspace; nobody is there to answer questions."""
    kit = open_kit(tmp_path)
    yield kit
    kit.storage.close()
