"""Compiles the C declarations of the installed ``pyghostty`` into the module that the emulator loads."""

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cffi  # pyright: ignore[reportMissingTypeStubs]
from pyghostty._cdef import CDEF  # pyright: ignore[reportMissingTypeStubs]

from sam_tui.adapters.terminal.emulator import declarations

FILE = Path(str(declarations.__file__))
HEAD = '''# fmt: off
# ruff: noqa: E501
# pyright: basic, reportMissingImports=false
"""The C declarations of libghostty-vt, compiled by scripts/ghostty_declarations.py: do not edit."""

'''
TAIL = '''
VERSION = "{}"
"""The version of pyghostty whose declarations these are."""
'''
STRUCTS = """
typedef struct { uint16_t x; uint32_t y; uint64_t _pad; } GhosttyPointValueS;
typedef struct { GhosttyPointTag tag; GhosttyPointValueS value; } GhosttyPointS;
typedef struct { intptr_t delta; uint64_t rest; } SamScrollValue;
typedef struct { GhosttyTerminalScrollViewportTag tag; SamScrollValue value; } SamScroll;
"""
"""Structs in place of unions, which cffi cannot pass by value: the same layout, so the same call."""
TWINS = {
    "GhosttyPointS": "GhosttyPoint",
    "SamScroll": "GhosttyTerminalScrollViewport",
}


def source() -> str:
    """The module's text. Raises ``ValueError`` where a struct is laid out unlike its union."""
    ffi: Any = cffi.FFI()
    ffi.cdef(CDEF)
    ffi.cdef(STRUCTS)
    for ours, theirs in TWINS.items():
        if (ffi.sizeof(ours), ffi.alignof(ours)) != (ffi.sizeof(theirs), ffi.alignof(theirs)):
            raise ValueError(f"{ours} is laid out unlike {theirs}")
    ffi.set_source(declarations.__name__, None)
    return HEAD + _emitted(ffi) + TAIL.format(version("pyghostty"))


def _emitted(ffi: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "emitted.py")
        ffi.emit_python_code(str(path))
        return path.read_text(encoding="utf-8").removeprefix("# auto-generated file\n")


if __name__ == "__main__":
    FILE.write_text(source(), encoding="utf-8")
