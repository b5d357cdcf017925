"""What changes while a hook runs counts for its call, and what it reads of a long result."""

import asyncio
import os

import pytest

from sam_tui.core.events import HookStarted
from tests.hooks.conftest import Place, decides, keeps, one_call


@pytest.mark.requirement("hooks:tighten")
async def test_a_yes_of_a_hook_opens_nothing_that_is_refused_by_the_time_it_comes(
    place: Place,
) -> None:
    victim, gate = place.folder / "outside.txt", place.workspace / "gate"
    os.mkfifo(gate)
    held = os.open(gate, os.O_RDWR)
    place.user(f"read line < gate; {decides('allow', 'trust me')}")
    runtime = place.build()
    heard = runtime.bus.subscribe()

    async def plan() -> None:
        while not any(isinstance(event, HookStarted) for event in await heard.batch()):
            pass
        runtime.guard.use_mode("plan")
        os.write(held, b"go\n")

    arguments = {"filePath": str(victim), "content": "x"}
    ran, _ = await asyncio.gather(one_call(runtime, "create_file", **arguments), plan())
    os.close(held)
    heard.close()
    assert not victim.exists()
    assert (ran.decisions[0].outcome, ran.decisions[0].rule) == ("deny", "mode:plan")


@pytest.mark.requirement("hooks:input")
async def test_no_secret_is_cut_where_the_input_of_a_hook_ends(place: Place) -> None:
    place.user(keeps("after.json"), event="PostToolUse")
    runtime = place.build()
    runtime.executor.shield.learn({"APP_SECRET": "q7Rt9ZpL2xWm5c8Tz41v"})
    line = " ".join(["q7Rt9ZpL2xWm5c8Tz41v"] * 90)
    (place.workspace / "a.txt").write_text(f"{line}\n" * 120)
    await one_call(runtime, "terminal_operations.run_command", command="cat a.txt")
    content = place.told("after.json")["tool_response"]["content"]
    assert "q7Rt" not in content
    assert len(content) == 200_000
