"""Where the tools are: by profile, by name from the command line, and nowhere else."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sam_tools import PROFILES, profile_of
from tests.ironmanus.harness import Harness


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One run of the program over its own data and workspace."""
    places = ["--data-dir", str(folder / "data"), "--workspace", str(folder)]
    return subprocess.run(
        [sys.executable, "-P", "-m", "sam_tui", "tools", *words, *places],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.requirement("ironmanus:offered")
def test_the_profile_names_exactly_the_tools_that_are_made(harness: Harness) -> None:
    assert tuple(tool.name for tool in harness.tools) == PROFILES["iron-manus"]
    assert profile_of("JARVIS") == "iron-manus"
    assert profile_of("file_operations.read_file") == ""


@pytest.mark.requirement("ironmanus:offered")
def test_a_session_is_driven_by_single_calls_of_the_program(tmp_path: Path) -> None:
    state = tmp_path / "iron_manus_state.json"
    state.write_text("{}", "utf-8")

    def jarvis(**arguments: Any) -> dict[str, Any]:
        done = run(tmp_path, "call", "JARVIS", json.dumps(arguments), "--conversation", "me")
        assert done.returncode == 0, done.stdout + done.stderr
        (line,) = done.stdout.splitlines()
        return json.loads(json.loads(line)["output"]["content"])

    assert jarvis(session_id="s", initial_objective="plan the roadmap")["next_phase"] == "QUERY"
    goal = {"interpreted_goal": "a roadmap"}
    answer = jarvis(session_id="s", phase_completed="QUERY", payload=goal)
    assert (answer["next_phase"], answer["payload"]["detected_role"]) == ("ENHANCE", "planner")
    refused = run(
        tmp_path, "call", "JARVIS", json.dumps({"session_id": "s", "phase_completed": "PLAN"})
    )
    assert refused.returncode == 1
    assert "phase_mismatch" in refused.stdout
    assert state.exists()


@pytest.mark.requirement("ironmanus:offered")
def test_the_model_s_own_list_is_without_them(tmp_path: Path) -> None:
    plain = run(tmp_path, "schema").stdout
    assert not any(name in plain for name in PROFILES["iron-manus"])
    assert len(plain.encode()) < 32_000
    added = json.loads(run(tmp_path, "schema", "--profile", "iron-manus").stdout)
    names = [schema["function"]["name"] for schema in added]
    assert tuple(names[-len(PROFILES["iron-manus"]) :]) == PROFILES["iron-manus"]
    jarvis = next(s["function"] for s in added if s["function"]["name"] == "JARVIS")
    assert jarvis["parameters"]["properties"]["phase_completed"]["enum"] == [
        "QUERY", "ENHANCE", "KNOWLEDGE", "PLAN", "EXECUTE", "VERIFY",
    ]  # fmt: skip
    assert jarvis["parameters"]["required"] == []


@pytest.mark.requirement("ironmanus:session")
def test_a_model_drives_a_whole_session_with_an_agent_files_and_gates(tmp_path: Path) -> None:
    script = Path(__file__).with_name("session.json")
    workspace, data = tmp_path / "ws", tmp_path / "data"
    workspace.mkdir()
    places = ["--workspace", str(workspace), "--data-dir", str(data)]
    words = ["run", "Please use JARVIS", "--profile", "iron-manus", "--model", f"scripted:{script}"]
    program = [sys.executable, "-P", "-m", "sam_tui"]
    done = subprocess.run(
        [*program, *words, "--output-format", "stream-json", *places],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "The session is done." in done.stdout
    assert "is not allowed in phase query" in done.stdout  # the listing before KNOWLEDGE
    assert '\\"status\\": \\"DONE\\"' in done.stdout
    assert (workspace / "answer.txt").read_text("utf-8") == "42\n"
    handed = workspace / "iron-manus-sessions" / "s" / "agent_coder_output_1.md"
    assert "answer.txt holds 42" in handed.read_text("utf-8")
    status = subprocess.run(
        [*program, "workflow", "status", "s", "--json", *places],
        capture_output=True,
        text=True,
        check=False,
    )
    assert '"completed"' in status.stdout
