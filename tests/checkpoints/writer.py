"""Changes files of a workspace for ever, with a checkpoint around each change; tells each that is kept."""

import asyncio
import itertools
import json
import os
import sys
from pathlib import Path

from sam_tui.adapters.checkpoints import GitCheckpoints
from sam_tui.adapters.files import LocalFiles
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.checkpoints import ChangingCall


def change(root: Path, count: int) -> None:
    """What a call does."""
    for name in ("state", f"noise{count % 7}"):
        (root / name).write_text(f"{os.getpid()}-{count}", encoding="ascii")


async def write(root: Path, data: str) -> None:
    checkpoints = GitCheckpoints(data, str(root), LocalFiles(), search_path=os.environ["PATH"])
    for count in itertools.count():
        call = ChangingCall(ConversationId("own"), CallId(f"c{count}"), "op", "does")
        number = await checkpoints.before(call)
        print(json.dumps([number, (root / "state").read_text(encoding="ascii")]), flush=True)
        change(root, count)
        checkpoints.after(number)


asyncio.run(write(Path(sys.argv[1]), sys.argv[2]))
