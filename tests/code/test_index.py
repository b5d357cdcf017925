"""The index: kept by change, honest about what it holds, shared by processes."""

import asyncio
import os
import stat
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from sam_tui.adapters.code import SqliteCodeIndex
from sam_tui.adapters.files import LocalFiles
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ModelUnavailable, ToolError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.tooling.contract import Permit, ToolContext
from tests.code.conftest import Workshop, endless_listing
from tests.fakes.preloaded import SCRIPT

HTTP = '''"""Fetching."""


class HttpClient:
    """Speaks to servers."""

    def fetch_page(self, url: str) -> bytes:
        """Download one page."""
        return self._connection.get(url)
'''
CACHE = '''"""Keeping."""


def evictOldest(cache):
    """Throw the oldest entry of the cache away."""
    cache.pop(next(iter(cache)))
'''


@pytest.fixture
def stocked(shop: Workshop) -> Workshop:
    shop.write("net/http_client.py", HTTP)
    shop.write("store/cache.py", CACHE)
    shop.write("docs/guide.md", "# Download pages\n\nUse the client. It downloads a page.\n")
    shop.write("web/app.ts", "export function renderPage(page: string) {\n  return page;\n}\n")
    return shop


async def paths(shop: Workshop, query: str, **more: object) -> list[str]:
    executed = await shop.done("semantic_search", query=query, **more)
    return [item["path"] for item in executed.data["results"]]


@pytest.mark.requirement("files:semantic-search")
async def test_identifiers_are_found_by_their_parts_and_words_by_their_stems(stocked: Workshop):
    os.utime(stocked.root / "web/app.ts", (1 << 40, 1 << 40))  # the year 36812
    assert (await paths(stocked, "how are old entries evicted from a cache"))[0] == "store/cache.py"
    assert (await paths(stocked, "evict oldest"))[0] == "store/cache.py"
    assert (await paths(stocked, "fetchPage"))[0] == "net/http_client.py"
    assert (await paths(stocked, "HttpClient"))[0] == "net/http_client.py"
    assert await paths(stocked, "zzzunknown") == []


@pytest.mark.requirement("files:semantic-search")
async def test_a_passage_comes_with_its_lines_and_the_names_it_defines(stocked: Workshop):
    executed = await stocked.done("semantic_search", query="evictOldest", limit=1)
    (item,) = executed.data["results"]
    assert (item["startLine"], item["endLine"], item["symbols"]) == (1, 6, ["evictOldest"])
    assert item["content"] == CACHE.removesuffix("\n")
    assert "store/cache.py:1-6 defines evictOldest\n" in executed.finished.text
    assert "  4: def evictOldest(cache):" in executed.finished.text


@pytest.mark.requirement("files:semantic-search")
async def test_the_include_pattern_and_the_limit_are_honoured(stocked: Workshop):
    assert set(await paths(stocked, "page")) > {"web/app.ts", "docs/guide.md"}
    assert await paths(stocked, "page", includePattern="**/*.ts") == ["web/app.ts"]
    assert await paths(stocked, "page", includePattern="docs") == ["docs/guide.md"]
    assert await paths(stocked, "page", includePattern=f"{stocked.root}/web/**") == ["web/app.ts"]
    assert len(await paths(stocked, "page", limit=1)) == 1
    assert "no word" in await stocked.refused("semantic_search", query="?!")


@pytest.mark.requirement("files:index-by-change")
async def test_only_what_changed_is_read_again(stocked: Workshop):
    index, here = stocked.insight.index, stocked.here
    for file in stocked.root.rglob("*.*"):
        os.utime(file, (1_000_000, 1_000_000))
    first = await index.update(here, lambda _: None)
    assert (first.files, first.read, first.waiting) == (4, 4, 0)
    assert (await index.update(here, lambda _: None)).read == 0
    stocked.write("store/cache.py", "def quokka(): ...\n")
    stocked.write("new.py", "def wombat(): ...\n")
    (stocked.root / "web/app.ts").unlink()
    second = await index.update(here, lambda _: None)
    assert (second.files, second.read, second.removed) == (4, 2, 1)
    assert sorted(await paths(stocked, "quokka wombat")) == ["new.py", "store/cache.py"]
    assert await paths(stocked, "evictOldest") == []
    assert "web/app.ts" not in await paths(stocked, "renderPage")


