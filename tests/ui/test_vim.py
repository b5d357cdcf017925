"""Vim's keys in the prompt. Costs one bare text area for the table, and one app."""

import time

import pytest
from textual.app import App, ComposeResult

from sam_tui.settings.user import UserSettings
from sam_tui.ui.preferences import ScreenTerms
from sam_tui.ui.widgets.prompt import PromptArea
from tests.ui.driver import QuickApp, Stage, driven

CASES = [
    # text, keys from normal mode at the beginning, text then, row and column then
    ("one two", "wx", "one wo", (0, 4)),
    ("one two", "ex", "on two", (0, 2)),
    ("one two", "$bD", "one ", (0, 4)),
    ("one two", "dwA!", "two!", (0, 4)),
    ("one two", "cwnew", "new two", (0, 3)),
    ("one two", "lld0", "e two", (0, 0)),
    ("a\nb\nc", "jdd", "a\nc", (1, 0)),
    ("a\nb\nc", "Gdd", "a\nb", (1, 0)),
    ("a\nb\nc", "yyjp", "a\nb\na\nc", (2, 0)),
    ("a\nb\nc", "dj", "c", (0, 0)),
    ("a\nb\nc", "Gggx", "\nb\nc", (0, 0)),
    ("a\nb\nc", "jonew", "a\nb\nnew\nc", (2, 3)),
    ("a\nb\nc", "jOnew", "a\nnew\nb\nc", (1, 3)),
    ("a b c", "vex", " c", (0, 0)),
    ("abc", "lylp", "abbc", (0, 3)),
    ("abc", "xxu", "bc", None),
    ("  abc", "$I-", "  -abc", (0, 3)),
    ("abc", "zqd9", "abc", (0, 0)),
    ("one two three four", "2wd2w", "one two ", (0, 8)),
    ("a\nb\nc\nd", "j2dd", "a\nd", (1, 0)),
    ("a\nb\nc", "Vjd", "c", (0, 0)),
    ("a\nb\nc", "jVkyP", "a\nb\na\nb\nc", (0, 0)),
    ("a\nb", "jVcnew", "a\nnew", (1, 3)),
    ("one (two) three", "f(lct)new", "one (new) three", (0, 8)),
    ("one two", "dfz2rx", "xne two", (0, 0)),
    ("one\n  two", "JsX", "oneXtwo", (0, 4)),
    ("one\ntwo", "Snew", "new\ntwo", (0, 3)),
]


class Bare(App[None]):
    """A prompt alone."""

    def compose(self) -> ComposeResult:
        self.area = PromptArea()
        yield self.area


@pytest.mark.requirement("ui:vim")
async def test_the_keys_of_vim_edit_as_vim_does() -> None:
    app = Bare()
    async with app.run_test() as pilot:
        area = app.area
        for text, keys, then, place in CASES:
            area.use_vim(True)
            area.put(text)
            area.move_cursor((0, 0))
            await pilot.press("escape", *(("dollar_sign" if k == "$" else k) for k in keys))
            assert area.text == then, keys
            assert place is None or area.cursor_location == place, keys
        area.put("abc")
        area.move_cursor((0, 0))
        await pilot.press("escape", "x", "u", "ctrl+r")
        assert area.text == "bc" and area.border_title == "NORMAL"
        area.use_vim(False)
        await pilot.press("x")
        assert "x" in area.text and not area.border_title


@pytest.mark.requirement("ui:vim", "ui:reduced-motion")
async def test_vim_and_reduced_motion_are_settings_and_escape_still_cancels(stage: Stage) -> None:
    folder = stage.workspace.parent
    settings = UserSettings({"HOME": str(folder), "SAM_TUI_CONFIG_DIR": str(folder / "own")})
    settings.set("screen.vim", True)
    settings.set("screen.reduced_motion", True)
    app = QuickApp(
        stage.start, workspace=str(stage.workspace), terms=ScreenTerms(settings=settings)
    )
    async with driven(app, (80, 24)) as me:
        await me.ready()
        bar = me.app.chat.status
        bar.activity.begin(time.monotonic())
        bar.show()
        await me.until(lambda: "● thinking" in me.drawn())
        bar.move(True)
        await me.until(lambda: "● thinking" not in me.drawn() and " thinking" in me.drawn())
        bar.activity.end()
        bar.show()
        await me.pilot.press(*"hello", "escape", "0", "x", "i", "J")
        assert me.app.chat.prompt.area.text == "Jello"
        await me.pilot.press("escape", "d", "d", "escape", "escape")
        await me.until(lambda: "Esc again" in me.drawn() or len(me.app.screen_stack) > 1)
