"""The terminal emulation library, libghostty-vt: the only module that imports ``pyghostty``.

It is imported when a screen is first needed. The binding consists of C declarations and has no types:
everything here is ``Any``.
"""

import importlib.util
import re
import sys
import types
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sam_tui.adapters.terminal.emulator import declarations


class GhosttyError(RuntimeError):
    """A call of the library failed, or the library is of an unknown version."""


def check(result: int, what: str) -> None:
    """Raise ``GhosttyError`` unless a call succeeded."""
    if result:
        raise GhosttyError(f"{what} failed: {result}")


def _library() -> Any:
    """The loaded library of ``pyghostty``."""
    package = importlib.util.find_spec("pyghostty")
    assert package is not None and package.origin is not None
    folder = Path(package.origin).parent / "_lib"
    path = next(folder.glob("libghostty-vt.*"), None)
    if path is None:
        raise GhosttyError(f"there is no libghostty-vt in {folder}; install pyghostty anew")
    return ffi.dlopen(str(path))


ffi: Any = declarations.ffi
lib: Any = _library()
_calls: dict[str, Any] = {}
_kept_alive: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def _call(name: str, signature: str) -> Any:
    """A function with a union parameter, declared with the struct of the same layout."""
    if name not in _calls:
        _calls[name] = ffi.cast(signature, ffi.addressof(lib, name))
    return _calls[name]


def _binding() -> Any:
    """The binding's own layer above the C functions, over declarations that were compiled before.

    Its module for them parses 3,500 lines of C when it is imported, and the name of each type when that
    is first used: 0.4 s in each process that draws a screen.
    """
    declared = types.ModuleType("pyghostty._ffi")
    declared.__dict__.update(ffi=ffi, lib=lib, check=check, union_fn=_call)
    declared.__dict__["GhosttyError"] = GhosttyError
    sys.modules[declared.__name__] = declared
    from pyghostty import __version__, core  # pyright: ignore[reportMissingTypeStubs]

    if __version__ != declarations.VERSION:
        raise GhosttyError(f"pyghostty is {__version__}, and has to be {declarations.VERSION}")
    return core


_core: Any = _binding()
Terminal: Any = _core.Terminal


def set_option(terminal: Any, option: str, value: Any) -> None:
    """Set an option of a terminal, named by the end of its constant."""
    key = getattr(lib, f"GHOSTTY_TERMINAL_OPT_{option}")
    check(lib.ghostty_terminal_set(terminal._t[0], key, value), option)


def set_mode(
    terminal: Any, mode: int, on: bool, *, option: str = "MODE", ansi: bool = False
) -> None:
    """Set a DEC private or ANSI mode, without the side effects of a program's own sequence for it."""
    packed = (
        mode | ansi << 15
    )  # the library's own packing, which its header alone has as a function
    set_option(terminal, option, ffi.new("GhosttyTerminalModeConfig*", [packed, on]))


def create(kind: str, name: str, owner: object, *arguments: Any) -> Any:
    """A library object: the pointer to its handle, freed together with ``owner``.

    ``kind`` is the C type, ``name`` the stem of its functions: ``ghostty_<name>_new`` and ``_free``.
    """
    pointer = ffi.new(f"{kind}*")
    check(getattr(lib, f"ghostty_{name}_new")(ffi.NULL, pointer, *arguments), name)
    weakref.finalize(owner, getattr(lib, f"ghostty_{name}_free"), pointer[0])
    return pointer


def scroll_viewport(terminal: Any, lines: int) -> None:
    """Move a terminal's view: negative is towards older lines, 0 is the bottom."""
    kind = lib.GHOSTTY_SCROLL_VIEWPORT_DELTA if lines else lib.GHOSTTY_SCROLL_VIEWPORT_BOTTOM
    _scroll(terminal, kind, lines)


def scroll_to_row(terminal: Any, row: int) -> None:
    """Move a terminal's view so that a row, counted from the oldest kept, is at its top."""
    _scroll(terminal, lib.GHOSTTY_SCROLL_VIEWPORT_ROW, row)


