"""Servers from the command line, in headless runs, and on the screen."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import OptionList

from sam_tui.ui.screens.reader import Reader
from tests.servers.conftest import House, raw
from tests.ui.driver import app_over, build_stage, driven

SECONDS = 50


def run(house: House, *words: str) -> "subprocess.CompletedProcess[str]":
    """The program over the house's folders."""
    place = ["-C", str(house.workspace), "--data-dir", str(house.folder / "data")]
    named = 2 if words[0] in ("mcp", "guard", "tools", "hooks") else 1
    return subprocess.run(
        [sys.executable, "-P", "-m", "sam_tui", *words[:named], *place, *words[named:]],
        env={**os.environ, "SAM_TUI_CONFIG_DIR": str(house.settings)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def script(house: House, *steps: dict[str, Any]) -> str:
    """A model that plays these steps."""
    path = house.folder / "script.json"
    path.write_text(json.dumps(steps), encoding="utf-8")
    return f"scripted:{path}"


@pytest.mark.requirement("servers:commands")
def test_a_server_is_added_listed_looked_at_and_removed(house: House) -> None:
    server = raw()
    command = [server["command"], *server["args"]]
    added = run(house, "mcp", "add", "-e", "A=b", "one", "--", *command)
    assert added.returncode == 0, added.stderr
    own = house.settings / "mcp.json"
    assert own.stat().st_mode & 0o777 == 0o600
    kept = json.loads(own.read_text("utf-8"))
    assert kept == {"mcpServers": {"one": {**server, "env": {"A": "b"}}}}
    again = run(house, "mcp", "add", "one", "http://127.0.0.1:9/mcp")
    assert (again.returncode, "already" in again.stderr) == (2, True)
    listed = run(house, "mcp", "list", "--json")
    (report,) = json.loads(listed.stdout)
    assert (report["name"], report["standing"], report["source"]) == ("one", "waiting", "user")
    shown = run(house, "mcp", "get", "one")
    assert shown.returncode == 0, shown.stderr
    assert "mcp__one__echo" in shown.stdout
    doctor = run(house, "doctor", "--json")
    checks = {check["name"]: check for check in json.loads(doctor.stdout)}
    assert checks["MCP servers"]["detail"] == "one"
    assert run(house, "mcp", "remove", "one").returncode == 0
    assert json.loads(own.read_text("utf-8")) == {"mcpServers": {}}
    assert run(house, "mcp", "remove", "one").returncode == 2


@pytest.mark.requirement("servers:commands")
def test_a_servers_tool_is_explained_without_starting_it_and_called_without_a_model(
    house: House,
) -> None:
    house.user(one={"command": "sh", "args": ["-c", "touch started"]})
    house.policy('[[rule]]\neffect = "deny"\noperation = "mcp__one__*"\n')
    explained = json.loads(run(house, "guard", "explain", "mcp__one__echo").stdout)
    assert (explained["decision"], explained["rule"]) == ("deny", "user:1")
    assert explained["accesses"][0]["server"] == "one"
    assert not (house.workspace / "started").exists()
    house.policy("")
    house.user(one=raw())
    given = json.dumps({"text": "called"})
    refused = run(house, "tools", "call", "mcp__one__echo", given)
    assert (refused.returncode, json.loads(refused.stdout)["success"]) == (3, False)
    called = run(house, "tools", "call", "--approve", "always", "mcp__one__echo", given)
    assert called.returncode == 0, called.stderr
    assert json.loads(called.stdout)["output"]["content"] == "called"
    unknown = run(house, "tools", "call", "mcp__one__nothing", "{}")
    assert "There is no tool called" in unknown.stdout


@pytest.mark.requirement("servers:hooked")
def test_a_matcher_for_a_server_that_is_named_is_about_something(house: House) -> None:
    house.user(one=raw())
    hook = [{"type": "command", "command": "true"}]
    matchers = [{"matcher": f"mcp__{name}__.*", "hooks": hook} for name in ("one", "two")]
    hooks = house.settings / "hooks.json"
    hooks.write_text(json.dumps({"hooks": {"PreToolUse": matchers}}), encoding="utf-8")
    listed = run(house, "hooks", "list").stdout
    assert listed.count("matches no operation") == 1


@pytest.mark.requirement("servers:asked")
def test_rules_for_tools_of_servers_are_not_too_broad_unless_they_mean_all(house: House) -> None:
    rule = '[[rule]]\neffect = "allow"\noperation = "mcp__{}"\n'
    house.policy(rule.format("one__echo") + rule.format("two__*"))
    assert run(house, "guard", "lint").returncode == 0
    house.policy(rule.format("*"))
    broad = run(house, "guard", "lint")
    assert (broad.returncode, "every tool of every server" in broad.stdout) == (1, True)


@pytest.mark.requirement("servers:commands")
def test_what_is_wrong_is_said_and_nothing_of_a_damaged_file_is_lost(house: House) -> None:
    own = house.settings / "mcp.json"
    own.write_text('{"mcpServers": {"a": {"cmd": "x"}}, "other": 1}', encoding="utf-8")
    added = run(house, "mcp", "add", "one", "--", "true")
    assert added.returncode == 52
    assert "the key 'other' is not known" in added.stderr
    assert "other" in own.read_text("utf-8")
    house.user(one=raw("exit"))
    checked = run(house, "mcp", "list", "--check")
    assert checked.returncode == 1
    assert "exit code 4" in checked.stdout
    assert run(house, "mcp", "get", "nobody").returncode == 2
    house.user(web={"url": "https://${NO_SUCH_HOST}/mcp"})
    shown = run(house, "mcp", "get", "web").stdout
    assert "\n  http " in shown
    assert "\n  stdio " not in shown


@pytest.mark.requirement("servers:headless")
def test_a_headless_run_has_the_tools_of_a_named_file_from_its_first_request(
    house: House, tmp_path: Path
) -> None:
    house.user(broken=raw("exit"))
    house.project(theirs=raw())
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"mcpServers": {"one": raw()}}), encoding="utf-8")
    house.policy('[[rule]]\neffect = "allow"\noperation = "mcp__one__echo"\n')
    calling = {"calls": [{"name": "mcp__one__echo", "arguments": {"text": "from the server"}}]}
    model = script(house, calling, {"text": "done"})
    words = ["--model", model, "--output-format", "stream-json", "--mcp-config", str(given), "go"]
    done = run(house, "run", *words)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["subtype"] == "init"
    assert "mcp__one__echo" in lines[0]["tools"]
    assert {server["name"]: server["status"] for server in lines[0]["mcp_servers"]} == {
        "one": "ready",
        "broken": "failed",
        "theirs": "untrusted",
    }
    assert "from the server" in done.stdout
    assert any("cannot find my configuration" in str(line) for line in lines)
    strict = run(house, "run", "--strict-mcp-config", *words)
    (first, *_) = [json.loads(line) for line in strict.stdout.splitlines()]
    assert [server["name"] for server in first["mcp_servers"]] == ["one"]


