"""A program that is killed at any moment leaves every checkpoint that it told of, whole."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KILLS = 3


@pytest.mark.timeout(240)  # interpreters are started one after the other
@pytest.mark.requirement("checkpoints:killed")
async def test_a_kill_loses_no_checkpoint_and_the_next_program_goes_on(kept: Any) -> None:
    kept.write("state", "start")
    told: dict[int, str] = {}
    newest: list[int] = []
    writer = [sys.executable, "-P", str(Path(__file__).with_name("writer.py"))]
    for kill in range(KILLS):
        program = subprocess.Popen(  # noqa: ASYNC220 # nothing else goes on here
            [*writer, str(kept.root), str(kept.data)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert program.stdout is not None
        for _ in range(kill + 1):  # each time somewhere else
            number, state = json.loads(program.stdout.readline())
            told[number] = state
        program.send_signal(signal.SIGKILL)
        for line in program.stdout:
            if line.endswith("\n"):
                number, state = json.loads(line)
                told[number] = state
        newest.append(max(told))
        program.wait()
        program.stdout.close()
    there = {checkpoint.id for checkpoint in await kept.checkpoints.checkpoints()}
    assert set(told) <= there
    for number in newest:
        plan = await kept.checkpoints.plan(number, {"own"})
        changed = {change.path for change in plan.changes}
        await kept.checkpoints.restore(plan, changed & {"state"})
        assert (kept.root / "state").read_text(encoding="ascii") == told[number]
    store = next((kept.data / "checkpoints").iterdir())
    check = ["git", f"--git-dir={store}", "fsck", "--full", "--strict", "--no-dangling"]
    fsck = subprocess.run(check, capture_output=True, text=True, check=False)  # noqa: ASYNC221
    assert (fsck.returncode, "missing" in fsck.stdout + fsck.stderr) == (0, False), fsck
