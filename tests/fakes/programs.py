"""What a machine may lack: the tests that need a program, or a kind of sandbox, are skipped, and say so."""

import os
import shutil
from functools import cache
from pathlib import Path

import pytest


def needs(program: str) -> pytest.MarkDecorator:
    """A mark for tests that cannot be run without a program."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=_reason(program))


def found(program: str) -> str:
    """The program's name, for a command line; where it is missing the test that asks is skipped."""
    if shutil.which(program) is None:
        pytest.skip(_reason(program))
    return program


@cache
def confines(kind: str) -> bool:
    """Whether commands can be confined like that here: ``bubblewrap``, with ``networks`` of their own,
    or as ``Confinement.kind`` says. Some ways start a program to find out, so no module asks for them.
    """
    from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
    from sam_tui.adapters.terminal.sandbox.kernel.network_namespace import has_network_namespaces
    from sam_tui.adapters.terminal.sandbox.strict import bubblewrap
    from sam_tui.core.errors import ConfigurationError

    match kind:
        case "bubblewrap":
            try:
                return bool(bubblewrap())
            except ConfigurationError:
                return False
        case "networks":
            return has_network_namespaces()
        case _:
            return Sandbox().confinement.kind == kind


def silence_package_tools(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put tools without settings ahead of the real ones, which take seconds to say where packages lie.

    They are asked for it before a person is asked for the first host.
    """
    folder.mkdir()
    for name in ("pip", "uv", "npm"):
        tool = folder / name
        tool.write_text("#!/bin/sh\nexit 1\n", "utf-8")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def _reason(program: str) -> str:
    return f"{program} is not installed"
