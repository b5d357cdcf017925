"""Why a command cannot be held, in the words of what stands in the way."""

import errno
import os
import tempfile
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.run import ConfinedRun, fault
from sam_tui.core.errors import ToolError


@pytest.mark.requirement("sandbox:proven")
def test_what_keeps_a_command_from_being_held_is_said_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def failing(error: Exception) -> str:
        def hold(writable: tuple[str, ...]) -> ConfinedRun | None:
            tried.extend(writable)
            raise error

        return fault(hold)

    full = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    assert failing(full) == os.strerror(errno.EMFILE)
    assert failing(ToolError("The kernel refuses it.")) == "The kernel refuses it"
    assert fault(lambda _: None) == ""
    assert len(tried) == 2
    assert not any(map(os.path.exists, tried)), "the folders of the attempt are left"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    assert failing(full) == f"no temporary folder can be made ({os.strerror(errno.ENOENT)})"
    assert len(tried) == 2
