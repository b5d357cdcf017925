"""Workspaces whose repository lies elsewhere: linked work trees, submodules, and pretended ones."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.policy.trust import FileTrust
from sam_tui.adapters.terminal.confinement.rulesets import linked_repositories
from sam_tui.core.inquiry import Approval

Harness = Any
"""See conftest."""

GIT = shutil.which("git") or ""
pytestmark = [
    pytest.mark.skipif(not GIT, reason="git is not installed"),
    pytest.mark.confined("live"),
]
WHO = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
WORK = """set -e
git config user.name a; git config user.email a@b
git status --short; echo 2 > f; git add f; git commit -qm two; git checkout -qb topic
echo 3 > f; git stash -q; git stash pop -q; git commit -qam three; git rebase -q HEAD~1
git branch -q other; git tag t; git pack-refs --all; git log --oneline | wc -l"""
PLACES = {
    "setting": "git config core.fsmonitor evil",
    "hook": "echo evil > $(git rev-parse --git-path hooks)/pre-commit",
    "own setting": "git config -f $(git rev-parse --absolute-git-dir)/config.worktree core.pager evil",
    "rebase": "cd $(git rev-parse --absolute-git-dir); mkdir r; echo 'exec evil' > r/git-rebase-todo",
    "hooks of a module": "cd $(git rev-parse --git-common-dir); mkdir -p modules/m/hooks;"
    " echo ref: refs/heads/x > modules/m/HEAD; echo evil > modules/m/hooks/post-checkout",
}


def git(folder: Path, *words: str) -> None:
    subprocess.run([GIT, *WHO, *words], cwd=folder, check=True, capture_output=True)


def repository(folder: Path) -> Path:
    """A repository with a commit."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", ".")
    (folder / "f").write_text("1\n")
    git(folder, "add", "f")
    git(folder, "commit", "-qm", "one")
    return folder


def linked(folder: Path, kind: str) -> Path:
    """Make the workspace a linked work tree or a submodule; gives the folder of its repository."""
    source = repository(folder / "out/main")
    if kind == "work tree":
        git(source, "worktree", "add", "-q", str(folder / "ws"))
        return source / ".git"
    (folder / "ws").rmdir()
    git(folder, "init", "-q", ".")
    git(folder, "submodule", "add", str(source), "ws")
    return folder / ".git/modules/ws"


def opened(harness: Harness, *, trusted: bool) -> None:
    if trusted:
        (harness.folder / "settings").mkdir()
        FileTrust(str(harness.folder / "settings")).trust(str(harness.folder / "ws"))
    harness.open()


@pytest.mark.requirement("outside:linked-repositories")
@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("kind", ["work tree", "submodule"])
async def test_git_works_unasked_and_what_it_would_start_is_asked_for(
    harness: Harness, kind: str, trusted: bool
) -> None:
    common = linked(harness.folder, kind)
    before = {path: path.read_bytes() for path in (common / "hooks").iterdir()}
    opened(harness, trusted=trusted)
    done = await harness.run(WORK, timeout=120)
    assert (done.finished.ok, harness.asked) == (True, []), done.finished.text
    assert done.finished.text.splitlines()[-1].strip() == "3"
    settings = (common / "config").read_bytes()
    for name, command in PLACES.items():
        harness.asked.clear()
        await harness.run(f"{command} 2> /dev/null")
        assert [a.operation for a in harness.asked] == ["commands.change_outside"], name
        assert harness.asked[0].preview, name
    assert (common / "config").read_bytes() == settings
    assert {path: path.read_bytes() for path in (common / "hooks").iterdir()} == before
    harness.asked.clear()
    harness.always = Approval("once")
    await harness.run(PLACES["setting"])
    assert "fsmonitor = evil" in (common / "config").read_text()


def _pretend(workspace: Path, victim: Path, way: str) -> None:
    """Somebody else's archive, which has the workspace in it, says where its repository is."""
    own = workspace / "kept" if "inside" in way else workspace.parent / "out/archive"
    tree = own / "worktrees/ws"
    match way:
        case "plain":
            (workspace / ".git").write_text(f"gitdir: {victim}\n")
        case "link":
            (workspace / ".git").symlink_to(victim)
        case "of another work tree":
            git(victim.parent, "worktree", "add", "-q", str(workspace.parent / "out/tree"))
            (workspace / ".git").write_text(f"gitdir: {victim}/worktrees/tree\n")
        case "no text":
            (workspace / ".git").write_bytes(b"gitdir: \xff\xfe\n")
        case "forged settings inside":
            own.mkdir()
            (own / "config").write_text("[core]\n\tworktree = ..\n")
            for name in ("HEAD", "objects", "refs"):
                (own / name).symlink_to(victim / name)
            (workspace / ".git").write_text(f"gitdir: {own}\n")
        case _:
            tree.mkdir(parents=True)
            (tree / "gitdir").write_text(f"{workspace}/.git\n")
            (tree / "commondir").write_text(f"{victim}\n")
            (workspace / ".git").write_text(f"gitdir: {tree}\n")


@pytest.mark.requirement("outside:linked-repositories")
@pytest.mark.parametrize(
    "way",
    ["plain", "link", "of another work tree", "no text", "forged settings inside",
     "forged tree inside", "forged tree beside"],
)  # fmt: skip
async def test_a_workspace_does_not_make_anothers_repository_its_own(
    harness: Harness, way: str
) -> None:
    victim = repository(harness.folder / "out/victims") / ".git"
    workspace: Path = harness.folder / "ws"
    _pretend(workspace, victim, way)
    assert not any(str(victim).startswith(f) for f in linked_repositories([str(workspace)]))
    opened(harness, trusted=False)
    done = await harness.run(f"cat {victim}/HEAD {victim}/logs/HEAD; touch {victim}/mine; git log")
    assert "refs/heads" not in done.finished.text
    assert "one" not in done.finished.text.splitlines()
    assert not (victim / "mine").exists()
