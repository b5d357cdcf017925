"""``sam-tui workflow``: every command without a model, and a run with the scripted one."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.policy.trust import FileTrust
from sam_tui.cli.main import main
from sam_tui.core.workflow.execution.tickets import read_token
from sam_tui.folders import settings_folder
from tests.fakes.openai_server import Reply, background
from tests.workflow.test_bundled import RUNS

PAINT = """---
name: paint
steps:
  - {id: ask, kind: human, prompt: "Colour?", choices: [red, blue]}
  - id: check
    kind: tool
    needs: [ask]
    tool: terminal_operations.run_command
    arguments: {command: "false"}
    on_fail: ask
---
Body.
"""

SEND = """---
name: send
steps:
  - id: send
    kind: tool
    tool: run_subagent
    arguments: {task: the secret task, instructions: none, model: ollama/other}
---
Body.
"""


class Shell:
    """The program in a folder of its own."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        self._capfd = capfd

    def __call__(self, *words: str, code: int = 0, group: str = "workflow") -> str:
        """Run a command to its exit code; what it printed."""
        self._capfd.readouterr()
        place = ["--workspace", str(self.workspace), "--data-dir", str(self.folder / "data")]
        ended = main([group, *words, *place])
        out, err = self._capfd.readouterr()
        assert ended == code, (ended, out, err)
        return out + err if code else out

    def json(self, *words: str, code: int = 0) -> Any:
        """The same with --json."""
        return json.loads(self(*words, "--json", code=code))


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Shell:
    """A shell in a fresh folder."""
    return Shell(tmp_path, capfd)


@pytest.mark.requirement("workflow:cli")
def test_definitions_are_listed_shown_made_checked_and_synced(shell: Shell) -> None:
    names = [view["name"] for view in shell.json("list")]
    assert set(RUNS) <= set(names)
    assert "-p feature=...  what it should do (required)" in shell("show", "implement-feature")
    assert "Did you mean fix-bug" in shell("show", "fixbug", code=1)
    path = shell("new", "mine").strip()
    assert "exists already" in shell("new", "mine", code=2)
    assert shell("lint") == "No problems.\n"
    Path(path).write_text("---\nname: mine\nsteps:\n  - {id: a, needs: [b]}\n---\n", "utf-8")
    assert shell("lint", path, code=1).startswith(f"{path}:4: error: step 'a' needs 'b'")
    assert shell.json("lint", code=1)[0]["line"] == 4
    assert "mine" in shell.json("sync")["added"]
    assert shell.json("sync")["added"] == []


@pytest.mark.requirement("workflow:cli")
def test_an_execution_is_driven_by_tokens_alone(shell: Shell) -> None:
    path = Path(shell("new", "mine").strip())
    path.write_text(
        "---\nname: mine\nsteps:\n  - {id: a, prompt: a}\n  - {id: b, prompt: b, needs: [a]}\n---\n",
        "utf-8",
    )
    FileTrust(settings_folder()).trust(str(shell.workspace))
    begun = shell.json("start", "mine", "--id", "run-1")
    token = begun["opened"][0]["token"]
    assert read_token(token)["step_name"] == "a"
    following = shell.json("next", token, '{"summary": "A"}')
    assert [o["step_name"] for o in following["opened"]] == ["b"]
    again = shell.json("next", token, "A", code=1)
    assert again["error"]["code"] == "token_replayed"
    assert "token_malformed" in json.dumps(shell.json("next", "nonsense", "A", code=1))
    assert "paused" in shell("pause", "run-1", "lunch")
    assert shell.json("next", following["opened"][0]["token"], "B", code=1)["error"]["code"] == (
        "execution_paused"
    )
    assert "TOKEN " in shell("resume", "run-1")
    status = shell.json("status", "run-1", "--tokens", "--events")
    assert (status["progress"], list(status["tokens"])) == ("1/2", ["b"])
    assert status["events"][0]["type"] == "workflow_created"
    assert "completed" in shell("next", status["tokens"]["b"], "B")
    assert "run-1  mine  completed  2/2" in shell("status")
    assert "transition_invalid" in json.dumps(shell.json("abandon", "run-1", code=1))
    assert "execution_unknown" in json.dumps(shell.json("status", "run-2", code=1))
    assert "There is no execution 'run-2'.\n  The newest are: run-1." in shell(
        "status", "run-2", code=1
    )
    assert shell("prune") == "Deleted 0 executions.\n"
    assert shell.json("prune", "--days", "0") == {"deleted": 1}
    assert "None is stored." in shell.json("status", "run-1", code=1)["error"]["message"]


