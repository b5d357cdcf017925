"""The terminal emulation library, libghostty-vt: the one place that imports ``pyghostty``.

Importing this module costs about 0.1 s, so whoever needs it imports it when a screen is first looked
at. The binding is made of C declarations at run time and has no types: everything here is ``Any``.
"""

import importlib
import weakref
from typing import Any

import pyghostty  # pyright: ignore[reportMissingTypeStubs]

ffi: Any = pyghostty.ffi
lib: Any = pyghostty.lib
Terminal: Any = pyghostty.Terminal
GhosttyError = pyghostty.GhosttyError
_unions: Any = importlib.import_module("pyghostty._ffi").union_fn
"""Calls functions that take a union by value, which the binding offers in this module alone."""

ffi.cdef(
    """
    typedef struct { intptr_t delta; uint64_t rest; } SamScrollValue;
    typedef struct { GhosttyTerminalScrollViewportTag tag; SamScrollValue value; } SamScroll;
    """
)
if ffi.sizeof("SamScroll") != ffi.sizeof("GhosttyTerminalScrollViewport"):
    raise GhosttyError("the library's scroll request has another layout than this program knows")


def check(result: int, what: str) -> None:
    """Raise ``GhosttyError`` unless a call succeeded."""
    if result:
        raise GhosttyError(f"{what} failed: {result}")


def create(kind: str, name: str, owner: object) -> Any:
    """A library object: the pointer to its handle, freed together with ``owner``.

    ``kind`` is the C type, ``name`` the stem of its functions: ``ghostty_<name>_new`` and ``_free``.
    """
    pointer = ffi.new(f"{kind}*")
    check(getattr(lib, f"ghostty_{name}_new")(ffi.NULL, pointer), name)
    weakref.finalize(owner, getattr(lib, f"ghostty_{name}_free"), pointer[0])
    return pointer


def scroll_viewport(terminal: Any, lines: int) -> None:
    """Move a terminal's view: negative is towards older lines, 0 is the bottom."""
    call = _unions("ghostty_terminal_scroll_viewport", "void(*)(GhosttyTerminal, SamScroll)")
    request = ffi.new("SamScroll*")
    request.tag = lib.GHOSTTY_SCROLL_VIEWPORT_DELTA if lines else lib.GHOSTTY_SCROLL_VIEWPORT_BOTTOM
    request.value.delta = lines
    call(terminal, request[0])


def cell_layout() -> dict[str, tuple[int, int]]:
    """Where each part of a packed cell lies: name to (lowest bit, mask), as the library says."""
    import json

    types = json.loads(ffi.string(lib.ghostty_type_json()))["types"]
    bits = types["GhosttyCell"]["bits"]
    return {name: (part["lsb"], (1 << part["width"]) - 1) for name, part in bits.items()}
