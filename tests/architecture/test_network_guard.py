"""The suite's own guard: no test leaves the machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GUARD = Path(__file__).parents[1] / "conftest.py"
REACHING_OUT = """
import contextlib
import socket

def test_connecting():
    socket.create_connection(("192.0.2.1", 80), 1)

def test_hiding_it():
    with contextlib.suppress(Exception):
        socket.getaddrinfo("example.com", 80)

def test_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), 1).close()
"""


@pytest.mark.requirement("house:no-network")
def test_reaching_out_is_refused_and_noticed_even_when_hidden(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(GUARD.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_out.py").write_text(REACHING_OUT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1].startswith("1 failed, 2 passed, 2 errors")
    assert "ERROR test_out.py::test_hiding_it" in done.stdout
