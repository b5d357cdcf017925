"""Tools and reminders touch files, processes and the network through ports; read from their source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.sources import names

ROOT = Path(__file__).parents[2]
PACKAGES = ("tools/sam_tools", "reminders/sam_reminders")
BANNED_MODULES = {
    "os", "io", "shutil", "subprocess", "tempfile", "socket", "pty", "mmap", "glob", "fileinput",
    "multiprocessing", "ctypes", "sqlite3", "ftplib", "http", "urllib.request", "importlib",
    "runpy", "pkgutil", "zipfile", "tarfile", "signal", "resource", "builtins", "posix", "nt", "_io",
    "linecache", "webbrowser", "code", "pdb", "httpx", "urllib3", "requests", "aiohttp", "ssl", "select",
    "selectors", "socketserver", "telnetlib", "smtplib", "ptyprocess", "dbm", "shelve", "mailbox",
    "gzip", "bz2", "lzma", "logging.handlers", "logging.config", "concurrent.futures.process",
    "asyncio.subprocess", "cffi", "pickle", "marshal",
}  # fmt: skip
BANNED_NAMES = {
    "pathlib.Path", "pathlib.PosixPath", "codecs.open", "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell", "asyncio.open_connection", "asyncio.start_server",
    "asyncio.subprocess", "asyncio.open_unix_connection", "asyncio.start_unix_server",
    "concurrent.futures.ProcessPoolExecutor", "logging.FileHandler", "tokenize.open", "sys.modules",
    "sys.meta_path", "sys.path",
}  # fmt: skip
BANNED_BUILTINS = {
    "open", "exec", "eval", "compile", "__import__", "breakpoint", "input", "__builtins__", "__loader__",
}  # fmt: skip
BANNED_ATTRIBUTES = {
    "subprocess_exec", "subprocess_shell", "create_connection", "create_server", "run_in_executor",
    "sock_connect", "__globals__", "__builtins__", "__subclasses__", "__loader__", "__import__",
    "__code__", "__getattribute__", "read_text", "read_bytes", "write_text", "write_bytes", "unlink",
    "rmdir", "symlink_to", "hardlink_to", "iterdir", "rglob",
}  # fmt: skip
"""What leads around the ports on whatever object it stands."""
BANNED = BANNED_MODULES | BANNED_NAMES | BANNED_BUILTINS | BANNED_ATTRIBUTES
OWNERS = ("pathlib", "asyncio", "codecs", "sys", "logging", "tokenize", "concurrent.futures")


def breaches(source: str) -> Iterator[str]:
    """What a module uses that it may not, as ``line: name``."""
    for node in ast.walk(ast.parse(source)):
        for name in used(node):
            top = name.partition(".")[0]
            banned = BANNED_NAMES | BANNED_BUILTINS | BANNED_ATTRIBUTES
            if name in banned or {name, top} & BANNED_MODULES:
                yield f"{getattr(node, 'lineno', 0)}: {name}"


def used(node: ast.AST) -> Iterator[str]:
    """Dotted names that a node imports, reads or calls."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names):
            yield module
            yield from (f"{module}.{alias.name}" for alias in names)
        case ast.Attribute(attr=attribute) if attribute in BANNED_ATTRIBUTES:
            yield attribute
        case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if owner in OWNERS:
            yield f"{owner}.{attribute}"
        case ast.Name(id=name, ctx=ast.Load()) if name in BANNED_BUILTINS:
            yield name
        case _:
            pass


@pytest.mark.requirement("house:ports-only")
def test_tools_and_reminders_open_no_file_and_start_no_process() -> None:
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    assert len(files) > 10
    found = {
        str(file.relative_to(ROOT)): lines
        for file in files
        if any(names(file).issuperset(name.split(".")) for name in BANNED)
        and (lines := list(breaches(file.read_text(encoding="utf-8"))))
    }
    assert found == {}


@pytest.mark.requirement("house:ports-only")
@pytest.mark.parametrize(
    "source",
    [
        "open('x')",
        "import os.path",
        "from os import scandir",
        "import subprocess as s",
        "from pathlib import Path",
        "import pathlib\npathlib.Path('x').read_text()",
        "import asyncio\nasyncio.create_subprocess_shell('ls')",
        "__import__('os')",
        "from urllib.request import urlopen",
        "from builtins import open as read",
        "f = open\nf('x')",
        "list(map(open, names))",
        "import sys\nsys.modules['os'].remove('x')",
        "__builtins__['open']('x')",
        "loop.subprocess_shell(make, 'ls')",
        "from asyncio import subprocess",
        "from asyncio.subprocess import PIPE",
        "print.__self__.__dict__; f.__globals__['os']",
        "().__class__.__base__.__subclasses__()",
        "from concurrent.futures import ProcessPoolExecutor",
        "import logging\nlogging.FileHandler('x')",
        "where.write_text('x')",
        "import httpx",
        "import pickle",
    ],
)
def test_a_way_around_the_ports_is_seen(source: str) -> None:
    assert list(breaches(source))
