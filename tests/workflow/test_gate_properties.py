"""Whatever a model puts into its messages, no tool runs outside the phase that holds then."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from sam_tui.core.workflow.gate import allows
from tests.fakes.engine_kit import Say, calls
from tests.workflow.bench import Bench
from tests.workflow.test_gate_holes import Way

FLOW = """
    policy: {rollbacks: 2}
    steps:
      - {id: look, prompt: look, tools: [voice.murmur]}
      - {id: act, prompt: act, needs: [look], tools: [voice.speak, voice.shout], attempts: 2}
      - {id: rest, prompt: rest, needs: [act], tools: []}
"""
ADVANCE = {"operation": "advance", "output": {"summary": "s"}}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("voice", {"operation": name, "text": name}) for name in ("murmur", "speak", "shout")),
    ("workflow", ADVANCE),
    ("workflow", ADVANCE | {"step": "look"}),
    ("workflow", {"operation": "retry", "step": "look"}),
    ("workflow", {"operation": "pause"}),
    ("workflow", {"operation": "resume"}),
    ("workflow", {"operation": "abandon"}),
)
MESSAGES = st.lists(
    st.lists(st.sampled_from(range(len(CALLS))), min_size=1, max_size=6), min_size=1, max_size=4
)


@pytest.mark.requirement("workflow:properties")
@settings(max_examples=25, deadline=None)
@given(MESSAGES)
def test_no_sequence_of_messages_runs_a_tool_outside_its_phase(messages: list[list[int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), messages))


async def play(folder: Path, messages: list[list[int]]) -> None:
    """Play the messages; each tool that runs looks at the phase it runs in."""
    bench = Bench(folder)
    way = Way(bench, folder / "kit")
    bench.define(FLOW)
    workflows = way.lazy.workflows()
    execution = workflows.start("flow", {}, conversation=way.kit.conversation).execution_id
    wrong: list[str] = []
    write = way.kit.journal.write

    def watched(line: str) -> None:
        write(line)
        phase = workflows.records.phase(way.kit.conversation)
        name = Say(text=line.rpartition(" ")[2]).text
        if phase and not (phase.state == "running" and allows(phase.tools, f"voice.{name}")):
            wrong.append(f"{line} in {phase.step}, which is {phase.state}")

    way.kit.journal.write = watched  # pyright: ignore[reportAttributeAccessIssue] # it looks too
    try:
        said = [calls(*(CALLS[index] for index in message)) for message in messages]
        results = await way.turn(*said)
        assert wrong == []
        assert len(results) == sum(map(len, messages))
        assert workflows.records.execution(execution).state in (
            "running",
            "paused",
            "completed",
            "abandoned",
        )
    finally:
        way.lazy.close()
        way.kit.storage.close()
