"""Recorded conversations played again, from the command line. Costs 1.6 s of CPU."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from sam_reminders import ReminderSources, build_reminders
from sam_tui.assembly import runtime as assembled
from sam_tui.cli.main import main
from sam_tui.core.prompt.reminders import Reminder

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.json"))
DIFFERS, USAGE = 4, 2
SECRET = "Zk3vR8qLw2nXs7TbYc4mPd9f"
Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without settings."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def altered(folder: Path, name: str, change: Callable[[Any], object]) -> str:
    """A recording with something changed."""
    recording = json.loads((RECORDINGS[0].parent / f"{name}.json").read_text())
    change(recording)
    file = folder / "altered.json"
    file.write_text(json.dumps(recording))
    return str(file)


@pytest.mark.requirement("replay:check")
def test_the_recordings_play_as_they_were(tmp_path: Path, capsys: Said) -> None:
    junit = tmp_path / "junit.xml"
    code = main(["replay", *map(str, RECORDINGS), "--check", "--junit", str(junit)])
    assert capsys.readouterr().out.splitlines() == [f"{file}: as recorded" for file in RECORDINGS]
    assert (code, len(RECORDINGS)) == (0, 13)
    suite = ElementTree.fromstring(junit.read_text())
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("39", "0")


@pytest.mark.requirement("replay:check")
@pytest.mark.parametrize(
    "name",
    ["instructions", "skills", "agents", "mini_prompts", "pins", "user_defined", "memories"],
)
def test_a_reminder_that_is_lost_fails_the_recording_that_has_it(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    def without(sources: ReminderSources) -> list[Reminder]:
        return [reminder for reminder in build_reminders(sources) if reminder.name != name]

    monkeypatch.setattr(assembled, "build_reminders", without)
    recording = next(file for file in RECORDINGS if file.stem == "guidance")
    assert main(["replay", str(recording), "--check"]) == DIFFERS
    assert f"-reminder {name}" in capsys.readouterr().out


@pytest.mark.requirement("replay:check")
def test_what_is_not_as_it_was_is_told_and_fails_a_check(tmp_path: Path, capsys: Said) -> None:
    def change(recording: Any) -> None:
        first, second, _ = recording["turns"][0]["steps"]
        first["request"].append("reminder of_old")
        second["results"][0]["text"] = "def two():\n"
        recording["changed"]["src/b.py"]["text"] = "def four():\n"
        recording["changed"]["gone.txt"] = {"text": "x"}
        recording["changed"]["src/__pycache__/b.pyc"] = {"base64": "AAAA"}
        recording["turns"].append({"prompt": "And now?", "steps": []})

    name, junit = altered(tmp_path, "edit_and_move", change), tmp_path / "junit.xml"
    assert main(["replay", name]) == 0
    told = capsys.readouterr().out
    assert "4 differences" in told
    assert "turn 1, step 1: the request has other parts" in told
    assert "-reminder of_old" in told
    assert "turn 1, step 2: file_operations.read_file has another result" in told
    assert "src/b.py: has other content" in told and "+def three():" in told
    assert "gone.txt: is gone" in told
    assert "turn 2 failed: The recording has no further answer in this turn." in told
    assert main(["replay", name, "--check", "--junit", str(junit)]) == DIFFERS
    assert ElementTree.fromstring(junit.read_text()).attrib["failures"] == "3"


def claims(outside: Path) -> Callable[[Any], object]:
    """A recording that says of everything that it was allowed."""
    file, link = str(outside / "made"), {"text": str(outside), "kind": "link"}
    calls = [
        ("file_operations", {"operation": "create_file", "path": file, "content": "x"}),
        ("file_operations", {"operation": "create_file", "path": "link/made", "content": "x"}),
        ("terminal_operations", {"operation": "run_command", "command": f"echo x > {file}"}),
        ("file_operations", {"operation": "read_file", "path": str(outside / "secret")}),
        ("run_subagent", {"task": "x", "model": "scripted"}),
    ]
    made = [
        {"id": f"call_{n}", "name": name, "arguments": json.dumps(arguments)}
        for n, (name, arguments) in enumerate(calls, 1)
    ]
    operations = [
        f"{name}.{arguments['operation']}" if "operation" in arguments else name
        for name, arguments in calls
    ]
    results = [
        {"call": call["id"], "operation": operation, "ok": True, "text": "done"}
        for call, operation in zip(made, operations, strict=True)
    ]
    decisions = [
        {"call": call["id"], "operation": operation, "targets": [target], "outcome": "allow"}
        for call in made
        for operation in (*operations, "commands.change_outside")
        for target in (file, str(outside / "secret"), f"$ echo x > {file}")
    ]

    def change(recording: Any) -> None:
        steps = [{"calls": made, "results": results}, {"text": "Done."}]
        recording["turns"] = [{"prompt": "Do it.", "steps": steps}]
        recording |= {"decisions": decisions, "files": {"link": link}, "changed": {}}

    return change


@pytest.mark.requirement("replay:safe")
def test_a_recording_allows_nothing_outside_whatever_it_claims(
    tmp_path: Path, capsys: Said
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    name = altered(tmp_path, "delete", claims(outside))
    assert main(["replay", name, "--check"]) == DIFFERS
    told = capsys.readouterr().out
    assert "was allowed then, and is not repeated: file_operations.create_file" in told
    assert "scripted was not asked: no provider is asked here." in told
    assert SECRET not in told
    assert [path.name for path in outside.iterdir()] == ["secret"]


@pytest.mark.requirement("replay:safe")
def test_a_file_that_is_no_recording_is_refused_in_words(tmp_path: Path, capsys: Said) -> None:
    link = {"text": str(tmp_path), "kind": "link"}
    for files in (
        {"../made": {"text": "x"}},
        {f"{tmp_path}/made": {"text": "x"}},
        {".git/hooks/post-checkout": {"text": "x", "kind": "program"}},
        {"link": link, "link/made": {"text": "x"}},
        {"a": {"base64": "?"}},
        {"a": {"text": "x", "mode": "bypass"}},
        {"a": {"text": "x"}, "a/b": {"text": "x"}},
    ):
        name = altered(tmp_path, "delete", lambda recording, f=files: recording.update(files=f))
        assert main(["replay", name]) == USAGE, files
    (tmp_path / "deep.json").write_text("[" * 100_000)
    assert main(["replay", str(tmp_path / "deep.json")]) == USAGE
    assert main(["replay", "no-such-conversation"]) == USAGE
    assert "not a recording" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


@pytest.mark.requirement("replay:record")
def test_a_conversation_is_played_again_and_written_as_a_test(tmp_path: Path, capsys: Said) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    (workspace / "config.env").write_text(f"API_TOKEN={SECRET}\n")
    read = {"operation": "read_file", "path": str(workspace / "config.env")}
    make = {"operation": "create_file", "path": "new.txt", "content": "new\n"}
    steps = [
        {"calls": [{"name": "file_operations", "arguments": a} for a in (read, make)]},
        {"text": "Made."},
    ]
    script = tmp_path / "script.json"
    script.write_text(json.dumps(steps))
    place = ["--data-dir", str(tmp_path / "data"), "-C", str(workspace)]
    model = ["--model", f"scripted:{script}", "--session-id", "first"]
    assert main(["run", "Make it.", *place, *model]) == 0
    (workspace / "new.txt").write_text("something else since\n")
    capsys.readouterr()
    assert main(["replay", "first", "--check", *place]) == 0, capsys.readouterr()
    assert (workspace / "new.txt").read_text() == "something else since\n"
    assert main(["checkpoints", "restore", "1", "new.txt", *place]) == 0
    assert not (workspace / "new.txt").exists()
    file = tmp_path / "test.json"
    assert main(["sessions", "to-test", "first", "-o", str(file), *place]) == 0
    text = file.read_text()
    assert SECRET not in text and str(tmp_path) not in text
    assert json.loads(text)["changed"] == {"new.txt": {"text": "new\n"}}
    assert main(["replay", str(file), "--check"]) == 0, capsys.readouterr()
    some = tmp_path / "some.json"
    assert main(["sessions", "to-test", "first", "--files", "*.txt", "-o", str(some), *place]) == 0
    assert "config.env" not in json.loads(some.read_text()).get("files", {})


def record_subagents_and_a_question(tmp_path: Path) -> list[str]:
    """A conversation that asks the person, then sends three subagents, two with the same words."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("one\n")
    make = {"operation": "create_file", "path": "made.txt", "content": "by a subagent\n"}
    look = {"operation": "read_file", "path": "a.txt"}
    question = {"prompt": "Which name?", "choices": ["one", "two"]}
    tasks = ["Make it.", "Look at it.", "Look at it."]
    send = [{"name": "run_subagent", "arguments": {"task": t, "instructions": ""}} for t in tasks]
    steps = [
        {"when": {"user": "Make it"}, "calls": [{"name": "file_operations", "arguments": make}]},
        {"when": {"user": "Make it"}, "text": "Made."},
        {"when": {"user": "Look"}, "calls": [{"name": "file_operations", "arguments": look}]},
        {"when": {"user": "Look"}, "text": "There is one."},
        {"calls": [{"name": "user_collaboration", "arguments": question}]},
        {"calls": send},
        {"text": "Done."},
    ]
    (tmp_path / "script.json").write_text(json.dumps(steps))
    (tmp_path / "answers.json").write_text('[{"match": "Which name", "reply": "my own words"}]')
    place = ["--data-dir", str(tmp_path / "data"), "-C", str(tmp_path / "project")]
    model = ["--model", f"scripted:{tmp_path / 'script.json'}", "--session-id", "first"]
    assert main(["run", "Go.", *place, *model, "--answers", str(tmp_path / "answers.json")]) == 0
    return place


