"""Decides which cells of a screen are drawn again once its widgets have new places."""

import importlib
from collections.abc import Iterator
from typing import Any

from textual._compositor import (
    ChopsUpdate,
    Compositor,
    CompositorMap,
    ReflowResult,
)
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget


class LayoutCompositor(Compositor):
    """Compares each layout with the last one that was reported to widgets and drawn.

    Textual compares it with the last one that was looked up, for a widget's size for example. A widget
    that was removed before such a look-up would stay on the screen, and a new one would not learn that
    it is visible.
    """

    def __init__(self) -> None:
        super().__init__()
        self._reflowed_map: CompositorMap = {}
        self._changed: tuple[Region, ...] = ()
        self._drawn: set[tuple[Widget, Region, tuple[tuple[int, int, int], ...]]] = set()

    @property
    def full_map(self) -> CompositorMap:
        """The place of every widget; cached parts of an older layout are dropped."""
        if self._full_map_invalidated:
            self._cuts = self._layers = self._layers_visible = None
        return super().full_map

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Lay all out; return which widgets were hidden, shown and resized.

        Textual does so whenever a screen is told its size, three times as it opens, and then again
        for what asked for a layout before.
        """
        screen: Any = parent
        if self._reflowed_map and size == self.size and not screen._layout_required:
            return ReflowResult(set(), set(), set())
        self._full_map = self._reflowed_map
        result = super().reflow(parent, size)
        screen._layout_required = self._full_map_invalidated = False
        self._reflowed_map = self._full_map
        self._mark_changed(self._reflowed_map)
        return result

    def reflow_visible(self, parent: Widget, size: Size) -> set[Widget]:
        """Lay out the visible widgets; returns those that have become visible."""
        exposed = super().reflow_visible(parent, size)
        self._mark_changed(self._visible_map or {})
        return exposed

    def render_partial_update(self) -> ChopsUpdate | None:
        """Draw the changed lines of the widgets that occupy them.

        Textual draws all lines of every widget whose container meets a rectangle around all changes: for
        one key that is most of the screen.
        """
        self._changed = tuple(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._changed = ()

    def _get_renders(
        self, crop: Region | None = None
    ) -> Iterator[tuple[Region, Region, list[Strip]]]:
        """Each widget's place, the part of it to draw, and that part's lines; the foremost comes first.

        A widget wholly behind another is not drawn: on most frames those are all containers.
        """
        changed = self._changed or (crop or self.size.region,)
        before: list[Region] = []
        for widget, (place, clip) in self.visible_widgets.items():
            seen = clip.intersection(place)
            parts = [part for region in changed if (part := seen.intersection(region))]
            if parts and not all(any(part in front for front in before) for part in parts):
                before.append(seen)
                top = min(part.y for part in parts)
                bottom = max(part.bottom for part in parts)
                drawn = Region(seen.x, top, seen.width, bottom - top)
                yield place, drawn, widget.render_lines(drawn.translate(-place.offset))

    def _mark_changed(self, layout: CompositorMap) -> None:
        """Mark the cells of widgets that moved, came or went, so that they are drawn."""
        drawn = {
            (widget, region, place.order)
            for widget, place in layout.items()
            if (region := place.clip.intersection(place.region))
        }
        self._dirty_regions.update(region for _, region, _ in drawn ^ self._drawn)
        self._drawn = drawn


_size_updated = Widget._size_updated  # pyright: ignore[reportPrivateUsage]


def compare_layouts() -> None:
    """Have every screen compare its layouts in this way, and no size that one gave ask for another."""
    screens: Any = importlib.import_module("textual.screen")
    screens.Compositor = LayoutCompositor
    widgets: Any = Widget
    widgets._size_updated = _set_size


def _set_size(
    widget: Widget, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
) -> bool:
    """Set the size that a layout gave a widget. Textual would lay all out again with the same result:
    a scroll bar that comes or goes asks for it by itself."""
    return _size_updated(widget, size, virtual_size, container_size, layout=False)
