"""What a workbench does before its first request: what the person waits for, and nothing else.

Costs about 1 s of CPU: one workbench on a terminal, with a prompt on its command line.
"""

import os
import pty
import select
import signal
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.fakes.openai_server import Recorded, Reply, background

SECONDS = 90
BEHIND_THE_FRAME = "sam_tui.assembly.options"
"""The first module that is loaded once the first frame is drawn."""
MOST_MODULES = 430 if sys.version_info < (3, 14) else 436
LATER = ("sam_tools.", "mcp", "litellm", "starlette", "PIL", "pyghostty")
FOR_CALLS = "sam_tools.todo_operations.report"
WATCHED = """
import os, runpy, sys
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_APPEND)
def heard(event, arguments):
    if event == "import":
        os.write(log, arguments[0].encode() + b"\\n")
    if event == "exec" and "__create_fn__" in arguments[0].co_names:
        made = arguments[0].co_consts[0].co_consts
        names = [code.co_name for code in made if hasattr(code, "co_name")]
        os.write(log, b"".join(b"method:%s\\n" % name.encode() for name in names))
sys.addaudithook(heard)
runpy.run_module("sam_tui", run_name="__main__")
"""


@pytest.mark.requirement("ui:first-request")
def test_nothing_is_loaded_before_the_first_request_that_it_does_not_need(tmp_path: Path) -> None:
    log = tmp_path / "modules"
    log.touch()
    before: list[str] = []

    def answer(_: Recorded) -> Reply:
        before.extend(log.read_text().split())
        return Reply(text="said")

    with background([answer]) as server:
        pid, ours = pty.fork()
        if pid == 0:
            os.environ |= {
                "HOME": str(tmp_path),
                "OPENAI_API_KEY": "none",
                "TERM": "xterm-256color",
            }
            os.chdir(tmp_path)
            words = ["--model", "openai/fake", "--api-base", server.base, "hello"]
            os.execv(sys.executable, [sys.executable, "-P", "-c", WATCHED, str(log), *words])
        termios.tcsetwinsize(ours, (40, 120))
        deadline = time.monotonic() + SECONDS
        try:
            while FOR_CALLS not in log.read_text().split():
                assert time.monotonic() < deadline, log.read_text()[-500:]
                if select.select([ours], [], [], 0.1)[0]:
                    os.read(ours, 65536)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(ours)
    assert "importlib.metadata" not in log.read_text().split()  # pydantic would look for plugins
    methods = [name for name in before if name.startswith("method:")]
    assert methods
    if sys.version_info < (3, 13):  # from then on Python compiles those of a class together
        assert set(methods) == {"method:__init__"}
    loaded = [name for name in before[before.index(BEHIND_THE_FRAME) :] if name not in methods]
    assert [name for name in loaded if name.startswith(LATER)] == []
    assert len(set(loaded)) < MOST_MODULES
    assert "httpx" in before