@pytest.mark.requirement("replay:others")
def test_answers_of_the_person_and_what_subagents_did_are_played(
    tmp_path: Path, capsys: Said
) -> None:
    place, file = record_subagents_and_a_question(tmp_path), tmp_path / "test.json"
    assert main(["sessions", "to-test", "first", "-o", str(file), *place]) == 0
    recording = json.loads(file.read_text())
    assert recording["answers"] == [{"call": "call_1", "text": "my own words"}]
    told = [each["turns"][0] for each in recording["subagents"]]
    assert [turn["prompt"] for turn in told] == ["Make it.", "Look at it.", "Look at it."]
    assert [turn["steps"][1]["text"] for turn in told] == ["Made.", *["There is one."] * 2]
    assert recording["changed"] == {"made.txt": {"text": "by a subagent\n"}}
    capsys.readouterr()
    assert main(["replay", str(file), "--check"]) == 0, capsys.readouterr()
    # What is not as it was in a subagent is told, and an answer that nobody gave is not made up.
    recording["subagents"][1]["turns"][0]["steps"][0]["results"][0]["text"] = "another"
    recording["answers"].clear()
    file.write_text(json.dumps(recording))
    assert main(["replay", str(file), "--check"]) == DIFFERS
    told = capsys.readouterr().out
    assert "subagent 2, turn 1, step 1: file_operations.read_file has another result" in told
    assert "turn 1, step 1: user_collaboration fails, has another result" in told


