"""Servers that turn on the person who allowed them: other tools, and questions that imitate ours."""

import json

import pytest

from sam_tui.core.inquiry import Approval, Question
from tests.servers.conftest import House, raw


@pytest.mark.requirement("servers:changed-tool")
async def test_a_tool_that_changed_since_it_was_allowed_is_asked_for_anew(house: House) -> None:
    house.user(one=raw())
    house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n')
    async with house.open() as sam:
        await sam.arrive()
        assert await sam.text("mcp__one__echo", text="a") == "a"
        house.person.choice, house.person.asked = Approval("deny", "not like that"), []
        await sam.text("mcp__one__mutate", text="aloud")
        # In the same turn, before the model has read the new description.
        assert "changed its tool echo" in await sam.text("mcp__one__echo", text="b")
        (asked,) = house.person.approvals
        assert "otherwise than when it was allowed" in asked.why
    house.user(one=raw("changed"))
    house.person.choice = Approval("once")
    async with house.open() as sam:
        await sam.arrive()
        house.person.choice, house.person.asked = Approval("deny"), []
        assert "changed its tool echo" in await sam.text("mcp__one__echo", text="c")
        house.person.choice = Approval("once")
        assert await sam.text("mcp__one__echo", text="d") == "d"
        assert len(house.person.approvals) == 2
        house.person.choice = Approval("deny")
        assert await sam.text("mcp__one__echo", text="e") == "e"


@pytest.mark.requirement("servers:asks-person")
async def test_a_form_draws_no_question_of_its_own_and_has_bounds(house: House) -> None:
    house.user(one=raw())
    house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n')
    house.person.replies = ["decline"]
    async with house.open(attended=True) as sam:
        await sam.arrive()
        for kind in ("fields", "options", "words"):
            answered = json.loads(await sam.text("mcp__one__pose", text=kind))
            assert answered["action"] == "decline"
    asked = house.person.asked[-1].request
    assert isinstance(asked, Question)
    assert len([one for one in house.person.asked if isinstance(one.request, Question)]) == 1
    assert asked.prompt.startswith("The MCP server one asks: ")
    assert "it allows nothing here" in asked.context
    for text in (asked.prompt, asked.context, *asked.choices):
        assert "\n" not in text and "\x1b" not in text and "\u202e" not in text
        assert len(text) < 1500
