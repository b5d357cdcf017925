"""What a running command wants outside goes through the guard and to the person, and is on record."""

from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.inquiry import Approval
from tests.fakes.interpreter import INTERPRETER

Harness = Any
"""See conftest."""

pytestmark = pytest.mark.confined("live")
YES = Approval("once")
CHANGE = "commands.change_outside"


@pytest.mark.requirement("outside:asked")
async def test_a_write_outside_waits_for_exactly_one_yes_and_is_on_record(harness: Harness) -> None:
    harness.open()
    harness.answers = [YES]
    done = await harness.run(f"echo made > {harness.outside}/new && cat {harness.outside}/new")
    assert done.finished.text == "made"
    (asked,) = harness.asked
    assert asked.operation == CHANGE
    assert asked.targets == (f"{harness.outside}/new",)
    assert "bash (pid " in asked.summary and "wants to write" in asked.summary
    assert "nothing runs twice" in asked.why
    assert asked.choices[0].words == "exactly this, for this command"
    ran, outside = harness.decisions()
    assert (ran.operation, outside.operation) == ("terminal_operations.run_command", CHANGE)
    assert (outside.outcome, outside.by, outside.targets) == ("allow", "user", asked.targets)


@pytest.mark.requirement("outside:refusals-told")
async def test_a_no_reaches_the_command_and_the_result_names_path_and_process(
    harness: Harness,
) -> None:
    harness.open()
    done = await harness.run(f"tee {harness.outside}/victim < /dev/null; echo went on")
    assert "went on" in done.finished.text
    assert (
        f"[refused by the sandbox: write {harness.outside}/victim (tee, pid " in done.finished.text
    )
    (refused,) = done.data["refused"]
    assert (refused["kind"], refused["process"]) == ("write", "tee")
    assert (harness.outside / "victim").read_text() == "precious\n"


@pytest.mark.requirement("outside:unattended")
async def test_unattended_it_is_denied_at_once(harness: Harness) -> None:
    harness.open()
    done = await harness.run(f"rm {harness.outside}/victim")
    assert not done.finished.ok
    assert (harness.outside / "victim").exists()
    assert harness.decisions()[-1].rule == "unattended"


@pytest.mark.requirement("outside:policy-first")
async def test_modes_rules_and_protected_places_decide_before_anybody_is_asked(
    harness: Harness,
) -> None:
    harness.always = YES
    harness.open()
    harness.runtime.guard.use_mode("auto")
    await harness.run(f"echo x > {harness.outside}/victim")
    assert harness.decisions()[-1].rule == "mode:auto"
    harness.runtime.guard.use_mode("ask")
    for place in (
        harness.folder / "data/new",
        harness.folder / "home/.ssh/authorized_keys",
        "/dev/mem",
    ):
        Path(place).parent.mkdir(exist_ok=True)
        await harness.run(f"echo x > {place}")
        assert harness.decisions()[-1].outcome == "deny", place
    assert harness.asked == []
    assert (harness.outside / "victim").read_text() == "precious\n"


@pytest.mark.requirement("outside:both-paths")
async def test_a_rename_names_both_paths(harness: Harness) -> None:
    harness.open()
    harness.answers = [YES]
    await harness.run(f"mv {harness.outside}/victim {harness.outside}/moved")
    assert harness.asked[0].targets == (f"{harness.outside}/victim", f"{harness.outside}/moved")
    assert (harness.outside / "moved").read_text() == "precious\n"


@pytest.mark.requirement("outside:grants")
async def test_a_grant_covers_what_it_says_for_all_commands_of_the_conversation(
    harness: Harness,
) -> None:
    harness.open()
    harness.answers = [Approval("scope", scope="session")]
    script = f"for n in 1 2 3; do echo $n > {harness.outside}/$n; done"
    assert (await harness.run(script)).finished.ok
    assert (await harness.run(f"rm {harness.outside}/1")).finished.ok
    assert len(harness.asked) == 1
    granted = [d for d in harness.decisions() if d.rule.startswith("grant:")]
    assert [d.targets for d in granted] == [(f"{harness.outside}/{n}",) for n in (2, 3, 1)]
    (grant,) = harness.runtime.guard.grants.current()
    harness.runtime.guard.grants.revoke(grant.id)
    assert not (await harness.run(f"rm {harness.outside}/2")).finished.ok
    assert len(harness.asked) == 2


@pytest.mark.requirement("outside:grants")
async def test_a_grant_to_read_in_a_folder_is_none_to_write_there(harness: Harness) -> None:
    harness.open()
    harness.answers = [Approval("scope", scope="session")]
    command = {"command": "echo x > new", "working_directory": str(harness.outside)}
    assert not (await harness.run(**command)).finished.ok
    assert [a.operation for a in harness.asked] == ["terminal_operations.run_command", CHANGE]
    assert not (harness.outside / "new").exists()


