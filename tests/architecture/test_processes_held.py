"""Whatever starts a process goes through the sandbox, or stands in a short list that says why not."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.sources import names

ROOT = Path(__file__).parents[2]
PACKAGES = ("sam_tui", "tools/sam_tools", "reminders/sam_reminders")
STARTERS = {
    "subprocess.Popen", "subprocess.run", "subprocess.call", "subprocess.check_call",
    "subprocess.check_output", "subprocess.getoutput", "subprocess.getstatusoutput",
    "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell",
    "os.system", "os.popen", "os.fork", "os.forkpty", "os.startfile", "os.posix_spawn",
    "os.posix_spawnp", "os.execv", "os.execve", "os.execvp", "os.execvpe", "os.execl", "os.execle",
    "os.execlp", "os.execlpe", "os.spawnv", "os.spawnve", "os.spawnvp", "os.spawnl", "os.spawnlp",
    "pty.spawn", "pty.fork", "multiprocessing.Process", "multiprocessing.Pool",
    "concurrent.futures.ProcessPoolExecutor", "webbrowser.open", "runpy.run_path",
}  # fmt: skip
METHODS = {"subprocess_exec", "subprocess_shell"}
"""Of an event loop."""
MODULES = {
    "ptyprocess",
    "pexpect",
    "pty",
    "multiprocessing",
    "multiprocessing.pool",
    "webbrowser",
    "mcp.client.stdio",
}
"""Starting processes is what they are for."""
NAMES = {"stdio_client", "StdioServerParameters"}

HELD = {
    "sam_tui/adapters/fleet/crew.py": "starts this program itself",
    "sam_tui/adapters/fleet/headless.py": "starts this program itself, whose commands are held",
    "sam_tui/adapters/fleet/workspaces.py": "git without hooks, filters or settings of the machine",
    "sam_tui/adapters/terminal/processes/launch.py": "starts every command, held as it is told",
    "sam_tui/adapters/terminal/pty/pty.py": "starts every terminal, held as it is told",
    "sam_tui/adapters/terminal/commands/shell.py": "waits for what launch.py started",
    "sam_tui/adapters/terminal/holders/process.py": "confines itself before it becomes the shell",
    "sam_tui/adapters/terminal/rehearsal/rehearsal.py": "tries whether a branch can be mounted: /bin/true",
    "sam_tui/adapters/terminal/sandbox/strict.py": "tries whether bubblewrap works: true",
    "sam_tui/adapters/terminal/rehearsal/branch.py": "confines itself before it becomes the command",
    "sam_tui/adapters/terminal/sandbox/command_parent.py": "starts every command that nobody else watches",
    "sam_tui/adapters/terminal/sandbox/detached.py": "starts parts of this program itself",
    "sam_tui/adapters/terminal/sandbox/kernel/control_groups.py": "a process that waits, to try a group",
    "sam_tui/adapters/terminal/sandbox/kernel/network_namespace.py": "starts this program itself",
    "sam_tui/adapters/bundles/git.py": "git at the person's word; fetches objects, checks nothing out",
    "sam_tui/adapters/checkpoints/git.py": "git, whose settings there run nothing",
    "sam_tui/adapters/search/run.py": "ripgrep of our own wheel, which runs nothing else",
    "sam_tui/adapters/worktrees.py": "git without hooks; repositories that name programs are refused",
    "sam_tui/cli/commands/mcp_servers.py": "the person's own browser, for a login they asked for",
    "sam_tui/web_server/workbenches.py": "starts this program itself, whose commands are held",
    "sam_tui/ui/programs.py": "the person's own editor, pager and browser, at their key; what they set",
}
"""Every module that may start processes, and why that is no way around the sandbox."""


def starts(source: str) -> Iterator[str]:
    """What a module starts processes with, as ``line: name``."""
    tree = ast.parse(source)
    aliases = dict(_aliases(tree))
    for node in ast.walk(tree):
        for name in _used(node, aliases):
            if name in STARTERS or name.rpartition(".")[2] in METHODS | NAMES:
                yield f"{getattr(node, 'lineno', 0)}: {name}"
            elif name in MODULES and isinstance(node, ast.Import | ast.ImportFrom):
                yield f"{node.lineno}: {name}"


def _aliases(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What names of the module stand for, as imports give them."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((n.asname or n.name.partition(".")[0], (n.asname and n.name) or "")
                            for n in names if n.asname)  # fmt: skip
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((n.asname or n.name, f"{module}.{n.name}") for n in names)
            case _:
                pass


def _used(node: ast.AST, aliases: dict[str, str]) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (name.name for name in names)
        case ast.ImportFrom(module=str(module), names=names):
            yield module
            yield from (f"{module}.{name.name}" for name in names)
        case ast.Attribute() | ast.Name():
            yield _dotted(node, aliases)
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]):
            yield f"{_dotted(owner, aliases)}.{name}"
        case _:
            pass


def _dotted(node: ast.AST, aliases: dict[str, str]) -> str:
    match node:
        case ast.Name(id=name):
            return aliases.get(name, name)
        case ast.Attribute(value=owner, attr=name):
            return f"{_dotted(owner, aliases)}.{name}"
        case _:
            return "?"


@pytest.mark.requirement("house:processes-held")
def test_no_module_starts_a_process_around_the_sandbox() -> None:
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    assert len(files) > 100
    looked_for = STARTERS | METHODS | MODULES | NAMES
    found = {
        name: lines
        for file in files
        if any(names(file).issuperset(name.split(".")) for name in looked_for)
        and (lines := list(starts(file.read_text(encoding="utf-8"))))
        and not (name := str(file.relative_to(ROOT))).startswith("sam_tui/demo/sample/")
    }
    assert {name: lines for name, lines in found.items() if name not in HELD} == {}
    assert set(HELD) - set(found) <= {"sam_tui/adapters/terminal/commands/shell.py"}, (
        "no longer needed"
    )


@pytest.mark.requirement("house:processes-held")
@pytest.mark.parametrize(
    "source",
    [
        "import subprocess\nsubprocess.run(['ls'])",
        "import subprocess as s\ns.Popen('ls')",
        "from subprocess import run as go\ngo('ls')",
        "import asyncio\nasyncio.create_subprocess_shell('ls')",
        "from asyncio import create_subprocess_exec",
        "async def f(loop): await loop.subprocess_exec(None, 'ls')",
        "import os\nos.system('ls')",
        "import os as o\no.posix_spawn('/bin/ls', [], {})",
        "import os\ngetattr(os, 'system')('ls')",
        "import pty\npty.spawn('sh')",
        "import ptyprocess",
        "from mcp.client.stdio import stdio_client",
        "from mcp import StdioServerParameters",
        "from concurrent.futures import ProcessPoolExecutor",
        "import multiprocessing.pool",
    ],
)
def test_a_planted_way_around_the_sandbox_is_seen(source: str) -> None:
    assert list(starts(source))
