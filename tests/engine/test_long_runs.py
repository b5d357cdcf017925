"""A turn costs the same however many came before it, but for the bytes that are sent."""

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.llm.scripted import ScriptedModel
from sam_tui.assembly import Options, build
from sam_tui.core.messages import dump_message
from sam_tui.core.runtime import Runtime
from tests.fakes.counting import counted_calls

EARLY, LATE = 20, 320


def long_runtime(folder: Path, steps: list[dict[str, Any]]) -> Runtime:
    """A runtime with instructions to remember, a limit far away, and a script."""
    (folder / "ws").mkdir()
    (folder / "settings").mkdir()
    (folder / "settings" / "AGENTS.md").write_text("Be brief.\n", encoding="utf-8")
    (folder / "ws" / "a.txt").write_text("hello\n", encoding="utf-8")
    options = Options(str(folder / "ws"), str(folder / "data"), context_tokens=100_000_000)
    environ = {"HOME": str(folder), "SAM_TUI_CONFIG_DIR": str(folder / "settings")}
    runtime = build(options, environ)
    runtime.use_model(ScriptedModel(steps))
    return runtime


@pytest.mark.requirement("run:long")
async def test_the_three_hundredth_turn_does_what_the_twentieth_does(tmp_path: Path) -> None:
    read = {"name": "file_operations", "arguments": {"operation": "read_file", "filePath": "a.txt"}}
    steps: list[dict[str, Any]] = []
    for number in range(LATE):
        called = number in (EARLY - 1, LATE - 1)
        steps += [{"text": "I look.", "calls": [read]}] if called else []
        steps += [{"text": f"Answer {number}."}]
    runtime = long_runtime(tmp_path, steps)
    session = runtime.open_session()
    compared = ((LATE, EARLY), (LATE - 1, EARLY + 1))
    seen: dict[int, int] = {}
    for number in range(1, LATE + 1):
        counts = any(number in pair for pair in compared)
        with counted_calls(builtins=True) if counts else nullcontext(Counter[str]()) as calls:
            assert (await session.run(f"prompt {number}")).reason == "finished"
        seen[number] = calls.total()
    stored = runtime.conversations.messages(session.conversation)
    await runtime.close()
    for late, early in compared:
        assert seen[late] < seen[early] * 1.15
    sizes = [len(dump_message(message)) for message in stored if message.kind == "assistant"]
    assert max(sizes[-20:]) < max(sizes[:20]) + 20
