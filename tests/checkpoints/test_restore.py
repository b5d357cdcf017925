"""What calls did to the files of the workspace is taken back, whatever it was."""

import fcntl
import os
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.checkpoints import CheckpointLimits
from sam_tui.adapters.checkpoints.workspace_files import SizeLimits
from sam_tui.adapters.files import LocalFiles
from sam_tui.core.accesses import Location
from sam_tui.core.clock import expiry_seconds
from sam_tui.core.errors import CheckpointError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.code import Snapshot
from tests.checkpoints.conftest import FEW, leave_index


def workspace(kept: Any) -> None:
    """Files of every kind: odd names, bytes, modes, links, ignored, nested repositories, attributes."""
    kept.write("src/a.py", "print(1)\n")
    kept.write("src/deep/er/b.bin", bytes(range(256)))
    kept.write("run.sh", "#!/bin/sh\n", 0o755)
    kept.write(".env", "TOKEN=abc\n", 0o600)
    kept.write("odd \n*[name]\\ ", "odd\n")
    kept.write("crlf.txt", "one\r\n$Id$\r\ntwo\n")
    kept.write(".gitignore", "build/\n.env\n*.log\n")
    kept.write(
        ".gitattributes", "* text=auto eol=lf ident filter=evil working-tree-encoding=UTF-16\n"
    )
    kept.write("build/out.o", "object\n")
    kept.write("x.log", "log\n")
    for nested in ("nested", "empty-history"):
        kept.write(f"{nested}/file", "nested\n")
        subprocess.run(["git", "init", "-q", kept.root / nested], check=True)
    (kept.root / "link").symlink_to("src/a.py")
    (kept.root / "outside").symlink_to("/etc")
    (kept.root / "folder-link").symlink_to("src")


def shell(command: str) -> Callable[[Any], object]:
    return lambda kept: subprocess.run(["sh", "-c", command], cwd=kept.root, check=True)


DEEDS = {
    "a folder is deleted": shell("rm -r src"),
    "all is deleted": shell("rm -rf ./* .env .gitignore .gitattributes"),
    "files are renamed": shell("mv src/a.py z.py; mv run.sh src/deep/; mv nested other"),
    "modes change": shell("chmod -x run.sh; chmod +x src/a.py"),
    "a link leads elsewhere": shell("rm link outside; ln -s run.sh link; echo x > outside"),
    "a file becomes a folder": shell("rm run.sh; mkdir run.sh; echo 1 > run.sh/x"),
    "a folder becomes a link": shell("mv src gone; ln -s /etc src"),
    "a folder becomes a file": shell("rm -r src; echo 1 > src"),
    "ignored files change": shell("echo more >> build/out.o; rm .env x.log; echo 1 > y.log"),
    "nested repositories change": shell("echo 1 >> nested/file; rm empty-history/file"),
    "content is replaced in place": shell("printf 'print(2)\\n' > src/a.py; : > crlf.txt"),
    "new folders appear": shell("mkdir -p new/er/est; echo 1 > new/er/est/f; ln -s . new/l"),
}


@pytest.mark.requirement("checkpoints:restore", "checkpoints:bytes")
@pytest.mark.parametrize("indexed", [False, True], ids=["without-an-index", "with-an-index"])
async def test_every_change_comes_back_to_the_byte_and_forth_again(
    kept: Any, monkeypatch: pytest.MonkeyPatch, indexed: bool
):
    workspace(kept)
    start = kept.tree()
    for words, deed in DEEDS.items():
        monkeypatch.setattr(FEW, 0 if indexed else 200)
        async with kept.calling() as number:
            deed(kept)
        await kept.checkpoints.checkpoints()
        if indexed:
            leave_index(kept, monkeypatch)
        changed = kept.tree()
        assert changed != start, words
        plan = await kept.checkpoints.plan(number, {"own"})
        assert not plan.foreign, words
        redo = await kept.checkpoints.restore(plan, plan.safe)
        assert kept.tree() == start, words
        await kept.back(redo)
        assert kept.tree() == changed, words
        await kept.back(number)
        assert kept.tree() == start, words


