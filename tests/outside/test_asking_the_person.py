"""What a running command wants outside goes through the guard and to the person, and is on record."""

from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.inquiry import Approval
from tests.fakes.interpreter import INTERPRETER

Desk = Any
"""See conftest."""

pytestmark = pytest.mark.confined("live")
YES = Approval("once")
CHANGE = "commands.change_outside"


@pytest.mark.requirement("outside:asked")
async def test_a_write_outside_waits_for_exactly_one_yes_and_is_on_record(desk: Desk) -> None:
    desk.open()
    desk.answers = [YES]
    done = await desk.run(f"echo made > {desk.outside}/new && cat {desk.outside}/new")
    assert done.finished.text == "made"
    (asked,) = desk.asked
    assert asked.operation == CHANGE
    assert asked.targets == (f"{desk.outside}/new",)
    assert "bash (pid " in asked.summary and "wants to write" in asked.summary
    assert "nothing is run twice" in asked.why
    assert asked.choices[0].words == "exactly this, for this command"
    ran, outside = desk.decisions()
    assert (ran.operation, outside.operation) == ("terminal_operations.run_command", CHANGE)
    assert (outside.outcome, outside.by, outside.targets) == ("allow", "user", asked.targets)


@pytest.mark.requirement("outside:refusals-told")
async def test_a_no_reaches_the_command_and_the_result_names_path_and_process(desk: Desk) -> None:
    desk.open()
    done = await desk.run(f"tee {desk.outside}/victim < /dev/null; echo went on")
    assert "went on" in done.finished.text
    assert f"[refused by the sandbox: write {desk.outside}/victim (tee, pid " in done.finished.text
    (refused,) = done.data["refused"]
    assert (refused["kind"], refused["process"]) == ("write", "tee")
    assert (desk.outside / "victim").read_text() == "precious\n"


@pytest.mark.requirement("outside:unattended")
async def test_unattended_it_is_denied_at_once(desk: Desk) -> None:
    desk.open()
    done = await desk.run(f"rm {desk.outside}/victim")
    assert not done.finished.ok
    assert (desk.outside / "victim").exists()
    assert desk.decisions()[-1].rule == "unattended"


@pytest.mark.requirement("outside:policy-first")
async def test_modes_rules_and_protected_places_decide_before_anybody_is_asked(desk: Desk) -> None:
    desk.always = YES
    desk.open()
    desk.runtime.guard.use_mode("auto")
    await desk.run(f"echo x > {desk.outside}/victim")
    assert desk.decisions()[-1].rule == "mode:auto"
    desk.runtime.guard.use_mode("ask")
    for place in (desk.folder / "data/new", desk.folder / "home/.ssh/authorized_keys", "/dev/mem"):
        Path(place).parent.mkdir(exist_ok=True)
        await desk.run(f"echo x > {place}")
        assert desk.decisions()[-1].outcome == "deny", place
    assert desk.asked == []
    assert (desk.outside / "victim").read_text() == "precious\n"


@pytest.mark.requirement("outside:both-paths")
async def test_a_rename_names_both_paths(desk: Desk) -> None:
    desk.open()
    desk.answers = [YES]
    await desk.run(f"mv {desk.outside}/victim {desk.outside}/moved")
    assert desk.asked[0].targets == (f"{desk.outside}/victim", f"{desk.outside}/moved")
    assert (desk.outside / "moved").read_text() == "precious\n"


@pytest.mark.requirement("outside:grants")
async def test_a_grant_covers_what_it_says_for_all_commands_of_the_conversation(desk: Desk) -> None:
    desk.open()
    desk.answers = [Approval("scope", scope="session")]
    script = f"for n in 1 2 3; do echo $n > {desk.outside}/$n; done"
    assert (await desk.run(script)).finished.ok
    assert (await desk.run(f"rm {desk.outside}/1")).finished.ok
    assert len(desk.asked) == 1
    granted = [d for d in desk.decisions() if d.rule.startswith("grant:")]
    assert [d.targets for d in granted] == [(f"{desk.outside}/{n}",) for n in (2, 3, 1)]
    (grant,) = desk.runtime.guard.grants.current()
    desk.runtime.guard.grants.revoke(grant.id)
    assert not (await desk.run(f"rm {desk.outside}/2")).finished.ok
    assert len(desk.asked) == 2


@pytest.mark.requirement("outside:grants")
async def test_a_grant_to_read_in_a_folder_is_none_to_write_there(desk: Desk) -> None:
    desk.open()
    desk.answers = [Approval("scope", scope="session")]
    command = {"command": "echo x > new", "working_directory": str(desk.outside)}
    assert not (await desk.run(**command)).finished.ok
    assert [a.operation for a in desk.asked] == ["terminal_operations.run_command", CHANGE]
    assert not (desk.outside / "new").exists()


