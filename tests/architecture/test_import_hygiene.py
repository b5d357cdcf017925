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
    runtime.release()
"""
REMINDED = """
import tempfile
from sam_tui.assembly import Options, build
with tempfile.TemporaryDirectory() as folder:
    runtime = build(Options(folder, folder + "/data"), {"HOME": folder, "SAM_TUI_CONFIG_DIR": folder})
    assert "read_skill" not in runtime.registry.names
    assert runtime.executor.hooks() is None
    runtime.engine.requests.reminders(runtime.open_session()._history, new_message=True)
    runtime.release()
"""
WITHOUT_FILES = "a runtime without files of a person or project"


@dataclass(frozen=True)
class Entry:
    """A way in: code to run, packages that must stay out, and how many modules it may load."""

    code: str
    absent: frozenset[str]
    most: int


def run(*arguments: str) -> str:
    """Code that runs the program with these arguments."""
    return RUN.format(arguments=list(arguments))


# The limits leave room of some percent: Python's own versions differ by as much. What an interpreter loads
# before any code runs does not count: a .pth file of another package may add to it.
NEWER = {11: 0, 12: 1, 13: 6}.get(sys.version_info.minor, 12)
"""How many modules more the standard library itself loads from there on."""
ENTRIES = {
    "the package root": Entry("import sam_tui", OUTSIDE | {"asyncio", "pydantic", "typing"}, 13),
    "the whole core": Entry(SUBMODULES + "load('sam_tui.core')", OUTSIDE, 448),
    "all tools": Entry(SUBMODULES + "load('sam_tools')", OUTSIDE, 528),
    "all reminders": Entry(SUBMODULES + "load('sam_reminders')", OUTSIDE, 188),
    "a runtime that nobody asked anything": Entry(
        BUILT, OUTSIDE - {"sqlite3", "platformdirs"} | {"pydantic", "pydantic_core", "email"}, 358
    ),
    WITHOUT_FILES: Entry(REMINDED, OUTSIDE - {"sqlite3", "platformdirs"}, 362),
    "the screen": Entry(
        "import sam_tui.ui.app",
        OUTSIDE - {"textual", "rich", "platformdirs"}
        | {"sam_tui.core.events", "sam_tui.core.inquiry", "sam_tui.core.messages"},
        470,
    ),
    "a headless run": Entry("import sam_tui.headless.run", OUTSIDE | {"pydantic"}, 252),
    "all of headless": Entry(SUBMODULES + "load('sam_tui.headless')", OUTSIDE, 277),
    "--version": Entry(run("--version"), OUTSIDE | {"asyncio", "pydantic"}, 28),
    "--help": Entry(run("--help"), OUTSIDE - {"click"}, 360),
    "the scripted model": Entry("import sam_tui.adapters.llm.scripted", OUTSIDE, 278),
    "the direct model": Entry("import sam_tui.adapters.llm.direct", OUTSIDE - {"httpx"}, 168),
    "the litellm adapter": Entry("import sam_tui.adapters.llm.litellm_model", OUTSIDE, 168),
    "the terminal": Entry("import sam_tui.adapters.terminal", OUTSIDE - {"ptyprocess"}, 18),
    "the MCP command before it serves": Entry(
        run("mcp", "serve", "--help"), OUTSIDE - {"click", "platformdirs"}, 258
    ),
    "the ACP command before it serves": Entry(
        run("acp", "--help"), OUTSIDE - {"click", "platformdirs"}, 258
    ),
    "the storage": Entry("import sam_tui.adapters.storage", OUTSIDE - {"sqlite3"}, 138),
}


FORKS = """
import os, sys
for step in sys.stdin.read().split("\\0"):
    name, code = step.split("\\n", 1)
    if not name:
        exec(code)
    elif os.fork() == 0:
        for number, end in ((1, "out"), (2, "loaded")):
            os.dup2(os.open(f"{sys.argv[1]}/{name}.{end}", os.O_WRONLY | os.O_CREAT), number)
        exec(code, {"__name__": "__main__"})
        sys.stderr.flush()
        os._exit(0)
    elif os.wait()[1]:
        sys.exit(f"{name} failed")
"""
COMMON = {
    "import dataclasses, inspect, json, logging": (
        "the storage", "the direct model", "the litellm adapter", "all reminders",
        "the MCP command before it serves", "the ACP command before it serves",
    ),
    "import asyncio, pathlib, ssl": (
        "a runtime that nobody asked anything", WITHOUT_FILES, "the screen", "a headless run",
        "all of headless", "--help", "the scripted model",
    ),
    "import sam_tui.core.services, sam_tui.core.workflow.service": ("the whole core", "all tools"),
}  # fmt: skip
"""What several entries load, and those; each begins after the lines above it. More than an entry loads
would count as its own."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, frozenset[str]]:
    """Names in sys.modules after the code of each entry ran, each in a fork of one fresh interpreter.

    ``bare`` is what the interpreter loads that is told to do nothing.
    """
    late = {name for names in COMMON.values() for name in names}
    steps = [("bare", "")] + [(name, e.code) for name, e in ENTRIES.items() if name not in late]
    for imports, names in COMMON.items():
        steps += [("", imports), *((name, ENTRIES[name].code) for name in names)]
    folder = tmp_path_factory.mktemp("loaded")
    done = subprocess.run(
        [sys.executable, "-P", "-c", FORKS, str(folder)],
        input="\0".join(f"{name}\n{code}{REPORT if name else ''}" for name, code in steps),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = {file.stem: file.read_text("utf-8") for file in folder.glob("*.loaded")}
    assert done.returncode == 0, (done.stderr, said.get(done.stderr.partition(" failed")[0]))
    assert set(said) == {"bare", *ENTRIES}
    return {name: frozenset(json.loads(text.splitlines()[-1])) for name, text in said.items()}


@pytest.mark.requirement("house:imports-stay-out")
@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_loads_no_more_than_it_needs(name: str, loaded: dict[str, frozenset[str]]) -> None:
    entry, modules = ENTRIES[name], loaded[name]
    assert sorted(({module.partition(".")[0] for module in modules} | modules) & entry.absent) == []
    assert len(modules - loaded["bare"]) <= entry.most + NEWER


@pytest.mark.requirement("house:imports-stay-out")
def test_the_package_root_loads_nothing_at_all(loaded: dict[str, frozenset[str]]) -> None:
    assert loaded["the package root"] - loaded["bare"] == {"sam_tui"}


@pytest.mark.requirement("skills:free")
def test_without_skills_nothing_speaks_of_them(loaded: dict[str, frozenset[str]]) -> None:
    modules = {name for name in loaded[WITHOUT_FILES] if "skills" in name}
    assert modules == {"sam_tui.core.prompt.skills"}


@pytest.mark.requirement("hooks:free")
def test_without_hooks_nothing_of_them_is_loaded(loaded: dict[str, frozenset[str]]) -> None:
    assert {name for name in loaded[WITHOUT_FILES] if "hook" in name} == set()


@pytest.mark.requirement("instructions:free")
def test_without_files_nothing_reads_them(loaded: dict[str, frozenset[str]]) -> None:
    assert {name for name in loaded[WITHOUT_FILES] if "adapters.instructions" in name} == set()
