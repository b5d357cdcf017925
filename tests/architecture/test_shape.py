"""Size and form of the source: what keeps a module readable, checked for every file."""

import ast
import functools
import inspect
import json
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from tests.fakes.sources import compiled

ROOT = Path(__file__).parents[2]
PACKAGES = ("sam_tui", "tools/sam_tools", "reminders/sam_reminders")
LIMIT = 400
"""Lines of a module, tests included."""

TABLES = {"tests/requirements.py"}
"""Data of one line a row, with nothing to read from top to bottom."""

STATEMENTS = 40
SAMPLE = ROOT / "sam_tui" / "demo" / "sample"
"""The project that the demo works on; not code of this one."""

GERUNDS = {
    "embedding", "folding", "input_encoding", "line_drawing", "nesting", "ring", "sampling",
}  # fmt: skip
"""Modules that end so and are the field's own nouns."""
VAGUE = {"utils", "util", "helpers", "helper", "manager", "managers", "base", "common", "misc"}
UNFINISHED = re.compile(r"#[^\"']*\b(TODO|FIXME|XXX|HACK)\b|\braise NotImplementedError")
WORDS = ("TODO", "FIXME", "XXX", "HACK", "NotImplementedError")
"""A module with none of these needs no look at each line."""


def modules(*folders: str) -> list[Path]:
    """Every module below the folders, in a fixed order."""
    found = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    return sorted(file for file in found if SAMPLE not in file.parents)


def shown(file: Path) -> str:
    """The path that a failure names."""
    return str(file.relative_to(ROOT))


def statements(body: list[ast.stmt]) -> int:
    """Statements in a body with all that is nested in it, its docstring not counted."""
    return sum(isinstance(node, ast.stmt) for stmt in body for node in ast.walk(stmt))


def is_long(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function has more statements than the limit; ruff sees to it that a line has one."""
    lines = (function.end_lineno or 0) - function.lineno
    limit = STATEMENTS + bool(ast.get_docstring(function))
    return lines > STATEMENTS and statements(function.body) > limit


def longest(code: types.CodeType) -> int:
    """Lines of the longest function of a module, from its first line to the last that does something."""
    inner = [longest(part) for part in code.co_consts if isinstance(part, types.CodeType)]
    lines = [line for _, _, line in code.co_lines() if line]
    is_function = code.co_flags & inspect.CO_OPTIMIZED  # and no class or module
    own = max(lines, default=0) - code.co_firstlineno if is_function else 0
    return max((own, *inner))


@functools.cache
def syntax() -> tuple[list[str], list[str]]:
    """Modules without a docstring, and functions that are too long.

    Python has compiled the modules already: those with no function of so many lines are not parsed.
    """
    silent: list[str] = []
    long: list[str] = []
    for file in modules(*PACKAGES):
        code = compiled(file)
        if "__doc__" not in code.co_names or not str(code.co_consts[0]).strip():
            silent.append(shown(file))
        if longest(code) < STATEMENTS:
            continue
        long += [
            f"{shown(file)}:{node.lineno} {node.name}"
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_long(node)
        ]
    return silent, long


@pytest.mark.requirement("house:module-size")
def test_no_module_is_longer_than_the_limit() -> None:
    folders = (*PACKAGES, "tests", "bench", "screenshots", "scripts")
    lengths = {
        shown(file): len(file.read_text(encoding="utf-8").splitlines())
        for file in modules(*folders)
    }
    assert len(lengths) > 100
    long = {name: length for name, length in lengths.items() if length > LIMIT}
    assert {name: length for name, length in long.items() if name not in TABLES} == {}


@pytest.mark.requirement("house:module-sentence")
def test_every_module_opens_with_a_docstring() -> None:
    assert syntax()[0] == []


@pytest.mark.requirement("house:function-size")
def test_no_function_has_more_statements_than_the_limit() -> None:
    assert syntax()[1] == []


@pytest.mark.requirement("house:nothing-unfinished")
def test_nothing_is_left_for_later() -> None:
    unfinished = [
        f"{shown(file)}:{number}"
        for file in modules(*PACKAGES, "bench", "scripts", "screenshots")
        if any(word in (source := file.read_text(encoding="utf-8")) for word in WORDS)
        for number, line in enumerate(source.splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    assert unfinished == []


@pytest.mark.requirement("house:nouns")
def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = [shown(file) for file in modules(*PACKAGES) if VAGUE & {file.stem, *file.parts[-2:-1]}]
    assert vague == []
    named = {file.stem for file in modules(*PACKAGES)}
    assert {name for name in named if name.endswith("ing")} == GERUNDS


PLANTED = {
    "PLR0916": "def f(a):\n    if a and a and a and a and a and a:\n        pass\n",
    "PLR1702": "def f(a):\n"
    + "".join(f"{'    ' * n}if a:\n" for n in range(1, 7))
    + " " * 28
    + "a()\n",
    "TID251": "import asyncio\n\n\ndef f(work):\n    return asyncio.create_task(work)\n",
}
"""For each rule of the linter that holds a goal of ours, a function that breaks it."""


@pytest.mark.requirement("house:branches")
@pytest.mark.parametrize("code", PLANTED)
def test_the_linter_refuses_a_planted_violation(code: str) -> None:
    source = f'"""A module."""\n\n{PLANTED[code]}'
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "json"]
    outcome = subprocess.run(
        [*command, "--stdin-filename", str(ROOT / "sam_tui/planted.py"), "-"],
        input=source, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    codes = {row["code"] for row in json.loads(outcome.stdout)}
    assert (outcome.returncode, codes & set(PLANTED)) == (1, {code})


@pytest.mark.requirement("house:packages-are-packages")
def test_every_folder_with_modules_is_a_package() -> None:
    folders = {file.parent for file in modules(*PACKAGES)}
    tops = {ROOT / package for package in PACKAGES}
    folders |= {
        parent for folder in folders for parent in folder.parents if tops & set(parent.parents)
    }
    assert [
        shown(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()
    ] == []


@pytest.mark.requirement("house:typed")
def test_every_package_says_that_it_is_typed() -> None:
    assert [package for package in PACKAGES if not (ROOT / package / "py.typed").exists()] == []


@pytest.mark.requirement("house:locked")
def test_the_locked_versions_name_no_place_and_have_hashes() -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    pinned = [entry for entry in entries if re.match(r"[a-z0-9]", entry)]
    assert len(pinned) > 50
    assert [entry for entry in pinned if "==" not in entry or "--hash=sha256:" not in entry] == []
    assert re.findall(r"https?:|file:|index-url|find-links|^-", text, re.MULTILINE) == []


@pytest.mark.requirement("house:placeholders")
def test_no_statement_binds_numbered_placeholders_by_position() -> None:
    numbered = re.compile(r"(?:[=(,]|\b(?:LIKE|MATCH|LIMIT)) *\?[1-9]\b")
    assert numbered.search("WHERE conversation = ?1") and not numbered.search("\\x1b[?1l")
    stores = [file for file in modules("sam_tui/adapters") if "terminal" not in file.parts]
    bound = [shown(file) for file in stores if numbered.search(file.read_text(encoding="utf-8"))]
    assert bound == []