@pytest.mark.requirement("replay:check")
def test_reminders_of_a_trusted_folder_are_compared_and_those_of_ones_own_settings_told(
    tmp_path: Path, home: Path, capsys: Said
) -> None:
    project, script = tmp_path / "project", tmp_path / "script.json"
    own = home / ".claude" / "rules" / "own.md"
    for file, text in {
        project / "AGENTS.md": "Be brief.\n",
        project / "src" / "AGENTS.md": "Use tabs.\n",
        project / "src" / "a.txt": "one\n",
        project / ".sam" / "agents" / "scout.md": "---\ndescription: Looks\n---\nLook.\n",
        own: "Be kind.\n",
    }.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    look = {"operation": "read_file", "path": "src/a.txt"}
    calls = [{"name": "file_operations", "arguments": look}]
    script.write_text(json.dumps([{"calls": calls}, {"text": "One."}]))
    place = ["--data-dir", str(tmp_path / "data"), "-C", str(project)]
    assert main(["trust", str(project)]) == 0
    model = ["--model", f"scripted:{script}", "--session-id", "first"]
    assert main(["run", "Look at it.", *place, *model]) == 0
    file = tmp_path / "test.json"
    assert main(["sessions", "to-test", "first", "-o", str(file), *place]) == 0
    recording = json.loads(file.read_text())
    first, second = (step["request"] for step in recording["turns"][0]["steps"])
    assert "reminder instructions: AGENTS.md" in first and "reminder agents: scout" in first
    assert "reminder instructions: src/AGENTS.md" in second
    own.unlink()
    capsys.readouterr()
    assert main(["replay", str(file), "--check"]) == 0, capsys.readouterr()
    assert "not compared" in (told := capsys.readouterr().out) and "rules/own.md" in told
    # What nobody trusted then is told to no model, and what it should have been told fails the check.
    recording["believed"] = [".sam/agents/scout.md", "AGENTS.md"]
    recording["turns"][0]["steps"][0]["request"].remove("reminder instructions: AGENTS.md")
    file.write_text(json.dumps(recording))
    assert main(["replay", str(file), "--check"]) == DIFFERS
    told = capsys.readouterr().out
    assert "+reminder instructions: AGENTS.md" in told and "-reminder instructions" not in told


