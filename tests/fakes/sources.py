"""Modules of the program as Python compiled them: a search for a name parses those alone that have it."""

import functools
import types
from importlib.machinery import SourceFileLoader
from pathlib import Path


@functools.cache
def compiled(file: Path) -> types.CodeType:
    """A module's code, read from what was compiled before where that is not older."""
    code = SourceFileLoader(file.stem, str(file)).get_code(file.stem)
    assert code is not None
    return code


@functools.cache
def names(file: Path) -> set[str]:
    """Each name that a module uses or imports, parts of dotted ones alone, and each text in it."""
    words: set[str] = set()
    constants: list[object] = [compiled(file)]
    while constants:
        match constants.pop():
            case types.CodeType() as code:
                words.update(code.co_varnames, code.co_cellvars)
                words.update(part for name in code.co_names for part in name.split("."))
                constants += code.co_consts
            case tuple() | frozenset() as several:  # pyright: ignore[reportUnknownVariableType]
                constants += several  # pyright: ignore[reportUnknownVariableType]
            case str() as text:
                words.add(text)
            case _:
                pass
    return words
