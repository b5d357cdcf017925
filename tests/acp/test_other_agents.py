"""Another agent in place of a model: one run of the program for all sentences (about 1 s of CPU)."""

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.headless.conftest import Program

AGENT = Path(__file__).with_name("agent.py")


@pytest.mark.requirement("acp:other-agents", "acp:other-agents-held")
def test_what_another_agent_does_passes_here(tmp_path: Path) -> None:
    program, outside, home = Program(tmp_path), tmp_path / "outside", Path(os.environ["HOME"])
    for folder in (program.workspace, outside, home / ".ssh"):
        folder.mkdir(parents=True, exist_ok=True)
    (program.workspace / "in.txt").write_text("one\ntwo\nthree\n", "utf-8")
    (program.workspace / "empty.txt").touch()
    (program.workspace / "latin.txt").write_bytes(b"caf\xe9\n")
    (program.workspace / "away").symlink_to(outside)
    (home / ".ssh" / "id_ed25519").write_text("secret\n", "utf-8")
    answers = tmp_path / "answers.json"
    # What the agent says of its own call (no.txt) is not what is looked at.
    entries = [("yes", "approve"), ("no.txt", "deny"), ("id_ed", "deny"), ("own_call", "approve")]
    answers.write_text(json.dumps([{"match": m, "reply": r} for m, r in entries]), "utf-8")
    task = json.dumps({"ws": str(program.workspace), "outside": str(outside), "home": str(home)})
    command = shlex.join([sys.executable, "-I", str(AGENT)])
    done = program.stream("--agent", command, "--answers", str(answers), task)
    assert done.code == 0, done.err
    said, _, rest = done.result["result"].partition("\n")
    assert "a part of its answer is missing" in rest
    came = json.loads(said)
    assert came["read"] == {"content": "two\n"}
    assert came["write"] == {}
    assert (program.workspace / "made.txt").read_text("utf-8") == "second\n"
    assert (came["yes.txt"], (outside / "yes.txt").read_text("utf-8")) == ({}, "x")
    assert (came["no.txt"], (outside / "no.txt").exists()) == ("refused", False)
    for name in ("empty.txt", "latin.txt"):
        assert (came[name], (program.workspace / name).read_bytes()) == ({}, b"whole\n")
    assert came["link"] == "refused"
    limited = {"output": "bc", "truncated": True, "exitStatus": {"exitCode": 0}}
    assert (came["limited"], came["other session"]) == (limited, "refused")
    assert (came["variable"], (program.workspace / "planted").exists()) == ("refused", False)
    assert (came["secret"], came["unknown"]) == ("refused", "refused")
    assert came["terminal"]["output"].strip() == "a b"
    assert came["terminal"]["exitStatus"] == {"exitCode": 0}
    assert came["released"] == [{}, "refused"]
    chosen = [outcome["optionId"] for outcome in came["permissions"]]
    assert chosen == ["allow_once", "reject_once"]
    assert "Own call" in done.out
    assert "agent.own_call" in done.out


@pytest.mark.confined("live")
@pytest.mark.requirement("acp:other-agents-held")
def test_an_agent_that_ends_over_a_refusal_is_reported_with_what_was_refused(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path)
    program.workspace.mkdir(parents=True, exist_ok=True)
    place = Path(os.environ["HOME"]) / ".claude.json"
    text = f"open({str(place)!r}, 'w')"
    command = shlex.join([sys.executable, "-I", "-c", text])
    done = program.stream("--agent", command, "hi")
    assert done.code == 1
    assert f"The sandbox refused to write {place}." in done.err
    assert "allow it by a rule of your policy.toml" in done.err
    assert "PermissionError" in done.err, "and the words of the agent"
