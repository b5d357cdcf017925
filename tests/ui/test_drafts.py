"""Drafts: kept for each conversation. Costs two apps over one runtime folder."""

from pathlib import Path

import pytest

from sam_tui.adapters.preferences import PreferenceFile
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import UserMessage
from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.preferences import ScreenTerms
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import QuickApp, Stage, build_stage, driven


def app_of(stage: Stage, folder: Path, conversation: str | None = None) -> QuickApp:
    terms = ScreenTerms(PreferenceFile(str(folder)))
    workspace = str(stage.workspace)
    return QuickApp(stage.start, workspace=workspace, conversation=conversation, terms=terms)


@pytest.mark.requirement("ui:drafts")
async def test_what_was_not_sent_waits_in_its_conversation_also_after_a_restart(
    stage: Stage, model: RawModel, tmp_path: Path
) -> None:
    model.answers.append([TextDelta("the answer")])
    store, other = stage.runtime.conversations, ConversationId("other")
    store.create(other, stage.runtime.workspace.root)
    store.append(other, [UserMessage("old prompt")])

    def drafts() -> list[object]:
        return [*PreferenceFile(str(tmp_path)).read("drafts").values()]

    async with driven(app_of(stage, tmp_path)) as me:
        await me.ready()
        area, bench = me.app.chat.prompt.area, me.bench
        # What is typed while the first prompt opens the conversation stays where it is.
        await me.send("first")
        await me.type("goes on")
        await me.until(lambda: "the answer" in me.transcript() and not bench.turns.running)
        mine = bench.current.id
        assert area.text == "goes on" and mine is not None
        # It is written without a switch or an end: the program may be killed.
        await me.until(lambda: "goes on" in drafts())
        bench.conversations.open(other)
        await me.until(lambda: bench.current.id == other and area.text == "")
        await me.type("of the other")
        bench.conversations.open(mine)
        await me.until(lambda: area.text == "goes on")
        # A prompt that going back puts in is no draft of another conversation.
        bench.conversations.open(other)
        area.put("put in on the way")
        await me.pilot.pause()
        await me.until(lambda: area.text == "put in on the way")
        bench.conversations.new()
        await me.until(lambda: area.text == "")
        await me.type("before the first")
    again = build_stage(tmp_path, RawModel())
    async with driven(app_of(again, tmp_path)) as me:
        await me.ready()
        area = me.app.chat.prompt.area
        await me.until(lambda: area.text == "before the first")
        me.bench.conversations.open(mine)
        await me.until(lambda: area.text == "goes on")


@pytest.mark.requirement("ui:drafts")
async def test_a_draft_that_is_too_long_says_so_and_older_ones_make_room_for_it(
    stage: Stage, tmp_path: Path
) -> None:
    preferences = PreferenceFile(str(tmp_path))
    preferences.write("models", {"favourites": ["a/b"]})
    preferences.write("drafts", {str(number): "長" * 60_000 for number in range(9)})
    text = ("a line of a long prompt " * 4 + "\n") * 2_100
    note = "\n[The draft was longer than 200,000 characters: the rest was not stored.]"
    async with driven(app_of(stage, tmp_path)) as me:
        await me.ready()
        me.app.chat.prompt.area.put(text)
        await me.until(lambda: text[:200_000] + note in preferences.read("drafts").values())
    assert [*preferences.read("drafts")][:-1] == ["5", "6", "7", "8"]
    assert preferences.read("models") == {"favourites": ["a/b"]}
