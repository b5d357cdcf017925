"""Looking back in a terminal by keyboard, and what becomes of what is found there."""

from pathlib import Path

import pytest

from sam_tui.ui.widgets.terminal.view import TerminalView
from tests.ui.driver import Driver, Stage, app_over, driven
from tests.ui.terminals import LEAVE_CHORD, drawn, in_shell, shows

pytestmark = pytest.mark.usefixtures("side_column")


async def looking_back(me: Driver, text: str) -> TerminalView:
    """Some text in the shell, and the keys in looking back."""
    view = await in_shell(me)
    await shows(me, view, text)
    await me.pilot.press(*LEAVE_CHORD)
    await me.until(lambda: me.app.chat.prompt.area.has_focus)
    await me.pilot.press("f5")
    await me.until(lambda: view.has_focus and view.browser is not None)
    return view


def highlighted(view: TerminalView, y: int) -> list[str]:
    """The pieces of a row that stand on another ground than the terminal's."""
    ground = view.rich_style.bgcolor
    return [s.text for s in view.render_line(y) if s.style and s.style.bgcolor != ground]


@pytest.mark.requirement("ui:terminal-browse")
async def test_text_is_found_while_it_is_typed_also_over_wrapped_lines(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        width = me.app.chat.terminals.shell.size.width
        lead = "." * (width - 3)
        view = await looking_back(me, f"needle one\\n{lead}needle two\\nplain")
        await me.pilot.press("slash", *"NEED")
        assert "/NEED▏ 1 of 2" in view.label
        assert "".join(highlighted(view, 1) + highlighted(view, 2)) == "need"
        assert view.browser is not None and view.browser.position == (width - 3, 1)
        await me.pilot.press("enter", "n")
        assert view.browser.position == (0, 0) and "2 of 2" in view.label
        await me.pilot.press("N", "escape")
        assert view.browser.position == (width - 3, 1) and "of 2" not in view.label
        await me.pilot.press("escape")
        assert view.browser is None and view.has_focus


@pytest.mark.requirement("ui:terminal-browse")
async def test_marks_are_made_by_key_by_cell_word_line_and_block(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await looking_back(me, "one two\\nsix ten\\nend")
        for keys, wanted in (
            (("v", "l", "l"), "one"),
            (("w", "j"), "one two\nsix"),
            (("V", "down"), "one two\nsix ten"),
            (("right", "ctrl+v", "down", "right"), "ne\nix"),
            (("shift+right",), "on"),
        ):
            await me.pilot.press("g", *keys)
            assert view.session is not None and view.session.selection == wanted
            await me.pilot.press("escape")
        await me.pilot.press("g", "V", "y")
        assert me.app.clipboard == "one two" and view.browser is None


@pytest.mark.requirement("ui:terminal-browse")
async def test_the_whole_of_what_is_kept_is_moved_through(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        assert view.session is not None
        view.session.write(b"clear; seq -f 'row-%g-' 500; sleep 900\n")
        await me.until(lambda: "row-500-" in drawn(view))
        view.look_back(True)
        await me.pilot.press("g")
        await me.until(lambda: "row-500-" not in drawn(view))
        await me.pilot.press("slash", *"row-77-", "enter")
        await me.until(lambda: "row-77-" in drawn(view))
        await me.pilot.press("G")
        await me.until(lambda: "row-500-" in drawn(view))
        await me.pilot.press("pageup", "pageup")
        await me.until(lambda: "row-500-" not in drawn(view))
        await me.pilot.press("q")
        await me.until(lambda: "row-500-" in drawn(view))


@pytest.mark.requirement("ui:terminal-output")
async def test_what_is_marked_or_the_last_command_goes_to_the_prompt(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        session = view.session
        assert session is not None
        await me.until(lambda: session.activity.state.name == "finished")
        session.write(b"printf '\\033[31mred\\033[m\\n'\n")
        await me.until(
            lambda: any(r.exit_code == 0 and "red" in r.command for r in session.commands)
        )
        await me.pilot.press(*LEAVE_CHORD)
        await me.until(lambda: me.app.chat.prompt.area.has_focus)
        await me.pilot.press("alt+o")
        text = me.app.chat.prompt.area.text
        assert text.startswith("```\n$ printf") and text.endswith("\nred\n```\n")
        me.app.chat.prompt.area.put("")
        view.look_back(True)
        view.focus()
        await me.pilot.press("slash", *"red", "enter", "v", "l", "l", "s")
        await me.until(lambda: me.app.chat.prompt.area.has_focus)
        await me.until(lambda: "red" in me.app.chat.prompt.area.text)
        assert view.browser is None


@pytest.mark.requirement("ui:terminal-output")
async def test_output_is_read_in_the_pager_or_editor_with_the_workbench_out_of_the_way(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = tmp_path / "reader"
    reader.write_text(f'#!/bin/sh\ncp "$1" {tmp_path}/read; stat -c %a "$1" > {tmp_path}/mode\n')
    reader.chmod(0o755)
    monkeypatch.setenv("PAGER", str(reader))
    monkeypatch.setenv("VISUAL", str(reader))
    async with driven(app_over(stage)) as me:
        view = await in_shell(me)
        await shows(me, view, "something to read")
        monkeypatch.setattr(type(me.app._driver), "can_suspend", True)  # pyright: ignore
        for command in ("pager", "editor"):
            (tmp_path / "mode").unlink(missing_ok=True)
            me.bench.perform(f"output_{command}")
            await me.until((tmp_path / "mode").is_file)
            await me.until(lambda: (tmp_path / "mode").read_text() == "600\n")
            assert "something to read" in (tmp_path / "read").read_text()
            await me.until(lambda: not any(w.group == "reader" for w in me.app.workers))
