"""What the person sets at the screen: keys of actions, looks, settings, keys of providers (3 s of CPU)."""

import json
import sys
from pathlib import Path

import pytest
from textual.message import Message
from textual.widgets import Input, Static

from sam_tui.settings.table import find_setting
from sam_tui.settings.user import UserSettings
from sam_tui.ui import theme
from sam_tui.ui.action_tables.keymap import key_of, resolved_keys
from sam_tui.ui.actions import ACTIONS, FOCUSING
from sam_tui.ui.controllers.screen import status_command
from sam_tui.ui.driver.keys import GroundAnswers, GroundTold
from sam_tui.ui.preferences import ScreenTerms
from sam_tui.ui.screens.dialogs import HelpScreen, Picker
from sam_tui.ui.screens.forms import KeyForm
from sam_tui.ui.screens.settings import SettingsScreen, ThemePicker, TourScreen
from tests.ui.contrast import contrast, unreadable
from tests.ui.driver import QuickApp, Stage, build_stage, driven
from tests.ui.test_inline import around

LIGHT_GROUND = b"48;5;231m"
"""The ground of `sam-light` in 256 colours."""
KEYS = """
[keys]
resume = "ctrl+o"
theme = ["f9", "Alt-]"]
fork = "ctrl+r"
no_such = "f10"
send = "f10"
jobs = "x"
todos = "f9"
audit = "ctrl+c"
"""


