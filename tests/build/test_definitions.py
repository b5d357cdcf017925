"""Tasks that the workspace defines, and tasks that were made before: found, resolved and run."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tools.build_and_version_control.definitions import read_jsonc
from sam_tools.build_and_version_control.problems import find_problems
from sam_tui.adapters.tasks import FileTaskBook
from sam_tui.core.accesses import CommandAccess
from sam_tui.core.errors import StorageError
from sam_tui.core.text.plain import PlainStream, plain
from sam_tui.core.tooling.contract import Operation
from tests.build.conftest import Harness

Define = Callable[..., None]


@pytest.fixture
def define(folder: Path) -> Define:
    """Write the workspace's tasks.json, of tasks or of a text."""

    def writing(*tasks: dict[str, Any], text: str = "") -> None:
        (folder / ".vscode").mkdir(exist_ok=True)
        text = text or json.dumps({"version": "2.0.0", "tasks": tasks})
        (folder / ".vscode/tasks.json").write_text(text)

    return writing


@pytest.mark.requirement("build:tasks-file")
async def test_a_task_of_the_workspaces_file_is_run(harness: Harness, define: Define) -> None:
    define(
        text="""\ufeff// what we build
        {"version": "2.0.0", /* two
        */ "tasks": [
          {"label": "http://x", "type": "shell", "command": "echo \\"// no comment\\" /*",
           "args": ["a b",],},
          {"label": "odd", "type": 7},
        ],}"""
    )
    done = await harness.good("run_task", label="http://x")
    assert done["output"].startswith("// no comment ")
    assert done["output"].endswith(" a b\n")
    assert "`type`" in await harness.bad("run_task", label="odd")
    assert "'http://x'" in await harness.bad("run_task", label="gone")


@pytest.mark.requirement("build:tasks-file")
@pytest.mark.parametrize("text", ['{"tasks": [', "[" * 100_000, '"\\', "/*", "\x00"])
async def test_a_broken_tasks_file_is_told(harness: Harness, define: Define, text: str) -> None:
    define(text=text)
    assert ".vscode/tasks.json cannot be read" in await harness.bad("run_task", label="x")


@pytest.mark.requirement("build:tasks-file")
async def test_a_tasks_file_with_a_key_twice_is_told_with_its_line(
    harness: Harness, define: Define
) -> None:
    define(text='{"tasks": [{"label": "x", "command": "a", // one\n"command": "b"}]}')
    assert "line 2: the key “command” is set twice" in await harness.bad("run_task", label="x")


@pytest.mark.requirement("build:tasks-file")
async def test_a_tasks_file_behind_a_link_to_the_outside_is_not_read(
    harness: Harness, tmp_path: Path
) -> None:
    (tmp_path / "tasks.json").write_text('{"tasks": [{"label": "x", "command": "echo secret"}]}')
    (harness.folder / ".vscode").symlink_to(tmp_path)
    text = await harness.bad("run_task", label="x")
    assert "outside the workspace" in text
    assert "secret" not in text


@pytest.mark.requirement("build:tasks-file")
@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_json_without_comments_is_read_as_it_is(value: object) -> None:
    assert read_jsonc(json.dumps(value)) == value
    assert read_jsonc(json.dumps(value, ensure_ascii=False, indent=1)) == value


@pytest.mark.requirement("build:run-names")
@pytest.mark.parametrize("name", ["label", "task_label", "taskLabel", "taskName", "task"])
async def test_a_label_is_taken_under_every_name_it_had(
    harness: Harness, define: Define, name: str
) -> None:
    define({"label": "hi", "type": "process", "command": "echo", "args": ["hi there"]})
    assert (await harness.good("run_task", **{name: "hi"}))["output"] == "hi there\n"


@pytest.mark.requirement("build:task-kept")
async def test_a_task_that_was_made_is_there_again_later_and_not_in_the_repository(
    opened: Callable[..., Harness],
) -> None:
    first = opened()
    await first.task("echo again", "mine", group="test", args=["$((1+1))"])
    assert list(first.folder.iterdir()) == []
    later = opened()
    assert (await later.good("run_task", label="mine"))["output"] == "again 2\n"
    assert (await later.good("run_task", label="test"))["label"] == "mine"


