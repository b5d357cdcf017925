"""A desk for every test."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.fakes.web_server import WebServer
from tests.ironmanus.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk without a model."""
    desk = Desk(tmp_path)
    yield desk
    desk.close()


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    """A site without pages; tests add their own."""
    async with WebServer() as server:
        yield server


@pytest.fixture
def online(tmp_path: Path, site: WebServer) -> Iterator[Desk]:
    """A desk whose web is the site, and nothing else private."""
    desk = Desk(tmp_path, site=site)
    yield desk
    desk.close()
