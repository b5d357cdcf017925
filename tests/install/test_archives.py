"""What the archives hold, and what runs once the wheel is installed: nothing of the folder it works in.

One module, because each worker that runs such a test builds the archives.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.install.conftest import ROOT, Built, Installed, build, run

PACKAGES = {"sam_tui": "sam_tui", "sam_tools": "tools", "sam_reminders": "reminders"}


def names(wheel: Path) -> set[str]:
    """Files of a wheel without its metadata folder."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


@pytest.mark.requirement("house:wheel-contents")
def test_the_wheel_holds_every_tracked_file_of_the_three_packages_and_nothing_else(
    built: Built,
) -> None:
    expected: set[str] = set()
    for package, folder in PACKAGES.items():
        top = built.tree / folder.removesuffix(package)
        for file in (top / package).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                expected.add(str(file.relative_to(top)))
    assert names(built.wheel) == expected
    assert {f"{package}/py.typed" for package in PACKAGES} <= expected


@pytest.mark.requirement("house:wheel-contents")
def test_the_wheel_names_its_command_its_licence_and_its_python(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        text = {
            name.partition("/")[2]: archive.read(name).decode()
            for name in archive.namelist()
            if ".dist-info/" in name
        }
    assert "sam-tui = sam_tui.__main__:main" in text["entry_points.txt"]
    assert text["licenses/LICENSE"] == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Requires-Python: >=3.11" in text["METADATA"]


@pytest.mark.requirement("house:wheel-contents")
def test_the_source_archive_builds_the_same_wheel(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        # Python 3.11.4 and later have it; from 3.12 on, going without is a warning.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        archive.extractall(tmp_path)
    (tree,) = tmp_path.iterdir()
    (wheel,) = build(tree, "wheel").glob("*.whl")
    assert names(wheel) == names(built.wheel)
    with zipfile.ZipFile(wheel) as again, zipfile.ZipFile(built.wheel) as first:
        assert all(again.read(name) == first.read(name) for name in first.namelist())


@pytest.mark.requirement("house:wheel-contents")
def test_the_source_archive_holds_the_tests_and_nothing_that_was_made(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"tests/conftest.py", "Makefile", "constraints.txt", "scripts/bootstrap.py"} <= held
    made = (".venv", "dist", ".ci", ".git/")
    assert [name for name in held if name.startswith(made) or "__pycache__" in name] == []


@pytest.mark.requirement("house:typed")
def test_the_editable_install_is_what_this_suite_runs_on() -> None:
    where = "import sam_tui as s, sam_reminders as r; print(s.__path__[0]); print(r.__path__[0])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", where], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout.splitlines() == [
        str(ROOT / "sam_tui"),
        str(ROOT / "reminders" / "sam_reminders"),
    ]


NAMES = (
    "tools", "reminders", "core", "tests", "ui", "cli", "adapters", "sam_tools", "sam_reminders",
    "click", "pydantic", "textual", "rich", "litellm", "json", "asyncio", "logging", "dataclasses",
)  # fmt: skip
WAYS = {
    "the command": (),
    "the command with PYTHONPATH=.": ("PYTHONPATH",),
    "python -m": ("-m",),
    "python -m with PYTHONPATH=.": ("-m", "PYTHONPATH"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder where every one of the names is a package that leaves a mark when it is imported."""
    folder = tmp_path / "workspace"
    marks = tmp_path / "marks"
    marks.mkdir()
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        code = f"open({str(marks / name)!r}, 'w').close()\n"
        (folder / name / "__init__.py").write_text(code, encoding="utf-8")
        (folder / name / "__main__.py").write_text(code, encoding="utf-8")
    return folder


@pytest.mark.requirement("house:workspace-is-not-imported")
@pytest.mark.parametrize(
    ("arguments", "way"),
    [
        *((("--version",), way) for way in WAYS),
        *((("tools", "list"), way) for way in WAYS if "PYTHONPATH" in WAYS[way]),
        *((("--help",), way) for way in WAYS if "PYTHONPATH" not in WAYS[way]),
    ],
)
def test_no_module_of_the_workspace_runs(
    arguments: tuple[str, ...], way: str, workspace: Path, installed: Installed
) -> None:
    start = (installed.python, "-m", "sam_tui") if "-m" in WAYS[way] else (installed.command,)
    variables = {"PYTHONPATH": "."} if "PYTHONPATH" in WAYS[way] else {}
    done = run(*start, *arguments, cwd=workspace, **variables)
    assert done.stdout.strip()
    assert [mark.name for mark in (workspace.parent / "marks").iterdir()] == []


@pytest.mark.requirement("house:workspace-is-not-imported")
def test_a_tool_call_in_the_workspace_runs_none_of_its_modules(
    workspace: Path, installed: Installed
) -> None:
    arguments = ("tools", "call", "think", '{"thoughts": "a"}')
    done = run(installed.command, *arguments, cwd=workspace, PYTHONPATH=".")
    assert done.stdout.strip()
    assert [mark.name for mark in (workspace.parent / "marks").iterdir()] == []


@pytest.mark.requirement("house:workspace-is-not-imported")
def test_the_marks_would_be_seen(workspace: Path, installed: Installed) -> None:
    run(installed.python, "-c", "import tools, json", cwd=workspace)
    assert {mark.name for mark in (workspace.parent / "marks").iterdir()} == {"tools", "json"}


@pytest.mark.requirement("house:workspace-is-not-imported")
def test_the_installed_packages_are_what_runs(installed: Installed, tmp_path: Path) -> None:
    code = (
        "import sam_tui, sam_tools, sam_reminders as r; print(sam_tui.__path__[0], r.__path__[0])"
    )
    where = run(installed.python, "-P", "-c", code, cwd=tmp_path).stdout.split()
    environment = str(installed.python.parents[1])
    assert [path for path in where if not path.startswith(environment)] == []
