"""Diffs: colours of the language, changed words, old beside new. Costs one bare host."""

import pytest
from rich.style import Style

from sam_tui.core.display import Diff
from tests.transcript.hosting import Host
from tests.transcript.test_cards import finished

UNIFIED = """@@ -7,4 +7,4 @@ def f
 before = "a"
-    return old_name(1, "text")
-import gone
+    return new_name(1, "text")
+# 漢字 new
 after = 2
"""


@pytest.mark.requirement("transcript:diff-words")
@pytest.mark.requirement("transcript:diff-beside")
async def test_a_diff_has_the_colours_of_its_language_marks_words_and_stands_side_by_side() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        host.pane.finish_tool(finished(Diff("a/b.py", UNIFIED, 2, 2)))
        palette = host.pane.palette
        segments = [(s.text, s.style or Style()) for row in host.pane.rows_of(0) for s in row.strip]
        styles = dict(segments)
        assert styles["old_name"].bgcolor == palette.removed_word.bgcolor
        assert styles["new_name"].bgcolor == palette.added_word.bgcolor
        # Only the word that differs, and no word of lines that have little in common.
        assert styles["return"].bgcolor in (palette.removed.bgcolor, palette.added.bgcolor)
        words = (palette.removed_word.bgcolor, palette.added_word.bgcolor)
        marked = [text for text, style in segments if style.bgcolor in words]
        assert marked == ["old_name", "new_name"]
        strings = [style.bgcolor for text, style in segments if text == '"text"']
        assert strings == [palette.removed.bgcolor, palette.added.bgcolor]
        assert styles["return"].color not in (palette.removed.color, palette.added.color)
        assert styles['"a"'].color != palette.text.color
        await pilot.resize_terminal(143, 24)
        rows: list[str] = []
        while sum("_name" in row for row in rows) != 1:  # until it is laid out in the new size
            await pilot.pause(0.02)
            rows = [row.rstrip() for row in host.everything()]
        [row] = [row for row in rows if "_name" in row]
        assert "8 - " in row.split("│")[0] and "8 + " in row.split("│")[1]
        assert len({row.index("│") for row in rows if "│" in row and "漢" not in row}) == 1
        assert [row for row in rows if "漢字" in row and "gone" in row]
        # A file that is new has nothing to stand beside.
        host.pane.clear()
        host.pane.finish_tool(finished(Diff("new.unknown", "@@ -0,0 +1 @@\n+a\n", 1, 0)))
        assert not any("│" in row for row in host.everything())


@pytest.mark.requirement("transcript:task-list")
async def test_task_lists_and_diff_fences_are_drawn() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        text = "- [ ] to do\n- [x] done\n- [link] none\n\n```diff\n-old\n+new\n same\n```\n"
        host.pane.stream_text(text)
        host.pane.end_answer()
        rows = [row.strip() for row in host.everything() if row.strip()]
        assert rows[:3] == ["○ to do", "✓ done", "• [link] none"]
        palette = host.pane.palette
        styles = {
            segment.text: segment.style
            for index in range(len(host.pane.ledger))
            for row in host.pane.rows_of(index)
            for segment in row.strip
        }
        assert (styles["-old"], styles["+new"]) == (palette.removed, palette.added)