@pytest.mark.requirement("replay:safe")
def test_a_recording_makes_no_file_count_that_acts(tmp_path: Path, capsys: Said) -> None:
    made = tmp_path / "made"
    hook = {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"touch {made}"}]}]}
    }
    server = {"mcpServers": {"x": {"command": "touch", "args": [str(made)]}}}
    acting = {
        ".sam/hooks.json": json.dumps(hook),
        ".mcp.json": json.dumps(server),
        ".sam/policy.toml": 'mode = "bypass"\n',
        ".sam/settings.toml": f'[permissions]\nmode = "bypass"\nadd_dir = ["{tmp_path}"]\n',
    }

    def change(recording: Any) -> None:
        claims(tmp_path)(recording)
        recording["files"] = {name: {"text": text} for name, text in acting.items()}
        recording["believed"] = list(acting)

    assert main(["replay", altered(tmp_path, "delete", change)]) == 0
    assert "is not repeated: file_operations.create_file" in capsys.readouterr().out
    assert not made.exists()


@pytest.mark.requirement("replay:safe")
def test_what_was_allowed_then_is_allowed_again_where_one_says_so_and_nothing_else(
    tmp_path: Path, capsys: Said
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()

    def change(recording: Any) -> None:
        claims(outside)(recording)
        decided = {"call": "call_1", "operation": "file_operations.create_file"}
        recording["decisions"] = [
            decided | {"targets": [str(outside / "made")], "outcome": "allow"}
        ]

    name = altered(tmp_path, "delete", change)
    assert main(["replay", name]) == 0
    assert "--allow-recorded repeats it" in capsys.readouterr().out
    assert not list(outside.iterdir())
    assert main(["replay", name, "--allow-recorded"]) == 0
    told = capsys.readouterr().out
    assert f"was allowed then, and again: file_operations.create_file {outside}/made" in told
    assert (outside / "made").read_text() == "x"  # a command of another call wrote nothing there


@pytest.mark.requirement("replay:safe")
def test_a_command_that_was_allowed_then_runs_again_where_one_says_so(
    tmp_path: Path, capsys: Said
) -> None:
    command = "rm -r old"

    def change(recording: Any) -> None:
        (step, _) = recording["turns"][0]["steps"]
        arguments = {"operation": "run_command", "command": command}
        step["calls"][0]["arguments"] = json.dumps(arguments)
        step["results"][0]["text"] = "(no output)"
        decided = {"call": "call_1", "operation": "terminal_operations.run_command"}
        recording["decisions"] = [decided | {"targets": [f"$ {command}"], "outcome": "allow"}]
        recording |= {"files": {"old/a.txt": {"text": "a"}}, "changed": {"old/a.txt": None}}

    name = altered(tmp_path, "command_changes_files", change)
    assert main(["replay", name, "--check"]) == DIFFERS
    told = capsys.readouterr().out
    assert f"is not repeated: terminal_operations.run_command $ {command}" in told
    assert "old/a.txt: is there" in told
    assert main(["replay", name, "--check", "--allow-recorded"]) == 0, capsys.readouterr()
    assert f"and again: terminal_operations.run_command $ {command}" in capsys.readouterr().out
