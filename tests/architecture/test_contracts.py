"""Each import contract fails when somebody breaks it: one planted import per rule, in a copy.

The copy is looked at once as it stands. For the planted imports its modules are emptied, and those deep
in it that neither names are left out: what is broken then, the planted import breaks alone, and a look
takes a fifth of the time.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

Broken = Callable[[], set[str]]

ROOT = Path(__file__).parents[2]
PACKAGES = ("sam_tui", "tools/sam_tools", "reminders/sam_reminders")
RULES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]
CONTRACTS = {contract["id"]: contract["name"] for contract in RULES}


@dataclass(frozen=True)
class Violation:
    """Lines to add to modules (made where they do not exist), and the contracts they break."""

    added: Mapping[str, str]
    broken: frozenset[str]


def violation(broken: str, **added: str) -> Violation:
    """``broken`` lists contract ids; keywords name files with ``__`` for a slash, without ``.py``."""
    files = {name.replace("__", "/") + ".py": text for name, text in added.items()}
    return Violation(files, frozenset(broken.split()))


VIOLATIONS: dict[str, Violation] = {
    "a front end imports another": violation(
        "leaves",
        sam_tui__headless__planted="import sam_tui.ui.planted",
        sam_tui__ui__planted="",
    ),
    "a tool imports an adapter": violation(
        "leaves", tools__sam_tools__planted="import sam_tui.adapters.files"
    ),
    "a reminder imports a tool": violation(
        "leaves", reminders__sam_reminders__planted="import sam_tools.turn_control"
    ),
    "an adapter imports the command line": violation(
        "leaves", sam_tui__adapters__files__planted="import sam_tui.cli"
    ),
    "the core imports a leaf inside a function": violation(
        "leaves",
        sam_tui__core__runtime="def planted() -> None:\n    import sam_tui.headless.planted",
        sam_tui__headless__planted="",
    ),
    "the core imports a leaf for its types": violation(
        "leaves",
        sam_tui__core__runtime=(
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sam_tui.ui.planted"
        ),
        sam_tui__ui__planted="",
    ),
    "a core module stands in no layer": violation("core-layers", sam_tui__core__planted=""),
    "a lower core layer imports a higher one": violation(
        "core-layers", sam_tui__core__ids="import sam_tui.core.events"
    ),
    "a form of secrets knows another": violation(
        "redaction-layers",
        sam_tui__core__redaction__forms="import sam_tui.core.redaction.key_blocks",
    ),
    "the rules of todo lists know what a person edits": violation(
        "todos-layers", sam_tui__core__todos__item="import sam_tui.core.todos.edits"
    ),
    "what looks at text knows what reads files": violation(
        "small-modules", sam_tui__core__text__plain="import sam_tui.core.local_files.cache"
    ),
    "workflows import what tools are built from": violation(
        "core-layers", sam_tui__core__workflow__planted="import sam_tui.core.services"
    ),
    "another adapter parses YAML": violation(
        "yaml", sam_tui__adapters__policy__planted="import yaml"
    ),
    "a command serves HTTP itself": violation(
        "http-servers", sam_tui__cli__commands__planted="import uvicorn"
    ),
    "a command serves WebSockets itself": violation(
        "aiohttp", sam_tui__cli__commands__planted="import aiohttp"
    ),
    "a command opens the queues itself": violation(
        "dbos", sam_tui__cli__commands__planted="import dbos"
    ),
    "a tool imports another tool": violation(
        "tools",
        tools__sam_tools__planted_a="import sam_tools.planted_b",
        tools__sam_tools__planted_b="",
    ),
    "a reminder imports another reminder": violation(
        "reminders",
        reminders__sam_reminders__planted_a="import sam_reminders.planted_b",
        reminders__sam_reminders__planted_b="",
    ),
    "an adapter imports another adapter": violation(
        "adapters", sam_tui__adapters__files__planted="import sam_tui.adapters.search"
    ),
    "the core imports a library of the command line": violation(
        "core-externals", sam_tui__core__runtime="import click"
    ),
    "a tool starts processes by itself": violation(
        "tools-externals", tools__sam_tools__planted="import subprocess"
    ),
    "a second module imports litellm": violation(
        "litellm", sam_tui__adapters__llm__planted="import litellm"
    ),
    "an image is decoded in the program's own process": violation(
        "pillow", sam_tui__adapters__pictures__rasters="import PIL"
    ),
    "another adapter speaks HTTP": violation(
        "httpx", sam_tui__adapters__search__planted="import httpx"
    ),
    "the headless front end draws": violation(
        "textual", sam_tui__headless__planted="import textual.app"
    ),
    "the screen imports the emulator": violation(
        "pyghostty", sam_tui__ui__planted="import pyghostty"
    ),
    "headless speaks ACP": violation("acp", sam_tui__headless__planted="import acp.schema"),
    "headless speaks MCP": violation("mcp", sam_tui__headless__planted="import mcp.types"),
    "the screen imports the database": violation("sqlite3", sam_tui__ui__planted="import sqlite3"),
    "a tool opens transactions by itself": violation(
        "shared-sqlite", tools__sam_tools__planted="import sam_tui.sqlite"
    ),
    "the package root imports a part": Violation(
        {"sam_tui/__init__.py": "import sam_tui.core.ids"}, frozenset({"root"})
    ),
    "two modules of one package import each other": violation(
        "cycles",
        sam_tui__ui__planted_a="import sam_tui.ui.planted_b",
        sam_tui__ui__planted_b="import sam_tui.ui.planted_a",
    ),
}


LINT = """
import contextlib, io, json, sys
from importlinter.cli import lint_imports
for line in sys.stdin:
    drawn = io.StringIO()
    with contextlib.redirect_stdout(drawn):
        lint_imports(no_cache=True, no_logo=True)
    print(json.dumps(drawn.getvalue()), flush=True)
