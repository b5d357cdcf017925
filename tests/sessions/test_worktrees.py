"""A worktree for a conversation, from its beginning to its merge. About 0.9 s of CPU, most of it git's."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.cli.main import main


@pytest.mark.requirement("sessions:worktree")
def test_a_worktree_is_worked_in_listed_merged_and_dropped(
    workspace: Path,
    sam: Callable[..., tuple[int, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = "[user]\nname = x\nemail = x@example.org\n[init]\ndefaultBranch = main\n"
    (tmp_path / ".gitconfig").write_text(settings, encoding="utf-8")

    def git(folder: Path, *words: str) -> str:
        command = ["git", "-c", "core.hooksPath=/dev/null", "-C", str(folder), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert sam("sessions", "worktree", "list")[0] == 2, "no repository"
    git(workspace, "init", "-q")
    assert main(["run", "--worktree", "try", "--model", "scripted:none", "go"]) == 2
    assert "has no commit yet" in capsys.readouterr().err
    (workspace / "a.txt").write_text("one\n", encoding="utf-8")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "first")
    for hook in ("post-checkout", "pre-commit", "post-merge", "pre-merge-commit"):
        file = workspace / ".git/hooks" / hook
        file.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n", encoding="utf-8")
        file.chmod(0o755)
    tree = tmp_path / "ws.worktrees/try"
    edit = (
        '{"calls": [{"name": "create_file", "arguments": {"filePath": "b.txt", "content": "b"}}]}'
    )
    script = tmp_path / "script.json"
    script.write_text(f'[{edit}, {{"text": "Done."}}]', encoding="utf-8")
    code = main(["run", "--worktree", "try", "--model", f"scripted:{script}", "go"])
    told = capsys.readouterr()
    assert code == 0, told.err
    assert "Working in " in told.err
    assert (tree / "b.txt").exists() and not (workspace / "b.txt").exists()

    assert "1 changed, 0 to merge" in sam("sessions", "worktree", "list")[1]
    assert sam("sessions", "worktree", "drop", "try")[0] == 2
    assert sam("sessions", "worktree", "merge", "try")[0] == 2
    (tree / "a.txt").write_text("theirs\n", encoding="utf-8")
    (workspace / "a.txt").write_text("ours\n", encoding="utf-8")
    git(workspace, "commit", "-qam", "ours")
    monkeypatch.chdir(tmp_path)
    merge = ["sessions", "worktree", "merge", "try", "-C", str(workspace), "-m", "theirs"]
    assert main(merge) == 2, "a conflict, seen from another folder"
    said = " ".join(capsys.readouterr().err.split())
    assert "sam/try and main both changed a.txt: nothing was merged" in said
    assert f"stays in {tree}" in said and "git merge main" in said
    git(workspace, "merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "sam/try")
    (workspace / "a.txt").write_text("solved by hand\n", encoding="utf-8")
    assert main(merge) == 2
    assert "A merge of yours is under way" in capsys.readouterr().err
    assert (workspace / "a.txt").read_text("utf-8") == "solved by hand\n"
    git(workspace, "reset", "-q", "--hard")
    monkeypatch.chdir(workspace)
    assert git(workspace, "status", "--porcelain") == ""
    assert (workspace / "a.txt").read_text("utf-8") == "ours\n"
    git(tree, "checkout", "-q", "HEAD~1", "--", "a.txt")
    code, said = sam("sessions", "worktree", "merge", "try", "-m", "as it was")
    assert (code, said.startswith("Merged try: 1 file changed, 1 insertion")) == (0, True)
    assert (workspace / "b.txt").exists() and not tree.exists()
    assert "sam/" not in git(workspace, "branch")

    for name in ("../x", "-x", ""):
        assert sam("sessions", "worktree", "drop", "--", name)[0] == 2
    # One that somebody deleted is made again; a folder of another kind is left alone.
    (tree.parent / "plain").mkdir()
    for name, code in (("other", 0), ("plain", 2), ("", 2)):
        shutil.rmtree(tree.parent / "other", ignore_errors=True)
        assert main(["run", "--worktree", name, "--model", f"scripted:{script}", "go"]) == code
    assert "other" not in sam("sessions", "worktree", "list")[1]
    assert main(["run", "--worktree", "other", "--model", "scripted:none", "go"]) != 0
    assert sam("sessions", "worktree", "drop", "other")[0] == 0
    assert not (tmp_path / "hooked").exists()

    git(workspace, "config", "filter.x.smudge", f"touch {tmp_path}/hooked")
    capsys.readouterr()
    assert main(["run", "--worktree", "next", "--model", "scripted:none", "go"]) == 2
    assert "filter.x.smudge" in capsys.readouterr().err
