"""What every test runs under: an empty home, no keys, a fixed terminal, and no network but loopback."""

import gc
import ipaddress
import itertools
import os
import random
import re
import shutil
import socket
import sys
import tempfile
import traceback
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from sam_tui import signals
from tests.fakes import databases, messages, preloaded, program_server, programs, workers

# A deadline would assert seconds; a random seed would make a failure come and go.
settings.register_profile("suite", deadline=None, derandomize=True, database=None)
settings.load_profile("suite")
# Examples would hold the constants of whatever modules were loaded by then, in whatever order tests run.
_constants = providers.__dict__
_constants["_get_local_constants"] = lambda: _constants["_local_constants"]

FOREIGN = re.compile(
    r"(.*_API_KEY|.*_API_BASE|.*_BASE_URL|.*_TOKEN|(AWS|AZURE|OPENAI|ANTHROPIC|GOOGLE|GEMINI|OLLAMA)_.*"
    r"|(SAM_TUI|LITELLM|GIT)_.*|(HTTPS?|ALL|NO)_PROXY|EDITOR|VISUAL|PAGER|COLUMNS|LINES|TMUX|STY"
    r"|NO_COLOR|FORCE_COLOR|COLORTERM|TEXTUAL.*|PYTHON.*|XDG_.*|LANG(UAGE)?|LC_.*)",
    re.IGNORECASE,
)
"""Variables of the person who runs the tests that would change what is tested."""