def _scroll(terminal: Any, kind: int, value: int) -> None:
    call = _call("ghostty_terminal_scroll_viewport", "void(*)(GhosttyTerminal, SamScroll)")
    request = ffi.new("SamScroll*")
    request.tag = kind
    request.value.delta = value
    call(terminal, request[0])


def sized(kind: str) -> Any:
    """A new struct of the library's, with the size that it and its parts must carry."""
    return _core.init_sized(kind)


def string(data: bytes) -> Any:
    """Return bytes in the library's form; the memory that it points to lives as long as the string."""
    buffer = ffi.new("uint8_t[]", data or b"\0")
    text = ffi.new("GhosttyString*")
    text.ptr, text.len = buffer, len(data)
    _kept_alive[text] = buffer
    return text


def copied(text: Any) -> bytes:
    """A copy of one of the library's strings."""
    return bytes(ffi.buffer(text.ptr, text.len)) if text.len else b""


def ref_at(terminal: Any, column: int, row: int, space: str) -> Any:
    """A cell, valid until the terminal changes. ``space``: active, viewport, screen or history."""
    return terminal.ref(column, row, space)


def place_of(terminal: Any, ref: Any) -> tuple[int, int]:
    """The column and row of a cell, counted from the oldest row kept."""
    point = ffi.new("GhosttyPointCoordinate*")
    copy = ffi.new("GhosttyGridRef*", ref)
    tag = lib.GHOSTTY_POINT_TAG_SCREEN
    check(lib.ghostty_terminal_point_from_grid_ref(terminal._t[0], copy, tag, point), "place")
    return int(point.x), int(point.y)


def track(terminal: Any, column: int, row: int, owner: object) -> Any:
    """A handle that follows a cell, counted from the oldest row kept, until ``owner`` goes.

    ``owner`` has to keep the terminal.
    """
    call = _call(
        "ghostty_terminal_grid_ref_track",
        "GhosttyResult(*)(GhosttyTerminal, GhosttyPointS, GhosttyTrackedGridRef*)",
    )
    point = ffi.new("GhosttyPointS*")
    point.tag = lib.GHOSTTY_POINT_TAG_SCREEN
    point.value.x, point.value.y = column, row
    handle = ffi.new("GhosttyTrackedGridRef*")
    check(call(terminal._t[0], point[0], handle), "track")
    weakref.finalize(owner, lib.ghostty_tracked_grid_ref_free, handle[0])
    return handle[0]


def tracked(handle: Any) -> tuple[int, int] | None:
    """The column and row (from the oldest stored) of a followed cell; None once it is gone."""
    point = ffi.new("GhosttyPointCoordinate*")
    if not lib.ghostty_tracked_grid_ref_has_value(handle):
        return None
    if lib.ghostty_tracked_grid_ref_point(handle, lib.GHOSTTY_POINT_TAG_SCREEN, point):
        return None
    return int(point.x), int(point.y)


def formatted(terminal: Any, selection: Any) -> str:
    """A selection as plain text, soft wraps joined, blanks at the ends of lines cut."""
    return _formatted(terminal, selection, lib.GHOSTTY_FORMATTER_FORMAT_PLAIN, joined=True)


def _formatted(terminal: Any, selection: Any, form: int, *, joined: bool) -> str:
    """A selection in a form of the library; ``joined``: without soft wraps and blanks at line ends."""
    options = sized("GhosttyTerminalSelectionFormatOptions")
    options.emit, options.selection = form, selection
    options.unwrap = options.trim = joined
    call = lib.ghostty_terminal_selection_format_buf

    def fill(buffer: Any, size: int, written: Any) -> int:
        return call(terminal._t[0], options[0], buffer, size, written)

    return _core.read_buf(fill)