@pytest.mark.requirement("outside:everywhere")
async def test_terminal_sessions_ask_the_same_way_and_tell_what_was_refused(desk: Desk) -> None:
    desk.open()
    made = await desk.call("terminal_operations.create_session")
    session = made.data["session_id"]
    desk.answers = [YES]
    line = f"echo kept > {desk.outside}/kept; echo lost > {desk.outside}/lost\n"
    done = await desk.call("terminal_operations.send_input", session_id=session, input=line)
    assert (desk.outside / "kept").read_text() == "kept\n"
    assert not (desk.outside / "lost").exists()
    assert [a.targets for a in desk.asked] == [
        (f"{desk.outside}/kept",),
        (f"{desk.outside}/lost",),
    ]
    assert desk.asked[0].choices[0].words == "exactly this, until the terminal session ends"
    assert [refused["path"] for refused in done.data["refused"]] == [f"{desk.outside}/lost"]


@pytest.mark.requirement("outside:everywhere")
async def test_background_commands_ask_after_their_call_has_ended(desk: Desk) -> None:
    desk.open()
    desk.answers = [YES]
    command = f"read -r _ < go; echo late > {desk.outside}/late"
    (await desk.run("mkfifo go"))
    done = await desk.run(command, isBackground=True)
    assert desk.asked == []
    (desk.folder / "ws/go").write_text("go\n")
    terminal = done.data["terminalId"]
    ended = await desk.call("terminal_operations.get_terminal_output", id=terminal, wait=20)
    assert ended.data["exitCode"] == 0
    assert (desk.outside / "late").read_text() == "late\n"
    assert desk.asked[0].targets == (f"{desk.outside}/late",)


@pytest.mark.requirement("outside:everywhere")
async def test_tasks_checkers_and_git_hooks_ask_the_same_way(desk: Desk) -> None:
    desk.open()
    desk.always = YES
    task = {"label": "t", "command": f"echo x > {desk.outside}/task", "type": "shell"}
    await desk.call("build_and_version_control.create_and_run_task", task=task)
    (desk.folder / "ws/pyproject.toml").write_text("[tool.ruff]\n")
    tool = desk.folder / "ws/.venv/bin/ruff"
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/sh\necho x > {desk.outside}/checker\necho '[]'\n")
    tool.chmod(0o755)
    (desk.folder / "ws/a.py").write_text("x = 1\n")
    await desk.call("file_operations.get_errors")
    targets = [target for asked in desk.asked for target in asked.targets]
    assert f"{desk.outside}/task" in targets
    assert f"{desk.outside}/checker" in targets


@pytest.mark.requirement("outside:network")
@pytest.mark.usefixtures("no_package_tools")
async def test_with_the_network_off_the_person_is_asked_for_it(desk: Desk) -> None:
    desk.open()
    desk.runtime.guard.network = "off"
    code = f"{INTERPRETER} -c 'import socket; socket.socket(socket.AF_INET); print(1)'"
    assert not (await desk.run(code)).finished.ok
    assert desk.asked[-1].targets == ("connect to the network",)
    desk.answers = [Approval("scope", scope="session")]
    assert (await desk.run(code)).finished.text == "1"
    assert (await desk.run(code)).finished.text == "1"
    assert len(desk.asked) == 2


@pytest.mark.requirement("guard:as-shown")
async def test_a_file_that_changed_while_the_question_stood_is_left_as_it_is(desk: Desk) -> None:
    desk.open()
    desk.always = Approval("once")
    victim = desk.outside / "victim"
    patch = f"*** Begin Patch\n*** Delete File: {victim}\n*** End Patch"
    calls = {
        "replace_string": {"oldString": "precious", "newString": "x"},
        "create_file": {"content": "x", "overwrite": True},
        "delete_file": {},
        "apply_patch": {"patchContent": patch},
    }
    for name, arguments in calls.items():
        victim.write_text("precious\n")
        desk.meanwhile = lambda: victim.write_text("written meanwhile\nprecious\n")
        done = await desk.call(f"file_operations.{name}", filePath=str(victim), **arguments)
        assert "changed while the question stood" in done.finished.text, name
        assert victim.read_text() == "written meanwhile\nprecious\n", name
        desk.meanwhile = lambda: None
        done = await desk.call(f"file_operations.{name}", filePath=str(victim), **arguments)
        assert done.finished.ok, done.finished.text
