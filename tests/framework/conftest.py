"""An assembled runtime over the workspace of spec/sam.md 10.2, whose web is one site on loopback."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sam_tui import assembly
from sam_tui.adapters import web
from sam_tui.adapters.web import GuardedWeb
from sam_tui.adapters.web.serpapi import SerpApiClient
from sam_tui.core.ports.web import Web
from sam_tui.core.runtime import Runtime
from tests.fakes.web_server import WebServer
from tests.framework.bench import FILES, Bench, Person

Opened = Callable[..., Bench]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The workspace of spec/sam.md 10.2."""
    folder = tmp_path.resolve() / "ws"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    """What the runtimes of a test are built with: no keys, no endpoints, no requests for notes."""
    return {"HOME": str(home), "SAM_TUI_COMPACTION": "rules"}


@pytest.fixture
async def opened(
    tmp_path: Path, folder: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Opened]:
    """How to build a runtime over the workspace; all are closed at the end."""
    # A plain, fast shell for sessions, whatever the one of the person who runs the tests is.
    monkeypatch.setenv("SHELL", "/bin/bash")
    runtimes: list[Runtime] = []

    def opening(*, person: Person | None = None, **options: Any) -> Bench:
        answering = person or Person()
        settings: dict[str, Any] = {"attended": True, "responder": answering, **options}
        chosen = assembly.Options(str(folder), str(tmp_path / "data"), **settings)
        runtime = assembly.build(chosen, environ)
        runtimes.append(runtime)
        events = runtime.bus.subscribe()
        return Bench(runtime, folder, answering, runtime.open_session(), events)

    yield opening
    for runtime in runtimes:
        await runtime.close()


@pytest.fixture
def bench(opened: Opened) -> Bench:
    """A runtime whose person agrees to each question once."""
    return opened()


PROVIDERS = {"SERPAPI_API_KEY": "key", "SAM_TUI_IMAGE_BASE": "http://127.0.0.1:8123/v1"}


def looked_at(folder: Path, *, profile: str = "", **environ: str) -> Iterator[Runtime]:
    """A runtime to look at, over an empty folder: nothing in it starts anything that runs on."""
    (folder / "ws").mkdir()
    options = assembly.Options(str(folder / "ws"), str(folder / "data"), profile=profile)
    runtime = assembly.build(options, {"HOME": str(folder), **environ})
    yield runtime
    runtime.release()


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """A runtime to look at, as it is without any provider."""
    yield from looked_at(tmp_path_factory.mktemp("still"))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """A runtime to look at with every tool and operation, those that need a provider included."""
    yield from looked_at(tmp_path_factory.mktemp("full"), **PROVIDERS)


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    """A site without pages; tests add their own."""
    async with WebServer() as server:
        yield server


@pytest.fixture
def online(site: WebServer, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> WebServer:
    """Configure runtimes of this test so that the site is their web, search engine and image maker.

    The door only lets public addresses through; here, and only here, it allows this one more.
    """

    def door(*, allowed: frozenset[str] = frozenset(), **more: Any) -> GuardedWeb:
        return GuardedWeb(allowed=allowed | {site.origin}, **more)

    monkeypatch.setattr(web, "GuardedWeb", door)

    def serpapi(door: Web, _: Mapping[str, str]) -> SerpApiClient:
        return SerpApiClient(door, "key", site.url("/serp"))

    monkeypatch.setattr(web, "serpapi_from", serpapi)
    environ["SERPAPI_API_KEY"] = "key"
    environ["SAM_TUI_SEARXNG_BASE"] = site.url("/searx")
    environ["SAM_TUI_IMAGE_BASE"] = site.url("/v1")
    environ["SAM_TUI_IMAGE_MODEL"] = "local"
    return site
