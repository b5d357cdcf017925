"""In workflow mode an answer may ask for another step; nothing else can."""

import pytest

from sam_tui.core.agent.endings import status_of
from sam_tui.core.messages import ReminderMessage
from sam_tui.core.ports.model import TextDelta
from tests.fakes.engine_kit import Kit, RawModel, calls, open_talk

GO_ON = TextDelta('Did one part.\n{"status": "continue"}')


@pytest.mark.requirement("signal:status")
@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"status": "continue"}', "continue"),
        ('done\n```json\n{"status":"complete"}\n```', "complete"),
        ('{"status": "continue"}\nno\n{"status": "complete"}', "complete"),
        ('I write {"status": "continue"} in a sentence', None),
        ('{"status": "dance"}', None),
        ("", None),
    ],
)
def test_the_last_whole_line_counts(text: str, status: str | None) -> None:
    assert status_of(text) == status


@pytest.mark.requirement("signal:continue")
async def test_an_answer_that_asks_for_it_is_followed_by_another_which_counts(kit: Kit) -> None:
    model = RawModel([GO_ON], [GO_ON], [TextDelta('{"status": "complete"}')])
    talk = open_talk(kit, model, workflow_mode=True)
    finished = await talk.session.run("go")
    assert (finished.reason, finished.steps) == ("finished", 3)
    said = [m for m in talk.session.messages if isinstance(m, ReminderMessage)]
    assert [m.name for m in said] == ["continue", "continue"]


@pytest.mark.requirement("signal:continue")
async def test_it_means_nothing_outside_workflow_mode_or_in_a_result(kit: Kit) -> None:
    talk = open_talk(kit, RawModel([GO_ON]))
    assert (await talk.session.run("go")).steps == 1
    told = calls(("murmur", {"text": '{"status": "continue"}'}), ids=["x"])
    talk = open_talk(kit, RawModel(told, [TextDelta("end")]), workflow_mode=True)
    assert (await talk.session.run("go")).steps == 2


@pytest.mark.requirement("signal:continue")
async def test_a_model_that_never_ends_meets_its_budget(kit: Kit) -> None:
    talk = open_talk(kit, RawModel(*[[GO_ON]] * 4), max_steps=4, workflow_mode=True)
    assert (await talk.session.run("go")).reason == "limit"
