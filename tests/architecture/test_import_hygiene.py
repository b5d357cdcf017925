"""What each way into the program loads, seen from a process of its own: start-up stays small."""

import json
import subprocess
import sys
from dataclasses import dataclass

import pytest

OUTSIDE = frozenset(
    {
        "textual", "rich", "litellm", "openai", "acp", "mcp", "mcp_types", "uvicorn", "httpx", "httpx2",
        "sqlite3", "pyghostty", "ptyprocess", "click", "platformdirs", "aiohttp", "requests",
        "hypothesis", "pytest",
    }
)  # fmt: skip
"""What the core never needs, and what nothing needs before it is used."""

SUBMODULES = """
import importlib, pkgutil
def load(package):
    module = importlib.import_module(package)
    for found in pkgutil.walk_packages(module.__path__, package + "."):
        importlib.import_module(found.name)
"""
RUN = """
import runpy, sys
sys.argv = ["sam-tui", *{arguments!r}]
try:
    runpy.run_module("sam_tui", run_name="__main__", alter_sys=True)
except SystemExit as end:
    assert not end.code, end.code
"""
REPORT = """
import sys
names = sorted(sys.modules)
import json
sys.stdout.flush()
sys.stderr.write("\\n" + json.dumps(names))
"""

BUILT = """
import tempfile
from sam_tui.assembly import Options, build
with tempfile.TemporaryDirectory() as folder:
    options = Options(folder, folder + "/data", model="openai/any", api_base="http://127.0.0.1:9/v1")
    runtime = build(options, {"HOME": folder})
    runtime.open_session()
    runtime.parts.close()
"""


@dataclass(frozen=True)
class Entry:
    """A way in: code to run, packages that must stay out, and how many modules may be loaded."""

    code: str
    absent: frozenset[str]
    most: int


def run(*arguments: str) -> str:
    """Code that runs the program with these arguments."""
    return RUN.format(arguments=list(arguments))


# The limits leave room of some percent: Python's own versions differ by as much.
NEWER = 6 if sys.version_info >= (3, 13) else 0
"""How many modules more the standard library itself loads from there on."""
ENTRIES = {
    "the package root": Entry("import sam_tui", OUTSIDE | {"asyncio", "pydantic", "typing"}, 45),
    "the whole core": Entry(SUBMODULES + "load('sam_tui.core')", OUTSIDE, 480),
    "all tools": Entry(SUBMODULES + "load('sam_tools')", OUTSIDE, 560),
    "all reminders": Entry(SUBMODULES + "load('sam_reminders')", OUTSIDE, 220),
    "a runtime that nobody asked anything": Entry(
        BUILT, OUTSIDE - {"sqlite3", "platformdirs"} | {"pydantic", "pydantic_core", "email"}, 390
    ),
    "the screen": Entry(
        "import sam_tui.ui.app",
        OUTSIDE - {"textual", "rich", "platformdirs"}
        | {"sam_tui.core.events", "sam_tui.core.inquiry", "sam_tui.core.messages"},
        500,
    ),
    "a headless run": Entry("import sam_tui.headless.run", OUTSIDE | {"pydantic"}, 281),
    "all of headless": Entry(SUBMODULES + "load('sam_tui.headless')", OUTSIDE, 305),
    "--version": Entry(run("--version"), OUTSIDE | {"asyncio", "pydantic"}, 60),
    "--help": Entry(run("--help"), OUTSIDE - {"click"}, 475),
    "the scripted model": Entry("import sam_tui.adapters.llm.scripted", OUTSIDE, 310),
    "the direct model": Entry("import sam_tui.adapters.llm.direct", OUTSIDE - {"httpx"}, 200),
    "the litellm adapter": Entry("import sam_tui.adapters.llm.litellm_model", OUTSIDE, 200),
    "the terminal": Entry("import sam_tui.adapters.terminal", OUTSIDE - {"ptyprocess"}, 50),
    "the MCP command before it serves": Entry(
        run("mcp", "serve", "--help"), OUTSIDE - {"click", "platformdirs"}, 490
    ),
    "the ACP command before it serves": Entry(
        run("acp", "--help"), OUTSIDE - {"click", "platformdirs"}, 490
    ),
    "the storage": Entry("import sam_tui.adapters.storage", OUTSIDE - {"sqlite3"}, 170),
}


def loaded(code: str) -> frozenset[str]:
    """Names in sys.modules after the code ran in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code + REPORT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return frozenset(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.requirement("house:imports-stay-out")
@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_loads_no_more_than_it_needs(name: str) -> None:
    entry = ENTRIES[name]
    modules = loaded(entry.code)
    assert sorted(({module.partition(".")[0] for module in modules} | modules) & entry.absent) == []
    assert len(modules) <= entry.most + NEWER


@pytest.mark.requirement("house:imports-stay-out")
def test_the_package_root_loads_nothing_at_all() -> None:
    assert loaded("import sam_tui") - loaded("pass") == {"sam_tui"}