@pytest.mark.requirement("workflow:cli")
def test_wrong_words_are_explained(shell: Shell) -> None:
    assert "objective is missing" in shell("start", "phased", code=1)
    assert "NAME=VALUE" in shell("start", "phased", "-p", "objective", code=2)
    assert "not valid JSON" in shell("start", "phased", "--params", "{", code=2)
    assert "one JSON object" in shell("start", "phased", "--params", "[]", code=2)
    assert "step's output is missing" in shell("next", "token", "-", code=2)
    both = shell.json("start", "phased", "--params", '{"objective": "x"}', "-p", "role=coder")
    assert both["opened"][0]["agent_name"] == "coder"


def runs(folder: Path, model: str) -> Callable[..., tuple[int, dict[str, Any]]]:
    """``workflow run`` in a process of its own: its exit code and what it printed."""

    def run(*words: str) -> tuple[int, dict[str, Any]]:
        done = subprocess.run(
            [
                sys.executable, "-P", "-m", "sam_tui", "workflow", "run", *words, "--json",
                "--workspace", str(folder / "ws"), "--data-dir", str(folder / "data"),
                "--model", model, "--permission-mode", "bypass",
            ],
            capture_output=True, text=True, check=False, env=os.environ.copy(),
        )  # fmt: skip
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    return run


@pytest.mark.requirement("workflow:cli-run")
def test_a_run_goes_to_the_end_waits_for_a_person_and_goes_on(tmp_path: Path) -> None:
    params, plays = RUNS["implement-feature"]
    (tmp_path / "ws").mkdir()
    script, answers = tmp_path / "script.json", tmp_path / "answers.json"
    script.write_text(json.dumps(plays), "utf-8")
    answers.write_text(json.dumps([{"match": "Shall it", "reply": "approve"}]), "utf-8")

    run = runs(tmp_path, f"scripted:{script}")
    code, view = run("implement-feature", "--id", "feature", "--params", json.dumps(params))
    assert (code, view["state"], view["reason"]) == (3, "paused", "step agree needs a person")
    code, view = run("feature", "--answers", str(answers))
    assert (code, view["state"], view["progress"]) == (0, "completed", "6/6")
    assert [step["attempts"] for step in view["steps"]] == [1] * 6


@pytest.mark.requirement("workflow:cli-run", "workflow:choices")
def test_an_answer_that_is_no_choice_ends_the_run_and_another_goes_on(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    flows = Path(settings_folder()) / "workflows"
    flows.mkdir(parents=True)
    (flows / "paint.md").write_text(PAINT, "utf-8")
    script, answers = tmp_path / "script.json", tmp_path / "answers.json"
    script.write_text("[]", "utf-8")
    run = runs(tmp_path, f"scripted:{script}")

    def answered(*words: str, colour: str, after: str) -> tuple[int, dict[str, Any]]:
        entries = [{"match": "Colour", "reply": colour}, {"match": "retry", "reply": after}]
        answers.write_text(json.dumps(entries), "utf-8")
        return run(*words, "--answers", str(answers))

    code, view = answered("paint", "--id", "it", colour="green", after="x")
    assert (code, view["state"]) == (3, "paused")
    assert view["reason"].endswith("'green' is none of: red, blue.")
    code, view = answered("it", colour="BLUE", after="perhaps")
    assert (code, view["state"], view["question"]["step"]) == (3, "paused", "check")
    code, view = answered("it", colour="x", after="Accept")
    assert (code, view["state"], view["progress"]) == (0, "completed", "2/2")


@pytest.mark.requirement("subagent:model-host")
@pytest.mark.parametrize(("reply", "goes"), [("", False), ("deny", False), ("approve", True)])
def test_a_step_sends_a_subagent_to_another_host_only_with_a_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: str, goes: bool
) -> None:
    (tmp_path / "ws").mkdir()
    flows = Path(settings_folder()) / "workflows"
    flows.mkdir(parents=True)
    (flows / "send.md").write_text(SEND, "utf-8")
    answers = tmp_path / "answers.json"
    entries = [{"match": "secret task", "reply": reply}] if reply else []
    answers.write_text(json.dumps(entries), "utf-8")
    with (
        background([Reply(text="Done.")] * 2) as first,
        background([Reply(text="Seen.")]) as second,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", first.base)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OLLAMA_API_BASE", second.base)
        _, view = runs(tmp_path, "openai/x")("send", "--id", "it", "--answers", str(answers))
        sent = [json.dumps(request.json) for request in second.requests]
    assert bool(sent) == goes and all("secret task" in text for text in sent)
    assert not first.requests
    assert (view["state"] == "completed") == goes, view
