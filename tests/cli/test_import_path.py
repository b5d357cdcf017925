"""A workspace's own modules never run, however the program is called."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import CONSOLE, MODULE, Command

HOSTILE = """
    tools/ reminders/ core/ tests/ ui/ adapters/ headless/ cli/ sam_tools/ sam_reminders/ asyncio/
    sqlite3/ pydantic/ textual/ httpx/ litellm/ mcp/ rich/
    click json secrets logging typing dataclasses select signal platformdirs ptyprocess pyghostty
    pydantic_core hashlib tempfile subprocess assembly conftest orjson socksio uvloop
"""
"""Packages and modules that a workspace may have, by the names that we or our libraries import."""


@pytest.fixture
def trap(sam: Command) -> Path:
    """A file that exists once any module of the hostile workspace was executed."""
    mark = sam.folder / "executed"
    code = f"open({str(mark)!r}, 'a').write(__name__ + '\\n')\nraise SystemExit(99)\n"
    for name in HOSTILE.split():
        path = sam.workspace / (f"{name}__init__.py" if name.endswith("/") else f"{name}.py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
    return mark


@pytest.mark.requirement("headless:hijack")
@pytest.mark.parametrize("program", [CONSOLE, MODULE], ids=["console", "module"])
@pytest.mark.parametrize("path", ["", f".{os.pathsep}sub/..{os.pathsep}.."])
def test_no_module_of_the_workspace_is_executed(
    sam: Command, trap: Path, program: tuple[str, ...], path: str
) -> None:
    (sam.workspace / "sub").mkdir()
    script = sam.folder / "script.json"
    script.write_text(json.dumps([{"text": "Safe."}]), encoding="utf-8")
    environ = {"PYTHONPATH": path and f"{path}{os.pathsep}{sam.workspace}"}

    ended = sam("run", "go", "--model", f"scripted:{script}", program=program, environ=environ)

    assert not trap.exists(), trap.read_text(encoding="utf-8")
    assert (ended.code, ended.out) == (0, "Safe.\n"), ended.err


@pytest.mark.requirement("headless:hijack")
def test_a_module_that_only_an_absolute_python_path_has_can_still_be_imported(
    sam: Command, tmp_path: Path
) -> None:
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "only_there.py").write_text("", encoding="utf-8")
    (extra / "json.py").write_text("raise SystemExit(99)", encoding="utf-8")
    code = (
        "from sam_tui.__main__ import pin_import_path; pin_import_path()\n"
        "import json, only_there; print(json.__file__, only_there.__file__)"
    )
    ended = sam(program=(sys.executable, "-c", code), environ={"PYTHONPATH": str(extra)})
    assert ended.code == 0, ended.err
    assert str(extra / "json.py") not in ended.out
    assert str(extra / "only_there.py") in ended.out


@pytest.mark.requirement("headless:hijack")
def test_working_in_the_folder_of_an_installed_package_loses_no_package(sam: Command) -> None:
    import click

    site = str(Path(click.__file__).parent.parent)
    code = (
        f"import os; os.chdir({site!r})\n"
        "from sam_tui.__main__ import main; import sys; sys.argv[1:] = ['--help']; sys.exit(main())"
    )
    ended = sam(program=(sys.executable, "-c", code), environ={"PYTHONPATH": "."})
    assert ended.code == 0, ended.err


@pytest.mark.requirement("headless:version-fast")
def test_the_version_is_told_before_anything_is_imported(sam: Command) -> None:
    program = (sys.executable, "-X", "importtime", "-P", "-m", "sam_tui")
    ended = sam("--version", program=program)
    imported = {line.rpartition("|")[2].strip() for line in ended.err.splitlines()}
    assert ended.code == 0 and ended.out.startswith("sam-tui ")
    assert "sam_tui" in imported
    assert imported.isdisjoint({"click", "asyncio", "json", "re", "logging", "pydantic", "typing"})


@pytest.mark.requirement("headless:first-frame-imports")
def test_the_workbench_command_brings_nothing_that_the_first_frame_does_not_need(
    sam: Command,
) -> None:
    code = (
        "import sys, sam_tui.cli.main, sam_tui.cli.commands.workbench, sam_tui.ui.app\n"
        "heavy = {'pydantic', 'httpx', 'litellm', 'sqlite3', 'sam_tui.assembly', 'sam_tools', 'mcp'}\n"
        "heavy |= {'sam_tui.core.' + name for name in ('accesses', 'display', 'todos', 'ports.screens')}\n"
        "heavy |= {'sam_tui.ui.transcript.' + name for name in ('render.content', 'splitter', 'live')}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ended = sam(program=(sys.executable, "-P", "-c", code))
    assert ended.out == "[]\n", ended.err
