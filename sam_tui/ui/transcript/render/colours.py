"""Code colouring, loaded when the first code is drawn: the first frame waits for no lexer."""

from typing import TYPE_CHECKING

from sam_tui.ui.transcript.render.palette import Palette

if TYPE_CHECKING:
    from sam_tui.ui.transcript.render.code import Highlighter


def language_of_path(path: str) -> str:
    """The language of a file by its name; empty where that is not known."""
    from sam_tui.ui.transcript.render.code import language_of_path

    return language_of_path(path)


def highlighter(language: str, palette: Palette) -> "Highlighter":
    """A highlighter for code of that language; an unknown one colours nothing."""
    from sam_tui.ui.transcript.render.code import Highlighter

    return Highlighter(language, palette)
