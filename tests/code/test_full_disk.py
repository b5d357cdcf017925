"""The index on a disk that is full. Costs 1 s of processor time."""

import subprocess
import sys
from pathlib import Path

import pytest

FULL = """
import asyncio, ctypes, os, sys
from pathlib import Path
from sam_tui.adapters.code import SqliteCodeIndex
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.search import RipgrepSearch
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.errors import ToolError
data, ws = map(Path, sys.argv[1:])
where = Workspace.open(str(ws)).locate(".")
def write(name, words):
    text = " ".join(f"{name[0]}{n}" for n in range(words))
    (ws / name).write_text(f"def {name[0]}tool(): pass\\n{text}")
index = SqliteCodeIndex(data, LocalFiles(), RipgrepSearch())
def resize(size):  # mount(8) would repeat the owner, which does not exist in this namespace
    remount = ctypes.CDLL(None, use_errno=True).mount
    if remount(b"none", os.fsencode(data), b"tmpfs", 32, b"size=%d" % size):
        raise OSError(ctypes.get_errno(), "remount")
async def update():
    state = await index.update(where, lambda _: None)
    while state.waiting or state.read:
        state = await index.update(where, lambda _: None)
async def found(word):
    return [passage.path for passage in await index.passages(where, word, paths=None, limit=1)]
async def main():
    write("a.py", 9)
    await update()
    about = os.statvfs(data)
    used = (about.f_blocks - about.f_bfree) * about.f_frsize
    resize(used + 32768)
    write("b.py", 6_000)
    try:
        await update()
    except ToolError as error:
        print(error, "|", error.hint)
    print(await found("atool"))
    resize(50 << 20)
    await update()
    print(await found("atool") + await found("btool"))
asyncio.run(main())
"""


@pytest.mark.requirement("files:index-full-disk")
def test_a_full_disk_is_named_loses_nothing_of_the_index_and_it_goes_on_afterwards(
    tmp_path: Path,
) -> None:
    for name in ("data", "ws"):
        (tmp_path / name).mkdir()
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("nothing may be mounted here")
    script = 'mount -t tmpfs -o size=50m none "$4" && exec "$@"'
    words = [sys.executable, "-c", FULL, str(tmp_path / "data"), str(tmp_path / "ws")]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told, before, after = done.stdout.splitlines()
    assert "database or disk is full" in told
    assert f"Free some space on the disk that holds {tmp_path}/data/index" in told
    assert (before, after) == ("['a.py']", "['a.py', 'b.py']")