class CountingFiles(LocalFiles):
    """Files that remember what was read."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def read(self, where: Location, *, limit: int) -> bytes:
        self.paths.append(where.argument)
        return super().read(where, limit=limit)


@pytest.mark.requirement("files:index-by-change")
async def test_a_second_search_opens_no_file_and_later_ones_what_changed(
    stocked: Workshop, tmp_path: Path
):
    files = CountingFiles()
    for file in stocked.root.rglob("*.*"):
        os.utime(file, (1_000_000, 1_000_000))
    for _ in range(2):  # the second is another process's: it knows the index alone
        index = SqliteCodeIndex(tmp_path / "counted", files, stocked.search)
        for _ in range(2):
            await index.update(stocked.here, lambda _: None)
            assert await index.passages(stocked.here, "page", paths=None, limit=9)
        index.close()
    assert sorted(files.paths) == [
        "docs/guide.md", "net/http_client.py", "store/cache.py", "web/app.ts",
    ]  # fmt: skip
    stocked.write("store/cache.py", "def quokka(): ...\n")
    files.paths.clear()
    index = SqliteCodeIndex(tmp_path / "counted", files, stocked.search)
    await index.update(stocked.here, lambda _: None)
    index.close()
    assert files.paths == ["store/cache.py"]


@pytest.mark.requirement("files:index-by-change")
async def test_a_change_within_one_tick_of_the_clock_is_seen(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    # As long as this test, however slow the machine is.
    monkeypatch.setattr("sam_tui.adapters.code.index._TICK", 3_600_000_000_000)
    file = shop.write("a.py", "wombat = 1\n")
    assert await paths(shop, "wombat") == ["a.py"]
    found = file.stat()
    with file.open("r+", encoding="utf-8") as stream:
        stream.write("quokka = 1\n")
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert await paths(shop, "quokka") == ["a.py"]


@pytest.mark.requirement("files:index-bounds")
async def test_ignored_hidden_binary_large_and_outside_files_stay_out(shop: Workshop):
    outside = shop.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("wombat", encoding="utf-8")
    shop.write(".gitignore", "ignored/\n")
    shop.write("ignored/a.py", "wombat")
    shop.write(".env", "wombat")
    (shop.root / "b.bin").write_bytes(b"wombat\0")
    shop.write("large.py", "wombat\n" * 200_000)
    shop.write("lib.min.js", "wombat")
    (shop.root / "link.py").symlink_to(outside / "secret.py")
    (shop.root / "linked").symlink_to(outside)
    shop.write("a.py", "wombat")
    (shop.root / os.fsdecode(b"odd\xff.py")).write_text("wombat", encoding="utf-8")
    assert sorted(await paths(shop, "wombat")) == ["a.py", "odd\\udcff.py"]
    listed = await shop.done("search_index")
    assert ".env" not in listed.finished.text
    assert "secret" not in listed.finished.text


@pytest.mark.requirement("files:index-bounds")
async def test_a_first_build_that_takes_too_long_goes_on_the_next_time(
    shop: Workshop, tmp_path: Path
):
    for number in range(250):
        shop.write(f"f{number}.py", f"wombat_{number} = 1\n")
    index = SqliteCodeIndex(tmp_path / "slow", shop.files, shop.search, seconds=0.0)
    told: list[str] = []
    cut = await index.update(shop.here, told.append)
    assert cut.waiting > 0
    assert cut.read + cut.waiting == 250
    patient = SqliteCodeIndex(tmp_path / "slow", shop.files, shop.search)
    assert (await patient.update(shop.here, told.append)).waiting == 0
    assert any("of 250 files" in line for line in told)
    index.close()
    patient.close()


@pytest.mark.requirement("files:index-bounds")
async def test_a_listing_that_the_time_cut_takes_no_file_out_of_the_index(
    shop: Workshop, tmp_path: Path
):
    for name in ("a.py", "b.py", "c.py"):
        shop.write(name, "wombat = 1\n")
    whole = SqliteCodeIndex(tmp_path / "index", shop.files, shop.search)
    assert (await whole.update(shop.here, lambda _: None)).files == 3
    index = SqliteCodeIndex(tmp_path / "index", shop.files, endless_listing(tmp_path))
    state = await index.update(shop.here, lambda _: None)
    assert (state.files, state.removed, state.cut) == (3, 0, "stopped after 2 s")
    whole.close()
    index.close()


@pytest.mark.requirement("files:index-bounds")
async def test_a_build_can_be_cancelled_and_what_it_read_stays(shop: Workshop):
    for number in range(350):
        shop.write(f"f{number}.py", f"wombat_{number} = 1\n")
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(shop.insight.index.update(shop.here, lambda _: begun.set()))
        await begun.wait()
        task.cancel()
    state = await shop.insight.index.update(shop.here, lambda _: None)
    assert state.waiting == 0
    assert len(await paths(shop, "wombat", limit=100)) == 100


@pytest.mark.requirement("files:index-progress")
async def test_a_long_build_tells_how_far_it_is(shop: Workshop):
    for number in range(150):
        shop.write(f"f{number}.py", "wombat = 1\n")
    shop.progress()
    await paths(shop, "wombat")
    told = "".join(shop.progress())
    assert "Indexing: 0 of 150 files\nIndexing: 100 of 150 files\n" in told
    await paths(shop, "wombat")
    assert len(shop.progress()) <= 2


WORKER = """
import asyncio, sys
from sam_tui.adapters.code import SqliteCodeIndex
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.search import RipgrepSearch
from sam_tui.core.authorization.paths.containment import Workspace
async def main(data, root):
    index = SqliteCodeIndex(data, LocalFiles(), RipgrepSearch())
    here = Workspace.open(root).locate(".")
    state = await index.update(here, lambda _: None)
    found = await index.passages(here, "wombat", paths=None, limit=500)
    print(state.files, state.waiting, len(found), len({p.path for p in found}))
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.requirement("files:index-shared")
async def test_processes_that_build_at_once_end_with_each_file_once(shop: Workshop):
    for number in range(150):
        shop.write(f"d{number % 7}/f{number}.py", f"def wombat_{number}(): ...\n")
    workers = [
        await asyncio.create_subprocess_exec(
            *SCRIPT, WORKER, str(shop.data), str(shop.root), stdout=-1, stderr=-1
        )
        for _ in range(3)
    ]
    for worker in workers:
        output, errors = await worker.communicate()
        assert output.decode().split() == ["150", "0", "150", "150"], errors.decode()