"""
"""lint-imports, loaded once: a line asks for its verdicts on the tree as it is then."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three packages and their contracts, apart from the checkout."""
    folder = tmp_path_factory.mktemp("copy")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture(scope="module")
def broken(copy: Path) -> Iterator[Broken]:
    """Ids of the contracts that lint-imports finds broken in the copy."""
    path = os.pathsep.join(str((copy / package).parent) for package in PACKAGES)
    with subprocess.Popen(
        [sys.executable, "-P", "-c", LINT],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "200"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as lint:
        asks, answers = lint.stdin, lint.stdout
        assert asks is not None
        assert answers is not None

        def ask() -> set[str]:
            print(file=asks, flush=True)
            drawn = json.loads(answers.readline())
            verdicts = dict(re.findall(r"^(.+?) (KEPT|BROKEN)\b", drawn, re.MULTILINE))
            assert set(verdicts) == set(CONTRACTS.values()), drawn
            return {name for name, title in CONTRACTS.items() if verdicts[title] == "BROKEN"}

        yield ask


@pytest.fixture(scope="module")
def standing(broken: Broken) -> set[str]:
    """Contracts that are broken before anything is planted: one fault, one failure."""
    return broken()


@pytest.fixture(scope="module")
def bare(copy: Path, standing: set[str]) -> Path:
    """The copy after its look as it stands: the modules of contracts, and a library only at its owner."""
    named = set(re.findall(r"\bsam_\w+(?:\.\w+)+", f"{RULES} {VIOLATIONS}"))
    containers = {container for contract in RULES for container in contract.get("containers", ())}
    for package in PACKAGES:
        for file in sorted((copy / package).rglob("*")):
            parts = file.relative_to((copy / package).parent).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            known = any(f"{name}.".startswith(f"{module}.") for name in named)
            if known or module.count(".") < 3 or module.rpartition(".")[0] in containers:
                if file.suffix == ".py":
                    file.write_text('"""Nothing."""\n', encoding="utf-8")
            elif file.is_dir():
                shutil.rmtree(file)
            else:
                file.unlink(missing_ok=True)
    for contract in RULES:
        for library in contract.get("protected_modules", ()):
            owner = copy.joinpath(*contract["allowed_importers"][0].split("."))
            file = owner / "__init__.py" if owner.is_dir() else owner.with_suffix(".py")
            if not library.startswith("sam_"):
                file.write_text(f"{file.read_text('utf-8')}import {library}\n", encoding="utf-8")
    return copy


@pytest.mark.requirement("house:contracts-hold")
def test_the_tree_as_it_stands_breaks_no_contract(standing: set[str]) -> None:
    assert standing == set()


@pytest.mark.requirement("house:contracts-evaluate")
@pytest.mark.parametrize("name", VIOLATIONS)
def test_a_planted_import_breaks_exactly_its_contract(
    name: str, bare: Path, broken: Broken
) -> None:
    planted = VIOLATIONS[name]
    before = {file: read(bare / file) for file in planted.added}
    try:
        for file, text in planted.added.items():
            header = before[file] if before[file] is not None else '"""Planted."""\n'
            (bare / file).write_text(f"{header}\n{text}\n", encoding="utf-8")
        assert broken() == planted.broken
    finally:
        for file, text in before.items():
            if text is None:
                (bare / file).unlink()
            else:
                (bare / file).write_text(text, encoding="utf-8")


@pytest.mark.requirement("house:contracts-evaluate")
def test_every_contract_has_a_planted_violation() -> None:
    assert set[str]().union(*(planted.broken for planted in VIOLATIONS.values())) == set(CONTRACTS)


def read(file: Path) -> str | None:
    """The text of a file, or None where there is none."""
    return file.read_text(encoding="utf-8") if file.exists() else None
