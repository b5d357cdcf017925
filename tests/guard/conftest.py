"""The ward of a test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.guard.ward import Ward


@pytest.fixture
def ward(tmp_path: Path) -> Callable[..., Ward]:
    """Makes a ward in the test's own folder."""

    def made(**options: Any) -> Ward:
        return Ward(tmp_path, **options)

    return made