@pytest.mark.requirement("files:index-shared")
async def test_a_damaged_index_is_begun_anew(stocked: Workshop):
    await paths(stocked, "page")
    stocked.insight.index.close()
    (file,) = (stocked.data / "index").glob("*.db")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_bytes(b"no database at all" * 1000)
    for ending in ("-wal", "-shm"):
        file.with_name(file.name + ending).unlink(missing_ok=True)
    assert (await paths(stocked, "evictOldest"))[0] == "store/cache.py"
    stocked.insight.index.close()
    file.unlink()
    file.mkdir()
    assert "index cannot be used" in await stocked.refused("semantic_search", query="page")


class Meaning:
    """Vectors of three hand-picked directions; counts what it was asked for."""

    name = "meaning-3"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.down = False

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self.down:
            raise ModelUnavailable("not there")
        self.asked.append(list(texts))
        return [
            [float("marsupial" in text or "wombat" in text), float("bird" in text), 0.1]
            for text in texts
        ]


@pytest.mark.requirement("files:semantic-vectors")
async def test_vectors_are_fused_with_words_kept_and_not_needed(tmp_path: Path):
    meaning = Meaning()
    shop = Workshop(tmp_path, embedder=meaning)
    try:
        shop.write("bird.py", "animal = 'bird'  # animal animal animal\n")
        shop.write("wombat.py", "kind = 'wombat'  # an animal, one more animal\n")
        shop.write("stone.py", "# no animal at all, but a stone, and what else lies in the field\n")
        assert (await paths(shop, "marsupial animal"))[0] == "wombat.py"
        assert sum(len(texts) for texts in meaning.asked) == 4
        await paths(shop, "marsupial animal")
        assert sum(len(texts) for texts in meaning.asked) == 5
        meaning.down = True
        assert (await paths(shop, "marsupial animal"))[0] == "bird.py"
    finally:
        shop.close()


