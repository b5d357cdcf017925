"""A frame whose lower edge names keys: the first and the last if there is no room for all."""

from textual.containers import Vertical
from textual.content import Content

_EDGE = 6
"""The columns of the edge beside its text."""
_BETWEEN = " · "


def fitting_keys(keys: str, room: int) -> str:
    """Return keys and their effects, parted by ``·``, in so many columns; the last one, to leave, stays."""
    if len(keys) <= room:
        return keys
    *parts, last = keys.split(_BETWEEN)
    for count in range(len(parts) - 1, 0, -1):
        line = _BETWEEN.join([*parts[:count], "…", last])
        if len(line) <= room:
            return line
    return last


class KeyFrame(Vertical):
    """Shows at its lower edge as many keys as fit."""

    _keys = ""

    def say_keys(self, keys: str) -> None:
        """Show these from now on."""
        self._keys = keys
        self.fit_keys()

    def fit_keys(self) -> None:
        """Show as many keys as fit the width; all of them before the width is known."""
        width = self.outer_size.width
        self.border_subtitle = Content(
            fitting_keys(self._keys, width - _EDGE) if width else self._keys
        )

    def on_resize(self) -> None:
        """Fit the keys to another width."""
        self.fit_keys()
