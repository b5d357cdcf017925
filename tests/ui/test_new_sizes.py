"""The workbench on a real terminal whose window changes its size: drawn for the one it has."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.terminal_soak.workbench_process import WorkbenchProcess

pytestmark = [
    pytest.mark.requirement("ui:new-sizes"),
    pytest.mark.skipif(sys.platform != "linux", reason="counts on Linux's signals"),
]

_AGAIN = """
import os, termios
size_now = os.get_terminal_size
def size(*arguments):
    size = size_now(*arguments)
    if os.path.exists(os.environ["AGAIN"]):
        os.remove(os.environ["AGAIN"])
        termios.tcsetwinsize(1, (24, 80))
    return size
os.get_terminal_size = size
"""
"""While one size is read, the next signal comes."""


def started(folder: Path, **environment: str) -> WorkbenchProcess:
    """The workbench at 120 columns, at rest."""
    (folder / "workspace").mkdir()
    script = folder / "script.json"
    script.write_text("[]")
    words = ["--data-dir", str(folder / "data"), "--model", f"scripted:{script}"]
    workbench = WorkbenchProcess(
        folder,
        words,
        size=(120, 40),
        # What a shell exported once is not the size of the window.
        environment={**os.environ, "TERM": "xterm-256color", "COLUMNS": "70", "LINES": "9"}
        | environment,
        speaks=False,
        patience=60.0,
    )
    workbench.shows("● ready")
    settle(workbench)
    return workbench


def settle(workbench: WorkbenchProcess) -> None:
    """Wait until nothing more is drawn."""
    text = ""
    while text != workbench.text():
        text = workbench.text()
        workbench.rest(1.0)


def test_a_size_that_changes_while_the_one_before_is_read_is_the_one_drawn_for(
    tmp_path: Path,
) -> None:
    again, site = tmp_path / "again", tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(_AGAIN)
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    workbench = started(tmp_path, AGAIN=str(again), PYTHONPATH=path)
    try:
        again.touch()
        workbench.resize(110, 30)
        workbench.until(lambda: not again.exists(), "the size was not read")
        workbench.around.resize(80, 24)

        def drawn_for_80() -> bool:
            lines = workbench.text().split("\n")
            return f"╭{'─' * 78}╮" in lines and "● ready" in lines[23]

        settle(workbench)
        workbench.until(drawn_for_80, "it is drawn for another size")
    finally:
        workbench.kill()


@pytest.mark.requirement("ui:changed-cells")
def test_a_window_that_is_as_large_as_before_again_is_drawn_anew_and_with_ctrl_l_what_another_wrote_over(
    tmp_path: Path,
) -> None:
    workbench = started(tmp_path)
    try:
        workbench.around.resize(60, 15)
        workbench.around.resize(120, 40)
        cut = workbench.text()
        assert "sandbox: live" not in cut
        os.kill(workbench.pid, signal.SIGWINCH)
        workbench.until(
            lambda: "sandbox: live" in workbench.text(), "what was cut does not come back"
        )
        workbench.around.feed(b"\x1b[1;1H\x1b[2Jwritten by another program")
        workbench.type("\x0c")
        workbench.until(lambda: "sandbox: live" in workbench.text(), "Ctrl+L draws too little")
        assert "another program" not in workbench.text()
    finally:
        workbench.kill()