def drawn_as_output(terminal: Any, first: tuple[int, int], last: tuple[int, int]) -> list[bytes]:
    """Return the rows of a rectangle of the present screen, as output that draws them; places from 0.

    Each begins with the colours of its own first cell, and leaves out blanks at its end.
    """
    selection = sized("GhosttySelection")
    selection.start = ref_at(terminal, *first, "active")[0]
    selection.end = ref_at(terminal, *last, "active")[0]
    selection.rectangle = True
    text = _formatted(terminal, selection, lib.GHOSTTY_FORMATTER_FORMAT_VT, joined=False)
    # The text begins with the whole palette, which this terminal has already.
    return text.encode().rpartition(b"\x1b]4;255;")[2].partition(b"\x1b\\")[2].split(b"\r\n")


_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x1b]*\x1b\\|\x1b[ -/][0-~]|[\x0e\x0f]")


def protects(terminal: Any) -> bool:
    """Whether text printed now is protected from selective erasing (DECSCA)."""
    return _set_up(terminal, screen=("protection",)).endswith('\x1b[1"q')


def settings(terminal: Any) -> str:
    """The sequences that set up a terminal like this one: modes, margins, pen, character sets."""
    parts = ("modes", "scrolling_region"), ("style", "hyperlink", "protection", "charsets")
    return "".join(_SEQUENCE.findall(_set_up(terminal, *parts)))


def _set_up(terminal: Any, whole: Sequence[str] = (), screen: Sequence[str] = ()) -> str:
    """Return the text of the first cell, then sequences that give another terminal this one's state."""
    options = sized("GhosttyFormatterTerminalOptions")
    options.emit = lib.GHOSTTY_FORMATTER_FORMAT_VT
    for part, names in ((options.extra, whole), (options.extra.screen, screen)):
        for name in names:
            setattr(part, name, True)
    selection = sized("GhosttySelection")
    selection.start = selection.end = ref_at(terminal, 0, 0, "active")[0]
    options.selection = selection
    handle = ffi.new("GhosttyFormatter*")
    check(lib.ghostty_formatter_terminal_new(ffi.NULL, handle, terminal._t[0], options[0]), "pen")
    try:

        def fill(buffer: Any, size: int, written: Any) -> int:
            return lib.ghostty_formatter_format_buf(handle[0], buffer, size, written)

        return _core.read_buf(fill)
    finally:
        lib.ghostty_formatter_free(handle[0])


def underline_colour(terminal: Any) -> str:
    """The colour of underlines that are printed now, as SGR writes it; empty for that of the text."""
    style = ffi.new("GhosttyStyle*")
    style.size = ffi.sizeof("GhosttyStyle")
    key = lib.GHOSTTY_TERMINAL_DATA_CURSOR_STYLE
    check(lib.ghostty_terminal_get(terminal._t[0], key, style), "pen")
    colour = style.underline_color
    if colour.tag == lib.GHOSTTY_STYLE_COLOR_PALETTE:
        return f"58:5:{colour.value.palette}"
    if colour.tag == lib.GHOSTTY_STYLE_COLOR_RGB:
        rgb = colour.value.rgb
        return f"58:2::{rgb.r}:{rgb.g}:{rgb.b}"
    return ""


def packed_cell(terminal: Any, column: int, row: int) -> int:
    """A cell of the present screen, packed: see ``cell_layout``."""
    cell = ffi.new("GhosttyCell*")
    ref = ffi.new("GhosttyGridRef*", ref_at(terminal, column, row, "active")[0])
    check(lib.ghostty_grid_ref_cell(ref, cell), "cell")
    return int(cell[0])


@cache
def cell_layout() -> Mapping[str, tuple[int, int]]:
    """The position of each part of a packed cell as the library reports it: name to (lowest bit, mask)."""
    import json

    types = json.loads(ffi.string(lib.ghostty_type_json()))["types"]
    bits = types["GhosttyCell"]["bits"]
    return {name: (part["lsb"], (1 << part["width"]) - 1) for name, part in bits.items()}
