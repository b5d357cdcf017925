"""Measures fleets: the queues alone, and a fleet of headless tasks two of whose workers are killed.

``python -m bench.fleet [--tasks N] [--through N] [--queue N] [--url URL] [--json FILE] [--strict]``. The
first rows are sub-tasks that do nothing, with 1, 2 and 4 workers: what dbos costs. Then come whole headless
tasks a minute with as many. The last is a real fleet by the program, each task in its own copy of a
repository, with a scripted model; every task makes one file, and the files are counted.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.figures import Figure, judged, options
from sam_tui.adapters.fleet.database import QueueDatabase
from sam_tui.adapters.fleet.messages import Seal, SubTaskMessage, SubTaskResult
from sam_tui.adapters.fleet.queues import ResultsQueue, SubTaskQueue, Takes, WorkHold

KEY, ROLE = "b" * 32, "Bench"
MOST_SECONDS = 4.0
"""For 50 sub-tasks, 4 at once."""


def perform(task: SubTaskMessage, hold: WorkHold) -> SubTaskResult:
    """Do nothing."""
    return SubTaskResult(
        sub_task_id=task.sub_task_id,
        parent_task_id=task.parent_task_id,
        worker_agent_role=ROLE,
        status="COMPLETED",
    )


def work(url: str) -> None:
    """Be a worker until killed."""
    Takes(QueueDatabase(url, Seal(KEY)), [ROLE], f"bench-{os.getpid()}", perform)
    print("ready", flush=True)
    signal.pause()


def queued(url: str, count: int, workers: int) -> tuple[float, float]:
    """Seconds for so many sub-tasks, 4 at once; and processor seconds of an idle worker a second."""
    database = QueueDatabase(url, Seal(KEY))
    command = [sys.executable, "-m", "bench.fleet", "--worker", "--url", url]
    with ExitStack() as running:
        processes = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(workers)
        ]
        for process in processes:
            running.callback(process.wait)
            running.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
        time.sleep(2)
        before = sum(used(process.pid) for process in processes)
        time.sleep(3)
        idle = (sum(used(process.pid) for process in processes) - before) / 3 / workers
        begun = time.perf_counter()
        drain(database, count)
        seconds = time.perf_counter() - begun
    database.close()
    return seconds, idle


def drain(database: QueueDatabase, count: int) -> None:
    """Hand out sub-tasks, 4 at once, until each has a result."""
    queue, results = SubTaskQueue(database), ResultsQueue(database)
    parent = f"bench-{time.time_ns()}"
    tasks = [
        SubTaskMessage(
            sub_task_id=f"t{number}",
            parent_task_id=parent,
            assigned_agent_role=ROLE,
            tool_name="nothing",
            sub_task_input={},
            stepId="s",
        )
        for number in range(count)
    ]
    flying: set[str] = set()
    while tasks or flying:
        batch = [tasks.pop() for _ in range(min(len(tasks), 4 - len(flying)))]
        queue.put(batch)
        flying |= {task.id for task in batch}
        flying -= results.take(sorted(flying)).keys()
        time.sleep(0.02)


def used(pid: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fleet(
    folder: Path, count: int, url: str, *, workers: int = 4, kills: int = 2
) -> tuple[float, dict[str, Any]]:
    """Seconds and the report of a fleet, some of whose workers are killed while they work."""
    folder.mkdir(exist_ok=True)
    workspace, data = folder / "ws", folder / "data"
    workspace.mkdir()
    (workspace / "a.txt").write_text("one\n", encoding="utf-8")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        who = ("-c", "user.name=n", "-c", "user.email=e@x")
        subprocess.run(["git", *who, *words], cwd=workspace, check=True)
    lines: list[str] = []
    for number in range(count):
        arguments = {"operation": "create_file", "filePath": f"f{number}.txt", "content": "made\n"}
        steps = [
            {"calls": [{"name": "file_operations", "arguments": arguments}]},
            {"text": "Done."},
        ]
        script = folder / f"s{number}.json"
        script.write_text(json.dumps(steps), encoding="utf-8")
        task = {"id": f"t{number}", "prompt": "Make it.", "model": f"scripted:{script}"}
        lines.append(json.dumps(task))
    (folder / "tasks.jsonl").write_text("\n".join(lines), encoding="utf-8")
    words = [
        "--workers",
        str(workers),
        "--at-once",
        str(2 * workers),
        "--json",
        "-C",
        str(workspace),
    ]
    command = [sys.executable, "-m", "sam_tui", "fleet", "run", str(folder / "tasks.jsonl"), *words]
    begun = time.perf_counter()
    with (folder / "err").open("wb") as err:
        process = subprocess.Popen(
            [*command, "--data-dir", str(data)],
            env={**os.environ, **({"SAM_TUI_DATABASE_URL": url} if url else {})},
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
        )
        for quarter in range(1, kills + 1):
            while (
                len(list(workspace.glob("f*.txt"))) < count * quarter // 4
                and process.poll() is None
            ):
                time.sleep(0.2)
            kill_one(str(data))
        out, _ = process.communicate()
    return time.perf_counter() - begun, json.loads(out)


def kill_one(data: str) -> None:
    """Kill one worker of a data folder."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if data in words and "worker" in words:
            os.kill(int(path.parent.name), signal.SIGKILL)
            return


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and judge the figures."""
    parser = options("Measure fleets.")
    parser.add_argument("--tasks", type=int, default=200, help="of the fleet; 0 leaves it out")
    parser.add_argument("--through", type=int, default=40, help="of fleets with 1, 2, 4 workers")
    parser.add_argument("--queue", type=int, default=50, help="sub-tasks that do nothing")
    parser.add_argument("--url", default="", help="a PostgreSQL database instead of SQLite")
    parser.add_argument("--worker", action="store_true")
    given = parser.parse_args(arguments)
    if given.worker:
        work(given.url)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="sam-tui-bench-") as name:
        folder = Path(name)
        url = given.url or f"sqlite:///{folder}/queue.sqlite"
        for workers in (1, 2, 4) if given.queue else ():
            seconds, idle = queued(url, given.queue, workers)
            most = MOST_SECONDS if workers == 4 and given.queue == 50 else None
            figures.append(
                Figure(f"{given.queue} sub-tasks, 4 at once, {workers} workers", seconds, "s", most)
            )
            figures.append(Figure(f"an idle worker of {workers}", 1000 * idle, "ms/s"))
        for workers in (1, 2, 4) if given.through else ():
            at = folder / f"through-{workers}"
            seconds, _ = fleet(at, given.through, given.url, workers=workers, kills=0)
            name = f"headless tasks a minute, {workers} workers"
            figures.append(Figure(name, 60 * given.through / seconds, ""))
        if given.tasks:
            seconds, report = fleet(folder, given.tasks, given.url)
            tasks = report["tasks"]
            done = sum(1 for task in tasks if task["state"] == "done")
            files = len(list((folder / "ws").glob("f*.txt")))
            figures += [
                Figure(f"a fleet of {given.tasks}, 4 workers, two killed", seconds, "s"),
                Figure("tasks without their effect", given.tasks - min(done, files), "", 0),
                Figure("given back by killed workers", sum(t["returns"] for t in tasks), ""),
            ]
    return judged("fleet", figures, given)


if __name__ == "__main__":
    sys.exit(main())
