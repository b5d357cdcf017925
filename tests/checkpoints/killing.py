"""Programs that make checkpoints and are killed at random, and what of their checkpoints is lost."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from sam_tui.adapters.checkpoints import GitCheckpoints
from sam_tui.adapters.files import LocalFiles
from sam_tui.core.errors import CheckpointError
from sam_tui.core.ids import ConversationId

WRITER = (sys.executable, "-P", str(Path(__file__).with_name("writer.py")))


def killed(root: Path, data: Path, kills: int) -> dict[int, str]:
    """Kill so many; the state of the workspace at each checkpoint that they told of."""
    (root / "state").write_text("start", encoding="ascii")
    promised: dict[int, str] = {}
    for kill in range(kills):
        program = subprocess.Popen(
            (*WRITER, str(root), str(data)),
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert program.stdout is not None
        lines = [program.stdout.readline() for _ in range(kill % 5 + 1)]
        with suppress(subprocess.TimeoutExpired):  # each time at another moment
            program.wait(kill % 17 / 400)
        program.send_signal(signal.SIGKILL)
        lines += [line for line in program.stdout if line.endswith("\n")]
        program.wait()
        program.stdout.close()
        promised.update(json.loads(line) for line in lines)
    return promised


async def lost(
    root: Path, data: Path, promised: dict[int, str], *, every: int = 1
) -> tuple[int, int]:
    """How many of the checkpoints are not whole, and whether git finds the store damaged: 0 or 1.

    Every so many of them are restored.
    """
    path = os.environ["PATH"]
    checkpoints = GitCheckpoints(str(data), str(root), LocalFiles(), search_path=path)
    there = {checkpoint.id for checkpoint in await checkpoints.checkpoints()}
    missing = len(promised.keys() - there)
    for number in [n for n in sorted(promised) if n in there][::every]:
        try:
            plan = await checkpoints.plan(number, {ConversationId("own")})
            changed = {change.path for change in plan.changes}
            await checkpoints.restore(plan, changed & {"state"})
            missing += (root / "state").read_text(encoding="ascii") != promised[number]
        except CheckpointError:
            missing += 1
    checkpoints.close()
    store = next((data / "checkpoints").iterdir())
    words = ("git", f"--git-dir={store}", "fsck", "--full", "--strict", "--no-dangling")
    check = subprocess.run(words, capture_output=True, check=False)  # noqa: ASYNC221
    return missing, int(check.returncode != 0)
