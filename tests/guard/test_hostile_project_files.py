"""The program in a folder whose project files are whatever a stranger could put there."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command

FILES = (
    ".sam/policy.toml",
    ".sam/settings.toml",
    ".sam/hooks.json",
    ".sam/bundles.json",
    ".sam/prompts/system/x.md",
    ".sam/skills/x/SKILL.md",
    ".sam/workflows/x.md",
    ".sam/personas/x.md",
    ".sam/commands/x.md",
    ".sam/agents/x.md",
    ".agents/skills/y/SKILL.md",
    ".claude/commands/x.md",
    ".claude/agents/x.md",
    ".claude/rules/x.md",
    ".mcp.json",
    "AGENTS.md",
    "CLAUDE.md",
    "below/AGENTS.md",
    ".github/copilot-instructions.md",
)
FOLDERS = (
    (".sam", ".agents", ".github", ".claude", ".git"),
    (".sam/skills", ".sam/workflows", ".sam/prompts", ".sam/personas", ".agents/skills/x"),
)  # fmt: skip
SECRET = "---\nname: x\ndescription: OUTSIDE\n---\nOUTSIDE"


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def _socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(before)


def _bomb(path: Path) -> None:
    """YAML of which each line is nine times the one before."""
    rows = [
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]" for n in range(9)
    ]
    front = "\n".join(("---", "a: &a [x]", *rows, "name: x", "description: b", "---", "x"))
    path.write_text(front, "utf-8")


KINDS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "socket": _socket,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "link out": lambda path: path.symlink_to(os.environ["TARGET"]),
    "circle": lambda path: path.symlink_to(path.name),
    "folder": lambda path: path.mkdir(),
    "huge": _huge,
    "bytes": lambda path: path.write_bytes(bytes(range(256)) * 40),
    "levels": lambda path: path.write_text("[" * 100_000, "utf-8"),
    "bomb": _bomb,
}
REGULAR = ("huge", "bytes", "levels", "bomb")


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
    _run(sam)
    trusted = sam("trust")
    if kind in ("bytes", "levels", "bomb"):
        assert trusted.code == 0
        _run(sam)
    else:
        assert trusted.code == 52
        assert "is trusted" not in trusted.err and not trusted.err.startswith("trusted: ")
        assert kind == "huge" or "is not trusted: " in trusted.err


def _run(sam: Command) -> None:
    """A turn with a command, as everywhere."""
    words = {"operation": "run_command", "command": "echo it runs", "explanation": "x"}
    steps = [{"calls": [{"name": "terminal_operations", "arguments": words}]}, {"text": "Done."}]
    script = sam.folder / "script.json"
    script.write_text(json.dumps(steps), "utf-8")
    ended = sam("run", "--model", f"scripted:{script}", "--output-format", "stream-json", "go")
    assert (ended.code, "it runs" in ended.out) == (0, True), ended.out + ended.err


@pytest.mark.requirement("trust:hostile-files")
@pytest.mark.parametrize("names", FOLDERS)
@pytest.mark.parametrize("kind", ["pipe", "socket", "link out"])
def test_whatever_stands_in_place_of_a_folder_of_project_files_ends_and_hangs_nothing(
    sam: Command, kind: str, names: tuple[str, ...]
) -> None:
    for name in names:
        path = sam.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        KINDS[kind](path)
    _run(sam)
    assert sam("skills", "list").code == 0
    assert sam("trust").code == 52


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


@pytest.mark.requirement("trust:changed")
def test_a_headless_run_says_what_changed_while_it_ran_though_nothing_read_it_again(
    sam: Command,
) -> None:
    (sam.workspace / "AGENTS.md").write_text("x", encoding="utf-8")
    assert sam("trust").code == 0
    words = {"operation": "run_command", "command": "ln -sf /x AGENTS.md; echo {} > .mcp.json"}
    steps = [{"calls": [{"name": "terminal_operations", "arguments": words}]}, {"text": "Done."}]
    script = sam.folder / "script.json"
    script.write_text(json.dumps(steps), "utf-8")
    ended = sam("run", "--model", f"scripted:{script}", "--permission-mode", "bypass", "go")
    assert ended.code == 0 and "These files changed since you trusted the folder" in ended.err
    assert "changed: AGENTS.md" in ended.err and "new: .mcp.json" in ended.err
