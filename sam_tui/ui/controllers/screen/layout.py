"""The division of the screen: the side column and the layouts, remembered for the next start."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast

from textual.app import App

from sam_tui.core.errors import ConfigurationError
from sam_tui.ui.preferences import Preferences
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.screens.layout import KINDS, SECTION, SIDES, STEP, Layout, LayoutKind, SideWish


class LayoutActions:
    """Changes, announces and stores the layout."""

    def __init__(self, app: App[None], screen: ChatScreen, preferences: Preferences) -> None:
        self._app = app
        self._screen = screen
        self._preferences = preferences

    @property
    def actions(self) -> Mapping[str, Callable[[str], object]]:
        """Every action on the layout by its name."""
        return {
            "side": self._side,
            "side_wider": lambda _: self._widen(STEP),
            "side_narrower": lambda _: self._widen(-STEP),
            "layout": self._divide,
        }

    def _side(self, argument: str) -> None:
        """Show or hide the column, by the width or the argument of ``/side``."""
        wish, layout = argument.strip().lower().removesuffix("%"), self._screen.layout_wish
        if not wish and self._screen.narrow:
            self._screen.show_side(not self._screen.side_shown)
        elif not wish:
            self._use(replace(layout, side="hide" if self._screen.side_shown else "show"))
        elif wish in SIDES:
            side = cast("SideWish", wish)
            self._use(replace(layout, side=side))
            if (
                side == "hide"
            ):  # also where it was the wish before, and a key opened the column since
                self._screen.show_side(False)
            self._say(SIDES[side])
        elif wish.isdecimal() and len(wish) < 4:
            self._use(layout.widened_to(int(wish)))
        else:
            self._say(f"/side takes {', '.join(SIDES)} or a width in percent.")

    def _widen(self, by: int) -> None:
        layout = self._screen.layout_wish
        self._use(layout.widened_to(layout.width + by))

    def _divide(self, argument: str) -> None:
        """Use the layout of this name; without a name say which layouts exist."""
        name = argument.strip().lower()
        if name in KINDS:
            kind = cast("LayoutKind", name)
            self._use(replace(self._screen.layout_wish, kind=kind))
            self._say(KINDS[kind])
            return
        now = self._screen.layout_wish.kind
        listed = "; ".join(f"{kind}: {meaning}" for kind, meaning in KINDS.items())
        self._say(f"The layout is {now}. /layout takes {listed}.")

    def _use(self, layout: Layout) -> None:
        self._screen.divide(layout)
        try:
            self._preferences.write(SECTION, layout.as_json())
        except ConfigurationError as error:
            self._say(f"The layout could not be stored: {error}")

    def _say(self, words: str) -> None:
        self._screen.transcript.add_notice("info", words[:1].upper() + words[1:])
