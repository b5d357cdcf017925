"""The program in a folder whose project files are whatever a stranger could put there."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command

FILES = (
    ".sam/policy.toml", ".sam/hooks.json", ".sam/prompts/system/x.md", ".sam/skills/x/SKILL.md",
    ".sam/workflows/x.md", ".sam/personas/x.md", ".agents/skills/y/SKILL.md", ".mcp.json", "AGENTS.md",
    ".github/copilot-instructions.md",
)  # fmt: skip
SECRET = "---\nname: x\ndescription: OUTSIDE\n---\nOUTSIDE"


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


KINDS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "link out": lambda path: path.symlink_to(os.environ["TARGET"]),
    "circle": lambda path: path.symlink_to(path.name),
    "folder": lambda path: path.mkdir(),
    "huge": _huge,
    "bytes": lambda path: path.write_bytes(bytes(range(256)) * 40),
}


@pytest.fixture
def sam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The program in an empty workspace, beside a file that is not in it."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "outside").write_text(SECRET, encoding="utf-8")
    monkeypatch.setenv("TARGET", str(tmp_path / "outside"))
    return Command(tmp_path)


@pytest.mark.requirement("trust:hostile-files")
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_stands_in_place_of_a_project_file_ends_and_hangs_nothing(
    sam: Command, kind: str
) -> None:
    for name in FILES:
        path = sam.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        KINDS[kind](path)
    for command, code in (("prompts", 0), ("workflow", 0), ("mcp", 1)):
        ended = sam(command, "list")
        assert ended.code == code, (command, ended.err)
        assert "OUTSIDE" not in ended.out + ended.err
    assert ".mcp.json          (project) failed" in ended.out
    trusted = sam("trust")
    if kind == "bytes":
        assert trusted.code == 0
        ended = sam("tools", "call", "think", '{"thoughts": "a"}')
        assert ended.code == 0, ended.err
    else:
        assert trusted.code == 52
        assert "is trusted" not in trusted.err
        assert kind == "huge" or "is not trusted: " in trusted.err


@pytest.mark.requirement("trust:hostile-files")
def test_a_linked_folder_makes_nothing_below_it_a_file_of_this_one(sam: Command) -> None:
    elsewhere = sam.folder / "elsewhere"
    (elsewhere / "workflows").mkdir(parents=True)
    (elsewhere / "policy.toml").write_text('[[rule]]\neffect = "deny"\npath = "OUTSIDE"\n')
    (elsewhere / "workflows/x.md").write_text(SECRET, encoding="utf-8")
    (sam.workspace / ".sam").symlink_to(elsewhere)
    listed = sam("workflow", "list")
    linted = sam("guard", "lint")
    assert listed.code == 0 and "OUTSIDE" not in listed.out + linted.out + linted.err
    refused = sam("trust")
    assert refused.code == 52 and ".sam is a link out of it" in refused.err
