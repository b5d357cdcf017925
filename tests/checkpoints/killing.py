"""Programs that make checkpoints and are killed at random, and what of their checkpoints is lost."""

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from sam_tui.adapters.checkpoints import GitCheckpoints
from sam_tui.adapters.files import LocalFiles
from sam_tui.core.errors import CheckpointError
from sam_tui.core.ids import ConversationId
from tests.fakes.preloaded import RUN, SCRIPT

WRITER = (*SCRIPT, RUN, str(Path(__file__).with_name("writer.py")))


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
) -> tuple[list[str], str]:
    """What is wrong with the checkpoints, a line for each that is, and what git says of the store.

    Every so many of them are restored. Of one that cannot be, its line has the error, so that git that
    failed or took too long is told from content that is gone.
    """
    path = os.environ["PATH"]
    checkpoints = GitCheckpoints(str(data), str(root), LocalFiles(), search_path=path)
    there = {checkpoint.id for checkpoint in await checkpoints.checkpoints()}
    wrong = [f"{number} is not there" for number in sorted(promised.keys() - there)]
    for number in [n for n in sorted(promised) if n in there][::every]:
        try:
            plan = await checkpoints.plan(number, {ConversationId("own")})
            changed = {change.path for change in plan.changes}
            await checkpoints.restore(plan, changed & {"state"})
        except CheckpointError as error:
            wrong.append(f"{number} was not restored: {error}")
            continue
        state = (root / "state").read_text(encoding="ascii")
        if state != promised[number]:
            wrong.append(f"{number} brought back {state!r}, not {promised[number]!r}")
    checkpoints.close()
    store = next((data / "checkpoints").iterdir())
    words = ("git", f"--git-dir={store}", "fsck", "--full", "--strict", "--no-dangling")
    check = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: ASYNC221
    if check.returncode == 0:
        return wrong, ""
    return wrong, f"git fsck ended with {check.returncode}: {check.stdout}{check.stderr}"
