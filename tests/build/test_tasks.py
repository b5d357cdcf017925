"""Tasks really run: in the foreground, in the background, confined, bounded, and to their end."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tools.build_and_version_control import tasks
from sam_tui.adapters.tasks import MOST_RUNNING
from sam_tui.core.display import Table, Terminal
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.processes.tasks import TaskStart
from sam_tui.core.text.tail import Tail
from tests.build.conftest import CONVERSATION, DEADLINE, Ended, Harness


def lives(pid: str) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return line.rpartition(b")")[2].split()[0] not in b"ZX"


def begin(harness: Harness, command: str) -> TaskStart:
    """A task to start beside the tool."""
    where = str(harness.folder)
    return TaskStart(CONVERSATION, "s", command, where, confined=False, writable=(), timeout=None)


@pytest.mark.requirement("build:task-runs")
async def test_a_task_is_run_and_its_output_returned(harness: Harness) -> None:
    done = await harness.task("echo BUILD_$((40 + 2))", type="shell")
    assert done.finished.ok
    assert done.finished.text.startswith("BUILD_42\n")
    assert done.data["state"] == "exited(0)"
    assert done.finished.summary == "Creating task: t"
    shown = done.finished.display[0]
    assert isinstance(shown, Terminal)
    assert (shown.command, shown.output, shown.exit_code) == (
        "echo BUILD_$((40 + 2))",
        "BUILD_42\n",
        0,
    )


@pytest.mark.requirement("build:task-runs")
async def test_a_failing_task_fails_with_its_exit_code(harness: Harness) -> None:
    done = await harness.task("echo no >&2; exit 7")
    assert not done.finished.ok
    assert "no\n" in done.finished.text
    assert "exited(7)" in done.finished.text
    assert done.data["exitCode"] == 7


@pytest.mark.requirement("build:task-words")
async def test_a_process_task_gets_its_words_exactly(harness: Harness) -> None:
    words = ["%s|", "a b", "$HOME", "it's", "*", "", "é\u202e", "-n"]
    done = await harness.task("printf", type="process", args=words)
    assert done.data["output"] == "a b|$HOME|it's|*||é\\u202e|-n|"


@pytest.mark.requirement("build:task-words")
async def test_a_shell_task_quotes_arguments_only_where_a_blank_stands(harness: Harness) -> None:
    done = await harness.task("V=1; printf '%s|'", args=["a b", "$V", "'c d'", ""])
    assert done.data["output"] == "a b|1|c d||"


@pytest.mark.requirement("build:task-folder")
async def test_a_task_runs_in_the_folder_it_was_made_for(harness: Harness, folder: Path) -> None:
    (folder / "sub").mkdir()
    task = {"label": "where", "command": "pwd; echo ${workspaceFolder}"}
    made = await harness.good("create_and_run_task", task=task, workspaceFolder="sub")
    assert made["output"] == f"{folder}/sub\n{folder}/sub\n"
    again = await harness.good("run_task", label="where")
    assert again["output"] == made["output"]


@pytest.mark.requirement("build:task-folder")
async def test_a_folder_outside_the_workspace_is_asked_for(
    harness: Harness, tmp_path: Path
) -> None:
    task = {"label": "t", "command": "echo ran"}
    text = await harness.bad("create_and_run_task", task=task, workspaceFolder=str(tmp_path))
    assert "needs an approval" in text


@pytest.mark.requirement("build:task-streams")
async def test_output_is_heard_while_the_task_runs(harness: Harness, folder: Path) -> None:
    calling = asyncio.ensure_future(
        harness.task("mkfifo gate; printf '\\033[1mready\\033[0m\\n'; cat gate")
    )
    try:
        assert "\x1b" not in await harness.until("ready")
        assert not calling.done()
        await asyncio.to_thread((folder / "gate").write_text, "")
    finally:
        await calling


@pytest.mark.requirement("build:task-timeout")
async def test_a_foreground_task_over_its_time_is_ended(
    opened: Callable[..., Harness],
) -> None:
    harness = opened(foreground_seconds=0.2)
    done = await harness.task("sleep 600")
    assert not done.finished.ok
    assert done.data["state"] == "timed out"
    assert "isBackground" in done.finished.text


@pytest.mark.requirement("build:task-cancel")
async def test_cancelling_the_call_ends_the_task(harness: Harness) -> None:
    calling = asyncio.ensure_future(harness.task("echo up; sleep 600"))
    await harness.until("up")
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    (run,) = harness.tasks.of(CONVERSATION)
    assert not run.running
    listed = await harness.good("get_task_output")
    assert [task["state"] for task in listed["tasks"]] == ["ended"]


@pytest.mark.requirement("build:background")
async def test_a_background_task_goes_on_after_its_call(harness: Harness) -> None:
    done = await harness.task("sleep 600", isBackground=True)
    assert done.finished.ok
    assert done.data["state"] == "running"
    assert done.data["id"] in done.finished.text
    told = await harness.good("get_task_output", id=done.data["id"])
    assert (told["label"], told["state"], told["exitCode"]) == ("t", "running", None)


@pytest.mark.requirement("build:background")
async def test_a_running_task_is_read_from_an_index(
    harness: Harness, folder: Path, ended: Ended
) -> None:
    os.mkfifo(folder / "f")
    printed = asyncio.Event()
    run = harness.tasks.start(
        begin(harness, "echo serving; cat f; exit 3"), lambda _: printed.set()
    )
    async with asyncio.timeout(DEADLINE):
        await printed.wait()
    first = await harness.good("get_task_output", id=run.id)
    assert (first["state"], first["output"]) == ("running", "serving\n")
    await asyncio.to_thread((folder / "f").write_text, "more\n")
    await ended(run.id)
    rest = await harness.good("get_task_output", id=run.id, from_index=first["end_index"])
    assert rest["state"] == "exited(3)"
    assert (rest["output"], rest["from_index"]) == ("more\n", first["end_index"])
    assert rest["end_index"] == len("serving\nmore\n")
    assert not rest["truncated"]


@pytest.mark.requirement("build:background")
async def test_a_task_that_a_call_waits_for_is_sent_to_the_background(
    harness: Harness, folder: Path, ended: Ended
) -> None:
    os.mkfifo(folder / "f")
    harness.foreground_seconds = 3  # counts no longer once it was let go
    calling = asyncio.get_running_loop().create_task(harness.task("echo on; cat f; sleep 4"))
    async with asyncio.timeout(DEADLINE):
        while not harness.tasks.awaited(CONVERSATION):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    assert harness.tasks.release(CONVERSATION) == ["echo on; cat f; sleep 4"]
    done = await calling
    assert done.finished.ok
    assert "runs in the background; get_task_output reads it" in done.finished.text
    assert harness.tasks.awaited(CONVERSATION) == []
    await asyncio.to_thread((folder / "f").write_text, "more\n")
    assert (await ended(done.data["id"])).result is not None
    told = await harness.good("get_task_output", id=done.data["id"], from_index=0)
    assert (told["state"], told["output"]) == ("exited(0)", "on\nmore\n")


@pytest.mark.requirement("build:background")
async def test_a_background_task_that_fails_at_once_says_so(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SETTLING_SECONDS", DEADLINE)  # it returns at the end
    done = await harness.task("no_such_program_12345", isBackground=True)
    assert not done.finished.ok
    assert "exited(127)" in done.finished.text


@pytest.mark.requirement("build:task-end")
async def test_a_background_task_is_listed_and_ended_with_all_it_started(
    harness: Harness, folder: Path
) -> None:
    os.mkfifo(folder / "pid")
    done = await harness.task("sleep 600 & echo $! > pid; wait", "dev", isBackground=True)
    child = (await asyncio.to_thread((folder / "pid").read_text)).strip()
    listed = await harness.good("get_task_output")
    assert listed["tasks"] == [
        {"id": done.data["id"], "label": "dev", "state": "running", "exitCode": None}
    ]
    told = await harness.good("get_task_output", id=done.data["id"], end=True)
    assert told["state"] == "ended"
    assert not lives(child)


@pytest.mark.requirement("build:task-end")
async def test_closing_the_tasks_ends_them_all(harness: Harness) -> None:
    for label in ("one", "two"):
        await harness.task("sleep 600", label, isBackground=True)
    runs = harness.tasks.of(CONVERSATION)
    assert [run.running for run in runs] == [True, True]
    await harness.tasks.close()
    assert [run.running for run in runs] == [False, False]


@pytest.mark.requirement("build:task-owner")
async def test_another_conversations_task_is_not_found(harness: Harness) -> None:
    done = await harness.task("sleep 600", isBackground=True)
    foreign = ConversationId("other")
    executed = await harness.call("get_task_output", foreign, id=done.data["id"], end=True)
    assert not executed.finished.ok
    assert "There is no task" in executed.finished.text
    assert "sleep" not in executed.finished.text
    (run,) = harness.tasks.of(CONVERSATION)
    assert run.running
    listed = await harness.call("get_task_output", foreign)
    assert listed.data["tasks"] == []


@pytest.mark.requirement("build:task-end")
async def test_ending_needs_to_know_which_task(harness: Harness) -> None:
    done = await harness.task("true", "quick")
    text = await harness.bad("get_task_output", end=True)
    assert f"{done.data['id']} (quick, exited(0))" in text


@pytest.mark.requirement("build:task-owner")
async def test_only_so_many_tasks_run_at_once(harness: Harness) -> None:
    for _ in range(MOST_RUNNING):
        harness.tasks.start(begin(harness, "sleep 600"), lambda _: None)
    refused = await harness.task("echo one more")
    assert not refused.finished.ok
    assert "End one of them first" in refused.finished.text


@pytest.mark.requirement("build:task-bounded")
async def test_output_is_bounded_and_its_index_absolute(harness: Harness, ended: Ended) -> None:
    done = await harness.task("seq 1 90000", isBackground=True)
    await ended(done.data["id"])
    newest = await harness.good("get_task_output", id=done.data["id"])
    assert newest["output"].endswith("\n90000\n")
    assert len(newest["output"]) <= 4000
    assert newest["truncated"]
    assert newest["from_index"] == newest["end_index"] - len(newest["output"])


@pytest.mark.requirement("build:task-bounded")
def test_only_the_newest_output_is_kept_under_its_absolute_index() -> None:
    tail = Tail(limit=6000)
    for number in range(2000):
        tail.add(f"{number:06d}")
    everything = "".join(f"{number:06d}" for number in range(2000))
    for asked, first in ((0, 6000), (7001, 7001), (12000, 12000), (99999, 12000), (-10, 6000)):
        assert tail.since(asked) == (everything[first:], first, 12000)
    assert tail.since(7001, 7010) == (everything[7001:7010], 7001, 7010)


@pytest.mark.requirement("build:task-confined")
async def test_tasks_run_in_the_sandbox(harness: Harness, tmp_path: Path) -> None:
    if not harness.sandboxed:
        pytest.skip("no kernel sandbox here")
    done = await harness.task(f"echo x > {tmp_path}/escaped")
    assert not done.finished.ok
    assert "the sandbox refuses" in done.finished.text
    assert not (tmp_path / "escaped").exists()


@pytest.mark.requirement("build:task-confined")
async def test_without_a_sandbox_the_very_command_is_asked(opened: Callable[..., Harness]) -> None:
    harness = opened(sandboxed=False)
    (harness.folder / ".vscode").mkdir()
    (harness.folder / ".vscode/tasks.json").write_text(
        json.dumps({"tasks": [{"label": "b", "type": "shell", "command": "touch ran"}]})
    )
    executed = await harness.call("run_task", label="b")
    assert "nobody is there" in executed.finished.text
    assert executed.decision is not None
    assert executed.decision.scope == "$ touch ran"
    assert not (harness.folder / "ran").exists()


@pytest.mark.requirement("build:plan-mode")
async def test_plan_mode_runs_no_task_and_makes_no_commit(opened: Callable[..., Harness]) -> None:
    harness = opened(mode="plan")
    assert "plan mode" in await harness.bad(
        "create_and_run_task", task={"label": "t", "command": "touch ran"}
    )
    assert "plan mode" in await harness.bad("git_commit", message="m")
    assert not (harness.folder / "ran").exists()


@pytest.mark.requirement("build:problems")
async def test_problem_matchers_find_what_compilers_print(harness: Harness) -> None:
    script = (
        "echo 'src/a.c:3:5: error: expected x'; echo 'src/a.c:9:1: warning: unused';"
        " echo 'b.ts(4,2): error TS2304: no name'; exit 1"
    )
    done = await harness.task(script, problemMatcher=["$gcc", "$tsc"])
    assert [(p["file"], p["line"], p["column"], p["severity"]) for p in done.data["problems"]] == [
        ("src/a.c", 3, 5, "error"),
        ("src/a.c", 9, 1, "warning"),
        ("b.ts", 4, 2, "error"),
    ]
    assert "[2 errors, 1 warning]" in done.finished.text
    assert isinstance(done.finished.display[1], Table)
    text = await harness.bad(
        "create_and_run_task", task={"label": "u", "command": "true", "problemMatcher": "$nope"}
    )
    assert "$eslint-stylish" in text
