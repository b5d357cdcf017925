"""The installed program inside a folder whose modules have the names of ours and of Python's."""

from pathlib import Path

import pytest

from tests.install.conftest import Installed, run

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