@pytest.mark.requirement("outside:everywhere")
async def test_terminal_sessions_ask_the_same_way_and_tell_what_was_refused(
    harness: Harness,
) -> None:
    harness.open()
    made = await harness.call("terminal_operations.create_session")
    session = made.data["session_id"]
    harness.answers = [YES]
    line = f"echo kept > {harness.outside}/kept; echo lost > {harness.outside}/lost\n"
    done = await harness.call("terminal_operations.send_input", session_id=session, input=line)
    assert (harness.outside / "kept").read_text() == "kept\n"
    assert not (harness.outside / "lost").exists()
    assert [a.targets for a in harness.asked] == [
        (f"{harness.outside}/kept",),
        (f"{harness.outside}/lost",),
    ]
    assert harness.asked[0].choices[0].words == "exactly this, until the terminal session ends"
    assert [refused["path"] for refused in done.data["refused"]] == [f"{harness.outside}/lost"]


@pytest.mark.requirement("outside:everywhere")
async def test_background_commands_ask_after_their_call_has_ended(harness: Harness) -> None:
    harness.open()
    harness.answers = [YES]
    command = f"read -r _ < go; echo late > {harness.outside}/late"
    (await harness.run("mkfifo go"))
    done = await harness.run(command, isBackground=True)
    assert harness.asked == []
    (harness.folder / "ws/go").write_text("go\n")
    terminal = done.data["terminalId"]
    ended = await harness.call("terminal_operations.get_terminal_output", id=terminal, wait=20)
    assert ended.data["exitCode"] == 0
    assert (harness.outside / "late").read_text() == "late\n"
    assert harness.asked[0].targets == (f"{harness.outside}/late",)


@pytest.mark.requirement("outside:everywhere")
async def test_tasks_checkers_and_git_hooks_ask_the_same_way(harness: Harness) -> None:
    harness.open()
    harness.always = YES
    task = {"label": "t", "command": f"echo x > {harness.outside}/task", "type": "shell"}
    await harness.call("build_and_version_control.create_and_run_task", task=task)
    (harness.folder / "ws/pyproject.toml").write_text("[tool.ruff]\n")
    tool = harness.folder / "ws/.venv/bin/ruff"
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/sh\necho x > {harness.outside}/checker\necho '[]'\n")
    tool.chmod(0o755)
    (harness.folder / "ws/a.py").write_text("x = 1\n")
    await harness.call("file_operations.get_errors")
    targets = [target for asked in harness.asked for target in asked.targets]
    assert f"{harness.outside}/task" in targets
    assert f"{harness.outside}/checker" in targets


@pytest.mark.requirement("outside:network")
@pytest.mark.usefixtures("no_package_tools")
async def test_with_the_network_off_the_person_is_asked_for_it(harness: Harness) -> None:
    harness.open()
    harness.runtime.guard.network = "off"
    code = f"{INTERPRETER} -c 'import socket; socket.socket(socket.AF_INET); print(1)'"
    assert not (await harness.run(code)).finished.ok
    assert harness.asked[-1].targets == ("connect to the network",)
    harness.answers = [Approval("scope", scope="session")]
    assert (await harness.run(code)).finished.text == "1"
    assert (await harness.run(code)).finished.text == "1"
    assert len(harness.asked) == 2


@pytest.mark.requirement("guard:as-shown")
async def test_a_file_that_changed_while_the_question_stood_is_left_as_it_is(
    harness: Harness,
) -> None:
    harness.open()
    harness.always = Approval("once")
    victim = harness.outside / "victim"
    patch = f"*** Begin Patch\n*** Delete File: {victim}\n*** End Patch"
    calls = {
        "replace_string": {"oldString": "precious", "newString": "x"},
        "create_file": {"content": "x", "overwrite": True},
        "delete_file": {},
        "apply_patch": {"patchContent": patch},
    }
    for name, arguments in calls.items():
        victim.write_text("precious\n")
        harness.meanwhile = lambda: victim.write_text("written meanwhile\nprecious\n")
        done = await harness.call(f"file_operations.{name}", filePath=str(victim), **arguments)
        assert "changed while the question was open" in done.finished.text, name
        assert victim.read_text() == "written meanwhile\nprecious\n", name
        harness.meanwhile = lambda: None
        done = await harness.call(f"file_operations.{name}", filePath=str(victim), **arguments)
        assert done.finished.ok, done.finished.text
