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
