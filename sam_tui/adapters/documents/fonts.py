"""Fonts for PDF: the built-in ones for Western text, fonts of the system for what they lack."""

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, cast

_FOLDERS = (
    "/usr/share/fonts/truetype/dejavu",
    "/usr/share/fonts/dejavu-sans-fonts",
    "/usr/share/fonts/TTF",
    "/usr/share/fonts/truetype/noto",
    "/usr/share/fonts/noto",
    "/usr/share/fonts/truetype/freefont",
    "/usr/share/fonts/truetype/liberation",
    "/System/Library/Fonts/Supplemental",
    "/Library/Fonts",
)
_FILES = (
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    "FreeSans.ttf",
    "LiberationSans-Regular.ttf",
    "Arial Unicode.ttf",
    "NotoSansSymbols2-Regular.ttf",
    "NotoSansArabic-Regular.ttf",
    "NotoSansHebrew-Regular.ttf",
    "NotoSansDevanagari-Regular.ttf",
)
_EAST_ASIAN = {"kana": "HeiseiMin-W3", "hangul": "HYSMyeongJo-Medium", "han": "STSong-Light"}
"""Fonts that every PDF reader brings or fetches; they are named, not embedded."""


class Faces:
    """Which font shows which character. ``missing`` gathers those that none shows."""

    def __init__(self) -> None:
        self.missing: set[str] = set()

    def runs(self, text: str) -> Iterator[tuple[str, str]]:
        """Stretches of text with the font for each; an empty name for the built-in font."""
        for font, letters in groupby(text, self._font):
            run = "".join(letters)
            if font is None:
                self.missing.update(run)
                yield "", "?" * len(run)
            else:
                yield font, run

    def _font(self, character: str) -> str | None:
        if _western(character):
            return ""
        script = _script(character)
        if script:
            return _east_asian(_EAST_ASIAN[script])
        return next((name for name, glyphs in _system_fonts() if ord(character) in glyphs), None)


@cache
def _western(character: str) -> bool:
    try:
        character.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _script(character: str) -> str:
    point = ord(character)
    if 0x3040 <= point <= 0x30FF:
        return "kana"
    if 0xAC00 <= point <= 0xD7A3 or 0x1100 <= point <= 0x11FF:
        return "hangul"
    wide = 0x4E00 <= point <= 0x9FFF or 0x3400 <= point <= 0x4DBF
    return "han" if wide or 0x3000 <= point <= 0x303F or 0xFF00 <= point <= 0xFFEF else ""


@cache
def _east_asian(name: str) -> str:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    cast("Any", pdfmetrics).registerFont(UnicodeCIDFont(name))
    return name


@cache
def _system_fonts() -> list[tuple[str, Any]]:
    """The first of each known file that is there, by name, with the characters it has."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFError, TTFont

    fonts: list[tuple[str, Any]] = []
    for file in _FILES:
        path = next((p for f in _FOLDERS if (p := Path(f) / file).is_file()), None)
        if path is None:
            continue
        name = path.stem.replace(" ", "")
        try:
            font: Any = TTFont(name, str(path))
        except (TTFError, OSError, ValueError):
            continue
        cast("Any", pdfmetrics).registerFont(font)
        fonts.append((name, font.face.charToGlyph))
    return fonts
