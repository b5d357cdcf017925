"""What somebody with a pen for the queue, a task file or a patch may not do."""

import base64
import json
import os
import pickle
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.fleet.database import (
    QueueDatabase,
    QueueUnavailable,
    database_url,
    open_database,
)
from sam_tui.adapters.fleet.messages import (
    AnswerMessage,
    Ask,
    Asks,
    Seal,
    SubTaskMessage,
    SubTaskResult,
    UntrustedMessage,
)
from sam_tui.adapters.fleet.queues import ResultsQueue, SubTaskQueue
from sam_tui.adapters.fleet.tasks import rates_of, read_tasks
from sam_tui.adapters.fleet.workspaces import (
    WorkspaceTravel,
    clone,
    head_bundle,
    is_applied,
    open_bundle,
    refused_in,
)
from sam_tui.core.errors import ConfigurationError, SamError
from tests.fleet.conftest import SECONDS, Hangar
from tests.fleet.waiting import until

KEY, OTHER = "k" * 40, "o" * 40


def work(id: str, **wish: Any) -> SubTaskMessage:
    """A headless task without a workspace."""
    return SubTaskMessage(
        sub_task_id=id,
        parent_task_id="f1",
        assigned_agent_role="FleetAgent",
        tool_name="HeadlessRun",
        sub_task_input={"prompt": "Hello.", **wish},
        stepId=id,
    )


@pytest.mark.timeout(240)
@pytest.mark.requirement("fleet:sealed", "fleet:allowance")
def test_a_worker_runs_nothing_that_is_not_sealed_or_asks_for_more(hangar: Hangar) -> None:
    hangar.data.mkdir()
    key = hangar.data / "fleet-key"
    key.write_text(KEY)
    key.chmod(0o600)
    worker = hangar.start("worker")
    database = QueueDatabase(database_url({}, str(hangar.data)), Seal(KEY))
    forger = QueueDatabase(database_url({}, str(hangar.data)), Seal(OTHER))
    try:
        SubTaskQueue(forger).put([work("forged")])
        sealed = database.seal.closed("sub-task", work("other"))
        options: Any = {"workflow_name": "sub_task", "queue_name": "subtasks-FleetAgent"}
        options["workflow_id"] = "f1.replayed"
        database.client.enqueue(options, sealed)
        SubTaskQueue(database).put([
            work("model", model="openai/dear"),
            work("clone", clone="https://example.invalid/x", commit="0" * 40),
            work("unknown", shell="rm -rf /"),
        ])
        wanted = {
            "f1.forged": "seal",
            "f1.replayed": "another id",
            "f1.model": "does not let tasks use",
            "f1.clone": "does not clone",
            "f1.unknown": "wrong form",
        }
        results = ResultsQueue(database)
        taken = dict[str, SubTaskResult]()
        until(
            lambda: taken.update(results.take(list(wanted))) or len(taken) == len(wanted),
            tell=lambda: (worker.poll(), SubTaskQueue(database).look(list(wanted))),
        )
        for id, result in taken.items():
            assert result.status == "FAILED"
            assert result.error_details is not None
            assert wanted[id] in result.error_details.message
        assert ResultsQueue(forger).take(["f1.model"])["f1.model"].status == "FAILED"
        assert list((hangar.folder / "tmp").glob("sam-tui-task-*")) == []
    finally:
        forger.close()
        database.close()
        worker.terminate()
        worker.communicate(timeout=SECONDS)


