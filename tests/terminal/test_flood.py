"""A command that prints far more than anyone can read: what is kept of it is counted, not timed."""

from pathlib import Path

import pytest

from sam_tui.assembly import Options, build
from sam_tui.core.display import Terminal
from sam_tui.core.events import ToolFinished, ToolProgressed
from sam_tui.core.ids import CallId
from sam_tui.core.messages import ToolCall

PRINTED = 64_000_000
MOST_KEPT = 2_000_000
"""Characters of a result, of its stored whole, and of everything people are told while it runs."""


@pytest.mark.requirement("terminal:flood")
async def test_of_64_megabytes_only_beginning_and_end_are_kept(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    runtime = build(Options(str(tmp_path / "ws"), str(tmp_path / "data"), mode="auto"), {})
    conversation = runtime.open_session().conversation
    # Nobody drains this one while the command runs, as a screen that is busy would not.
    told = runtime.bus.subscribe()
    command = f"echo first; yes 0123456789 | head -c {PRINTED}; echo; echo last"
    call = ToolCall(CallId("call_1"), "run_command", f'{{"command": "{command}"}}')
    done = await runtime.executor.execute(call, conversation)
    events = told.drain()
    assert done.finished.ok, done.finished.text
    assert done.finished.text.startswith("[TOOL_RESULT_PREVIEW") and "first" in done.finished.text
    stored = runtime.executor.results.load(conversation, CallId("call_1")) or ""
    assert "first" in stored and stored.rstrip().endswith("last")
    shown = [d for e in events if isinstance(e, ToolFinished) for d in e.display]
    kept = {
        "result": len(done.finished.text),
        "stored": len(stored),
        "progress": sum(len(e.text) for e in events if isinstance(e, ToolProgressed)),
        "display": sum(len(d.output) for d in shown if isinstance(d, Terminal)),
    }
    assert all(0 < size < MOST_KEPT for size in kept.values()), kept
    files = (path.stat().st_size for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert sum(files) < 4 * MOST_KEPT
    await runtime.close()
