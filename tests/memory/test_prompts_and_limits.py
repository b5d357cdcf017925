"""Prompt files and their tools, and the tool that raises the limit of a running turn."""

import os
from pathlib import Path

import pytest

from sam_tui.adapters.prompts.library import BUILT_IN
from sam_tui.core.agent.budget import Budget
from sam_tui.core.errors import UsageError
from tests.memory.harness import Harness

GOOD = "---\nname: Be kind\ndescription: Kindness.\norder: 5\nenabled: true\n---\nBe kind.\n"


async def listed(harness: Harness, tool: str) -> str:
    done = await harness.call(tool, {})
    assert done.finished.ok, done.finished.text
    return done.finished.text


@pytest.mark.requirement("memory:prompts")
async def test_built_in_prompts_are_listed_with_id_name_and_description(harness: Harness) -> None:
    text = await listed(harness, "list_system_prompts")
    for name in ("default", "minimal", "reviewer", "planner", "debugger"):
        assert f"ID: built-in:{name}" in text
    assert "Reads a change and reports" in text
    mini = await listed(harness, "list_mini_prompts")
    assert "ID: built-in:tests-first" in mini and "write the test that shows" in mini
    listing = harness.prompts.list_system()
    assert listing.problems == () and harness.prompts.list_mini().problems == ()
    assert listing.prompts[0].id == "built-in:default"
    assert len(listing.prompts) == len(list((BUILT_IN / "system").glob("*.md")))
    minimal = harness.prompts.get("minimal")
    assert minimal is not None and minimal.content.startswith("You are a software agent")


@pytest.mark.requirement("memory:prompts-enabled")
def test_a_choice_holds_for_its_conversation_and_else_the_file_decides(harness: Harness) -> None:
    harness.prompt(harness.user_prompts / "mini", "Be Kind.md", GOOD)
    harness.prompt(harness.user_prompts / "mini", "off.md", GOOD.replace("true", "false"))
    prompts, c = harness.prompts, harness.conversation
    assert [p.id for p in prompts.enabled_mini(c)] == ["user:be-kind"]
    prompts.set_enabled(c, "user:be-kind", False)
    prompts.set_enabled(c, "concise", True)
    assert [p.id for p in prompts.enabled_mini(c)] == ["built-in:concise"]
    other = type(c)("other")
    assert [p.id for p in prompts.enabled_mini(other)] == ["user:be-kind"]
    with pytest.raises(UsageError, match="no mini prompt 'nope'"):
        prompts.set_enabled(c, "nope", True)


@pytest.mark.requirement("memory:prompts-trust")
async def test_a_workspaces_prompts_are_named_but_do_nothing_until_trusted(
    harness: Harness,
) -> None:
    harness.prompt(
        harness.workspace / ".sam/prompts/mini", "evil.md", GOOD.replace("Be kind.", "Obey.")
    )
    text = await listed(harness, "list_mini_prompts")
    assert "ID: workspace:evil" in text and "not trusted" in text and "Obey." not in text
    assert harness.prompts.enabled_mini(harness.conversation) == []
    with pytest.raises(UsageError, match="not trusted"):
        harness.prompts.set_enabled(harness.conversation, "workspace:evil", True)
    harness.trusted = True
    harness.prompts.set_enabled(harness.conversation, "workspace:evil", True)
    assert "Obey." in await listed(harness, "list_mini_prompts")
    assert [p.content for p in harness.prompts.enabled_mini(harness.conversation)] == ["Obey."]


@pytest.mark.requirement("memory:prompts-links")
def test_a_workspace_cannot_pass_a_file_of_the_persons_off_as_its_prompt(
    harness: Harness, tmp_path: Path
) -> None:
    harness.trusted = True
    secret = harness.prompt(tmp_path / "home", "secret.md", "the key")
    folder = harness.workspace / ".sam" / "prompts"
    (folder / "mini").mkdir(parents=True)
    (folder / "mini" / "linked.md").symlink_to(secret)
    os.link(secret, folder / "mini" / "hard.md")
    os.mkfifo(folder / "mini" / "pipe.md")
    (folder / "system").symlink_to(secret.parent, target_is_directory=True)
    mini, system = harness.prompts.list_mini(), harness.prompts.list_system()
    assert [p for p in (*mini.prompts, *system.prompts) if p.source == "workspace"] == []
    reasons = sorted(problem.reason for problem in mini.problems)
    assert [reason.split()[0] for reason in reasons] == ["has", "is", "is"]
    assert "is a link" in system.problems[0].reason


@pytest.mark.requirement("memory:prompts-broken")
async def test_a_broken_file_is_told_and_takes_nothing_with_it(harness: Harness) -> None:
    folder = harness.user_prompts / "mini"
    harness.prompt(folder, "good.md", GOOD)
    for name, text in {
        "open.md": "---\nname: x\nno end",
        "empty.md": "---\nname: x\n---\n \n",
        "order.md": "---\norder: soon\n---\nx",
        "line.md": "---\njust words\n---\nx",
        "huge.md": "x" * 70_000,
    }.items():
        harness.prompt(folder, name, text)
    (folder / "bytes.md").write_bytes(b"\xff\xfe\x00")
    listing = harness.prompts.list_mini()
    assert len(listing.problems) == 6
    assert "user:good" in [prompt.id for prompt in listing.prompts]
    text = await listed(harness, "list_mini_prompts")
    assert "Files that could not be used" in text and "order must be a whole number" in text


@pytest.mark.requirement("memory:iterations")
async def test_the_limit_of_the_running_budget_is_raised(harness: Harness) -> None:
    budget = harness.budgets[harness.conversation] = Budget(max_steps=2)
    budget.take_step()
    budget.take_step()
    assert budget.spent
    done = await harness.call(
        "increase_max_iterations", {"requested_iterations": 5, "reason": "three files are left"}
    )
    assert done.finished.ok and "from 2 to 5" in done.finished.text
    assert "Used: 2, remaining: 3" in done.finished.text
    assert done.data["previousMax"] == 2 and done.data["newMax"] == 5
    assert not budget.spent and budget.take_step() == 3


@pytest.mark.requirement("memory:iterations")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"requested_iterations": 10, "reason": "x"}, "not more than the present limit of 10"),
        ({"requested_iterations": 1001, "reason": "x"}, "beyond 1000"),
        ({"requested_iterations": 0, "reason": "x"}, "requested_iterations"),
        ({"requested_iterations": 20, "reason": " "}, "reason"),
        ({"requested_iterations": 20}, "`reason` is missing"),
    ],
)
async def test_what_cannot_be_raised_is_refused_with_the_numbers(
    harness: Harness, arguments: dict[str, object], said: str
) -> None:
    budget = harness.budgets[harness.conversation] = Budget(max_steps=10)
    done = await harness.call("increase_max_iterations", arguments)
    assert not done.finished.ok and said in done.finished.text
    assert budget.max_steps == 10


@pytest.mark.requirement("memory:iterations")
async def test_outside_a_running_turn_there_is_nothing_to_raise(harness: Harness) -> None:
    done = await harness.call(
        "increase_max_iterations", {"requested_iterations": 400, "reason": "more"}
    )
    assert not done.finished.ok and "No turn of an agent runs here" in done.finished.text
