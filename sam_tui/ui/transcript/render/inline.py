"""The inside of a Markdown paragraph as styled spans, one list per hard line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from sam_tui.ui.transcript.render.cleaning import expand, safe_link
from sam_tui.ui.transcript.render.palette import Palette
from sam_tui.ui.transcript.render.rows import Span

if TYPE_CHECKING:
    from markdown_it.token import Token

_BOLD, _ITALIC, _STRIKE = Style(bold=True), Style(italic=True), Style(strike=True)
_SHOWN_LINK = 100


def spans_of(tokens: Sequence["Token"], palette: Palette, style: Style) -> list[list[Span]]:
    """The lines of one inline token's children; ``style`` is the paragraph's."""
    walk = _Inline(palette, style)
    for token in tokens:
        walk.take(token)
    return walk.lines


class _Inline:
    def __init__(self, palette: Palette, style: Style) -> None:
        self.lines: list[list[Span]] = [[]]
        self._palette = palette
        self._styles = [style]
        self._links: list[tuple[str, int, int]] = []

    def take(self, token: "Token") -> None:
        """One token; unknown ones are shown by their content, never dropped."""
        match token.type:
            case "text" | "html_inline":
                self._say(token.content)
            case "softbreak":
                self._say(" ")
            case "hardbreak":
                self.lines.append([])
            case "code_inline":
                top = self._styles[-1]
                self._say(token.content, self._palette.code + _emphasis(top))
            case "strong_open":
                self._styles.append(self._styles[-1] + _BOLD)
            case "em_open":
                self._styles.append(self._styles[-1] + _ITALIC)
            case "s_open":
                self._styles.append(self._styles[-1] + _STRIKE)
            case "strong_close" | "em_close" | "s_close":
                self._styles.pop()
            case "link_open":
                self._open_link(str(token.attrs.get("href", "")))
            case "link_close":
                self._close_link()
            case "image":
                self._open_link(str(token.attrs.get("src", "")))
                self._say(f"▣ {token.content}" if token.content else "▣ image")
                self._close_link()
            case _:
                self._say(token.content)

    def _say(self, text: str, style: Style | None = None) -> None:
        if text:
            self.lines[-1].append((expand(text), style or self._styles[-1]))

    def _open_link(self, address: str) -> None:
        self._links.append((address, len(self.lines) - 1, len(self.lines[-1])))
        style = self._styles[-1] + self._palette.link
        safe = safe_link(address)
        self._styles.append(style + Style(link=safe) if safe else style)

    def _close_link(self) -> None:
        """Say where the link leads, unless its text does: nobody clicks into the unknown."""
        address, line, start = self._links.pop()
        self._styles.pop()
        label = "".join(text for text, _ in self.lines[line][start:])
        if address and address not in (label, f"mailto:{label}"):
            short = address if len(address) <= _SHOWN_LINK else address[: _SHOWN_LINK - 1] + "…"
            self._say(f" ({short})", self._palette.dim)


def _emphasis(style: Style) -> Style:
    return Style(bold=style.bold, italic=style.italic, strike=style.strike)
