"""Terminals with sixteen colours, and people who want none: what is written, and what it still says."""

import json
import re
from dataclasses import astuple
from pathlib import Path

import pytest
from rich.color import ColorType
from rich.style import Style

from sam_tui.ui.driver.few_colours import in_sixteen, without_colour
from sam_tui.ui.theme import LOOKS, Look
from tests.ui.contrast import LEAST, contrast
from tests.ui.driver import Stage, app_over, driven
from tests.ui.test_plain_terminal import on_terminal

ATTRIBUTES = {"", *map(str, (*range(5), *range(7, 10), *range(22, 25), *range(27, 30)))}
"""Of ISO 6429, and what ends each."""
SIXTEEN = {str(base + n) for base in (30, 40, 90, 100) for n in range(8)} | {"39", "49"}
TRUE_COLOUR = {"COLORTERM": "truecolor"}
XTERM = [
    "#000000",
    "#cd0000",
    "#00cd00",
    "#cdcd00",
    "#0000ee",
    "#cd00cd",
    "#00cdcd",
    "#e5e5e5",
    "#7f7f7f",
    "#ff0000",
    "#00ff00",
    "#ffff00",
    "#5c5cff",
    "#ff00ff",
    "#00ffff",
    "#ffffff",
]
LINUX = [
    "#000000",
    "#aa0000",
    "#00aa00",
    "#aa5500",
    "#0000aa",
    "#aa00aa",
    "#00aaaa",
    "#aaaaaa",
    "#555555",
    "#ff5555",
    "#55ff55",
    "#ffff55",
    "#5555ff",
    "#ff55ff",
    "#55ffff",
    "#ffffff",
]
ANSWER = (
    "# Title\n\n`code` and a [link](https://example.org)\n\n```python\ndef f(): return 1\n```\n"
)


def codes(written: bytes) -> set[str]:
    """The codes of colours and attributes that were written (SGR)."""
    return {
        code
        for found in re.findall(rb"\x1b\[([0-9;:]*)m", written)
        for code in found.decode().split(";")
    }


def asked_about_a_change(folder: Path, environ: dict[str, str]) -> bytes:
    """What the workbench writes until it asks about a change, with an answer above."""
    (folder / "a.py").write_text("one\ntwo\n")
    change = {"operation": "replace_string", "filePath": "a.py"}
    change |= {"oldString": "two", "newString": "three"}
    calls = [
        {"name": "file_operations", "arguments": {"operation": "read_file", "filePath": "a.py"}},
        {"name": "file_operations", "arguments": change},
    ]
    script = folder / "script.json"
    script.write_text(json.dumps([{"text": ANSWER, "calls": calls}]))
    words = ["-C", str(folder), "--data-dir", str(folder / "data"), "--permission-mode", "ask-all"]
    return on_terminal([*words, "--model", f"scripted:{script}", "go"], environ, b"4 Deny, say why")


@pytest.mark.requirement("ui:no-color")
def test_with_no_color_only_attributes_are_written(tmp_path: Path) -> None:
    written = asked_about_a_change(tmp_path, {"NO_COLOR": "1", **TRUE_COLOUR})
    assert codes(written) <= ATTRIBUTES
    assert {"1", "2", "7"} <= codes(written)
    text = re.sub(rb"\x1b\[[0-9;]*[A-Za-z]", b"", written).decode()
    assert "-two" in text and "+three" in text


@pytest.mark.requirement("ui:no-color")
def test_an_empty_no_color_asks_for_nothing(tmp_path: Path) -> None:
    written = asked_about_a_change(tmp_path, {"NO_COLOR": "", **TRUE_COLOUR})
    assert {"38", "48"} <= codes(written)


@pytest.mark.requirement("ui:no-color")
@pytest.mark.parametrize("words", [["--help"], ["-p", "go"], ["doctor"], ["tools", "list"]])
def test_what_is_printed_has_no_colours(words: list[str], tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": ANSWER}]))
    more = ["-C", str(tmp_path), "--model", f"scripted:{script}"] if words[0] == "-p" else []
    written = on_terminal([*words, *more], {"NO_COLOR": "1", **TRUE_COLOUR})
    assert written.strip()
    assert codes(written) <= ATTRIBUTES


@pytest.mark.requirement("ui:no-color")
async def test_without_colours_frames_tell_the_focus_and_marks_are_reversed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with driven(app_over(stage)) as me:
        await me.ready()
        assert "┏" in me.drawn()
        await me.pilot.press("f1")
        await me.until(lambda: "type to search" in me.drawn())
        strips = me.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        styles = [style for strip in strips for _, style, _ in strip if style is not None]
        assert not any(style.color or style.bgcolor for style in styles)
        assert any(style.reverse for style in styles)


@pytest.mark.requirement("ui:sixteen-colours")
@pytest.mark.parametrize(
    "environ",
    [{"TERM": "linux"}, {"TERM": "xterm"}, {"TERM": "xterm", "COLORFGBG": "0;15"}],
)
def test_a_terminal_of_sixteen_colours_is_sent_these_alone(
    environ: dict[str, str], tmp_path: Path
) -> None:
    written = asked_about_a_change(tmp_path, environ)
    assert codes(written) <= ATTRIBUTES | SIXTEEN
    loud = {"35", "31"} if "COLORFGBG" in environ else {"91", "92", "93", "96"}
    assert loud <= codes(written)


def drawn_pairs(look: Look) -> list[tuple[str, str]]:
    """Pairs of text and ground that a look draws."""
    inks = [look.foreground, look.muted, look.disabled, look.primary, look.accent]
    inks += [look.success, look.error]
    pairs = [(ink, on) for ink in inks for on in (look.background, look.surface, look.panel)]
    return pairs + [(look.background, on) for on in inks]


@pytest.mark.requirement("ui:sixteen-colours")
@pytest.mark.parametrize("look", LOOKS.values(), ids=lambda look: look.name)
@pytest.mark.parametrize("colours", [XTERM, LINUX], ids=["xterm", "linux"])
def test_every_look_can_be_read_in_sixteen_colours(look: Look, colours: list[str]) -> None:
    surface = look.foreground, look.background
    for ink, ground in drawn_pairs(look):
        style = in_sixteen(Style(color=ink, bgcolor=ground), surface)
        pair = style.color, style.bgcolor
        numbers = [c.number for c in pair if c is not None and c.type is ColorType.STANDARD]
        assert len(numbers) == 2, astuple(look)
        measured = contrast(*(colours[number or 0] for number in numbers))
        assert measured >= LEAST, (ink, ground, numbers)


@pytest.mark.requirement("ui:no-color")
@pytest.mark.parametrize("look", LOOKS.values(), ids=lambda look: look.name)
def test_every_look_says_by_attributes_what_its_colours_say(look: Look) -> None:
    surface = look.foreground, look.background

    def drawn(ink: str, ground: str) -> str:
        return str(without_colour(Style(color=ink, bgcolor=ground), surface))

    plain = drawn(look.foreground, look.background)
    quiet = drawn(look.muted, look.background)
    error = drawn(look.error, look.background)
    marked = drawn(look.background, look.primary)
    assert len({plain, quiet, error, marked}) == 4
