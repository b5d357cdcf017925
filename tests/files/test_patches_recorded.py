"""What ``git apply`` and GNU patch make of a patch, and what apply_patch makes of it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.code.conftest import Workshop
from tests.fakes.rows import every_row
from tests.files.patches.record import Case, by_git, corpus, read, write

CASES = {case.name: case for case in corpus()}

MISSED = {
    "a context diff": "only unified diffs are read",
    "a copied link": "what is copied is read, and a link that leads nowhere cannot be",
    "a link becomes a folder": "its new files were located through the link",
    "the name '$HOME': another name": "a path that begins with a variable is refused",
    "the name '$HOME': made and run": "a path that begins with a variable is refused",
}
"""What git or patch apply and apply_patch refuses."""

FORGIVEN = {"carriage returns in the file alone": "line ends of a file stay, whatever a patch has"}
"""What both refuse and apply_patch applies (files:patch-crlf)."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path_factory.mktemp("patches"))
    yield workshop
    workshop.close()


def swept(workshop: Workshop, case: Case) -> None:
    """Nothing but the tree of a case in the workspace."""
    for child in workshop.root.iterdir():
        shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()
    write(workshop.root, case.on)


def around(workshop: Workshop) -> list[str]:
    """What lies beside the workspace."""
    return sorted(path.name for path in workshop.root.parent.iterdir())


@pytest.mark.requirement("files:patch-as-git")
@pytest.mark.timeout(240)
async def test_a_patch_comes_to_what_git_or_patch_make_of_it(bench: Workshop):
    with every_row() as row:
        for case in CASES.values():
            with row(case.name):
                await comes_to_it(bench, case)


async def comes_to_it(bench: Workshop, case: Case) -> None:
    """Apply the patch of a case, and compare."""
    name = case.name
    swept(bench, case)
    before, beside = read(bench.root), around(bench)
    executed = await bench("apply_patch", patchContent=case.text)
    after, ok = read(bench.root), executed.finished.ok
    assert around(bench) == beside
    if name in FORGIVEN:
        assert ok
        assert case.expected is None
    elif case.expected is None or name in MISSED:
        assert not ok, f"accepted: {executed.finished.text}"
        assert after == before
    else:
        assert after == dict(sorted(case.expected.items())), executed.finished.text
        assert ok or after == before


@pytest.mark.requirement("files:patch-as-git")
def test_as_many_patches_apply_as_were_promised():
    applied = [case.name for case in CASES.values() if case.expected is not None]
    assert len(applied) >= 250
    assert MISSED.keys() <= set(applied)
    assert len(applied) - len(MISSED) >= 0.96 * len(applied)
    assert len(CASES) - len(applied) >= 100


@pytest.mark.requirement("files:patch-all-or-nothing")
@pytest.mark.parametrize(
    "name",
    [
        "two files change names",
        "three files change names in a circle",
        "a chain of names",
        "a name is taken by a new file",
        "a file becomes its own folder",
        "a folder becomes a file",
        "deleted, then made anew",
        "renamed, then changed under the new name",
        "two copies and a change",
        "a binary and a text file",
        "another name and mode",
    ],
)
async def test_a_patch_of_many_parts_is_undone_as_one(bench: Workshop, name: str):
    case = CASES[name]
    swept(bench, case)
    before = read(bench.root)
    await bench.done("apply_patch", patchContent=case.text)
    assert read(bench.root) != before
    entry = bench.journal.entries(bench.conversation)[0]
    bench.journal.undo(bench.conversation, entry.id)
    assert read(bench.root) == before


@pytest.mark.requirement("files:patch-as-git")
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_records_are_what_git_does_here(tmp_path: Path):
    agreed = [case for case in CASES.values() if case.git == case.patch]
    for number, case in enumerate(agreed[::12]):
        folder = tmp_path / str(number) / "ws"
        assert by_git(case.on, case.text, folder, strip=case.strip) == case.git, case.name
