"""A loopback site and the tools over real parts."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.fakes.web_server import WebServer
from tests.web.harness import Harness


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    """A site without pages; tests add their own."""
    async with WebServer() as server:
        yield server


@pytest.fixture
def harness(tmp_path: Path, site: WebServer) -> Iterator[Harness]:
    """The tools over real parts."""
    harness = Harness(tmp_path, site)
    yield harness
    harness.storage.close()