@pytest.mark.requirement("build:task-kept")
async def test_making_a_task_anew_replaces_it(harness: Harness) -> None:
    await harness.task("echo old", "mine")
    await harness.task("echo new", "mine")
    assert (await harness.good("run_task", label="mine"))["output"] == "new\n"
    assert len(harness.book.tasks()) == 1
    await harness.task("echo new", "other")
    (harness.folder / ".vscode").mkdir()
    (harness.folder / ".vscode/tasks.json").write_text("{")
    assert (await harness.task("echo beside a broken file", "mine")).finished.ok


@pytest.mark.requirement("build:task-kept")
async def test_a_label_of_the_workspaces_file_keeps_its_meaning(
    harness: Harness, define: Define
) -> None:
    define({"label": "b", "type": "shell", "command": "echo theirs"})
    made = await harness.task("echo mine", "b")
    assert "already has another task 'b'" in made.finished.text
    assert (await harness.task("echo theirs", "b")).finished.ok
    assert (await harness.good("run_task", label="b"))["output"] == "theirs\n"


@pytest.mark.requirement("build:task-kept")
def test_the_book_is_private_and_says_when_it_is_damaged(tmp_path: Path) -> None:
    book = FileTaskBook(str(tmp_path / "tasks"), "/some/where")
    other = FileTaskBook(str(tmp_path / "tasks"), "/else/where")
    book.save({"label": "a", "command": "x\udcff"})
    assert book.tasks() == [{"label": "a", "command": "x\udcff"}]
    assert other.tasks() == ()
    assert stat.S_IMODE((tmp_path / "tasks").stat().st_mode) == 0o700
    for file in (tmp_path / "tasks").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        if file.suffix == ".json":
            file.write_text("{")
    with pytest.raises(StorageError, match="damaged"):
        book.tasks()


@pytest.mark.requirement("build:task-groups")
async def test_a_group_runs_its_default_task(harness: Harness, define: Define) -> None:
    define(
        {"label": "one", "type": "shell", "command": "echo 1", "group": "build"},
        {
            "label": "two",
            "type": "shell",
            "command": "echo 2",
            "group": {"kind": "build", "isDefault": True},
        },
    )
    assert (await harness.good("run_task", label="build"))["output"] == "2\n"


@pytest.mark.requirement("build:task-dependencies")
async def test_dependencies_run_first_and_once(harness: Harness, define: Define) -> None:
    define(
        {"label": "all", "dependsOn": ["test", "lint"]},
        {"label": "test", "type": "shell", "command": "echo test >> log", "dependsOn": "compile"},
        {"label": "lint", "type": "shell", "command": "echo lint >> log", "dependsOn": "compile"},
        {"label": "compile", "type": "shell", "command": "echo compile >> log"},
    )
    await harness.good("run_task", label="all")
    assert (harness.folder / "log").read_text().split() == ["compile", "test", "lint"]


@pytest.mark.requirement("build:task-dependencies")
async def test_the_first_dependency_that_fails_is_the_last(
    harness: Harness, define: Define
) -> None:
    define(
        {"label": "test", "type": "shell", "command": "touch ran", "dependsOn": ["compile"]},
        {"label": "compile", "type": "shell", "command": "exit 4"},
        {"label": "a", "dependsOn": ["b"]},
        {"label": "b", "dependsOn": ["a"]},
    )
    assert "exited(4)" in await harness.bad("run_task", label="test")
    assert not (harness.folder / "ran").exists()
    assert "'a' > " not in (text := await harness.bad("run_task", label="a"))
    assert "a > b > a" in text


@pytest.mark.requirement("build:task-dependencies")
async def test_many_dependencies_are_refused_at_once(harness: Harness, define: Define) -> None:
    wide = [{"label": f"w{n}", "dependsOn": [f"w{n + 1}", f"w{n + 1}"]} for n in range(18)]
    deep = [{"label": f"d{n}", "dependsOn": f"d{n + 1}"} for n in range(5000)]
    define(*wide, {"label": "w18", "type": "shell", "command": "echo once"}, *deep)
    assert (await harness.good("run_task", label="w0"))["output"] == "once\n"
    assert "more than 20 tasks" in await harness.bad("run_task", label="d0")


