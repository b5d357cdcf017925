"""A harness for every test."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.fakes.web_server import WebServer
from tests.ironmanus.harness import Harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    """A harness without a model."""
    harness = Harness(tmp_path)
    yield harness
    harness.close()


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    """A site without pages; tests add their own."""
    async with WebServer() as server:
        yield server


@pytest.fixture
def online(tmp_path: Path, site: WebServer) -> Iterator[Harness]:
    """A harness whose web is the site, and nothing else private."""
    harness = Harness(tmp_path, site=site)
    yield harness
    harness.close()
