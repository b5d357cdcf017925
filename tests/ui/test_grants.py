"""What is allowed for a while and what is remembered, as the person sees it and takes it back."""

import pytest

from sam_tui.core.accesses import Read
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.memory import LearntDraft, Scope
from sam_tui.ui.screens.dialogs import Picker
from tests.ui.driver import Driver, Stage, app_over, driven

CONVERSATION = ConversationId("c")


def outcome(stage: Stage) -> str:
    """What reading a file outside comes to."""
    guard = stage.runtime.guard
    return guard.explain(CONVERSATION, "o", guard.locate([Read("../outside.txt", "p")])).outcome


def words(me: Driver) -> str:
    """What the screen says, however it is folded."""
    return " ".join(me.drawn().replace("│", " ").split())


async def listed(me: Driver) -> None:
    """Open the list with a command."""
    await me.send("/grants")
    await me.until(lambda: isinstance(me.app.screen, Picker))
    await me.pilot.pause()


@pytest.mark.usefixtures("side_column")
@pytest.mark.requirement("ui:grants")
@pytest.mark.parametrize("size", [(60, 20), (120, 40)])
async def test_what_is_allowed_for_a_while_is_listed_and_taken_back(
    stage: Stage, size: tuple[int, int]
) -> None:
    async with driven(app_over(stage), size) as me:
        await me.ready()
        await listed(me)
        await me.until(lambda: "There are no temporary grants" in me.drawn())
        await me.pilot.press("escape")
        grants = stage.runtime.guard.grants
        outside = str(stage.workspace.parent / "outside.txt")
        grants.add(CONVERSATION, "o", outside, seconds=300.0)
        grants.add(CONVERSATION, "other", "[b]x\u202e", seconds=float("inf"))
        assert outcome(stage) == "allow"
        await listed(me)
        await me.until(lambda: "[b]x\\u202e" in me.drawn())
        assert "for 5 min" in words(me)
        assert "until its conversation ends" in words(me)
        await me.pilot.press("enter")
        await me.until(lambda: not isinstance(me.app.screen, Picker))
        assert outcome(stage) == "ask"
        assert [grant.operation for grant in grants.current()] == ["other"]


@pytest.mark.requirement("memory:entries")
async def test_what_the_agent_remembers_is_listed_and_one_entry_deleted(stage: Stage) -> None:
    remembered = stage.runtime.remembered
    place = Scope(f"workspace:{stage.workspace}")
    remembered.knowledge.add(place, LearntDraft("discovery", "[b]the \x1b[31mport\x1b[m is 80"))
    remembered.notes.put(Scope("elsewhere"), "k", "of another conversation")
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        await me.send("/memories")
        await me.until(lambda: "[b]the port is 80" in me.drawn())
        assert "of another" not in me.drawn()
        await me.pilot.press("enter")
        await me.until(lambda: "Delete it" in me.drawn())
        await me.pilot.press("down", "enter")
        await me.until(lambda: "Deleted: [b]the port" in me.drawn())
        assert [entry.key for entry in remembered.entries.entries()] == ["k"]