@pytest.mark.requirement("build:task-options")
async def test_options_and_variables_of_a_definition_hold(
    harness: Harness, define: Define, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTER", "a  b")
    (harness.folder / "client").mkdir()
    define(
        {
            "label": "v",
            "type": "process",
            "command": "printf",
            "args": ["%s|", "${env:OUTER}", "x${env:OUTER}y", "${workspaceFolderBasename}"],
        },
        {
            "label": "s",
            "type": "shell",
            "command": "pwd; echo $NAME ${NAME}",
            "options": {"cwd": "${workspaceFolder}/client", "env": {"NAME": "it's; $(x)"}},
            "linux": {"args": ["linux"]},
            "osx": {"args": ["osx"]},
        },
        {"label": "ask", "type": "shell", "command": "echo ${input:what}"},
        {"label": "sh", "type": "shell", "command": "echo $0",
         "options": {"shell": {"executable": "/bin/sh", "args": ["-c"]}}},
        {"label": "gulp", "type": "gulp", "task": "x"},
    )  # fmt: skip
    assert (await harness.good("run_task", label="v"))["output"] == "a  b|xa  by|ws|"
    shown = (await harness.good("run_task", label="s"))["output"]
    assert shown.startswith(f"{harness.folder}/client\nit's; $(x) it's; $(x) ")
    assert "only an editor" in await harness.bad("run_task", label="ask")
    assert (await harness.good("run_task", label="sh"))["output"] == "/bin/sh\n"
    assert "'gulp'" in await harness.bad("run_task", label="gulp")


@pytest.mark.requirement("build:task-judged")
async def test_what_was_judged_is_what_runs(harness: Harness, define: Define) -> None:
    define({"label": "x", "type": "shell", "command": "echo judged"})
    operation: Operation[Any] = harness.tool.operations[1]
    arguments = operation.arguments.model_validate({"label": "x"})
    judged = [a.command for a in operation.accesses(arguments) if isinstance(a, CommandAccess)]
    define({"label": "x", "type": "shell", "command": "echo swapped"})
    assert judged == ["echo judged"]
    assert [step.command for step in arguments.plan] == judged


@pytest.mark.requirement("build:problems")
@pytest.mark.parametrize(
    ("name", "output", "found"),
    [
        ("$gcc", "a.c:1:2: fatal error: no.h: gone", ("a.c", 1, 2, "error", "no.h: gone")),
        ("$gcc", "a.c:7: warning: w", ("a.c", 7, 0, "warning", "w")),
        ("$go", "./a.go:3:1: undefined: x", ("./a.go", 3, 1, "error", "undefined: x")),
        ("$tsc", "a.ts:4:2 - error TS1: m", ("a.ts", 4, 2, "error", "TS1: m")),
        ("$msCompile", "A.cs(4,2): error CS1: m", ("A.cs", 4, 2, "error", "CS1: m")),
        ("$eslint-compact", "a.js: line 2, col 3, Warning - m", ("a.js", 2, 3, "warning", "m")),
        ("$eslint-stylish", "/a.js\n  2:3  error  m  rule", ("/a.js", 2, 3, "error", "m  rule")),
        ("$rustc", "error[E1]: m\n --> a.rs:5:6", ("a.rs", 5, 6, "error", "m")),
        (
            "$python",
            'Traceback\n  File "b.py", line 1\n  File "a.py", line 9, in f\nValueError: m',
            ("a.py", 9, 0, "error", "ValueError: m"),
        ),
    ],
)
def test_each_matcher_reads_its_tool(
    name: str, output: str, found: tuple[str, int, int, str, str]
) -> None:
    (problem,) = find_problems(f"noise\n{output}\n", [name])
    assert (
        problem.file, problem.line, problem.column, problem.severity, problem.message,
    ) == found  # fmt: skip


@pytest.mark.requirement("build:plain-output")
def test_what_is_printed_reads_as_it_was_left() -> None:
    assert plain("10%\r50%\r100%\r\ndone \x1b[31mred\x1b[0m\x07") == "100%\ndone red"
    assert plain("long line\rshort") == "shortline"
    assert plain("a\u202eb\x00") == "a\\u202eb\\x00"
    assert plain("a" * 200_000 + "\r" * 200_000) == "a" * 200_000


@pytest.mark.requirement("build:plain-output")
@given(st.integers(0, 30))
def test_a_sequence_cut_in_two_is_not_shown(at: int) -> None:
    text, heard = "x\x1b[31mred\x1b]0;title\x07y\r\nz", list[str]()
    printer = PlainStream(heard.append)
    printer(text[:at])
    printer(text[at:])
    assert "".join(heard) == "xredy\nz"
