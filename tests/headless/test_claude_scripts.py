"""Patterns of published scripts for ``claude -p`` run as they are, over a shim of that name. Costs 4 s."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.shell_commands import shell_command

PATTERNS = {
    "a conversation goes on by the id of its JSON": (
        """
        session_id=$(claude -p "Start a review" --output-format json | jq -r .session_id)
        claude -p "Continue that review" --resume "$session_id"
        """,
        "answer 2\n",
    ),
    "a file is piped in and the stream is filtered for the result": (
        """
        cat build.log | claude -p "Explain this build error" --output-format stream-json --verbose \\
            --allowedTools "Bash(git diff),Read,Edit" --permission-mode acceptEdits --max-turns 3 \\
            | grep '"type":"result"' | jq -r .result
        """,
        "answer 1\n",
    ),
    "messages come as JSON lines, with words of its own and a loop that trusts the exit code": (
        """
        if echo '{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}' \\
            | claude -p --input-format stream-json --output-format stream-json --verbose \\
                --append-system-prompt "You are terse" --dangerously-skip-permissions \\
                --disallowedTools "Bash" > out.jsonl
        then tail -n 1 out.jsonl | jq -r .subtype; else echo failed; fi
        """,
        "success\n",
    ),
    "a list of tools in words of its own, prompts from files and a schema": (
        """
        printf 'You are a reviewer' > role.md
        claude -p "List the functions" --append-system-prompt-file role.md --max-turns 3 \\
            --allowedTools "Bash(git log *)" "Bash(git diff:*)" "Edit(src/**)" Read \\
            --disallowedTools "Bash(rm *)" WebFetch NotebookEdit --output-format json | jq -r .result
        """,
        "answer 1\n",
    ),
}
"""A script, and what it prints."""
JQ = """import json, sys
print(json.load(sys.stdin)[sys.argv[2].lstrip(".")])
"""


@pytest.mark.requirement("headless:claude-scripts")
@pytest.mark.parametrize("name", PATTERNS)
def test_a_published_pattern_runs_unchanged(name: str, tmp_path: Path) -> None:
    script, printed = PATTERNS[name]
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/build.log").write_text("error: no such file", encoding="utf-8")
    (tmp_path / "jq.py").write_text(JQ, encoding="utf-8")
    steps = [{"text": f"answer {number}"} for number in range(1, 4)]
    (tmp_path / "script.json").write_text(json.dumps(steps), encoding="utf-8")
    jq = f'exec "{sys.executable}" -I -S "{tmp_path}/jq.py" "$@"'
    (tmp_path / "jq").write_text(f"#!/bin/sh\n{jq}\n", encoding="utf-8")
    (tmp_path / "jq").chmod(0o700)
    environ = {
        **os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path),
        "SAM_TUI_MODEL": f"scripted:{tmp_path}/script.json",
    }  # fmt: skip
    with shell_command(tmp_path / "claude", "--compat", "claude") as descriptors:
        done = subprocess.run(
            ["sh", "-eu", "-c", script], cwd=tmp_path / "ws", env=environ, capture_output=True,
            text=True, check=False, timeout=100, pass_fds=descriptors,
        )  # fmt: skip
    assert (done.stdout, done.returncode) == (printed, 0), done.stderr
