"""Every task has an owner: a task group, or a module of a short list that says who ends what it starts."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("sam_tui", "tools/sam_tools", "reminders/sam_reminders")
OWNERS = {
    "sam_tui/acp_agent/requests.py": "turns, questions and what tells of them end with their session",
    "sam_tui/adapters/acp_client/model.py": "a prompt ends with its answer, what listens with the agent",
    "sam_tui/adapters/acp_client/requests.py": "a command of the agent's ends with it",
    "sam_tui/adapters/mcp_client/connection.py": "a connection lives until it is closed",
    "sam_tui/adapters/mcp_client/lifetime.py": "a call and its limit end together",
    "sam_tui/adapters/mcp_client/pool.py": "what is left is closed meanwhile, and awaited at the end",
    "sam_tui/adapters/tasks.py": "a build task goes on after its call, until it is stopped",
    "sam_tui/adapters/terminal/commands/background.py": "it goes on after its call, until it is stopped",
    "sam_tui/adapters/terminal/commands/piped.py": "a program is stopped once, whoever waits for it",
    "sam_tui/adapters/terminal/commands/shell.py": "questions end with their run, all with the program",
    "sam_tui/adapters/terminal/pty/pty.py": "a terminal is closed once, whoever waits for it",
    "sam_tui/adapters/terminal/recordings/playback.py": "a recording is measured while it plays",
    "sam_tui/adapters/terminal/sandbox/supervision.py": "a question to the person ends with its run",
    "sam_tui/adapters/terminal/sessions/attachment.py": "a window plays a session until one of them ends",
    "sam_tui/adapters/terminal/sessions/turns.py": "tidies after a turn; the next one awaits it",
    "sam_tui/cli/commands/demo.py": "the demo's pilot ends with the workbench",
    "sam_tui/cli/commands/tools.py": "a call that signals cancel",
    "sam_tui/cli/commands/workflows/execution.py": "a run that signals cancel",
    "sam_tui/core/agent/lease.py": "the look for another writer ends with the block",
    "sam_tui/core/agent/notes/notetaker.py": "notes taken beside the work end with their conversation",
    "sam_tui/headless/run.py": "the turn that signals cancel, and what tells of it",
    "sam_tui/mcp_server/calls.py": "a call goes on while its client is away; the table of calls ends it",
    "sam_tui/mcp_server/follower.py": "what follows a call ends before its answer is sent",
    "sam_tui/mcp_server/server.py": "watches end with the server",
    "sam_tui/stop_signals.py": "the work of a server and the wish to stop end together",
    "sam_tui/loopback/server.py": "the server's, awaited when its time is over",
    "sam_tui/adapters/fleet/steps.py": "the questions of a step, in the TaskGroup of its call",
    "sam_tui/web_server/server.py": "a page's output, awaited when the page is gone",
    "sam_tui/plan_server/tasks.py": "a TaskGroup of its server",
    "tools/sam_tools/terminal_operations/hand_over.py": "the question and the hand-over end together",
}
"""Modules that start tasks outside of a task group, and who ends them."""


def ownerless(source: str) -> Iterator[str]:
    """Where a module starts a task that no task group owns, as ``line: call``."""
    if "create_task" not in source and "ensure_future" not in source:
        return
    tree = ast.parse(source)
    groups = set(_groups(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="create_task") if name in groups:
                pass
            case ast.Attribute(attr="create_task" | "ensure_future" as called):
                yield f"{node.lineno}: {called}"
            case ast.ImportFrom(module="asyncio", names=names):
                for name in names:
                    if name.name in ("create_task", "ensure_future"):
                        yield f"{node.lineno}: {name.name}"
            case ast.Constant(value="create_task" | "ensure_future" as called):
                yield f"{node.lineno}: {called}"
            case _:
                pass


def _groups(tree: ast.AST) -> Iterator[str]:
    """The names of task groups, as ``async with`` binds them or a parameter says."""
    for node in ast.walk(tree):
        match node:
            case ast.withitem(
                context_expr=ast.Call(func=ast.Attribute(attr="TaskGroup")),
                optional_vars=ast.Name(id=name),
            ):
                yield name
            case ast.arg(arg=name, annotation=ast.Attribute(attr="TaskGroup")):
                yield name
            case _:
                pass


@pytest.mark.requirement("house:tasks-owned")
def test_only_listed_modules_start_tasks_outside_of_a_group() -> None:
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    starting = {
        file.relative_to(ROOT).as_posix(): calls
        for file in files
        if (calls := list(ownerless(file.read_text(encoding="utf-8"))))
    }
    assert {path: calls for path, calls in starting.items() if path not in OWNERS} == {}
    assert sorted(OWNERS.keys() - starting.keys()) == [], "these start none any more"


@pytest.mark.requirement("house:tasks-owned")
@pytest.mark.parametrize(
    "planted",
    [
        "loop.create_task(f())",
        "asyncio.get_running_loop().create_task(f())",
        "asyncio.ensure_future(f())",
        "from asyncio import ensure_future as later",
        'getattr(loop, "create_task")(f())',
        "start = self._loop.create_task",
    ],
)
def test_a_planted_task_without_an_owner_is_seen(planted: str) -> None:
    assert list(ownerless(planted)) != []


@pytest.mark.requirement("house:tasks-owned")
def test_tasks_of_a_group_have_an_owner() -> None:
    assert list(ownerless("async with asyncio.TaskGroup() as g:\n    g.create_task(f())")) == []