@pytest.mark.requirement("servers:flag")
def test_a_named_file_that_is_missing_or_wrong_ends_the_start(house: House) -> None:
    given = house.folder / "given.json"
    missing = run(house, "run", "--model", script(house), "--mcp-config", str(given), "go")
    assert (missing.returncode, "There is no file" in missing.stderr) == (52, True)
    given.write_text('{"mcpServers": {"a": {"cmd": "x"}}}', encoding="utf-8")
    wrong = run(house, "run", "--model", script(house), "--mcp-config", str(given), "go")
    assert (wrong.returncode, "the key 'cmd' is not known" in wrong.stderr) == (52, True)


@pytest.mark.requirement("servers:listed")
async def test_the_workbench_starts_servers_and_lists_them_with_their_tools(
    tmp_path: Path,
) -> None:
    (tmp_path / "settings").mkdir(mode=0o700)
    servers = {"one": raw(), "bad": raw("exit")}
    own = tmp_path / "settings" / "mcp.json"
    own.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    stage = build_stage(tmp_path, None)
    async with driven(app_over(stage)) as me:
        await me.until(lambda: me.app.runtime is not None)
        assert await stage.runtime.servers.settled(SECONDS)
        await me.pilot.press("escape")
        await me.until(lambda: me.app.screen is me.app.chat)
        await me.send("/mcp")
        await me.until(lambda: "MCP servers" in me.drawn())
        await me.until(lambda: "exit code 4" in me.drawn())
        assert "tools" in me.drawn()
        await me.until(lambda: me.app.screen.query(OptionList))
        await me.pilot.press("down", "enter")
        await me.until(lambda: isinstance(me.app.screen, Reader))
        await me.until(lambda: "mcp__one__echo" in me.drawn())