@pytest.mark.requirement("checkpoints:foreign")
async def test_what_somebody_else_changed_is_told_and_not_overwritten(kept: Any):
    for name in ("mine", "both", "between", "theirs", "idle"):
        kept.write(name, "start\n")
    async with kept.calling() as number:
        for name in ("mine", "both", "between"):
            kept.write(name, f"agent, and more of {name}\n")
    await kept.checkpoints.checkpoints()  # the look after the call is over
    kept.write("between", "a second editor\n")
    async with kept.calling():
        kept.write("between", "the agent after the editor\n")
    async with kept.calling(ConversationId("another")):
        kept.write("other", "of another conversation\n")
    await kept.checkpoints.checkpoints()
    kept.write("both", "a second editor after the agent\n")
    kept.write("theirs", "a second editor alone\n")
    plan = await kept.checkpoints.plan(number, {"own"})
    assert (plan.safe, plan.foreign, plan.untouched) == (("mine",), ("between", "both"), 2)
    kept.write("both", "typed while the person looks\n")
    with pytest.raises(CheckpointError, match="both' was changed while you looked"):
        await kept.checkpoints.restore(plan, ("mine", "both"))
    assert (kept.root / "mine").read_text().startswith("agent")
    plan = await kept.back(number)
    texts = {name: (kept.root / name).read_text() for name in kept.tree()}
    assert texts == {
        "mine": "start\n",
        "both": "typed while the person looks\n",
        "between": "the agent after the editor\n",
        "theirs": "a second editor alone\n",
        "idle": "start\n",
        "other": "of another conversation\n",
    }
    await kept.back(number, ("both",))  # by name it is
    assert (kept.root / "both").read_text() == "start\n"


@pytest.mark.requirement("checkpoints:hostile")
async def test_nothing_of_the_workspace_runs_or_is_believed(kept: Any, tmp_path: Path):
    marker = tmp_path / "ran"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\necho $0 $* >> {marker}\ncat\n")
    evil.chmod(0o755)
    settings = (
        f'[core]\nfsmonitor = {evil}\nhooksPath = {tmp_path}\n[filter "evil"]\nclean = {evil}\n'
        f'smudge = {evil}\nrequired = true\n[diff "evil"]\ntextconv = {evil}\n'
    )
    shell("git init -q .")(kept)
    kept.write(".git/config", settings)
    kept.write(".gitconfig", settings)
    kept.write(".gitattributes", "* filter=evil diff=evil\n")
    kept.write("bin/git", evil.read_bytes(), 0o755)
    kept.write("a", "a\n")
    for name in ("post-index-change", "pre-commit", "reference-transaction"):
        kept.write(f".git/hooks/{name}", evil.read_bytes(), 0o755)
        shutil.copy(evil, tmp_path / name)
    path = f".:{kept.root}/bin:{os.environ['PATH']}"
    kept.checkpoints.close()
    kept.checkpoints = kept.opened(search_path=path)
    async with kept.calling() as number:
        (kept.root / "a").unlink()
    await kept.back(number)
    assert (kept.root / "a").read_bytes() == b"a\n"
    assert not marker.exists()
    modes = {p.stat().st_mode & 0o077 for p in (tmp_path / "data" / "checkpoints").rglob("*")}
    assert modes == {0}


