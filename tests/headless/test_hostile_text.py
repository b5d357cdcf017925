"""What the program prints of strangers' text into a pipe, which a person may look at later."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sam_tui.core.text.invisible import INVISIBLE
from tests.headless.conftest import Program, call

EVIL = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202e\u200b\u3164"
"""A title, a colour, a cleared screen by a C1 control, text that runs backwards, and blanks."""
CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f]|{INVISIBLE}")
SHOWN = (
    ("sessions", "list"),
    ("edits", "list"),
    ("audit", "list"),
    ("hooks", "list"),
    ("skills", "list"),
    ("prompts", "list"),
    ("mcp", "list"),
    ("workflow", "list"),
    ("workflow", "list", "--json"),
    ("trust", "--show"),
    ("trust",),
    ("trust", "--list"),
    ("guard", "lint"),
    ("doctor",),
    ("tools", "call", "file_operations.read_file", json.dumps({"filePath": f"{EVIL}.txt"})),
    ("edits", "undo"),
)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A workspace whose very name is hostile, and so is all that lies in it."""
    (tmp_path / "ws").symlink_to(tmp_path / f"ws{EVIL}")
    folder = tmp_path / f"ws{EVIL}"
    texts = {
        f".sam/skills/{EVIL}/SKILL.md": f"---\nname: x\ndescription: {EVIL}\n---\n{EVIL}",
        f".sam/prompts/system/{EVIL}.md": f"---\nname: {EVIL}\n---\n{EVIL}",
        f".sam/workflows/{EVIL}.md": f"---\nname: flow\ndescription: {EVIL}\nsteps: {EVIL}\n---\n",
        ".sam/hooks.json": json.dumps({
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": EVIL}]}]}
        }),
        ".mcp.json": json.dumps({"mcpServers": {EVIL: {"command": EVIL}, "s": {"command": EVIL}}}),
        ".sam/policy.toml": f'"{json.dumps(EVIL)[1:-1]}" = 1\n',
        f"{EVIL}.txt": EVIL,
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Program(tmp_path)


@pytest.mark.requirement("headless:terminal-safe")
def test_nothing_that_is_printed_into_a_pipe_holds_a_terminal_sequence(program: Program) -> None:
    made = call("file_operations", "create_file", filePath=f"new{EVIL}.txt", content=EVIL)
    model = program.script({"calls": [made]}, {"text": f"Done {EVIL}"})
    ended = program.run("--model", model, "--verbose", f"Say {EVIL}")
    assert ended.code == 0 and "Done" in ended.out
    assert not CONTROL.search(ended.out + ended.err)
    for arguments in SHOWN:
        places = ["-C", str(program.workspace)] if arguments[0] != "trust" else []
        data = str(program.folder / "data")
        shown = subprocess.run(
            [sys.executable, "-P", "-m", "sam_tui", "--data-dir", data, *arguments, *places],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            cwd=program.workspace,
            check=False,
        )
        text = (shown.stdout + shown.stderr).decode()
        assert text.strip(), arguments
        assert "defect" not in text and not CONTROL.search(text), (arguments, text)
