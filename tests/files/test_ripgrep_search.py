"""The Search port on real folders: honest limits, stable order, nothing hidden, nothing left running."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sam_tools.file_operations import FileOperations
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.search import RipgrepSearch
from sam_tui.adapters.search.run import RipgrepRecords
from sam_tui.core.accesses import Location
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.files import FileMatches, GrepRequest


def below(root: Path, path: str = "") -> Location:
    return Location(path or ".", f"{root}/{path}".rstrip("/"), str(root))


def fill(root: Path, texts: dict[str, str]) -> None:
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


async def hits(search: RipgrepSearch, where: Location, pattern: str, **more: object):
    request = GrepRequest(where, pattern, bool(more.pop("regex", False)), **more)  # pyright: ignore[reportArgumentType] # fields by name
    return [(hit.path, hit.line, hit.text) for hit in (await search.grep(request)).hits]


@pytest.mark.requirement("search:ignored-and-hidden")
async def test_ignored_hidden_and_binary_files_are_left_out(search: RipgrepSearch, tmp_path: Path):
    fill(
        tmp_path,
        {
            ".gitignore": "build/\n*.log\n",
            "a.txt": "needle",
            "a.log": "needle",
            "build/b.txt": "needle",
            ".hidden": "needle",
            ".dot.txt": "needle",
            ".git/config": "needle",
            "sub/.dir/x.txt": "needle",
        },
    )
    (tmp_path / "bin.dat").write_bytes(b"needle\0needle\n")
    (tmp_path / "link.txt").symlink_to("/etc/passwd")
    for include in ("", "*", "**/*.txt", "*.{txt,log}"):
        assert await hits(search, below(tmp_path), "needle", include=include) == [
            ("a.txt", 1, "needle")
        ]
    assert await search.files(below(tmp_path), "**", limit=9, offset=0) == FileMatches(
        ["a.txt", "bin.dat"], 2
    )
    assert await search.files(below(tmp_path), "*.log", limit=9, offset=0) == FileMatches([], 0)
    assert (await search.files(below(tmp_path), ".h*", limit=9, offset=0)).paths == [".hidden"]
    assert (await search.files(below(tmp_path), ".git/**", limit=9, offset=0)).paths == []


@pytest.mark.requirement("search:root-folder")
async def test_a_folder_that_is_hidden_or_ignored_is_searched_when_it_is_named(
    search: RipgrepSearch, tmp_path: Path
):
    texts = {".gitignore": "build/\n*.log\n", "build/sub/b.txt": "x", ".github/ci.yml": "x"}
    fill(tmp_path, {**texts, "env/.gitignore": "*\n", "env/lib/c.py": "x", "src/a.log": "x"})
    assert await hits(search, below(tmp_path, "build"), "x") == [("sub/b.txt", 1, "x")]
    assert await hits(search, below(tmp_path, ".github"), "x") == [("ci.yml", 1, "x")]
    assert await hits(search, below(tmp_path, "env/lib"), "x") == [("c.py", 1, "x")]
    assert await search.files(below(tmp_path, "env/lib"), "*", limit=1, offset=0) == FileMatches(
        ["c.py"], 1
    )
    fill(tmp_path, {"src/a.txt": ""})
    assert await hits(search, below(tmp_path, "src"), "x") == []


@pytest.mark.requirement("search:literal-and-regex")
async def test_text_is_literal_unless_it_is_said_to_be_a_regular_expression(
    search: RipgrepSearch, tmp_path: Path
):
    fill(tmp_path, {"a.txt": "a.c\nabc\nA.C\n-x --files\n"})
    assert [h[1] for h in await hits(search, below(tmp_path), "a.c")] == [1, 3]
    assert [h[1] for h in await hits(search, below(tmp_path), "a.c", regex=True)] == [1, 2, 3]
    assert [h[1] for h in await hits(search, below(tmp_path), "a.c", case_sensitive=True)] == [1]
    assert [h[1] for h in await hits(search, below(tmp_path), "-x --files")] == [4]
    assert [h[1] for h in await hits(search, below(tmp_path), r"a(?=bc)", regex=True)] == [2]
    assert [h[1] for h in await hits(search, below(tmp_path), "a.c\nabc")] == [1]
    assert [h[1] for h in await hits(search, below(tmp_path), r"abc\nA", regex=True)] == [2]


@pytest.mark.requirement("search:bad-pattern")
@pytest.mark.parametrize("pattern", ["(", "a(?=b)\\", "[z-a]", "*", ""])
async def test_an_invalid_regular_expression_is_an_error_with_its_reason(
    search: RipgrepSearch, tmp_path: Path, pattern: str
):
    fill(tmp_path, {"a.txt": "x"})
    with pytest.raises(ToolError) as invalid:
        await hits(search, below(tmp_path), pattern, regex=True)
    assert len(str(invalid.value)) > 30
    assert "\n" not in str(invalid.value)


@pytest.mark.requirement("search:order-and-limit")
async def test_hits_come_in_path_order_and_the_limit_says_that_it_cut(
    search: RipgrepSearch, tmp_path: Path
):
    fill(tmp_path, {f"{d}/{f}.txt": "x\n" * 3 for d in "cab" for f in "ba"})
    fill(tmp_path, {"a.txt": "x"})
    paths = ["a/a.txt", "a/b.txt", "a.txt", "b/a.txt", "b/b.txt", "c/a.txt", "c/b.txt"]
    everything = [(p, n) for p in paths for n in ([1] if p == "a.txt" else [1, 2, 3])]
    for limit in (1, 4, 7, 19, 20):
        result = await search.grep(GrepRequest(below(tmp_path), "x", False, limit=limit))
        assert [(h.path, h.line) for h in result.hits] == everything[:limit]
        assert result.truncated is (limit < len(everything))


@pytest.mark.requirement("search:order-and-limit")
async def test_a_flood_of_matches_is_cut_to_the_same_first_ones(
    search: RipgrepSearch, tmp_path: Path
):
    fill(tmp_path, {f"f{n:03}.txt": "x\n" * 500 for n in range(60)})
    result = await search.grep(GrepRequest(below(tmp_path), "x", False, limit=700))
    assert result.truncated
    assert [(h.path, h.line) for h in result.hits] == [
        (f"f{n:03}.txt", line) for n in range(2) for line in range(1, 501)
    ][:700]


@pytest.mark.requirement("search:include")
async def test_the_include_glob_is_honoured_relative_anchored_and_absolute(
    search: RipgrepSearch, tmp_path: Path
):
    fill(tmp_path, dict.fromkeys(("a.py", "src/a.py", "src/b.ts", "src/d/c.py", "t/src/a.py"), "x"))

    async def paths(include: str) -> list[str]:
        return [h[0] for h in await hits(search, below(tmp_path), "x", include=include)]

    assert await paths("*.py") == ["a.py", "src/a.py", "src/d/c.py", "t/src/a.py"]
    assert await paths("src/*.py") == ["src/a.py"]
    assert await paths("src/**/*.{py,ts}") == ["src/a.py", "src/b.ts", "src/d/c.py"]
    assert await paths("t") == ["t/src/a.py"]
    assert await paths(f"{tmp_path}/src/**") == ["src/a.py", "src/b.ts", "src/d/c.py"]
    assert await paths("none/**") == []


@pytest.mark.requirement("search:single-file")
async def test_one_file_can_be_searched(search: RipgrepSearch, tmp_path: Path):
    fill(tmp_path, {"a.txt": "x\ny\nx\n"})
    assert await hits(search, below(tmp_path, "a.txt"), "x") == [(".", 1, "x"), (".", 3, "x")]
    with pytest.raises(ToolError, match="is a file"):
        await search.files(below(tmp_path, "a.txt"), "*", limit=1, offset=0)


@pytest.mark.requirement("search:no-follow")
async def test_a_folder_swapped_for_a_link_is_not_searched(search: RipgrepSearch, tmp_path: Path):
    (tmp_path / "ws").mkdir()
    fill(tmp_path, {"outside/a.txt": "x"})
    (tmp_path / "ws/d").symlink_to(tmp_path / "outside")
    for name in ("d", "d/a.txt", "none"):
        with pytest.raises(ToolError, match="cannot be searched"):
            await hits(search, below(tmp_path / "ws", name), "x")
    os.mkfifo(tmp_path / "ws/pipe")
    with pytest.raises(ToolError, match="neither a folder nor a file"):
        await hits(search, below(tmp_path / "ws", "pipe"), "x")


@pytest.mark.requirement("search:long-lines")
async def test_long_lines_are_clipped_around_the_match(search: RipgrepSearch, tmp_path: Path):
    fill(
        tmp_path,
        {
            "a.js": "a" * 5000 + "needle" + "b" * 5000 + "\n",
            "b.js": "ok\n" + "é" * 1_500_000 + "needle\nneedle\n",
        },
    )
    found = await hits(search, below(tmp_path), "needle")
    assert [h[:2] for h in found] == [("a.js", 1), ("b.js", 2), ("b.js", 3)]
    assert "needle" in found[0][2]
    assert found[0][2].startswith("…") and found[0][2].endswith("…")
    assert max(len(h[2]) for h in found) <= 402
    assert found[1][2].startswith("ééé")


@pytest.mark.requirement("search:odd-names")
async def test_names_and_lines_that_are_not_utf8_survive(search: RipgrepSearch, tmp_path: Path):
    (tmp_path / os.fsdecode(b"caf\xe9\n.txt")).write_bytes(b"x \xff\n")
    (tmp_path / "utf16.txt").write_text("x in utf16\n", encoding="utf-16")
    name = os.fsdecode(b"caf\xe9\n.txt")
    assert await hits(search, below(tmp_path), "x") == [
        (name, 1, "x \ufffd"),
        ("utf16.txt", 1, "x in utf16"),
    ]
    assert await search.files(below(tmp_path), "*.txt", limit=9, offset=0) == FileMatches(
        [name, "utf16.txt"], 2
    )


@pytest.mark.requirement("search:paging")
async def test_paths_are_paged_in_order_with_the_whole_count(search: RipgrepSearch, tmp_path: Path):
    fill(tmp_path, {f"d{n % 3}/{n:02}.py": "" for n in range(30)})
    everything = await search.files(below(tmp_path), "*.py", limit=100, offset=0)
    assert everything == FileMatches(sorted(everything.paths), 30)
    page = await search.files(below(tmp_path), "*.py", limit=7, offset=25)
    assert page == FileMatches(everything.paths[25:], 30)
    assert await search.files(below(tmp_path), "*.py", limit=7, offset=90) == FileMatches([], 30)


@pytest.mark.requirement("search:missing-ripgrep")
async def test_a_missing_ripgrep_is_an_error_that_says_what_to_install(tmp_path: Path):
    fill(tmp_path, {"a.txt": "x"})
    with pytest.raises(ToolError, match="could not start"):
        await hits(RipgrepSearch(binary=str(tmp_path / "rg")), below(tmp_path), "x")


def slow_program(folder: Path) -> str:
    """A stand-in for a search that never ends: prints one hit, tells its pid, and waits."""
    program = folder / "slow"
    data = '{"path":{"text":"./a"},"lines":{"text":"x"},"line_number":1,"submatches":[]}'
    hit = f'{{"type":"match","data":{data}}}'
    program.write_text(
        f"#!/bin/sh\necho $$ > '{folder}/pid'\necho '{hit}'\nexec sleep 600\n", encoding="utf-8"
    )
    program.chmod(0o755)
    return str(program)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.requirement("search:time-limit")
async def test_when_the_time_is_up_what_was_found_comes_with_truncated(tmp_path: Path):
    program = slow_program(tmp_path)
    search = RipgrepSearch(binary=program, seconds=3)
    result = await search.grep(GrepRequest(below(tmp_path), "x", False))
    assert result.truncated
    assert [(h.path, h.line) for h in result.hits] == [("a", 1)]
    assert not alive(int((tmp_path / "pid").read_text(encoding="utf-8")))


@pytest.mark.requirement("search:time-limit")
async def test_the_model_is_told_that_the_time_cut_a_search_and_not_the_limit(bench: Any):
    slow = RipgrepSearch(binary=slow_program(bench.root), seconds=2)
    bench.tool = FileOperations(LocalFiles(), slow).tool()
    result = await bench("grep_search", query="x", maxResults=1)
    first = result.text.split("\n")[0]
    assert "the search stopped after 2 s, before all was looked through" in first


def listing_program(folder: Path, *, sorted_waits: bool = False) -> str:
    """A stand-in that prints what a search of a large folder comes to in its time, and waits.

    With ``sorted_waits`` it ends at once, and waits where its answer has to be in order.
    """
    program, output = folder / "listing", folder / "output"
    hit = '{"type":"match","data":{"path":{"text":"./big/%d"},"lines":{"text":"x"},'
    hit += '"line_number":1,"submatches":[]}}\\n'
    output.write_text("".join(hit.replace("\\n", "\n") % n for n in range(21)), encoding="utf-8")
    waits = "printf './b/2.py\\0./a/1.py\\0./sub/deep/3.py\\0'; exec sleep 600"
    if sorted_waits:
        waits = f'case "$*" in *--sort=path*) exec sleep 600;; esac; exec cat {output}'
    program.write_text(f"#!/bin/sh\n{waits}\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


@pytest.mark.requirement("search:time-limit")
async def test_files_that_were_listed_in_time_come_with_where_the_listing_stopped(bench: Any):
    slow = RipgrepSearch(binary=listing_program(bench.root), seconds=2)
    bench.tool = FileOperations(LocalFiles(), slow).tool()
    result = await bench("file_search", query="*.py", limit=2)
    first, *paths = result.text.split("\n")
    assert first.startswith(
        "at least 3 files for *.py, for the search stopped in sub/deep/ after 2 s"
    )
    assert "not all was looked through" in first
    assert paths == ["a/1.py", "b/2.py"]
    assert result.data["truncated"]
    nothing = await bench("file_search", query="*.md")
    assert "at least 0 files" in nothing.text
    assert "hidden and ignored" not in nothing.text


@pytest.mark.requirement("search:time-limit")
async def test_hits_that_came_before_they_had_to_be_sorted_outlive_the_time(tmp_path: Path):
    slow = RipgrepSearch(binary=listing_program(tmp_path, sorted_waits=True), seconds=2)
    result = await slow.grep(GrepRequest(below(tmp_path), "x", False, limit=1))
    assert [hit.path for hit in result.hits] == ["big/0"]
    assert result.cut == "stopped in big/ after 2 s"


@pytest.mark.requirement("search:cancelled")
async def test_a_cancelled_search_leaves_no_process_and_no_descriptor(tmp_path: Path):
    table = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    search = RipgrepSearch(binary=slow_program(tmp_path))
    before = len(os.listdir(table))
    async with asyncio.timeout(90), asyncio.TaskGroup() as group:
        task = group.create_task(search.grep(GrepRequest(below(tmp_path), "x", False)))
        pid = ""
        while not pid.endswith("\n"):
            await asyncio.sleep(0)
            if (tmp_path / "pid").exists():
                pid = (tmp_path / "pid").read_text(encoding="utf-8")
        task.cancel()
    assert task.cancelled()
    assert not alive(int(pid))
    assert len(os.listdir(table)) == before


@pytest.mark.requirement("search:long-lines")
@pytest.mark.parametrize("size", [1, 7, 4096, 1 << 20])
def test_records_are_the_same_in_whatever_pieces_they_come(tmp_path: Path, size: int):
    fill(tmp_path, {"a.txt": "x 1\n" * 3 + "y" * (1 << 20) + "x\n" + "x last\n"})
    binary = RipgrepSearch()._ripgrep()  # pyright: ignore[reportPrivateUsage] # the same binary
    done = subprocess.run(
        [binary, "--json", "x", "./"], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True
    )
    step = size if size > 7 else max(size, len(done.stdout) // 5000)
    records = RipgrepRecords()
    found = [
        hit
        for at in range(0, len(done.stdout), step)
        for hit in records.feed(done.stdout[at : at + step])
    ]
    assert [(h.path, h.line) for h in found] == [("a.txt", n) for n in range(1, 6)]
    assert records.complete
