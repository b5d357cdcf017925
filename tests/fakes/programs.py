"""Programs that a machine may lack: the tests that need one are skipped, and say so."""

import shutil

import pytest


def needs(program: str) -> pytest.MarkDecorator:
    """A mark for tests that cannot be run without a program."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=_reason(program))


def found(program: str) -> str:
    """The program's name, for a command line; where it is missing the test that asks is skipped."""
    if shutil.which(program) is None:
        pytest.skip(_reason(program))
    return program


def _reason(program: str) -> str:
    return f"{program} is not installed"
