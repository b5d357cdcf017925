"""The ward of a test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.guard.ward import Ward


@pytest.fixture
def ward(tmp_path: Path) -> Callable[..., Ward]:
    """Makes a ward in the test's own folder."""
    return lambda **options: Ward(tmp_path, **options)
