"""Fleets through the program: tasks go out to worker processes, patches come home."""

import json
from pathlib import Path

import pytest

from tests.fleet.conftest import Hangar, creates, ended, kill
from tests.fleet.waiting import until

DONE = {"text": "Done."}
pytestmark = pytest.mark.timeout(240)


@pytest.mark.requirement("fleet:exactly-once", "fleet:database")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_each_task_has_its_effect_once_though_workers_are_killed(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres") if kind == "postgres" else ""
    hangar = Hangar(tmp_path, url).prepare()
    waits = {**creates("held-1.txt"), "wait_for": {"file": "go"}}
    second = {**creates("held-2.txt"), "wait_for": {"file": "go"}}
    tasks = [
        hangar.task("held-1", waits, DONE),
        hangar.task("held-2", second, DONE),
        hangar.task("free", creates("free.txt"), DONE),
    ]
    fleet = hangar.begin(tasks, "--workers", "2", "--at-once", "3", "--retries", "0")
    until(lambda: len(hangar.processes("worker")) == 2)
    until(lambda: len(list((tmp_path / "tmp").glob("sam-tui-task-*/workspace/a.txt"))) == 2)
    kill(hangar.processes("worker"))
    (tmp_path / "go").touch()
    code, report, said = ended(fleet)
    assert code == 0, said
    assert {task["id"]: task["state"] for task in report["tasks"]} == dict.fromkeys(
        ("held-1", "held-2", "free"), "done"
    )
    assert sum(task["returns"] for task in report["tasks"]) == 2
    assert {task["attempt"] for task in report["tasks"]} == {1}
    for name in ("held-1", "held-2", "free"):
        assert (hangar.workspace / f"{name}.txt").read_text() == "made\n"
    assert hangar.processes("worker") == []
    assert (hangar.data / "fleet.sqlite").exists() == (kind == "sqlite")


@pytest.mark.requirement("fleet:report", "fleet:retries", "fleet:inbox", "fleet:patches")
def test_a_fleet_retries_asks_applies_and_reports(hangar: Hangar, tmp_path: Path) -> None:
    outside = str(tmp_path / "outside.txt")
    failing = {"error": {"type": "ModelRejected", "message": "no such thing"}}
    asking = creates(outside)
    link = {"operation": "run_command", "command": "ln -s /etc/passwd link"}
    tasks = [
        hangar.task("fails", failing),
        hangar.task("asks", asking, {"text": "I asked."}),
        hangar.task("links", {"calls": [{"name": "terminal_operations", "arguments": link}]}, DONE),
    ]
    fleet = hangar.begin(tasks, "--workers", "1", "--at-once", "3", "--retries", "1")
    inboxes = hangar.data / "fleets"
    until(lambda: any("asks" in path.read_text() for path in inboxes.glob("*/inbox.json")))
    (question,) = json.loads(hangar.call("fleet", "inbox", "--json"))
    assert question["ask"]["targets"] == [outside]
    assert "+made" in question["ask"]["change"]
    assert "  | +made" in hangar.call("fleet", "inbox").splitlines()
    hangar.call("fleet", "answer", question["ask"]["id"], "Not there, please.")
    code, report, said = ended(fleet)
    tasks_by_id = {task["id"]: task for task in report["tasks"]}
    assert code == 1, said
    assert (tasks_by_id["fails"]["state"], tasks_by_id["fails"]["attempt"]) == ("failed", 2)
    assert "no such thing" in tasks_by_id["fails"]["error"]
    assert (tasks_by_id["asks"]["state"], tasks_by_id["asks"]["answer"]) == ("done", "I asked.")
    assert not Path(outside).exists()
    assert tasks_by_id["links"]["state"] == "conflict"
    assert "symbolic" in tasks_by_id["links"]["error"]
    assert not (hangar.workspace / "link").is_symlink()
    assert "120000" in Path(tasks_by_id["links"]["patch"]).read_text("utf-8")
    assert "[3/3]" in said
