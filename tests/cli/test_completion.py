"""Completion in real shells and the manual page, from the commands (one process a shell; 3 s of CPU)."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from sam_tui.cli.main import main
from sam_tui.cli.program import COMMANDS, program
from tests.fakes.shell_commands import shell_command

_ASK = {
    "bash": 'source "$1"; COMP_WORDS=($2); COMP_CWORD=$3; _sam_tui_completion sam-tui;'
    ' printf "%s\\n" "${COMPREPLY[@]}"',
    # zsh's own functions for completion exist at its prompt alone.
    "zsh": "compdef() { : }; compadd() { print -l -- $completions };"
    " _describe() { print -l -- $completions_with_descriptions };"
    ' words=(${=2}); CURRENT=$(($3 + 1)); source "$1"; _sam_tui_completion',
    "fish": 'source $argv[1]; complete -C "$argv[2]"',
}
_LINES = {"sam-tui config un": "unset", "sam-tui --hand": "--hand-out"}
"""What depends on the script of a shell: which word is meant, among those before it."""
_MORE = {"sam-tui conf": "config", "sam-tui --permission-mode acc": "accept-edits"}
"""What the program answers in whatever shell."""


def _run(shell: str, folder: Path, *arguments: str) -> str:
    environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.defpath}"}
    plain = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    own_name = [] if shell == "fish" else [shell]
    with shell_command(folder / "sam-tui") as descriptors:
        ended = subprocess.run(
            [shell, *plain, "-c", _ASK[shell], *own_name, *arguments],
            capture_output=True,
            text=True,
            env=environ,
            check=False,
            pass_fds=descriptors,
        )
    assert not ended.stderr
    return ended.stdout


@pytest.mark.requirement("cli:completion")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_and_options(
    shell: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capfd.readouterr().out)
    assert "sam-tui" in script.read_text()
    if shutil.which(shell) is None:
        return  # what it prints is all that can be seen here
    for line, completed in (_LINES | _MORE if shell == "bash" else _LINES).items():
        out = _run(shell, tmp_path, str(script), line, str(len(line.split()) - 1))
        assert any(completed in word for word in out.splitlines()), (line, out)
        if shell == "fish" and completed == "--hand-out":
            assert "Roles, separated by commas" in out  # the whole description


@pytest.mark.requirement("cli:manual")
def test_the_manual_page_names_every_command_and_is_taken_by_roff(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main(["man"]) == 0
    page = capfd.readouterr().out
    for name in COMMANDS.keys() - {"exec"}:
        assert f".SS sam\\-tui {name}" in page, name
    assert ".B SAM_TUI_MODEL" in page and r"\fB\-\-model NAME\fR" in page
    assert r"\fBsam-tui config path\fR" in page and r"\\f" not in page
    if (groff := shutil.which("groff")) is not None:
        ended = subprocess.run(
            [groff, "-man", "-Tutf8", "-ww"],
            input=page,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert len(ended.stdout.splitlines()) > 300


NAMED = re.compile(r"(?:[`(]|^|\$ )sam-tui ([a-z]+)\b(?: ([a-z-]+)\b(?![./=]))?", re.MULTILINE)
"""A command of the docs, in a span or at the beginning of a line, and the word behind it."""
PROSE = {("sends", "nothing")}
"""What stands at the beginning of a line of a sentence."""


@pytest.mark.requirement("headless:routing")
def test_every_command_that_the_docs_name_is_there_and_they_name_all_of_them() -> None:
    docs = Path(__file__).parents[2] / "docs"
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in (*docs.glob("*.md"), docs / "../README.md")
    )
    named = set(NAMED.findall(text)) - PROSE
    context, missing = click.Context(program), set(COMMANDS) - {name for name, _ in named}
    for name, below in named:
        command = program.get_command(context, name)
        if command is None:
            missing.add(name)
        elif below and isinstance(command, click.Group) and not command.get_command(context, below):
            missing.add(f"{name} {below}")
    assert missing == {"exec"}  # another name of run, which is tried above
