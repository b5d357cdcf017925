"""Measures plans: a step's way through the engine, a search for APIs, twenty sources side by side.

``python -m bench.plans [--json FILE] [--strict]``. Times of the tools are the best of several, of
processor time; the targets are seed 001's own figures, by far: it names 50 to 200 ms and 200 to 1000 ms.
What a step costs is the difference to the same calls without a plan: processor time, and wall time that
waits for the disk at each change of the store. Fleets are measured by ``bench.fleet``.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.figures import Figure, judged, options
from sam_tools.iron_manus.sources.registry import ApiList
from sam_tools.iron_manus.sources.synthesis import Mode, Statement, synthesize
from sam_tui.assembly import Options, build
from sam_tui.core.ids import CallId
from sam_tui.core.messages import ToolCall
from sam_tui.core.runtime import Runtime

MOST_SEARCH, MOST_SYNTHESIS, MOST_STEP = 2.0, 20.0, 5.0
STAGES, WIDE = 10, 4
"""The plan: so many stages of so many steps."""
SUM = {"expression": "6*7"}
SOURCES = 20
OBJECTIVES = (
    ("Weather data APIs", "coder"),
    ("Analyze cryptocurrency market trends", "analyzer"),
    (
        "Recent research papers on climate economics and population statistics of Europe",
        "researcher",
    ),
)
MODES: tuple[Mode, ...] = ("consensus", "weighted", "hierarchical", "conflict_resolution")


def best(act: Callable[[], Any], times: int = 15) -> float:
    """Milliseconds of processor time that the quickest of some runs takes."""
    taken: list[float] = []
    for _ in range(times):
        begun = time.process_time()
        act()
        taken.append(1000 * (time.process_time() - begun))
    return min(taken)


def sources(chance: random.Random) -> list[Statement]:
    """Twenty texts of two thousand characters with values that some of them dispute."""
    words = [f"word{number}" for number in range(600)]
    texts: list[Statement] = []
    for number in range(SOURCES):
        parts = [" ".join(chance.choices(words, k=20)) + "." for _ in range(12)]
        millions = chance.choice(("2.1", "2.1", "2.2"))
        parts.insert(number % 12, f"The population of Paris is {millions} million.")
        parts.insert(3, f"The tower of town {number} is {chance.randint(10, 400)} m tall.")
        texts.append(Statement(f"source {number}", " ".join(parts), chance.random()))
    return texts


def plan() -> str:
    """Stages of sums, as a planner answers."""
    stages = [
        [
            {
                "stepId": f"s{stage}-{number}",
                "assigned_agent_role": "UtilityAgent",
                "tool_name": "CalculatorTool",
                "sub_task_input": SUM,
                "narrative_step": "multiply",
            }
            for number in range(WIDE)
        ]
        for stage in range(STAGES)
    ]
    return json.dumps(stages)


async def timed(act: Callable[[], Awaitable[Any]]) -> tuple[float, float]:
    """Milliseconds of processor time and of wall time."""
    used, begun = time.process_time(), time.perf_counter()
    await act()
    return 1000 * (time.process_time() - used), 1000 * (time.perf_counter() - begun)


async def stepped(folder: Path) -> list[Figure]:
    """What a step of a plan costs beside its call."""
    (folder / "ws").mkdir()
    answers = [
        {"when": {"user": "step plan,"}, "text": plan()},
        {"when": {"user": "step answer,"}, "text": "Done."},
    ]
    (folder / "script.json").write_text(json.dumps(answers), "utf-8")
    model = f"scripted:{folder / 'script.json'}"
    runtime = build(Options(str(folder / "ws"), str(folder / "data"), model=model), {})
    try:
        await planned(runtime)  # what is loaded and made once
        ran = await timed(lambda: planned(runtime))
        bare = await timed(lambda: called(runtime))
    finally:
        await runtime.close()
    steps = STAGES * WIDE
    return [
        Figure(
            "a step beside its call, processor", (ran[0] - bare[0]) / steps, "ms", target=MOST_STEP
        ),
        Figure("a step beside its call, wall", (ran[1] - bare[1]) / steps, "ms"),
        Figure("its call alone, processor", bare[0] / steps, "ms"),
    ]


async def planned(runtime: Runtime) -> None:
    """Plan, carry out, answer."""
    from sam_tui.core.workflow.planned import PlannedTasks

    task = PlannedTasks(runtime.workflows.workflows()).begin("multiply")
    view = await runtime.open_runner(lambda _: None).run(task)
    assert view.state == "completed", view.reason


async def called(runtime: Runtime) -> None:
    """The calls of the plan, one after the other."""
    conversation = runtime.open_session().conversation
    for number in range(STAGES * WIDE):
        call = ToolCall(CallId(f"call_{number}"), "CalculatorTool", json.dumps(SUM))
        done = await runtime.executor.execute(call, conversation)
        assert done.finished.ok, done.finished.text


def measure() -> list[Figure]:
    """Every figure."""
    apis = ApiList()
    figures = [
        Figure(
            f"APISearch: {objective[:28]}",
            best(lambda o=objective, r=role: apis.ranked(o, r, limit=20)),
            "ms",
            target=MOST_SEARCH,
        )
        for objective, role in OBJECTIVES
    ]
    texts = sources(random.Random(1))
    figures += [
        Figure(
            f"synthesis of {SOURCES} sources, {mode}",
            best(lambda m=mode: synthesize(texts, m, threshold=0)),
            "ms",
            target=MOST_SYNTHESIS,
        )
        for mode in MODES
    ]
    return figures


def main() -> int:
    """Measure, print, and judge."""
    given = options("Measure plans and the tools of their research.").parse_args()
    with tempfile.TemporaryDirectory(prefix="sam-bench-") as name:
        steps = asyncio.run(stepped(Path(name)))
    return judged("plans", [*steps, *measure()], given)


if __name__ == "__main__":
    sys.exit(main())
