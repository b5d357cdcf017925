"""Themes: colours change, text does not, and everything can be read."""

from dataclasses import fields

import pytest
from rich.style import Style
from textual.color import Color

from sam_tui.ui.driver.contrast import contrast
from tests.transcript.hosting import Host

PARAGRAPH = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi"


@pytest.mark.requirement("transcript:themes")
@pytest.mark.parametrize("theme", ["textual-light", "textual-dark", "ansi-dark", "ansi-light"])
async def test_a_change_of_theme_changes_colours_and_no_text(theme: str) -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        host.theme = "nord"
        host.pane.stream_text("# title\n\n`code` and **bold**\n\n```python\ndef f(): pass\n```\n")
        host.pane.end_answer()
        await pilot.pause()
        before = host.seen()
        style = host.pane.palette.heading
        host.theme = theme
        await pilot.pause()
        assert host.seen() == before
        assert host.pane.palette.heading != style


@pytest.mark.requirement("transcript:contrast")
@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "solarized-light", "dracula"])
async def test_every_style_can_be_read_on_its_ground(theme: str) -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        host.theme = theme
        await pilot.pause()
        palette = host.pane.palette
        for field in fields(palette):
            style: Style = getattr(palette, field.name)
            assert style.color is not None and style.bgcolor is not None
            ratio = contrast(
                Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
            )
            assert ratio >= (3 if field.name in ("faint", "gutter") else 4.5), (field.name, ratio)


@pytest.mark.requirement("transcript:contrast")
async def test_an_ansi_theme_leaves_text_and_ground_to_the_terminal() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        host.theme = "ansi-dark"
        await pilot.pause()
        style = host.pane.palette.text
        assert style.color is not None and style.color.is_default
        assert style.bgcolor is not None and style.bgcolor.is_default