class _Opens:
    """A pickle that leaves a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (open, (str(self.path), "w"))


@pytest.mark.requirement("fleet:no-pickles")
def test_a_pickle_in_a_row_is_not_opened(tmp_path: Path) -> None:
    database = QueueDatabase(database_url({}, str(tmp_path)), Seal(KEY))
    try:
        SubTaskQueue(database).put([work("a")])
        trap = base64.b64encode(pickle.dumps(_Opens(tmp_path / "trapped"))).decode()
        with sqlite3.connect(tmp_path / "fleet.sqlite") as connection:
            connection.execute(
                "UPDATE workflow_status SET status='SUCCESS', output=?, serialization='py_pickle'",
                (trap,),
            )
        connection.close()
        assert ResultsQueue(database).take(["f1.a"])["f1.a"].status == "FAILED"
        assert not (tmp_path / "trapped").exists()
    finally:
        database.close()


@pytest.mark.requirement("fleet:sealed")
def test_a_seal_is_good_for_its_key_its_kind_and_its_text_alone() -> None:
    seal = Seal(KEY)
    task = work("a")
    closed = seal.closed("sub-task", task)
    assert seal.opened("sub-task", closed, SubTaskMessage) == task
    asks = Asks(work="f1.a", asks=(Ask(id="q", title="May I?"),))
    answer = AnswerMessage(work="f1.a", ask="q", reply="approve")
    for envelope in (
        seal.closed("asks", asks),
        seal.closed("answer", answer),
        Seal(OTHER).closed("sub-task", task),
        {**closed, "body": closed["body"].replace("Hello", "Hullo")},
        {"body": closed["body"]},
        {"body": 1, "seal": "é"},
        "text",
        None,
    ):
        with pytest.raises(UntrustedMessage):
            seal.opened("sub-task", envelope, SubTaskMessage)
    with pytest.raises(UntrustedMessage):
        seal.opened("sub-task", closed, SubTaskResult)


@pytest.mark.requirement("fleet:tasks")
def test_all_faults_of_a_task_file_are_told_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    faults = {
        "{": "line 1",
        '{"prompt": ""}': "line 2: prompt",
        '{"prompt": "a", "id": "../up"}': "line 3: id",
        '{"prompt": "a", "id": "b"}\n{"prompt": "a", "id": "b"}': "line 5: the id b appears twice",
        '{"prompt": "a", "model": "--add-dir=/"}': "line 6: model",
        '{"prompt": "a", "shell": "x"}': "line 7: shell",
        '{"prompt": "a", "mode": "god"}': "line 8: mode",
        '{"prompt": "a", "max_cost": -1}': "line 9: max_cost",
        "[1]": "line 10",
        '{"prompt": "a", "prompt": "b"}': "line 11: the key “prompt” is set twice",
        '{"prompt": ' + "[" * 100_000: "line 12: it is nested too deep",
        '{"prompt": "a", "'
        + "x" * 100_000
        + '": 1}': f"line 13: {'x' * 60}: there is no such field",
        '{"prompt": "' + "x" * 2_000_000 + '"}': "line 14: it is longer than 1600000 bytes",
        '{"prompt": "a", "max_cost": Infinity}': "line 15: max_cost",
    }
    path.write_text("\n".join(faults))
    with pytest.raises(ConfigurationError) as raised:
        read_tasks(str(path))
    for words in faults.values():
        assert words in str(raised.value)
    assert len(str(raised.value)) < 3000
    path.write_text("{}\n" * 100_000)
    with pytest.raises(ConfigurationError, match="and 981 more"):  # behind a thousand none is read
        read_tasks(str(path))
    path.write_text('\ufeff{"prompt": "a\u2028"}\n\n{"prompt": "b", "id": "mine"}\n', "utf-8")
    assert [task.id for task in read_tasks(str(path))] == ["task-1", "mine"]
    assert rates_of(["m=2/30", "n=/1.5"])["m"].per_minute == 30
    with pytest.raises(ConfigurationError):
        rates_of(["m"])


@pytest.mark.requirement("fleet:workspace")
def test_a_commit_travels_and_what_a_task_left_there_runs_nothing(hangar: Hangar) -> None:
    (hangar.workspace / "uncommitted.txt").write_text("stays here")
    bundle, commit = head_bundle(str(hangar.workspace))
    with pytest.raises(WorkspaceTravel, match="does not contain"):
        (hangar.folder / "other").mkdir()
        open_bundle(bundle, "refs/heads/task", hangar.folder / "other")
    (hangar.folder / "task").mkdir()
    place = open_bundle(bundle, commit, hangar.folder / "task")
    assert sorted(p.name for p in place.path.iterdir()) == [".git", "a.txt"]
    marker = hangar.folder / "ran"
    (place.path / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (place.path / ".git" / "config").write_text(
        f'[filter "evil"]\n\tclean = touch {marker}\n[core]\n\tfsmonitor = touch {marker}\n'
        f'[diff "evil"]\n\ttextconv = touch {marker}\n'
    )
    (place.path / "a.txt").write_text("one\nzwei\nthree\n")
    (place.path / "b.bin").write_bytes(bytes(range(256)))
    patch = place.patch()
    assert "+zwei" in patch
    assert not marker.exists()
    assert not is_applied(str(hangar.workspace), patch)
    subprocess.run(["git", "apply"], input=patch.encode(), cwd=hangar.workspace, check=True)
    assert is_applied(str(hangar.workspace), patch)
    assert (hangar.workspace / "b.bin").read_bytes() == bytes(range(256))
    for address in (
        "ext::sh -c id",
        "file:///etc",
        "https://good.example.evil/x",
        "--upload-pack=x",
    ):
        with pytest.raises(WorkspaceTravel, match="does not clone"):
            clone(address, commit, hangar.folder, ["https://good.example", "ext::sh", "file:///"])


@pytest.mark.requirement("fleet:patches")
@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("diff --git a/l b/l\nnew file mode 120000\n", "symbolic"),
        ("diff --git a/m b/m\nindex 1..2 160000\n", "symbolic"),
        ("diff --git a/l b/l\nold mode 100644\nnew mode 120000\n", "symbolic"),
        ("+\udc80", "UTF-8"),
        ("diff --git a/f b/f\n+mode 120000\n", ""),
    ],
)
def test_links_and_submodules_in_a_patch_are_refused(patch: str, why: str) -> None:
    assert (why in refused_in(patch)) if why else refused_in(patch) == ""


@pytest.mark.requirement("fleet:database")
def test_the_variable_names_the_database(tmp_path: Path) -> None:
    name = {"SAM_TUI_DATABASE_URL": "postgres://u:p@h/n"}
    assert database_url(name, str(tmp_path)) == "postgresql://u:p@h/n"
    with pytest.raises(ConfigurationError):
        database_url({"SAM_TUI_DATABASE_URL": "mysql://h/n"}, str(tmp_path))
    assert json.dumps(database_url({}, "/d")) == '"sqlite:////d/fleet.sqlite"'
    with pytest.raises(ConfigurationError) as refused:
        database_url({"SAM_TUI_DATABASE_URL": "fleet:p4ssword@h/n"}, str(tmp_path))
    assert "p4ssword" not in refused.value.explain()


@pytest.mark.requirement("fleet:database")
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("postgresql://u:p%404ss@127.0.0.1:1/n", "Connection refused"),
        ("postgresql://u:p@4ss@127.0.0.1:x/n", "write %40"),
        ("postgresql://u:p%404ss@127.0.0.1:1/n?sslmode=p%404ss", "invalid sslmode value"),
    ],
)
def test_the_reason_for_which_a_database_cannot_be_used_is_said_without_its_password(
    address: str, why: str
) -> None:
    with pytest.raises(QueueUnavailable, match=why) as refused:
        QueueDatabase(address, Seal("k" * 40))
    assert not {"4ss"} & set(refused.value.explain().replace("@", " ").split())


@pytest.mark.requirement("fleet:sealed")
@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        ("k" * 31, "FLEET_KEY"),
        (KEY[:-1] + "!", "FLEET_KEY"),
        (KEY, "DATABASE_URL"),
        ("", "DATABASE_URL"),
    ],
)
def test_a_key_that_can_be_guessed_opens_no_queue(key: str, complaint: str, tmp_path: Path) -> None:
    """With a key that is taken, only the database is complained of."""
    environ = {"SAM_TUI_FLEET_KEY": key, "SAM_TUI_DATABASE_URL": "mysql://h/n"}
    with pytest.raises(SamError, match=f"SAM_TUI_{complaint} "):
        open_database(environ, str(tmp_path))


@pytest.mark.requirement("fleet:workspace")
def test_a_clone_is_of_the_commit_that_a_task_names_at_an_address_that_is_allowed(
    hangar: Hangar, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = hangar.folder / "bin"
    programs.mkdir()
    ssh = programs / "ssh"
    ssh.write_text(
        '#!/bin/sh\nwhile [ "$1" != host.test ]; do shift; done\nshift\nexec sh -c "$*"\n'
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    head = ["git", "-C", str(hangar.workspace), "rev-parse", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    address = f"ssh://host.test{hangar.workspace}"
    place = hangar.folder / "there"
    place.mkdir()
    task = clone(address, commit, place, ["ssh://host.test/"])
    (task.path / "a.txt").write_text("one\nzwei\nthree\n")
    assert "+zwei" in task.patch()
    assert [p.name for p in task.path.iterdir() if p.name != ".git"] == ["a.txt"]
    for wrong, allowed, why in (
        (address, ["ssh://host.test/elsewhere"], "does not clone"),
        (address.replace("host", "other"), ["ssh://host.test"], "does not clone"),
    ):
        with pytest.raises(WorkspaceTravel, match=why):
            clone(wrong, commit, hangar.folder / "no", allowed)
    (hangar.folder / "gone").mkdir()
    with pytest.raises(WorkspaceTravel, match="not our ref"):
        clone(address, "0" * 40, hangar.folder / "gone", ["ssh://host.test"])
