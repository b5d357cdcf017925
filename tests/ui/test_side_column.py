"""The side column opens when it has something, and the person's division of the screen is kept.

Costs about 1.5 s of CPU.
"""

import os
from pathlib import Path

import pytest

from sam_tui.adapters.preferences import PREFERENCES_FILE, PreferenceFile
from sam_tui.core.todos.item import Todo
from sam_tui.ui.screens.layout import Layout
from tests.ui.driver import Stage, app_over, driven
from tests.ui.terminals import LEAVE_CHORD


@pytest.mark.requirement("ui:side-column", "ui:layout-kept")
async def test_the_side_column_opens_when_it_has_something_and_is_divided_as_the_person_wants(
    stage: Stage,
) -> None:
    app = app_over(stage)
    async with driven(app) as me:
        await me.ready()
        chat = me.app.chat
        assert not chat.side_shown and chat.transcript.region.width >= 90
        assert chat.terminals.shell.session is None, "nobody asked for a shell"
        chat.todos.show((Todo(1, "first"),))
        await me.until(lambda: chat.todos.region.area)
        await me.pilot.press("ctrl+t")
        await me.until(lambda: chat.todos.has_focus)
        assert not chat.terminals.region.area and chat.terminals.shell.session is None
        await me.pilot.press("ctrl+t")
        await me.until(lambda: not chat.todos.has_focus and chat.side_shown)
        chat.todos.show(())
        await me.until(lambda: not chat.side_shown)
        await me.pilot.press(LEAVE_CHORD[0])
        await me.until(lambda: chat.terminals.region.area and chat.terminals.current.has_focus)
        await me.pilot.press(*LEAVE_CHORD)
        width = chat.side.region.width
        await me.pilot.press("alt+comma")
        await me.until(lambda: chat.side.region.width > width)
        await me.pilot.press("f2")
        await me.until(lambda: not chat.side_shown)
        chat.todos.show((Todo(1, "first"),))
        await me.pilot.pause()
        assert not chat.side_shown, "the person hid it"
        await me.send("/side 30")
        await me.send("/side auto")
        await me.until(lambda: chat.side_shown and chat.side.region.width < width)
        await me.send("/layout narrow")
        await me.until(lambda: chat.narrow and not chat.side_shown)
        await me.send("/layout focus")
        await me.pilot.resize_terminal(160, 40)
        left = chat.query_one("#left")
        await me.until(lambda: (left.region.x, left.region.width) == (30, 100))
        await me.send("/side sideways")
        await me.until(lambda: "/side takes auto, show, hide" in me.transcript())
        assert chat.layout_wish == Layout("focus", "auto", 30)


@pytest.mark.requirement("ui:layout-kept")
@pytest.mark.parametrize("damage", ["", "[1]", '{"layout": 3}', '{"layout": {"width": "x"}}', "{"])
def test_a_layout_is_kept_in_a_file_and_what_is_none_is_passed_over(
    tmp_path: Path, damage: str
) -> None:
    kept = PreferenceFile(str(tmp_path / "data"))
    layout = Layout("wide", "hide", 25)
    kept.write("layout", layout.as_json())
    kept.write("other", {"a": 1})
    assert Layout.of(kept.read("layout")) == layout and kept.read("other") == {"a": 1}
    file = tmp_path / "data" / PREFERENCES_FILE
    assert file.stat().st_mode & 0o077 == 0
    file.write_text(damage)
    assert Layout.of(kept.read("layout")) == Layout()
    kept.write("layout", {"kind": "sideways", "side": 3, "width": 900})
    assert Layout.of(kept.read("layout")) == Layout(width=70)
    file.unlink()
    os.mkfifo(file)  # nobody writes into it: reading must not wait
    assert kept.read("layout") == {}
