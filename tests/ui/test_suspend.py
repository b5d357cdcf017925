"""Ctrl+Z in a shell: the program stops like any other, and fg brings it back."""

import os
import pty
import select
import shutil
import signal
import subprocess
import termios
from pathlib import Path

import pytest

from tests.fakes.interpreter import INTERPRETER

SECONDS = 60
STOPS = """
import subprocess, sys
from sam_tui.process import stop_group
child = subprocess.Popen(["sleep", "600"])
beside = sys.stdin.readline()  # the other of the group is there
print(child.pid, flush=True)
stop_group()
sys.stdin.read()
child.kill()
"""


@pytest.mark.requirement("ui:suspend")
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell with jobs")
def test_ctrl_z_goes_to_the_shell_and_fg_comes_back(tmp_path: Path) -> None:
    pid, ours = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.environ.update(TERM="xterm-256color", PS1="shell> ", HISTFILE="")
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    termios.tcsetwinsize(ours, (30, 100))
    seen = b""

    def sees(text: bytes) -> None:
        nonlocal seen
        while text not in seen:
            assert select.select([ours], [], [], SECONDS)[0], seen[-2000:]
            seen += os.read(ours, 65536)
        seen = seen.partition(text)[2]

    try:
        sees(b"shell> ")
        words = [INTERPRETER, "-m", "sam_tui", "--data-dir", "data", "--model", "scripted:"]
        os.write(ours, " ".join([*words, "\n"]).encode())
        sees(b"ready")
        os.write(ours, b"typed\x1a")
        sees(b"\x1b[?1049l")
        sees(b"Stopped")
        os.write(ours, b"fg\n")
        sees(b"\x1b[?1049h")
        sees(b"ready")  # the whole screen is drawn anew
        os.write(ours, b"\x11")
        sees(b"shell> ")
    finally:
        os.write(ours, b"\x03\nkill -9 %1; exit\n")
        subprocess.run(["pkill", "-9", "-s", str(pid)], check=False)
        os.waitpid(pid, 0)
        os.close(ours)


@pytest.mark.requirement("ui:suspend")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_the_group_stops_with_it_but_no_child_that_may_not_have_begun() -> None:
    words = [INTERPRETER, "-c", STOPS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, process_group=0, **pipes) as stops:  # pyright: ignore
        beside = subprocess.Popen(["sleep", "600"], process_group=stops.pid)
        assert stops.stdin is not None and stops.stdout is not None
        print(file=stops.stdin, flush=True)
        child = int(stops.stdout.readline())
        for process in (stops.pid, beside.pid):
            assert os.WIFSTOPPED(os.waitpid(process, os.WUNTRACED)[1])
        state = Path(f"/proc/{child}/stat").read_text("utf-8").rpartition(") ")[2]
        assert not state.startswith("T")
        os.killpg(stops.pid, signal.SIGCONT)
        beside.kill()
        beside.wait()
        stops.stdin.close()
