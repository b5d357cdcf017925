"""One execution, three drivers in turn, each a process of its own: our agent, a person, a program."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.storage import open_storage
from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import ToolMessage
from sam_tui.folders import settings_folder

FLOW = """---
name: relay
params: {goal: {required: true}}
steps:
  - {id: outside, prompt: "Begin with @{params.goal}"}
  - id: ours
    prompt: "Go on with @{outputs.outside.summary}"
    needs: [outside]
    tools: [delegate, "file_operations.create_file"]
  - {id: person, kind: human, needs: [ours], prompt: "Is it good?", choices: ["yes", "no"]}
  - {id: last, prompt: "Finish after @{outputs.person.answer}", needs: [person], tools: []}
---
Body.
"""


class Program:
    """``sam-tui workflow`` in processes of their own, over one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        flows = Path(settings_folder()) / "workflows"
        flows.mkdir(parents=True)
        (flows / "relay.md").write_text(FLOW, "utf-8")

    def __call__(self, *words: str, code: int = 0) -> Any:
        """One command, as JSON."""
        done = subprocess.run(
            [
                sys.executable, "-P", "-m", "sam_tui", "workflow", *words, "--json",
                "--workspace", str(self.workspace), "--data-dir", str(self.folder / "data"),
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    def agent(self, *plays: dict[str, Any], code: int) -> Any:
        """Let our agent go on, with a model that plays this."""
        script = self.folder / "script.json"
        script.write_text(json.dumps(plays), "utf-8")
        model = f"scripted:{script}"
        return self("run", "it", "--model", model, "--permission-mode", "bypass", code=code)


def tool_results(data: Path) -> list[str]:
    """What every call of every conversation of a data folder came to."""
    storage = open_storage(data)
    try:
        found = storage.database.query("SELECT DISTINCT conversation FROM messages")
        names = [ConversationId(row[0]) for row in found]
        said = [m for name in names for m in storage.conversations.messages(name)]
        return [message.text for message in said if isinstance(message, ToolMessage)]
    finally:
        storage.close()


@pytest.mark.requirement("workflow:handover")
def test_an_execution_is_driven_by_processes_in_turn_and_its_agent_sends_subagents(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path)
    begun = program("start", "relay", "-p", "goal=a song", "--id", "it")
    assert [t["step_name"] for t in begun["opened"]] == ["outside"]
    handed_in = (begun["opened"][0]["token"], '{"summary": "two verses"}')
    foreign = program("next", *handed_in, "--id", "another", code=1)
    assert foreign["error"]["code"] == "token_foreign"
    done = program("next", *handed_in, "--id", "it")
    assert "two verses" in done["opened"][0]["instructions"]
    theirs = done["opened"][0]["token"]

    ours, errand = {"user": "step ours,"}, {"user": "Write the chorus"}
    create = {"operation": "create_file", "filePath": "chorus.txt", "content": "la"}
    command = {"operation": "list_dir", "path": "."}
    forge = {"operation": "advance", "executionId": "it", "output": {"summary": "forged"}}
    view = program.agent(
        {
            "when": ours,
            "calls": [{"name": "run_subagent", "arguments": {"task": "Write the chorus"}}],
        },
        {"when": errand, "calls": [{"name": "file_operations", "arguments": command}]},
        {"when": errand, "calls": [{"name": "workflow", "arguments": forge}]},
        {"when": errand, "calls": [{"name": "file_operations", "arguments": create}]},
        {"when": errand, "text": "The chorus is written."},
        {"when": ours, "text": "verses and a chorus"},
        code=3,
    )
    refusals = [said for said in tool_results(tmp_path / "data") if "not allowed" in said]
    assert len(refusals) == 2
    assert "file_operations.list_dir is not allowed in phase ours" in refusals[0]
    assert "workflow.advance is not allowed in a subagent of a step" in refusals[1]
    assert (view["state"], view["reason"]) == ("paused", "step person needs a person")
    assert (tmp_path / "ws" / "chorus.txt").read_text("utf-8") == "la"
    refused = program("next", theirs, "{}", code=1)
    assert refused["error"]["code"] in ("execution_paused", "token_revoked", "token_replayed")

    resumed = program("resume", "it")
    answer = {"summary": "yes", "answer": "yes", "approved": True}
    done = program("next", resumed["opened"][0]["token"], json.dumps(answer))
    assert [t["step_name"] for t in done["opened"]] == ["last"]
    view = program.agent({"when": {"user": "step last,"}, "text": "sung"}, code=0)
    assert (view["state"], view["progress"]) == ("completed", "4/4")
    told = program("status", "it", "--events")
    changes = [event["type"] for event in told["events"]]
    assert changes.count("step_completed") == 4
    assert changes.count("token_validated") == 2