@pytest.mark.requirement("checkpoints:links")
async def test_a_restore_follows_no_link_that_was_put_in_its_way(kept: Any, tmp_path: Path):
    kept.write("src/a", "mine\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("theirs\n")
    async with kept.calling() as number:
        shutil.rmtree(kept.root / "src")
    plan = await kept.checkpoints.plan(number, {"own"})
    (kept.root / "src").symlink_to(outside)
    with pytest.raises(CheckpointError):
        await kept.checkpoints.restore(plan, plan.safe)
    assert (outside / "a").read_text() == "theirs\n"


@pytest.mark.requirement("checkpoints:bounded")
async def test_the_store_is_bounded_and_what_is_too_large_is_named(kept: Any):
    sizes = SizeLimits(file=1000, ignored_files=250, ignored=10_000_000)
    kept.limits = CheckpointLimits(days=1, most_bytes=60_000, sizes=sizes)
    kept.checkpoints.close()
    kept.checkpoints = kept.opened()
    kept.write(".gitignore", "node_modules/\n")
    for number in range(300):
        kept.write(f"node_modules/m/{number}", "x")
    kept.write("large", b"x" * 2000)
    os.mkfifo(kept.root / "pipe")
    for _ in range(6):
        async with kept.calling():
            for part in range(20):
                kept.write(f"noise{part}", os.urandom(900))
    found = await kept.checkpoints.checkpoints()
    assert len(found) == 6
    assert {words.split(":")[0] for words in found[-1].omitted} >= {"large", "node_modules/"}
    assert (await kept.checkpoints.prune()).checkpoints > 0
    left = await kept.checkpoints.checkpoints()
    assert 0 < len(left) < 6
    assert left[-1].id == found[-1].id
    await kept.back(left[-1].id)
    assert (await kept.checkpoints.prune(everything=True)).checkpoints > 0
    assert await kept.checkpoints.checkpoints() == []
    objects = list((kept.data / "checkpoints").rglob("objects/??/*"))
    assert len(objects) <= 60, "only the index holds some"
    async with kept.calling() as number:
        kept.write("again", "1")
    assert number > left[-1].id
    await kept.back(number)
    assert not (kept.root / "again").exists()


_SWAPPING = """#!/bin/sh
PATH={path}
case "$*" in *--replace*) mv src real; cp -r {outside} src; mv a kept; cp {outside}/key a;; esac
{git} "$@"; code=$?
case "$*" in *--replace*) rm -r src a; mv real src; mv kept a;; esac
exit $code
"""
"""What git reads through links that stand there for the moment at which it opens a file."""


@pytest.mark.requirement("checkpoints:links")
async def test_nothing_outside_is_kept_though_links_take_the_places_of_files_just_then(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("secret\n")
    snapshot = LocalFiles.snapshot

    def exchanged(files: LocalFiles, where: Location, *, limit: int) -> Snapshot:
        place = kept.root / where.argument.partition("/")[0]
        place.rename(tmp_path / "away")
        place.symlink_to(outside / "key" if where.argument == "a" else outside)
        try:
            return snapshot(files, where, limit=limit)
        finally:
            place.unlink()
            (tmp_path / "away").rename(place)

    for name in ("src/key", "a"):
        kept.write(name, "inside\n")
    with monkeypatch.context() as patch:
        patch.setattr(LocalFiles, "snapshot", exchanged)
        async with kept.calling() as number:
            pass
        await kept.checkpoints.checkpoints()
    async with kept.calling() as number:
        kept.write("a", "more\n")
    assert (await kept.back(number)).omitted == ()
    assert (kept.root / "a").read_text() == "inside\n"
    objects = [zlib.decompress(path.read_bytes()) for path in kept.data.rglob("objects/??/*")]
    assert not any(b"secret" in data for data in objects)


@pytest.mark.usefixtures("indexed")
@pytest.mark.requirement("checkpoints:links")
async def test_nothing_outside_is_kept_though_links_take_the_places_of_files_while_git_reads(
    kept: Any, tmp_path: Path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("key", "b"):
        (outside / name).write_text("secret\n")
    git, real, path = tmp_path / "bin/git", shutil.which("git"), os.environ["PATH"]
    git.parent.mkdir()
    git.write_text(_SWAPPING.format(outside=outside, git=real, path=path))
    git.chmod(0o755)
    for name in ("src/key", "src/b", "a", "log"):
        kept.write(name, "inside\n")
    kept.checkpoints.close()
    kept.checkpoints = kept.opened(search_path=f"{git.parent}:{path}")
    async with kept.calling() as number:
        shutil.rmtree(kept.root / "src")
        kept.write("log", "more\n")
        git.write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    plan = await kept.back(number, ("log",))
    assert [change.path for change in plan.changes] == ["log"]
    assert {words.partition(": ")[0] for words in plan.omitted} == {"src/key", "src/b", "a"}
    # A program that was killed before it looked has left an index that nobody believes.
    store = next((kept.data / "checkpoints").iterdir())
    git_there = f"git --git-dir={store} --work-tree=."
    update = f"{git_there} update-index --add"
    shell(
        f"blob=$({git_there} hash-object -w {outside}/key) && {update} --cacheinfo 100644,$blob,a"
        f" && {update} --assume-unchanged a"
    )(kept)
    (store / "unverified").touch()
    async with kept.calling() as number:
        (kept.root / "a").unlink()
    await kept.back(number)
    assert (kept.root / "a").read_text() == "inside\n"


@pytest.mark.requirement("checkpoints:bounded", "checkpoints:clock")
async def test_what_belongs_to_a_folder_that_is_gone_goes_and_what_is_in_use_or_away_stays(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    clock = "sam_tui.adapters.checkpoints.store.expiry_seconds"
    monkeypatch.setattr(clock, lambda: 1e6 + expiry_seconds())  # the machine runs for days
    others = [type(kept)(tmp_path / name, kept.data) for name in ("gone", "away", "old", "there")]
    for one in (kept, *others):
        async with one.calling():
            one.write("a", "1")
        await one.checkpoints.checkpoints()
        one.checkpoints.close()
    gone, away, old, there = (one.root for one in others)
    stores = {path.read_text(): path.parent for path in kept.data.rglob("workspace")}
    for folder in (gone, away, old):
        shutil.rmtree(folder)
    for folder in (old, there):
        os.utime(stores[str(folder)] / "refs/snapshots", (1, 1))
    kept.checkpoints = kept.opened()
    note, everything = stores[str(kept.root)] / "pruned", set(stores)

    async def left(after: float, ahead: float) -> set[str]:
        """The stores that are there when so many seconds passed, and the clock was put ahead by others."""
        begun, running = map(float, note.read_bytes().split())
        note.write_text(f"{begun - ahead} {running - after}")
        async with kept.calling():
            kept.write("a", f"{after} {ahead}")
        await kept.checkpoints.checkpoints()
        return {folder for folder, store in stores.items() if store.exists()}

    year = 365 * 86_400.0
    assert await left(7200, year) == await left(7200, -year) == everything
    assert await left(7200 - 1e9, 0) == everything, "the machine was started since"
    assert await left(1800, 0) == everything, "not due"
    assert await left(7200, 0) == everything - {str(old)}
    with (stores[str(away)] / "lock").open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert (await kept.checkpoints.prune()).folders == (str(gone),)


@pytest.mark.requirement("checkpoints:unchanged")
async def test_a_call_that_changed_nothing_leaves_no_checkpoint(kept: Any):
    kept.write("a", "1")
    async with kept.calling():
        kept.write("a", "1")
    assert await kept.checkpoints.checkpoints() == []


@pytest.mark.requirement("checkpoints:bounded")
async def test_what_no_checkpoint_holds_is_not_deleted_by_going_back(kept: Any):
    kept.limits = CheckpointLimits(sizes=SizeLimits(file=1000))
    kept.checkpoints.close()
    kept.checkpoints = kept.opened()
    kept.write("large", b"x" * 2000)
    async with kept.calling() as number:
        kept.write("large", b"short")
        kept.write("new", b"n")
    plan = await kept.back(number)
    assert [change.path for change in plan.changes] == ["new"]
    assert kept.tree().keys() == {"large"}


@pytest.mark.requirement("checkpoints:restore")
async def test_a_restore_is_a_checkpoint_of_its_own_and_did_nothing_that_cannot_be_undone(
    kept: Any,
):
    async with kept.calling(ConversationId("own"), "op: a message was sent") as number:
        kept.write("a", "1")
    plan = await kept.checkpoints.plan(number, {"own"})
    redo = await kept.checkpoints.restore(plan, plan.safe)
    assert plan.beyond == ("op: a message was sent",)
    assert (await kept.checkpoints.plan(redo, {"own"})).beyond == ()
    made_by = {entry.id: entry.made_by for entry in await kept.checkpoints.checkpoints()}
    assert (made_by[redo].operation, made_by[redo].call[:7]) == ("rewind", "rewind_")
    assert made_by[redo].summary == f"back to checkpoint {number}"
    assert made_by[number].call == "call-1"
