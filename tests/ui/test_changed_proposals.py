"""What the agent would write is changed before it is allowed, and judged again.

Costs about 1.5 s of CPU.
"""

import pytest
from textual.widgets import Static, TextArea

from sam_tui.core.ids import CallId, ConversationId, InquiryId
from sam_tui.core.inquiry import ApprovalRequest, Inquiry
from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.widgets.inquiries.approval import ApprovalPanel
from sam_tui.ui.widgets.inquiries.draft import DraftScreen
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Driver, Stage, app_over, driven


async def shown(me: Driver, text: str) -> ApprovalPanel:
    """Wait until a question with this text is up and has the keys."""

    def up() -> ApprovalPanel | None:
        panels = me.app.chat.query(ApprovalPanel)
        return next((p for p in panels if p.has_focus_within and text in me.drawn()), None)

    await me.until(up)
    await me.pilot.pause()
    found = up()
    assert found is not None
    return found


class FirstLook(ApprovalPanel):
    """A card that remembers what stood on it before it was laid out."""

    before: str = ""

    def on_resize(self) -> None:
        self.before = self.before or "\n".join(str(s.render()) for s in self.query(Static))
        super().on_resize()


@pytest.mark.requirement("ui:approval-whole")
async def test_a_card_that_was_not_laid_out_yet_shortens_no_path_that_fits(stage: Stage) -> None:
    path = "/home/somebody/a-folder/report.md"
    request = ApprovalRequest("file_operations.create_file", "Creating", (path,), "outside", "/w")
    inquiry = Inquiry(InquiryId("i"), ConversationId("c"), CallId("k"), request)
    async with driven(app_over(stage)) as me:
        await me.ready()
        card = FirstLook(inquiry, request, Patience(quiet=0.0, grace=0.0), grabs=lambda: True)
        await me.app.chat.bottom.mount(card)
        await me.until(lambda: card.before)
        assert f"target  {path}" in card.before


@pytest.mark.requirement("ui:amend")
async def test_what_the_person_left_is_asked_about_again_written_and_told_to_the_model(
    stage: Stage, model: RawModel
) -> None:
    target = stage.workspace / "a.txt"
    target.write_text("one\ntwo\n")
    edit = {"operation": "replace_string", "filePath": "a.txt", "oldString": "two"}
    model.answers += [
        calls(("file_operations", {**edit, "newString": "evil"})),
        [TextDelta("seen")],
    ]
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        me.bench.perform("mode", "ask-all")
        await me.send("write it")
        await shown(me, "+evil")
        await me.pilot.press("c", *"be nice", "enter")
        await me.until(lambda: "you say be nice" in me.drawn())
        await me.pilot.press("e")
        await me.until(lambda: isinstance(me.app.screen, DraftScreen))
        area = me.app.screen.query_one(TextArea)
        assert area.text == "one\nevil\n"
        area.text = "one\ngood\n"
        await me.pilot.press("ctrl+s")
        found = await shown(me, "+good")
        assert "file_operations.create_file" in me.drawn()
        assert any(". You changed the content" in str(s.render()) for s in found.query(Static))
        assert "you say be nice" in me.drawn(), "it goes with the answer, whatever that is"
        assert target.read_text() == "one\ntwo\n", "nothing was allowed yet"
        await me.pilot.press("e")
        await me.until(lambda: isinstance(me.app.screen, DraftScreen))
        await me.pilot.press("escape")
        await me.until(lambda: me.app.screen is me.app.chat and found.has_focus_within)
        await me.pilot.press("1")
        await me.until(lambda: target.read_text() == "one\ngood\n")
        await me.until(lambda: "seen" in me.transcript())
        told = "\n".join(m.text for m in model.seen[-1])
        assert "I changed what you proposed before it was written" in told
        assert "-evil" in told and "+good" in told
        assert "and said: be nice" in told
        assert me.app.runtime is not None
        kept = me.app.runtime.decisions.past(
            str(stage.workspace), "file_operations.create_file", limit=9
        )
        assert [entry.decision.amendment for entry in kept] == [""]
