"""Where the suite's own workers come from."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.preloaded import SCRIPT, starting_anew

ROOT = Path(__file__).parents[2]
CONFTEST = """
import pytest, sys
sys.path.append({root!r})
from tests.fakes import messages, workers

@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config, specs):
    workers.fork_workers(config, specs)

@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    messages.take_apart(node)

def pytest_sessionstart(session):
    if hasattr(session.config, "workerinput"):
        messages.send_together(session.config)
"""
TESTS = """
import os, pathlib, pytest, sys, threading
IMPORTED_BY = os.getpid()

def note(name):
    with open(pathlib.Path(__file__).with_name(name), "a") as notes:
        notes.write(f"{os.getpid()}\\n")

note("imports")

def pytest_generate_tests(metafunc):
    note(metafunc.function.__name__)

@pytest.mark.parametrize("number", range(4))
def test_in_a_worker(number):
    assert (os.getpid() == IMPORTED_BY) is STARTED
    assert os.read(0, 1) == b"" and sys.stdout.encoding == "utf-8"

def test_that_kills_its_worker():
    os._exit(7)
"""
ALONE = "STARTED = False"
WITH_A_THREAD = """
STARTED = True
threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
STATE = """
import gc, json, os, signal, sqlite3, subprocess, sys, threading, warnings
FD = "/proc/self/fd/"  # libffi holds its own file open once it called back
print(json.dumps({
    "arguments": sys.argv, "path": sys.path, "safe": sys.flags.safe_path, "umask": os.umask(0),
    "places": [subprocess.Popen.__module__, sqlite3.connect.__module__, threading.active_count()],
    "signals": [str(signal.getsignal(n)) for n in sorted(signal.valid_signals())],
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    "collected": [gc.isenabled(), gc.get_threshold()],
    "finders": [text for text in map(str, sys.meta_path) if "pytest" in text],
    "filters": [text for text in map(str, warnings.filters) if "aiohttp" not in text],
    "descriptors": sum("libffi" not in os.path.realpath(FD + n) for n in os.listdir(FD)),
    "environment": dict(os.environ), "folder": os.getcwd(),
}))
"""


@pytest.mark.requirement("house:collected")
def test_nothing_is_started_while_tests_are_imported_and_collected(
    starts_at_collection: list[str],
) -> None:
    assert not starts_at_collection


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked here")
@pytest.mark.requirement("house:collected")
@pytest.mark.parametrize(("module", "imports"), [(ALONE, 1), (WITH_A_THREAD, 4)])
def test_workers_are_forked_with_their_tests_where_they_can_be_and_one_that_dies_is_replaced(
    tmp_path: Path, module: str, imports: int
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.format(root=str(ROOT)), "utf-8")
    (tmp_path / "test_them.py").write_text(TESTS + module, "utf-8")
    words = ("-m", "pytest", "-q", "-n", "2", "-p", "xdist.plugin", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, *words, "--rootdir", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 4 passed" in done.stdout.splitlines()[-1], done.stdout + done.stderr
    assert "crashed while running 'test_them.py::test_that_kills_its_worker'" in done.stdout
    assert ("a worker of the tests ended with 7" in done.stderr) is (module == ALONE)
    for name in ("imports", "test_in_a_worker"):
        assert len((tmp_path / name).read_text("utf-8").split()) == imports


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked here")
@pytest.mark.requirement("house:forked")
def test_what_tests_start_of_the_program_has_nothing_of_what_they_changed(tmp_path: Path) -> None:
    def state(*start: str) -> Any:
        words = [*start, STATE, "a", "b"]
        output = subprocess.check_output(words, cwd=tmp_path, env=dict(os.environ), text=True)
        return json.loads(output)

    forked = state(*SCRIPT)
    with starting_anew():
        assert forked == state(sys.executable, "-P", "-c")