FIXED = {
    "TERM": "xterm-256color",
    "LC_CTYPE": "C.UTF-8",  # LC_ALL and LANG would have programs open twelve files more at their start
    "TZ": "UTC",
    "LITELLM_OFFLINE_MODE": "True",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
XDG = {"CONFIG": ".config", "DATA": ".local/share", "STATE": ".local/state", "CACHE": ".cache"}

for _name in [name for name in os.environ if FOREIGN.fullmatch(name)]:
    del os.environ[_name]
os.environ.update(FIXED)
# ``python3`` is this one: where it is a script that finds out which, each call costs ten times as much.
_own = str(Path(sys.executable).resolve().parent)
os.environ["PATH"] = f"{_own}{os.pathsep}{os.environ['PATH']}"
sys.dont_write_bytecode = False  # else each of many processes would compile the program anew
_before_tests = tempfile.mkdtemp(prefix="sam-tui-home-")
_maker = os.getpid()  # workers that are forked share it
os.environ["HOME"] = _before_tests  # for fixtures of a whole module; each test gets its own
LONG = (
    *("terminal_soak/", "architecture/test_workers.py", "terminal/test_typed_log.py"),
    *("sandbox/test_early_kernels.py", "workflow/test_kill.py", "workflow/test_properties.py"),
)
QUICK = (
    *("engine/", "ironmanus/", "memory/", "reminders/", "sessions/"),
    *("storage/", "todos/", "transcript/", "web/"),
)
"""Modules that begin a run because a test in them takes long, and those that end it: a worker has whole
modules, and none shall be left with a long one when the others have nothing to do. Between these, modules
that wait for processes and modules that compute are mixed, so that at any time some worker computes."""

gc.disable()  # what is imported and collected stays: see pytest_collection_finish
preloaded.install()
databases.install()
signals.keep_own()  # as the program does: shells that tests start in this process rely on it


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--shuffle SEED``."""
    about = "run the modules in another order, and the tests of each too; a number or a word"
    parser.addoption("--shuffle", metavar="SEED", help=about)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle modules, and the tests of each: what a module shares is still made once.

    Unshuffled, what takes long comes first, and last what is quick.
    """
    seed = config.getoption("--shuffle")
    if seed is None:
        items.sort(key=_turn)
        return
    modules: dict[Path, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    chance = random.Random(seed)
    order = list(modules.values())
    chance.shuffle(order)
    for tests in order:
        chance.shuffle(tests)
    items[:] = [item for tests in order for item in tests]


def _turn(item: pytest.Item) -> tuple[int, int]:
    module = item.nodeid.partition("::")[0].removeprefix("tests/")
    rank = -1 if module.startswith(LONG) else int(module.startswith(QUICK))
    return rank, zlib.crc32(module.encode())


def pytest_make_parametrize_id(val: object) -> str | None:
    """A short id for a long text: each worker sends the ids of all tests, and sets each as a variable."""
    if isinstance(val, str | bytes) and len(val) > 200:
        return f"{val[:40]!r} and more, {len(val)} in all"
    return None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Have workers forked from one process that has imported the tests."""
    workers.fork_workers(config, specs)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Take what a worker says of a test in one message apart."""
    messages.take_apart(node)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have a worker say what it has to say of a test that passed in one message."""
    if hasattr(session.config, "workerinput"):
        messages.send_together(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker whole modules."""
    if config.getoption("dist") != "loadfile":
        return None
    from tests.fakes.scheduling import ModuleScheduling

    return ModuleScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker sends of a test that passed that it did: its begin, set-up and end say nothing more.

    Each message wakes the process that hands out the tests.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report what passed without its keywords: each report is sent, and nobody reads them."""
    report = yield
    if report.passed:
        report.keywords = {}
    return report


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave the thousands of tests out of every later search for garbage, and search less often.

    A worker does not search: that would copy all that it shares with the process it was forked from. Nor
    does that, which has no test of its own and searches once the program is imported.
    """
    _moment["collecting"] = False
    if session.items and not hasattr(session.config, "workerinput"):
        gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs commands to be confined in a way that this machine does not offer."""
    for mark in item.iter_markers("confined"):
        if not any(programs.confines(kind) for kind in mark.args):
            pytest.skip(f"no command can be confined here by {' or '.join(mark.args)}")


def pytest_unconfigure() -> None:
    """Remove the home folder of this process, and end what was made ready."""
    preloaded.close()
    if os.getpid() == _maker:
        shutil.rmtree(_before_tests, ignore_errors=True)


class NetworkBlocked(AssertionError):
    """A test tried to reach something that is not this machine."""


_attempts: list[str] = []
_STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system")
_LEAVING = ("socket.getaddrinfo", "socket.connect", "socket.sendto")
_HEARD = frozenset((*_STARTS, *_LEAVING))
_starts: list[str] = []
_moment = {"collecting": True}


def _guard(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse every look-up and connection that would leave the machine; see what tests start too early."""
    if event not in _HEARD or program_server.is_forked():
        return  # most events by far are others
    if event in _STARTS and _moment["collecting"]:
        _starts.append("".join(traceback.format_stack(limit=30)))
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        if not isinstance(address, tuple) or not address:
            return  # a Unix socket
        host = address[0]  # pyright: ignore[reportUnknownVariableType] # audit arguments are untyped
    else:
        return
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "localhost")  # pyright: ignore[reportUnknownArgumentType]
    if _is_local(name):
        return
    if name.rstrip(".").endswith(".invalid"):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")  # RFC 6761, 6.4
    _attempts.append(f"{event} {name}")
    raise NetworkBlocked(f"{event} to {name}: tests reach nothing but loopback")


def _is_local(name: str) -> bool:
    if name in ("localhost", "localhost.", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


sys.addaudithook(_guard)


@pytest.fixture(autouse=True)
def network() -> Iterator[None]:
    """Fail the test whose code tried to leave the machine, even where that code hid the refusal."""
    _attempts.clear()
    yield
    assert not _attempts, f"left the machine: {_attempts}"


@pytest.fixture
def starts_at_collection() -> list[str]:
    """Where processes were started while tests were imported and collected."""
    return _starts


_numbers = itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, as pytest's own; that looks through the folders of all tests before it."""
    name = re.sub(r"\W", "_", request.node.name)[:30]  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(_numbers)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder of this test's own; settings, data, state and caches lie inside it."""
    folder = Path(_before_tests, f"{os.getpid()}-{next(_numbers)}")  # processes that fork share it
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(folder))
    for name, place in XDG.items():
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / place))
    return folder
