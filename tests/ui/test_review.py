"""Reviewing the changes of a conversation. Costs one app with git checkpoints."""

from dataclasses import replace

import pytest

from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.screens.review import ReviewScreen, forward_difference
from sam_tui.ui.widgets.choice_list import ChoiceList
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.contrast import unreadable
from tests.ui.driver import Stage, app_over, driven

LINES = [f"line {n}" for n in range(1, 31)]


@pytest.mark.requirement("ui:review")
async def test_changes_are_accepted_undone_by_hunk_and_file_and_commented(
    stage: Stage, model: RawModel
) -> None:
    target = stage.workspace / "a.py"
    target.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    path = str(target)
    edit = "replace_string"
    model.answers += [
        calls((edit, {"filePath": path, "oldString": "line 2\n", "newString": "LINE 2\n"})),
        calls((edit, {"filePath": path, "oldString": "line 25\n", "newString": "LINE 25\n"})),
        calls(("create_file", {"filePath": "new.py", "content": "x = 1\n"})),
        [TextDelta("all done")],
        [TextDelta("heard")],
    ]
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        await me.send("change it")
        await me.until(lambda: "all done" in me.transcript() and not me.bench.turns.running)
        assert "LINE 25" in target.read_text()
        await me.pilot.press("alt+v")
        await me.until(lambda: isinstance(me.app.screen, ReviewScreen) and "new.py" in me.drawn())
        assert "a.py  changed  +2 -2" in me.drawn() and "new.py  created  +1 -0" in me.drawn()
        assert unreadable(me.app) == []
        await me.pilot.press("enter", "down", "a", "c", "escape", "down", "c", *"why?", "enter")
        drawn = me.drawn()
        assert "0 of 2 accepted · 1 comment" in drawn and "✓   ⋯" in drawn
        assert "   2 + LINE 2  ◂ why?" in drawn
        # A comment is of the line where it was begun, whatever comes on show meanwhile.
        screen = me.app.screen
        assert isinstance(screen, ReviewScreen) and screen.plan is not None
        plan, rows = screen.plan, screen.query_one(ChoiceList)
        at = rows.highlighted
        await me.pilot.press("c", *"So?")
        screen.show(replace(plan, changes=()))
        await me.pilot.press("enter")
        screen.show(plan)
        await me.until(lambda: "   2 + LINE 2  ◂ So?" in me.drawn())
        rows.highlighted = at
        await me.pilot.press("u")
        await me.until(lambda: "Undone: hunk 1 of a.py" in me.drawn())
        text = target.read_text()
        assert "line 2\n" in text and "LINE 25" in text
        # What somebody else changed while it is on show is left alone, and said.
        target.write_text(text.replace("line 10\n", "mine\n"), encoding="utf-8")
        await me.pilot.press("home", "u")
        await me.until(lambda: "was changed while you looked" in me.drawn())
        assert "mine" in target.read_text() and "LINE 25" in target.read_text()
        await me.until(lambda: "something else changed it, too" in me.drawn())
        await me.pilot.press("u")
        await me.until(lambda: "one by one" in me.drawn())
        await me.pilot.press("end", "u")
        await me.until(lambda: "Undone: new.py" in me.drawn())
        assert not (stage.workspace / "new.py").exists()
        await me.pilot.press("s")
        await me.until(lambda: "heard" in me.transcript())
        sent = [m.text for m in model.seen[-1] if m.kind == "user"][-1]
        assert sent == "My comments on your changes:\n- a.py:2 `LINE 2`: So?"


@pytest.mark.requirement("ui:review")
def test_a_difference_that_leads_back_is_turned_round() -> None:
    back = "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n same\n-new\n+old\n+older\n end\n"
    assert forward_difference(back) == "@@ -1,4 +1,3 @@\n same\n-old\n-older\n+new\n end"
