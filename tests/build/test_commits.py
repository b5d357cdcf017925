"""Commits: exactly what was named, under the person's own name, or a clear refusal."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.core.display import Terminal
from tests.build.conftest import Git, Harness


@pytest.mark.requirement("build:commit-all")
async def test_all_changes_are_committed_untracked_and_deleted_ones_too(
    harness: Harness, repository: Path, git: Git
) -> None:
    (repository / "new.txt").write_text("n")
    (repository / "a.txt").unlink()
    done = await harness.call("git_commit", message="feat: all of it")
    assert done.finished.ok, done.finished.text
    told = json.loads(done.finished.text)
    assert told["success"] is True
    assert told["hash"] == git("rev-parse", "HEAD")
    assert told["message"] == "feat: all of it"
    assert told["filesStaged"] == 2
    assert "2 files changed" in told["output"]
    assert git("status", "--porcelain") == ""
    assert git("log", "-1", "--format=%an <%ae> %cn %s") == (
        "Ada <ada@example.org> Ada feat: all of it"
    )
    assert done.finished.summary == "Committing: feat: all of it"
    assert isinstance(done.finished.display[0], Terminal)


@pytest.mark.requirement("build:commit-named")
async def test_only_the_named_files_are_committed(
    harness: Harness, repository: Path, git: Git
) -> None:
    (repository / "sub").mkdir()
    for name in ("b.txt", "c.txt", "sub/d.txt"):
        (repository / name).write_text(name)
    (repository / "a.txt").unlink()
    git("add", "c.txt")
    told = await harness.good("git_commit", message="named", files=["b.txt", "sub", "a.txt"])
    assert told["filesStaged"] == 3
    assert git("show", "--format=", "--name-status") == "D\ta.txt\nA\tb.txt\nA\tsub/d.txt"
    assert git("status", "--porcelain") == "A  c.txt"


@pytest.mark.requirement("build:commit-literal")
async def test_names_and_messages_are_taken_literally(
    harness: Harness, repository: Path, git: Git
) -> None:
    odd = ["--all", ":(top)x", "*.txt", "it's", "n\nl", "\udcff", "-"]
    for name in [*odd, "other.txt"]:
        (repository / name).write_text("x")
    message = "-m --amend\n\n# not a comment\n$(touch pwned) `x` 'q' \"d\"\nEND\n\\"
    told = await harness.good("git_commit", message=message, files=odd)
    assert told["filesStaged"] == len(odd)
    assert git("log", "-1", "--format=%B") == message
    shown = git("show", "-z", "--format=", "--name-only").split("\0")
    assert sorted(shown[:-1]) == sorted(odd)
    assert git("status", "--porcelain", "-z") == "?? other.txt\0"
    assert git("rev-list", "--count", "HEAD") == "2"


@pytest.mark.requirement("build:commit-unchanged")
async def test_nothing_to_commit_is_an_error(harness: Harness, repository: Path, git: Git) -> None:
    assert "No changes to commit" in await harness.bad("git_commit", message="m")
    (repository / ".gitignore").write_text("build\n")
    git("add", "-A")
    git("commit", "-qm", "ignore")
    (repository / "build").write_text("x")
    (repository / "b.txt").write_text("x")
    assert "in the named files" in await harness.bad("git_commit", message="m", files=["a.txt"])
    assert "build is ignored" in await harness.bad("git_commit", message="m", files=["build"])
    assert "No changes" in await harness.bad("git_commit", message="m", files=["missing"])
    assert git("status", "--porcelain") == "?? b.txt"


@pytest.mark.requirement("build:commit-identity")
async def test_no_name_is_made_up(
    harness: Harness, repository: Path, git: Git, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".gitconfig").write_text("")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Leaked")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "leaked@example.org")
    config = (repository / ".git/config").read_text()
    (repository / "b.txt").write_text("x")
    text = await harness.bad("git_commit", message="m")
    assert "whose commit this is" in text
    assert "git config --global user.email" in text
    assert (repository / ".git/config").read_text() == config
    assert (home / ".gitconfig").read_text() == ""
    assert git("diff", "--cached", "--name-only") == ""


@pytest.mark.requirement("build:git-environment")
async def test_git_variables_of_the_host_do_not_reach_it(
    harness: Harness, repository: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git("init", "-q", at=other)
    (repository / "b.txt").write_text("x")
    for name, value in {
        "GIT_DIR": f"{other}/.git",
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": f"{other}/index",
        "GIT_AUTHOR_NAME": "Leaked",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "Leaked",
    }.items():
        monkeypatch.setenv(name, value)
    found = await harness.good("get_changed_files")
    await harness.good("git_commit", message="m")
    monkeypatch.undo()
    assert found["repository"] == str(repository)
    author = (repository / ".git/HEAD").exists() and git("log", "-1", "--format=%an %s")
    assert author == "Ada m"


@pytest.mark.requirement("build:commit-conflicts")
async def test_conflicts_are_named_and_a_resolved_merge_is_committed(
    harness: Harness, repository: Path, git: Git
) -> None:
    conflict(repository, git)
    assert "merge conflicts: a.txt" in await harness.bad("git_commit", message="m")
    (repository / "a.txt").write_text("both\n")
    git("add", "a.txt")
    (repository / "b.txt").write_text("x")
    assert "Leave `files` out" in await harness.bad("git_commit", message="m", files=["b.txt"])
    told = await harness.good("git_commit", message="merged")
    assert told["filesStaged"] == 2
    assert len(git("log", "-1", "--format=%P").split()) == 2


def conflict(repository: Path, git: Git) -> None:
    """Leave the repository in the middle of a merge that conflicts in ``a.txt``."""
    git("checkout", "-qb", "side")
    (repository / "a.txt").write_text("side\n")
    git("commit", "-qam", "side")
    git("checkout", "-q", "main")
    (repository / "a.txt").write_text("main\n")
    git("commit", "-qam", "main")
    git("merge", "-q", "side", ok=False)


@pytest.mark.requirement("build:commit-hooks")
async def test_hooks_run_and_may_refuse(harness: Harness, repository: Path, git: Git) -> None:
    hook = repository / ".git/hooks/pre-commit"
    hook.write_text(
        "#!/bin/sh\necho checking $(git diff --cached --name-only -- '*.txt'); exit 1\n"
    )
    hook.chmod(0o755)
    (repository / "b.txt").write_text("x")
    done = await harness.call("git_commit", message="m", files=["b.txt"])
    assert not done.finished.ok
    assert "checking b.txt" in done.finished.text
    assert "stays staged" in done.finished.text
    assert done.data["success"] is False
    assert "checking" in await harness.until("checking")
    hook.write_text("#!/bin/sh\necho fine\n")
    assert "fine" in (await harness.good("git_commit", message="m"))["output"]


@pytest.mark.requirement("build:commit-first")
async def test_the_first_commit_of_a_repository_can_be_made(
    harness: Harness, person: None, git: Git, folder: Path
) -> None:
    git("init", "-q")
    (folder / "a.txt").write_text("x")
    (folder / "b.txt").write_text("x")
    told = await harness.good("git_commit", message="first", files=["b.txt"])
    assert told["filesStaged"] == 1
    assert git("ls-tree", "--name-only", "HEAD") == "b.txt"


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.requirement("build:no-repository")
async def test_a_folder_without_repository_is_named(harness: Harness, folder: Path) -> None:
    assert f"{folder} is not in a git repository" in await harness.bad("get_changed_files")
    assert "not in a git repository" in await harness.bad("git_commit", message="m")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
@pytest.mark.requirement("build:no-repository")
async def test_a_repository_of_another_user_is_named_with_what_to_do(
    harness: Harness, repository: Path
) -> None:
    for path in (repository, repository / ".git"):
        os.chown(path, 4321, 4321)
    told = await harness.bad("git_commit", message="m")
    assert f"{repository} belongs to another user" in told
    assert f"git config --global --add safe.directory {repository}" in told


@pytest.mark.requirement("build:commit-guarded")
async def test_every_path_is_guarded(
    harness: Harness, repository: Path, git: Git, tmp_path: Path
) -> None:
    (tmp_path / "outside.txt").write_text("x")
    text = await harness.bad("git_commit", message="m", files=["a.txt", "../outside.txt"])
    assert "outside.txt is outside the workspace" in text
    text = await harness.bad("git_commit", message="m", repositoryPath=str(tmp_path))
    assert "needs an approval" in text
    (repository / "inner").mkdir()
    git("init", "-q", at=repository / "inner")
    text = await harness.bad("git_commit", message="m", files=["../a.txt"], repositoryPath="inner")
    assert "is not in the repository" in text


@pytest.mark.requirement("build:worktrees")
async def test_a_worktree_whose_git_directory_lies_outside_is_explained(
    harness: Harness, opened: Callable[..., Harness], repository: Path, git: Git
) -> None:
    if not harness.sandboxed:
        pytest.skip("no kernel sandbox here")
    tree = repository.parent / "tree"
    git("worktree", "add", "-q", str(tree), "-b", "feature")
    (tree / "b.txt").write_text("x")
    alone = opened(where=tree)
    found = await alone.good("get_changed_files")
    assert (found["repository"], found["branch"], found["totalFiles"]) == (str(tree), "feature", 1)
    text = await alone.bad("git_commit", message="m")
    assert "outside the workspace" in text
    assert f"--add-dir {repository}/.git" in text
    added = opened(where=tree, added=(f"{repository}/.git",))
    await added.good("git_commit", message="in the tree")
    assert git("log", "-1", "--format=%s", "feature") == "in the tree"


@pytest.mark.requirement("build:submodules")
async def test_a_submodule_is_committed_to_before_the_repository_around_it(
    harness: Harness, repository: Path, git: Git, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git("init", "-q", at=library)
    (library / "l.txt").write_text("l")
    git("add", "-A", at=library)
    git("commit", "-qm", "library", at=library)
    git("submodule", "--quiet", "add", str(library), "lib")
    git("commit", "-qm", "add it")
    (repository / "lib/l.txt").write_text("changed")
    (repository / "lib/new.txt").write_text("new")
    (entry,) = (await harness.good("get_changed_files"))["files"]
    assert entry["submodule"] == ["modified content", "untracked content"]
    assert "Commit there first" in await harness.bad("git_commit", message="m")
    inner = await harness.good("get_changed_files", repositoryPath="lib")
    assert inner["repository"] == f"{repository}/lib"
    assert [f["path"] for f in inner["files"]] == ["l.txt", "new.txt"]
    told = await harness.good(
        "git_commit", message="inner", repositoryPath="lib", files=["l.txt", "new.txt"]
    )
    assert told["hash"] == git("rev-parse", "HEAD", at=repository / "lib")
    (entry,) = (await harness.good("get_changed_files"))["files"]
    assert entry["submodule"] == ["new commits"]
    assert (await harness.good("git_commit", message="outer"))["filesStaged"] == 1


@pytest.mark.requirement("build:commit-literal")
async def test_a_long_message_and_many_names_arrive_whole(
    harness: Harness, repository: Path, git: Git
) -> None:
    names = [f"{'n' * 100}{number:04d}" for number in range(500)]
    for name in names:
        (repository / name).touch()
    message = "é" * 15_000 + "\n\nend"
    told = await harness.good("git_commit", message=message, files=names)
    assert told["filesStaged"] == 500
    assert git("log", "-1", "--format=%B") == message
    text = await harness.bad("git_commit", message="m", files=names * 3)
    assert "1500 names are too many" in text
