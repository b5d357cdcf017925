"""What a process does is read off its threads."""

import subprocess
import sys
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.pty.input_wait import blocked

HELPER_POLLS = """
import os, select, sys, threading
reading, writing = os.pipe()
helper = threading.Thread(target=select.select, args=([reading], [], []))
helper.start()
print("at work", flush=True)
while not os.path.exists(sys.argv[1]):
    pass
print("done", flush=True)
select.select([reading], [], [])
"""


OPENS_A_FILE = """
import os, select, sys, threading
os.mkfifo(sys.argv[1])
reading, _writing = os.pipe()
opened = threading.Thread(target=lambda: os.open(sys.argv[1], os.O_RDONLY), daemon=True)
opened.start()
print(os.getpid(), flush=True)
select.select([reading], [], [])
"""
"""Polls while a thread of it opens a file, which takes as long as the other end of a pipe is not there."""


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell")
@pytest.mark.requirement("terminal:waits-for-input")
def test_a_program_does_not_wait_for_keys_while_a_thread_of_it_waits_for_a_file(
    tmp_path: Path,
) -> None:
    pipe = tmp_path / "pipe"
    program = [sys.executable, "-c", OPENS_A_FILE, str(pipe)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        looks = [blocked([process.pid], "/dev/tty") for _ in range(200)]
        with open(pipe, "wb"):
            while not blocked([process.pid], "/dev/tty").polling:
                pass
        process.kill()
    assert not any(look.polling or look.reading for look in looks)


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell")
@pytest.mark.requirement("terminal:waits-for-input")
def test_a_program_at_work_does_not_wait_though_a_helper_of_it_polls(tmp_path: Path) -> None:
    done = tmp_path / "done"
    program = [sys.executable, "-c", HELPER_POLLS, str(done)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "at work\n"
        looks = [blocked([process.pid], "/dev/tty") for _ in range(200)]
        done.touch()
        assert process.stdout.readline() == "done\n"
        while not blocked([process.pid], "/dev/tty").polling:
            pass
        process.kill()
    assert not any(look.polling or look.reading for look in looks)
    assert all(look.readable for look in looks)
