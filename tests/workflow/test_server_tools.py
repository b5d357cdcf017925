"""Tools of MCP servers in plans: a planner is told of them as it begins, and their steps are done."""

import json
import subprocess
from pathlib import Path

import pytest

from sam_tui.folders import settings_folder
from tests.cli.conftest import SAFE_MODULE, SECONDS
from tests.servers.conftest import raw

STEP = {
    "stepId": "one",
    "assigned_agent_role": "Chemist",
    "tool_name": "mcp__lab__echo",
    "sub_task_input": {"text": "water"},
    "narrative_step": "Look it up",
}


@pytest.mark.requirement("plans:server-tools")
def test_a_role_has_the_tools_of_a_server_when_its_plan_is_made(tmp_path: Path) -> None:
    settings = Path(settings_folder())
    (settings / "personas").mkdir(parents=True, exist_ok=True)
    (settings / "mcp.json").write_text(
        json.dumps({"mcpServers": {"lab": raw(), "context7": raw()}}), encoding="utf-8"
    )
    persona = "---\nname: Chemist\ndescription: Looks up.\ntools: [mcp__lab__echo]\n---\nYou.\n"
    (settings / "personas" / "Chemist.md").write_text(persona, encoding="utf-8")
    plays = [{"text": "Found.", "when": {"user": "water"}}, {"text": json.dumps([[STEP]])}]
    (tmp_path / "script.json").write_text(json.dumps(plays), encoding="utf-8")
    (tmp_path / "ws").mkdir()

    def run(*words: str) -> str:
        places = ("-C", str(tmp_path / "ws"), "--data-dir", str(tmp_path / "data"))
        model = ("--model", f"scripted:{tmp_path}/script.json", "--permission-mode", "bypass")
        done = subprocess.run(
            [*SAFE_MODULE, "plan", *words, *places, *model],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    roles = {role["role"]: role for role in json.loads(run("capabilities"))}
    assert [tool["name"] for tool in roles["Chemist"]["tools"]][:1] == ["mcp__lab__echo"]
    assert "Context7DocumentationTool" not in roles["ResearchAgent"].get("missing", ())
    done = json.loads(run("run", "look something up", "--json"))
    assert [entry["status"] for entry in done["executedPlan"]] == ["COMPLETED"]
