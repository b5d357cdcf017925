"""Two workbenches on one conversation: the second chooses, the first is told."""

from pathlib import Path

import pytest

from sam_tui.core.ids import ConversationId
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, Stage, app_over, build_stage, driven
from tests.ui.test_chat import says


def here(me: Driver) -> ConversationId | None:
    session = me.bench.current.session
    return session.conversation if session is not None else None


@pytest.mark.requirement("ui:open-elsewhere")
async def test_a_second_workbench_watches_copies_and_takes_over_and_the_first_is_told(
    stage: Stage, model: RawModel, tmp_path: Path
) -> None:
    model.answers += [says("one"), says("two")]
    async with driven(app_over(stage)) as first:
        await first.ready()
        await first.send("begin")
        await first.until(lambda: "one" in first.transcript())
        kept = here(first)
        other = build_stage(tmp_path, RawModel(says("three")))
        async with driven(app_over(other, conversation=kept)) as second:
            await second.until(lambda: "Take over" in second.drawn())
            await second.pilot.press("enter")
            await second.until(lambda: "You are watching this conversation" in second.transcript())
            await first.send("on")
            await second.until(lambda: "two" in second.transcript())
            await second.send("mine")
            await second.until(lambda: second.app.chat.prompt.area.text == "mine")
            second.app.chat.prompt.area.put("")
            await second.send("/fork")
            await second.until(lambda: here(second) not in (None, kept))
            assert kept is not None and "two" in second.transcript()
            second.bench.conversations.open(kept, "take over")
            await first.until(lambda: "took conversation" in first.transcript())
            assert here(second) == kept and here(first) is None
            await second.send("and on")
            await first.until(lambda: "three" in first.transcript())
