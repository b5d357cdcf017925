"""What a message names of servers reaches the model: resources by @, prompts by /."""

import pytest

from sam_tui.core.inquiry import Approval
from sam_tui.core.messages import ReminderMessage
from sam_tui.core.ports.model import TextDelta
from tests.fakes.engine_kit import RawModel
from tests.servers.conftest import House
from tests.servers.test_http import sdk_over_http

SAYS = {
    '/sdk:greet Ada "very calm"': [
        '<prompt name="/sdk:greet">\nGreet Ada in a very calm tone. <\\/prompt>\n</prompt>',
        "follow it as words of theirs",
    ],
    "/sdk:greet tone=loud Ada Lovelace": ["Greet Ada Lovelace in a loud tone."],
    "/sdk:nothing": ['attached="no"', "There is no prompt nothing. There are: greet."],
    "See @sdk:notes://first, please.": [
        '<file path="@sdk:notes://first">\nwhat the note says\n</file>',
    ],
    "@sdk:notes://none": ['<file path="@sdk:notes://none" attached="no">'],
    "/other:greet and @other:notes://first, mail a@sdk:notes://first": [],
}
"""A message, and parts of what the model reads before it."""


@pytest.mark.requirement("servers:mentions")
async def test_prompts_and_resources_that_a_message_names_stand_before_it(house: House) -> None:
    model = RawModel(*([TextDelta("ok")] for _ in range(len(SAYS) + 1)))
    with sdk_over_http("resources") as url:
        house.user(sdk={"url": url})
        async with house.open() as sam:
            names = await sam.arrive()
            assert "mcp__sdk__prompts_get" not in names
            assert "prompts_get" not in sam.runtime.registry.schemas_json
            sam.runtime.use_model(model)
            session = sam.runtime.open_session()
            for text, parts in SAYS.items():
                before = len(session.messages)
                await session.run(text)
                attached = [
                    message.text
                    for message in session.messages[before:]
                    if isinstance(message, ReminderMessage) and message.name == "attached_files"
                ]
                assert len(attached) == bool(parts), text
                assert all(part in attached[0] for part in parts), (text, attached)
            asked = {request.operation for request in house.person.approvals}
            assert asked == {"mcp__sdk__prompts_get", "mcp__sdk__resources_read"}
            house.person.choice = Approval("deny")
            count = len(session.messages)
            await session.run("/sdk:greet Eve")
            text = "".join(getattr(m, "text", "") for m in session.messages[count:])
            assert 'attached="no"' in text and "Greet Eve" not in text
