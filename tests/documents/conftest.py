"""A loopback site and the tools over real parts."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.fakes.web_server import WebServer
from tests.web.desk import Desk


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    """A site without pages; tests add their own."""
    async with WebServer() as server:
        yield server


@pytest.fixture
def desk(tmp_path: Path, site: WebServer) -> Iterator[Desk]:
    """The tools over real parts."""
    desk = Desk(tmp_path, site)
    yield desk
    desk.storage.close()
