"""An agent that was given one step: it does that step, and steers nothing."""

from pathlib import Path

import pytest

from sam_tui.adapters.llm.scripted import ScriptedModel
from tests.fakes.engine_kit import calls
from tests.workflow.bench import Bench
from tests.workflow.stage import Stage, on
from tests.workflow.test_gate_holes import Way, voice

TWO = """
    policy: {parallel: 2}
    steps:
      - {id: read, prompt: read, tools: [voice.murmur]}
      - {id: write, prompt: write, tools: [voice.speak]}
"""
FREE = """
    steps:
      - {id: all, prompt: all}
"""


def workflow(operation: str, **more: object) -> tuple[str, dict[str, object]]:
    """A call of the workflow tool."""
    return "workflow", {"operation": operation, **more}


@pytest.mark.requirement("workflow:own-step")
async def test_it_cannot_get_at_another_gate_by_any_verb(bench: Bench, tmp_path: Path) -> None:
    bench.define(TWO)
    bench.define(FREE, "free")
    loud = ("voice", {"operation": "speak", "text": "loud"})
    stage = Stage(bench, tmp_path / "k")
    way = Way(bench, tmp_path / "w")
    stage.kit.executor.registry = way.kit.executor.registry
    other = bench.workflows.start("free").execution_id
    execution = bench.workflows.start("flow").execution_id
    done = {"summary": "s"}
    tries = [
        workflow("start", name="free"),
        workflow("resume", executionId=other),
        workflow("retry", executionId=other),
        workflow("abandon", executionId=execution),
        workflow("status", executionId=other),
        workflow("advance", executionId=execution, step="write", output=done),
        workflow("advance", executionId=other, step="all", output=done),
        loud,
    ]
    calls_ = [*tries, workflow("advance", output=done), loud]
    stage.model = ScriptedModel([*on("read", "read it", *calls_), *on("write")])
    view = await stage.run(execution)
    assert (view.state, view.progress) == ("completed", "2/2")
    assert way.kit.journal.lines == []
    history = bench.workflows.records.history(execution)
    assert len({attempt.conversation for attempt in history}) == 2
    assert bench.workflows.records.execution(other).state == "running"
    told = stage.results(execution)
    assert sum("who runs the workflow decides" in text for text in told) == 4
    assert sum("You were given step read" in text for text in told) == 2
    assert "voice.speak is not allowed in phase read" in told[7]
    assert "Step read is done" in told[8]
    assert "is over" in told[9]


@pytest.mark.requirement("workflow:own-step")
async def test_a_conversation_keeps_its_gate_while_it_steers_another_execution(
    bench: Bench, tmp_path: Path
) -> None:
    way = Way(bench, tmp_path / "w")
    way.begin()
    bench.define(FREE, "free")
    other = bench.workflows.start("free").execution_id
    told = await way.turn(
        calls(
            workflow("pause", executionId=other),
            workflow("resume", executionId=other),
            voice("speak"),
            voice("murmur"),
        )
    )
    assert "STEP all" in told[1]
    assert "voice.speak is not allowed in phase look" in told[2]
    assert told[3] == "murmur"
