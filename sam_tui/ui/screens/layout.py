"""The person's division of the screen: the layout, whether the side column is shown, how wide it is."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast, get_args

LayoutKind = Literal["auto", "wide", "narrow", "focus"]
SideWish = Literal["auto", "show", "hide"]

KINDS: Mapping[LayoutKind, str] = {
    "auto": "side by side from 100 columns on, else one at a time",
    "wide": "side by side from 60 columns on",
    "narrow": "transcript and side column one at a time",
    "focus": "the conversation alone, at most 100 columns wide",
}
"""The layouts, and what each means."""
SIDES: Mapping[SideWish, str] = {
    "auto": "the side column opens when it has content",
    "show": "the side column is always open",
    "hide": "the side column never opens by itself",
}
"""The states of the side column that the person can choose."""
NARROW, NARROWEST = 100, 60
"""With fewer columns transcript and side column take turns: by default, and in the wide layout."""
_LEAST, _MOST, STEP = 20, 70, 5
"""The least and the greatest width of the side column in percent, and the step between two widths."""
SECTION = "layout"


@dataclass(frozen=True, slots=True)
class Layout:
    """One division of the screen. ``width`` is that of the side column, in percent."""

    kind: LayoutKind = "auto"
    side: SideWish = "auto"
    width: int = 40
    inline: bool = False
    """Whether only the last rows of the terminal are used; transcript and side column take turns."""
    reader: bool = False
    """Whether the person uses a screen reader: frames, status bar and transcript are not drawn."""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Layout":
        """The stored layout; invalid values are ignored."""
        layout, kind, side = cls(), stored.get("kind"), stored.get("side")
        if kind in get_args(LayoutKind):
            layout = replace(layout, kind=cast("LayoutKind", kind))
        if side in get_args(SideWish):
            layout = replace(layout, side=cast("SideWish", side))
        width = stored.get("width")
        return layout.widened_to(width) if isinstance(width, int) else layout

    def widened_to(self, width: int) -> "Layout":
        """Return the same with another width, within the limits that leave both sides room."""
        return replace(self, width=min(max(width, _LEAST), _MOST))

    def as_json(self) -> Mapping[str, Any]:
        """The inverse of ``of``; how the program was started is not kept."""
        return {
            name: value for name, value in asdict(self).items() if name not in ("inline", "reader")
        }

    def takes_turns(self, columns: int) -> bool:
        """Whether transcript and side column take turns in so many columns."""
        if self.inline:
            return True
        match self.kind:
            case "auto":
                return columns < NARROW
            case "wide":
                return columns < NARROWEST
            case "narrow" | "focus":
                return True
