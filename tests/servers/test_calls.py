"""Calls to tools of a server that runs: asked for, held, put into words, and ended."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.sandbox.ability import ability
from sam_tui.core.events import ToolProgressed
from sam_tui.core.inquiry import Approval
from tests.fakes.programs import silence_package_tools
from tests.servers.conftest import RAW, SECONDS, House, raw

PYTHON = os.path.realpath(sys.executable)
held = pytest.mark.skipif(ability().host is None, reason="the kernel lets no system call wait")


@pytest.mark.requirement("servers:tools")
async def test_a_servers_tools_stand_behind_ours_by_the_fields_names(house: House) -> None:
    house.user(one=raw())
    async with house.open() as sam:
        before = sam.runtime.registry.schemas_json
        names = await sam.arrive()
        assert {"mcp__one__echo", "mcp__one__write"} <= set(names)
        assert sam.runtime.registry.schemas_json.startswith(before[:-1])
        assert sam.schema("mcp__one__echo")["parameters"]["required"] == ["text"]
        assert await sam.text("mcp__one__echo", text="hello") == "hello"


@pytest.mark.requirement("servers:asked")
async def test_every_tool_is_asked_for_with_its_arguments_and_wider_scopes(house: House) -> None:
    house.user(one=raw())
    async with house.open() as sam:
        await sam.arrive()
        house.person.choice = Approval("deny", "not today")
        assert "not today" in await sam.text("mcp__one__write", text="a.txt")
        (asked,) = house.person.approvals
        assert asked.operation == "mcp__one__write"
        assert '+  "text": "a.txt"' in asked.preview[0].unified
        scopes = {choice.id: choice.words for choice in asked.choices}
        assert list(scopes) == ["once", "timed", "session", "project", "user"]
        assert "with any arguments" in scopes["session"]
        assert not (house.workspace / "a.txt").exists()


@pytest.mark.requirement("servers:asked")
async def test_a_permission_for_a_tool_holds_for_that_tool_alone_and_is_kept(house: House) -> None:
    house.user(one=raw())
    house.person.choice = Approval("scope", scope="user")
    async with house.open() as sam:
        await sam.arrive()
        assert await sam.text("mcp__one__echo", text="a") == "a"
        assert await sam.text("mcp__one__echo", text="b") == "b"
        house.person.choice = Approval("deny")
        await sam.call("mcp__one__fail")
    assert [asked.operation for asked in house.person.approvals] == [
        "mcp__one__echo",
        "mcp__one__fail",
    ]
    assert 'operation = "mcp__one__echo"' in (house.settings / "policy.toml").read_text()
    async with house.open() as sam:
        await sam.arrive()
        assert await sam.text("mcp__one__echo", text="c") == "c"


@pytest.mark.requirement("servers:asked")
@pytest.mark.parametrize(
    ("mode", "policy", "outcome", "rule"),
    [
        ("plan", "", "deny", "mode:plan"),
        ("plan", 'effect = "allow"\noperation = "mcp__one__*"', "allow", "user:1"),
        ("auto", "", "deny", "mode:auto"),
        ("bypass", "", "allow", "mode:bypass"),
        ("bypass", 'effect = "deny"\noperation = "mcp__one__*"', "deny", "user:1"),
        ("ask", 'effect = "allow"\noperation = "mcp__one__ec*"', "allow", "user:1"),
        ("ask", 'effect = "allow"\npath = "/"', "deny", "unattended"),
        ("accept-edits", "", "deny", "unattended"),
    ],
)
async def test_modes_and_rules_decide_about_tools_of_servers(
    house: House, mode: str, policy: str, outcome: str, rule: str
) -> None:
    house.user(one=raw())
    house.policy(f"[[rule]]\n{policy}\n" if policy else "")
    async with house.open(mode=mode, responder=None) as sam:
        await sam.arrive()
        done = await sam.call("mcp__one__echo", text="x")
        assert done.decision is not None
        assert (done.decision.outcome, done.decision.rule) == (outcome, rule)
        logged = sam.runtime.decisions.past(str(house.workspace), "mcp__one__echo", limit=1)
        assert [entry.decision.outcome for entry in logged] == [outcome]


@held
@pytest.mark.requirement("servers:plan-mode")
async def test_a_server_that_plan_mode_started_writes_nothing_until_that_is_left(
    house: House,
) -> None:
    house.user(one=raw())
    house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n')
    made = house.workspace / "made"
    async with house.open(mode="plan") as sam:
        await sam.arrive()
        assert "Permission denied" in await sam.text("mcp__one__write", text=str(made))
        assert not made.exists()
        sam.runtime.guard.use_mode("ask")
        while "Permission denied" in await sam.text("mcp__one__write", text=str(made)):
            pass  # the mode is looked at anew every second
        assert made.exists() and house.person.asked == []


@pytest.mark.requirement("servers:arguments")
async def test_arguments_that_do_not_fit_never_reach_the_server(house: House) -> None:
    house.user(one=raw())
    async with house.open() as sam:
        await sam.arrive()
        assert "text must be string, not array" in await sam.text("mcp__one__echo", text=[1])
        assert "text is missing" in await sam.text("mcp__one__echo")
        assert "half a character" in await sam.text("mcp__one__echo", text="\ud800")
        assert house.person.approvals == []


@pytest.mark.requirement("servers:results")
async def test_results_of_every_kind_become_plain_masked_text_and_data(house: House) -> None:
    house.user(one=raw())
    async with house.open() as sam:
        await sam.arrive()
        mixed = await sam.call("mcp__one__mixed")
        text = mixed.finished.text
        assert "<\\system-reminder>" in text
        assert "⟨U+202E⟩" in text
        assert "AKIAABCDEFGHIJKLMNOP" not in text
        assert "[image, image/png, 3.0 kB]" in text
        assert "file:///a" in text
        assert "inside" in text
        assert mixed.data["images"][0]["mimeType"] == "image/png"
        data = await sam.call("mcp__one__data")
        assert json.loads(data.finished.text) == data.data["structuredContent"] == {"answer": 42}
        failed = await sam.call("mcp__one__fail")
        assert (failed.finished.ok, failed.finished.text) == (False, "ERROR: it failed")
        refused = await sam.text("mcp__one__refuse")
        assert "The MCP server one: no such thing ⟨U+202E⟩" in refused


@pytest.mark.requirement("servers:held")
@held
async def test_a_write_outside_waits_for_the_person_with_path_and_process(house: House) -> None:
    house.user(one=raw())
    house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n')
    outside = house.folder / "outside.txt"
    async with house.open() as sam:
        await sam.arrive()
        house.person.choice = Approval("deny")
        refused = await sam.text("mcp__one__write", text=str(outside))
        assert "could not: Permission denied" in refused
        assert f"The sandbox refused to write {outside}" in refused
        assert not outside.exists()
        (asked,) = house.person.approvals
        assert asked.operation == "commands.change_outside"
        assert asked.targets == (str(outside),)
        assert "MCP server one" in asked.summary
        assert "until the server ends" in asked.choices[0].words
        assert await sam.text("mcp__one__write", text="inside.txt") == "written"
    assert (house.workspace / "inside.txt").read_text() == "written"


@pytest.mark.requirement("servers:held")
@held
async def test_an_allowed_write_outside_goes_on_without_running_anything_twice(
    house: House,
) -> None:
    house.user(one=raw())
    outside = house.folder / "outside.txt"
    async with house.open() as sam:
        await sam.arrive()
        assert await sam.text("mcp__one__write", text=str(outside)) == "written"
        again = await sam.text("mcp__one__write", text=str(house.folder / "another.txt"))
        assert again == "written"
    assert outside.read_text() == "written"
    assert [a.operation for a in house.person.approvals] == [
        "mcp__one__write",
        "commands.change_outside",
    ] * 2


@pytest.mark.requirement("servers:held")
@held
@pytest.mark.parametrize("network", ["on", "hosts", "off"])
async def test_what_a_server_connects_to_is_held_as_for_commands(
    house: House, network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silence_package_tools(tmp_path / "bin", monkeypatch)
    house.user(one=raw())
    rule = '[[rule]]\neffect = "allow"\noperation = "mcp__one__*"\n'
    house.policy(f'network = "{network}"\n{rule}')
    house.person.choice = Approval("deny")
    listening = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening, house.open() as sam:
        await sam.arrive()
        said = await sam.text("mcp__one__connect", text=str(port))
    asked = [request.targets for request in house.person.approvals]
    assert said.splitlines()[0] == (
        "connected" if network == "on" else "could not: Permission denied"
    )
    assert asked == ([] if network == "on" else [(f"connect to {_named(network, port)}",)])


def _named(network: str, port: int) -> str:
    return f"127.0.0.1:{port}" if network == "hosts" else "the network"


@pytest.mark.requirement("servers:environment")
async def test_a_server_gets_what_its_file_gives_it_and_no_key_of_ours(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-person")
    token = "ghp_" + "a1B2" * 9
    house.user(one=raw(env={"GIVEN": "${TOKEN}", "FALLEN": "${NOTHING:-back}"}))
    async with house.open(environ={"TOKEN": token}) as sam:
        await sam.arrive()
        assert await sam.text("mcp__one__environ", text="OPENAI_API_KEY") == "(not set)"
        assert await sam.text("mcp__one__environ", text="FALLEN") == "back"
        shown = await sam.text("mcp__one__environ", text="GIVEN")
        assert shown.startswith("<secret:")
        assert token not in shown
        assert (await sam.text("mcp__one__environ", text="TMPDIR")).startswith("/")


@pytest.mark.requirement("servers:secrets")
async def test_a_server_gets_no_known_secret_and_none_by_its_placeholder(house: House) -> None:
    token = "ghp_" + "a1B2" * 9
    house.user(one=raw(env={"GITHUB_TOKEN": token}), two=raw())
    async with house.open() as sam:
        await sam.arrive()
        shown = await sam.text("mcp__one__environ", text="GITHUB_TOKEN")
        assert shown.startswith("<secret:")
        await sam.call("mcp__two__write", text=shown)
        await sam.call("mcp__two__write", text=token)
    assert [path.name for path in house.workspace.iterdir()] == [shown]


@pytest.mark.requirement("servers:held")
@held
async def test_a_server_that_was_started_unheld_is_held_once_the_mode_says_so(
    house: House,
) -> None:
    house.user(one=raw())
    outside = house.folder / "outside.txt"
    async with house.open(mode="bypass") as sam:
        await sam.arrive()
        assert await sam.text("mcp__one__echo", text="free") == "free"
        sam.runtime.guard.use_mode("ask")
        house.person.choice = Approval("scope", scope="session")
        assert await sam.text("mcp__one__echo", text="held") == "held"
        house.person.choice = Approval("once")
        assert await sam.text("mcp__one__write", text=str(outside)) == "written"
    assert "commands.change_outside" in [a.operation for a in house.person.approvals]


@pytest.mark.requirement("servers:cancelled")
async def test_a_cancelled_call_is_cancelled_at_the_server_and_tells_its_progress(
    house: House,
) -> None:
    house.user(one=raw())
    async with house.open() as sam:
        await sam.arrive()
        events = sam.runtime.bus.subscribe()
        heard = house.workspace / "cancelled"
        os.mkfifo(heard)
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
            work = group.create_task(sam.call("mcp__one__wait"))
            told: list[str] = []
            while not told:
                batch = await events.batch()
                told = [event.text for event in batch if isinstance(event, ToolProgressed)]
            assert told == ["1 of 4 a quarter\n"]
            work.cancel()
            assert await asyncio.to_thread(heard.read_text, "utf-8") == "cancelled"
        assert await sam.text("mcp__one__echo", text="still here") == "still here"
        events.close()


@pytest.mark.requirement("servers:patience")
async def test_a_call_that_never_ends_is_given_up_after_its_time(house: House) -> None:
    house.user(one=raw(timeout=1500))
    async with house.open() as sam:
        await sam.arrive()
        heard = house.workspace / "cancelled"
        os.mkfifo(heard)
        text = await sam.text("mcp__one__wait")
        assert "did not answer within 1.5 s" in text
        async with asyncio.timeout(SECONDS):
            assert await asyncio.to_thread(heard.read_text, "utf-8") == "cancelled"


@pytest.mark.requirement("servers:asks-person")
async def test_a_servers_form_becomes_questions_and_its_answers_go_back(house: House) -> None:
    house.user(one=raw())
    house.person.replies = ["blue", "many", "7", "yes"]
    async with house.open(attended=True) as sam:
        await sam.arrive()
        answered = json.loads(await sam.text("mcp__one__ask"))
        assert answered["action"] == "accept"
        assert answered["content"] == {"colour": "blue", "count": 7, "sure": True}
        house.person.replies = ["decline"]
        assert json.loads(await sam.text("mcp__one__ask"))["action"] == "decline"
    async with house.open() as sam:
        await sam.arrive()
        assert json.loads(await sam.text("mcp__one__ask"))["action"] == "cancel"


@pytest.mark.requirement("servers:asks-person")
async def test_a_server_is_told_the_workspace(house: House) -> None:
    house.user(one=raw())
    async with house.open() as sam:
        await sam.arrive()
        roots = json.loads(await sam.text("mcp__one__roots"))
        assert [root["uri"] for root in roots["roots"]] == [house.workspace.resolve().as_uri()]


def _gone(pid: int) -> bool:
    """Whether a process is over; one that waits to be reaped is."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.requirement("servers:endings")
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
async def test_nothing_of_a_server_is_left_when_the_program_ends(house: House) -> None:
    house.user(one=raw(), two=raw())
    before = len(os.listdir("/proc/self/fd"))
    async with house.open() as sam:
        await sam.arrive()
        child = int(await sam.text("mcp__one__child"))
        assert not _gone(child)
    assert _gone(child)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.requirement("servers:held")
@pytest.mark.confined("bubblewrap")
async def test_a_server_is_held_by_the_strict_sandbox_as_well(house: House) -> None:
    # Nothing of /tmp is there but the workspace.
    script = house.workspace / "server.py"
    script.write_text(RAW.read_text("utf-8"), encoding="utf-8")
    house.user(one={"command": PYTHON, "args": [str(script)]})
    outside = house.folder / "outside.txt"
    async with house.open(sandbox="strict") as sam:
        await sam.arrive()
        assert await sam.text("mcp__one__write", text="inside.txt") == "written"
        await sam.text("mcp__one__write", text=str(outside))
    assert not outside.exists()
