"""Going back to before a message, in the workbench."""

import pytest
from textual.widgets import OptionList

from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.screens.dialogs import Picker
from sam_tui.ui.screens.reader import Reader
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Stage, app_over, driven
from tests.ui.test_shown_conversation import choose_first


@pytest.mark.requirement("ui:rewind")
async def test_conversation_and_files_go_back_to_before_a_message_and_forth_again(
    stage: Stage, model: RawModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = calls(("create_file", {"filePath": "a.txt", "content": "hello\n"}))
    deleted = calls(("delete_file", {"filePath": "old.txt"}))
    (stage.workspace / "old.txt").write_text("old\n", encoding="utf-8")
    model.answers += [[TextDelta("good morning")], created, deleted, [TextDelta("made it")]]
    async with driven(app_over(stage), (120, 40)) as me:

        def files() -> set[str]:
            return {p.name for p in stage.workspace.iterdir() if p.suffix == ".txt"}

        def offered() -> list[str]:
            screen = me.app.screen
            if not isinstance(screen, Picker):
                return []
            choices = screen.query_one("#choices", OptionList)
            return [str(option.prompt) for option in choices.options]

        await me.ready()
        await me.send("hello")
        await me.until(lambda: "good morning" in me.transcript() and not me.bench.turns.running)
        await me.send("make a file")
        await me.until(lambda: "made it" in me.transcript() and not me.bench.turns.running)
        assert files() == {"a.txt"}
        await me.pilot.press("escape", "escape")
        await me.until(lambda: len(offered()) == 2)
        assert offered()[0].startswith("make a file")
        # The second half of a double click is for what was clicked, not for what came up below.
        monkeypatch.setattr(
            me.app, "CLICK_CHAIN_TIME_THRESHOLD", 3600.0
        )  # however slow the machine
        place = me.app.screen.query_one("#choices").region.offset
        await me.click(me.app.screen, place)
        await me.until(lambda: len(offered()) == 5)
        await me.until(lambda: place in me.app.screen.query_one("#choices").region)
        await me.click(me.app.screen, place)
        await me.click(me.app.screen, place)
        assert "1 created, 1 deleted" in offered()[1]
        await me.pilot.press("enter")
        await me.until(lambda: isinstance(me.app.screen, Reader))
        await me.pilot.press("escape")
        await me.until(lambda: len(offered()) == 5)
        await me.pilot.press("down", "enter")
        await me.until(lambda: "This is a copy that ends here" in me.transcript())
        await me.until(lambda: "Files restored: a.txt, old.txt" in me.transcript())
        assert files() == {"old.txt"}
        assert "good morning" in me.transcript()
        assert "made it" not in me.transcript()
        assert me.app.chat.prompt.area.text == "make a file"
        me.app.chat.prompt.area.put("")
        await choose_first(me, "/rewind")
        await me.until(lambda: "made it" in me.transcript())
        assert files() == {"a.txt"}