@pytest.mark.requirement(
    "settings:screen", "ui:keys-set", "settings:keys-kept", "plugins:entry-points"
)
async def test_a_person_sets_keys_a_look_a_setting_and_a_key(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, data = tmp_path / "own/settings.toml", tmp_path / "own-data"
    package = tmp_path / "site/absent-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Name: absent\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[sam_tui.tools]\ngone = absent_module:gone\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    stage = build_stage(tmp_path, stage.model)
    path.parent.mkdir()
    path.write_text(KEYS)
    preferences = UserSettings({"SAM_TUI_CONFIG_DIR": str(path.parent)}, str(data))
    app = QuickApp(
        stage.start, workspace=str(stage.workspace), terms=ScreenTerms(settings=preferences)
    )
    async with driven(app) as me:
        await me.ready()
        await me.until(lambda: "keys.audit" in me.transcript())
        for fault in (
            "keys.no_such: there is no such action",
            "keys.send: its keys are fixed",
            "keys.jobs: “x” is not a key",
            "keys.todos: f9 is already set for theme",
            "keys.audit: ctrl+c belongs to “interrupt”",
        ):
            assert fault in me.transcript(), fault
        assert "broken plug-in: gone of absent 1.0: " in me.transcript()
        await me.pilot.press("f9")
        await me.until(lambda: isinstance(app.screen, ThemePicker))
        await me.pilot.press("down", "down")
        await me.until(lambda: app.theme == "sam-light")
        await me.pilot.press("escape")
        await me.until(lambda: app.screen is app.chat and app.theme == "sam")
        await me.send("/theme forest")
        await me.until(lambda: app.theme == "forest")
        assert preferences.settings.text("screen.theme") == "forest"
        await me.pilot.press("f9")
        await me.until(lambda: isinstance(app.screen, ThemePicker))
        await me.pilot.press("down")
        await me.until(lambda: app.theme == "paper")
        await me.pilot.press("escape")
        await me.until(lambda: app.screen is app.chat and app.theme == "forest")
        assert path.read_text() == KEYS + '\n[screen]\ntheme = "forest"\n'
        app.post_message(GroundTold(light=True))
        await me.pilot.press("f1")
        await me.until(lambda: isinstance(app.screen, HelpScreen))
        assert app.theme == "forest"
        await me.pilot.press(*"f9")
        lines = [line for line in app.screen.query(Static) if line.display]
        shown = [str(line.render()) for line in lines]
        assert "F9 / Alt+] · /theme NAME  Theme" in shown and "Window" in shown
        assert not any("Fork" in line for line in shown)
        await me.pilot.press("escape")

        await me.send("/settings")
        await me.until(lambda: isinstance(app.screen, SettingsScreen))
        assert unreadable(app) == []
        # What the marked one means stays in view where the screen is low.
        await me.pilot.resize_terminal(80, 24)
        await me.until(lambda: "The model, such as" in me.drawn() and "Ctrl+D" in me.drawn())
        for line, expected in (
            (("request_timeout", "enter", "12", "enter"), "request_timeout = 12.0"),
            (("request_timeout", "enter", "soon", "enter", "escape"), "request_timeout = 12.0"),
            (("rehearse", "enter"), "rehearse = true"),
            (("compaction", "enter"), 'compaction = "rules"'),
            (("theme auto", "ctrl+d"), ""),
        ):
            app.screen.query_one("#filter", Input).value = line[0]
            await me.pilot.pause()
            for step in line[1:]:
                if step in ("enter", "escape", "ctrl+d"):
                    await me.pilot.press(step)
                else:
                    app.screen.query_one("#value", Input).value = step
            assert expected in path.read_text()
            if "soon" in line:
                assert "must be a number" in str(app.screen.query(".note").last(Static).render())
        assert "theme" not in path.read_text().partition("[screen]")[2].partition("[")[0]
        await me.until(lambda: app.theme == "sam-light")  # as the terminal said
        await me.pilot.press("escape")

        await me.send("/key")
        await me.until(lambda: isinstance(app.screen, Picker) and "SerpApi" in me.drawn())
        assert me.drawn().count("Together AI") == me.drawn().count("Gemini ") == 1
        await me.pilot.press("escape")
        await me.send("/key openai")
        await me.until(lambda: isinstance(app.screen, KeyForm))
        app.screen.query_one(Input).value = "sk-verysecret-0123456789"
        assert "verysecret" not in me.drawn()
        await me.pilot.press("enter")
        await me.until(lambda: "The key is stored" in me.transcript())
        stored = json.loads((data / "keys.json").read_text())
        assert stored["keys"]["OPENAI_API_KEY"]["key"] == "sk-verysecret-0123456789"
        assert (data / "keys.json").stat().st_mode & 0o777 == 0o600
        assert "verysecret" not in path.read_text()
        shield = stage.runtime.executor.shield
        assert "verysecret" not in shield.redact("it is sk-verysecret-0123456789.")

        await me.send("/tour")
        await me.until(lambda: isinstance(app.screen, TourScreen))
        await me.pilot.press("enter", "escape")
        await me.until(lambda: app.screen is app.chat)
        await me.send("/setings")
        await me.until(
            lambda: (
                "Did you mean /settings?"
                in " ".join(
                    str(note.message)
                    for note in app._notifications  # pyright: ignore[reportPrivateUsage]
                )
            )
        )


@pytest.mark.requirement("ui:keys-set")
def test_a_key_that_is_set_is_taken_from_who_had_it_and_goes_by_its_usual_names() -> None:
    keys = resolved_keys(ACTIONS, {"fork": ("ctrl+n",), "zoom": ("Alt+Z",)}, FOCUSING)
    assert (keys.keys["fork"], keys.keys["new"]) == (("ctrl+n",), ())
    assert keys.faults == ("keys.fork takes ctrl+n from new.",)
    assert keys.focusing["alt+z"] == "zoom" and "f6" not in keys.focusing
    assert len(resolved_keys(ACTIONS, {}, FOCUSING).bindings(ACTIONS)) > 30
    for text, key in {
        "Ctrl+X": "ctrl+x", "alt-shift-a": "alt+shift+a", "F12": "f12",
        "ctrl+]": "ctrl+right_square_bracket",
        "ctrl+pgup": "ctrl+pageup", "alt+enter": "alt+enter", "x": "", "shift+x": "", "enter": "",
        "hyper+x": "", "f25": "", "": "", "ctrl+ctrl+x": "", "ctrl+-": "ctrl+minus",
    }.items():  # fmt: skip
        assert key_of(text) == key, text


@pytest.mark.requirement("ui:contrast")
def test_text_of_every_look_can_be_read_on_every_ground() -> None:
    setting = find_setting("screen.theme")
    assert setting is not None and set(setting.choices) == {"auto", *theme.LOOKS}
    assert len(theme.LOOKS) >= 6
    for look in theme.LOOKS.values():
        variables = look.theme().to_color_system().generate()
        for role in ("foreground", "text-muted", "text-disabled", "primary", "accent", "success",
                     "warning", "error"):  # fmt: skip
            for ground in ("background", "surface", "panel"):
                least = 7 if look.name.startswith("contrast") and role == "foreground" else 4.5
                measured = contrast(variables[role], variables[ground])
                assert measured >= least, (look.name, role, ground, measured)
        cursor = variables["block-cursor-foreground"], variables["block-cursor-background"]
        assert contrast(*cursor) >= 4.5, look.name


@pytest.mark.requirement("ui:ground")
def test_an_answer_for_the_ground_is_no_key_however_it_is_cut() -> None:
    light, dark = "\x1b]11;rgb:ffff/fafa/f0f0\x1b\\", "\x1b]11;rgb:14/17/1c\x07"
    for cut in range(6, len(light)):
        told: list[Message] = []
        answers = GroundAnswers(told.append)
        pieces = ("a" + light[:cut], light[cut:] + "b" + dark + "\x1b]11;nonsense")
        text = "".join(map(answers.without, pieces))
        assert text == "ab"
        assert [m.light for m in told if isinstance(m, GroundTold)] == [True, False]
    plain = GroundAnswers(lambda _: None)
    assert plain.without("\x1b]x\x1b[A") == "\x1b]x\x1b[A"
    assert theme.theme_of("auto", theme.ground_of_environment({"COLORFGBG": "0;15"})) == "sam-light"
    assert theme.theme_of("auto", theme.ground_of_environment({"COLORFGBG": "15;default"})) == "sam"
    assert theme.theme_of("ember", "light") == "ember"


@pytest.mark.requirement("ui:ground")
def test_the_ground_is_asked_for_again_when_the_window_comes_to_the_front(tmp_path: Path) -> None:
    with around(tmp_path, answers=False) as me:
        me.shows("Ask anything")
        assert me.written.count(theme.ASK_GROUND.encode()) == 1
        me.type(b"\x1b[O\x1b[I")
        me.until(lambda: me.written.count(theme.ASK_GROUND.encode()) == 2)
        assert LIGHT_GROUND not in me.written
        me.type(b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
        me.until(lambda: LIGHT_GROUND in me.written)


@pytest.mark.requirement("ui:status-command")
async def test_a_program_of_the_person_fills_the_status_line_without_secrets(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecret-0123456789")
    monkeypatch.setattr(status_command, "WITHIN", 90.0)  # it may be slow on a busy machine
    program = tmp_path / "line"
    program.write_text(
        "#!/bin/sh\nread -r state\nprintf '\\033[31m%s|%s\\nmore' "
        '"${OPENAI_API_KEY:-none}" "$(printf %s "$state" | tr -cd a-z | cut -c1-9)"\n'
    )
    program.chmod(0o700)
    (tmp_path / "settings.toml").write_text(f'[status]\ncommand = ["{program}"]\n')
    settings = UserSettings({"SAM_TUI_CONFIG_DIR": str(tmp_path)}, str(tmp_path / "data"))
    terms = ScreenTerms(settings=settings, first_run=True)
    app = QuickApp(stage.start, workspace=str(stage.workspace), terms=terms)
    async with driven(app, (160, 40)) as me:
        await me.ready()
        for words in ("The agent reads and writes in", "Its commands", "Mode ask", "/tour"):
            assert words in me.transcript()
        # The tour is offered, not opened: what is typed at once is for the agent.
        await me.pilot.press(*"hello")
        assert app.screen is app.chat and app.chat.prompt.area.text == "hello"
        await me.until(lambda: "none|workspace" in app.chat.status.standing.custom)
        assert "\x1b" not in app.chat.status.standing.custom
        await me.until(lambda: "none|workspace" in me.drawn())
    for words, told in (
        (("/no/such/program",), "No such file"),
        (("sh", "-c", "exit 3"), "ended with 3"),
    ):
        assert told in await status_command.output_of(words, "{}")
    monkeypatch.setattr(status_command, "WITHIN", 0.05)
    assert "took over" in await status_command.output_of(("sleep", "60"), "{}")