@pytest.mark.requirement("files:search-index")
async def test_files_are_found_by_name_extension_size_and_date(shop: Workshop):
    for path, size, day in (
        ("src/Main.py", 10, "2024-01-01"),
        ("src/domain.py", 5000, "2024-06-01"),
        ("main.ts", 300, "2024-12-31"),
        ("Makefile", 50, "2023-01-01"),
    ):
        file = shop.write(path, "x" * size)
        seconds = datetime.fromisoformat(f"{day}T12:00Z").timestamp()
        os.utime(file, (seconds, seconds))

    async def found(**wanted: object) -> list[str]:
        executed = await shop.done("search_index", **wanted)
        return [item["path"] for item in executed.data["matches"]]

    assert await found(query="MAIN") == ["main.ts", "src/Main.py", "src/domain.py"]
    assert await found(query="src/") == ["src/Main.py", "src/domain.py"]
    assert await found(extension=".PY") == ["src/Main.py", "src/domain.py"]
    assert await found(extension="file") == []
    assert await found(minSize=51, maxSize=300) == ["main.ts"]
    assert await found(modifiedAfter="2024-01-01T12:00:00Z", modifiedBefore="2024-12-31") == [
        "src/Main.py",
        "src/domain.py",
    ]
    assert await found(query="main", extension="py", minSize="100") == ["src/domain.py"]
    assert await found(minSize=10**30) == []
    assert await found(limit=1) == ["Makefile"]
    executed = await shop.done("search_index", limit=1)
    assert executed.finished.text.startswith("4 of 4 files, the first 1 shown")
    assert executed.data["totalCount"] == 4
    assert await found(query="100%_") == []
    assert await found(query="\ud800", extension="\udc80") == []
    assert "no ISO date" in await shop.refused("search_index", modifiedAfter="yesterday")


@pytest.mark.requirement("files:search-index")
async def test_a_refresh_builds_the_index_anew(stocked: Workshop):
    await paths(stocked, "page")
    state = await stocked.insight.index.scan(stocked.here)
    assert state.passages == 4
    executed = await stocked.done("search_index", refresh=True)
    assert executed.data["indexedFiles"] == 4
    assert (await stocked.insight.index.scan(stocked.here)).passages == 0
    assert (await paths(stocked, "evictOldest"))[0] == "store/cache.py"


@pytest.mark.requirement("files:index-bounds")
async def test_a_folder_that_is_gone_is_an_error(shop: Workshop):
    gone = shop.workspace.locate("gone")
    with pytest.raises(ToolError, match="not found"):
        await shop.insight.index.scan(gone)


@pytest.mark.requirement("files:recall")
async def test_the_last_search_of_a_conversation_comes_again_in_full(stocked: Workshop):
    assert "Nothing was searched" in (await stocked.done("get_search_results")).finished.text
    grep = await stocked.done("grep_search", query="page")
    again = await stocked.done("get_search_results")
    assert again.finished.text == f"Last search: grep_search\n{grep.finished.text}"
    assert again.data["results"] == grep.data
    for name, given in (
        ("file_search", {"query": "*.py"}),
        ("semantic_search", {"query": "page"}),
        ("list_usages", {"symbolName": "cache"}),
    ):
        await stocked.done(name, **given)
        assert (await stocked.done("get_search_results")).data["operation"] == name
    other = ToolContext(
        ConversationId("other"), CallId("k"), str(stocked.root), Permit({}), lambda _: None
    )
    recall = next(o for o in stocked.tool.operations if o.name == "get_search_results")
    result = await recall.run(recall.arguments.model_validate({}), other)
    assert result.data["operation"] == ""
