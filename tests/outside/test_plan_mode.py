"""Plan mode writes nothing, whatever the folder has its programs do."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

Harness = Any
"""See conftest."""

pytestmark = [
    pytest.mark.confined("live", "landlock", "seatbelt"),
    pytest.mark.skipif(not shutil.which("git"), reason="git is not installed"),
]
STARTED_BY_GIT = ("diff.external", "diff.x.textconv", "diff.x.command", "core.pager", "gpg.program")
"""Keys of a repository's configuration that name programs; a folder brings them along."""
READS = (
    *("git status", "git diff", "git log -p", "git log --show-signature", "git show HEAD:file"),
    *("git blame file", "git diff --stat", "git stash list", "git -p log", "ls -la; cat file"),
)


def portrait(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """All that lies in a folder: kind and mode, time, content."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in [folder, *sorted(folder.rglob("*"))]
    }


def git(folder: Path, *words: str) -> None:
    """Run git in a folder."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def repository(folder: Path) -> None:
    """A repository with a commit and a change."""
    git(folder, "init", "-q")
    (folder / "file").write_text("one\n")
    (folder / ".gitattributes").write_text("* diff=x\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "file").write_text("two\n")
    os.utime(folder / ".gitattributes", (0, 0))  # so that status would write the index anew


def plant(folder: Path) -> None:
    """Have the configuration of a repository start programs that write to the work tree."""
    git(folder, "config", "core.fsmonitor", f"touch {folder}/planted-fsmonitor; false")
    git(folder, "config", "log.showSignature", "true")
    for key in STARTED_BY_GIT:
        git(folder, "config", key, f"touch {folder}/planted-{key}; cat")


@pytest.mark.requirement("guard:modes")
@pytest.mark.parametrize("trusted", [True, False])
async def test_commands_that_read_write_nothing_though_the_repository_starts_programs(
    harness: Harness, trusted: bool
) -> None:
    workspace = harness.folder / "ws"
    repository(workspace)
    plant(workspace)
    if trusted:
        harness.write_policy("", project=True)
    before = portrait(workspace)
    harness.open(mode="plan")
    for line in READS:
        done = await harness.run(line)
        assert portrait(workspace) == before, line
        assert "plan mode" not in done.finished.text, line
    assert " M file" in (await harness.run("git status --short")).finished.text
    assert harness.asked == []
    # Nothing of it is a property of the folder: in another mode the same commands write there.
    harness.runtime.guard.use_mode("ask")
    await harness.run("git status")
    assert (workspace / "planted-fsmonitor").exists()


@pytest.mark.requirement("guard:modes")
async def test_a_linked_work_tree_is_read_in_plan_mode_without_a_question(harness: Harness) -> None:
    main, workspace = harness.folder / "main", harness.folder / "ws"
    main.mkdir()
    repository(main)
    shutil.rmtree(workspace)
    git(main, "worktree", "add", "-q", str(workspace))
    harness.open(mode="plan")
    done = await harness.run("git log --oneline; git status --short")
    assert done.finished.ok and "first" in done.finished.text, done.finished.text
    assert harness.asked == []
