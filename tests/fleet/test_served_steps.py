"""Steps that a server of plans hands out to a worker: both programs, over one queue."""

import http.client
import http.server
import json
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sam_tui.folders import settings_folder
from tests.fleet.conftest import SECONDS, Hangar
from tests.fleet.waiting import until

pytestmark = pytest.mark.timeout(300)


def step(id: str, role: str, tool: str, **inputs: object) -> dict[str, Any]:
    """A sub-task as a planner writes it."""
    return {
        "stepId": id,
        "assigned_agent_role": role,
        "tool_name": tool,
        "sub_task_input": inputs,
        "narrative_step": f"Do {id}",
    }


class Served:
    """A server of plans over a hangar."""

    def __init__(self, hangar: Hangar, *stages: list[dict[str, Any]]) -> None:
        script = hangar.folder / "script.json"
        home = {"text": "They see ultraviolet.", "when": {"user": "Bees see ultraviolet light."}}
        plays = [home, {"text": json.dumps(stages)}]
        script.write_text(json.dumps(plays))
        self.process = hangar.start(
            "serve", "--port", "0", "--hand-out", "UtilityAgent,ResearchAgent",
            "--model", f"scripted:{script}",
        )  # fmt: skip
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        self.port = int(line.rpartition(":")[2])
        self.token = (hangar.data / "plan-token").read_text("ascii").strip()

    def call(
        self, method: str, path: str, body: object = None, more: Mapping[str, str] | None = None
    ) -> Any:
        """The object of one answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        text = json.dumps(body) if body else None
        connection.request(method, path, text, {**headers, **(more or {})})
        value = json.loads(connection.getresponse().read())
        connection.close()
        return value


@pytest.fixture
def page() -> Iterator[str]:
    """The address of a page on loopback that the person's policy knows as a server of their own."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(b"Bees see ultraviolet light.")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        policy = Path(settings_folder(), "policy.toml")
        policy.parent.mkdir(parents=True, exist_ok=True)
        policy.write_text(
            f'local = ["127.0.0.1:{server.server_port}"]\n'
            '[[rule]]\neffect = "ask"\noperation = "ReadWebpageTool"\n',
            encoding="utf-8",
        )
        yield f"http://127.0.0.1:{server.server_port}/bees"
        server.shutdown()
        thread.join()


@pytest.mark.requirement("plans:workers", "plans:asked")
def test_a_step_of_a_served_plan_goes_to_a_worker_who_asks_and_its_result_comes_home(
    hangar: Hangar, page: str
) -> None:
    served = Served(
        hangar,
        [step("sum", "UtilityAgent", "CalculatorTool", expression="6*7")],
        [step("read", "ResearchAgent", "ReadWebpageTool", url=page)],
        [step("local", "Orchestrator", "LLMStepExecutor",
              prompt="Say @{outputs.read.result_data}", isFinalAnswer=True)],
    )  # fmt: skip
    worker = hangar.start("worker", "--roles", "UtilityAgent,ResearchAgent", "--name", "far")
    try:
        begun = served.call(
            "POST", "/api/generate-plan", {"task": "bees"}, {"Prefer": "respond-async"}
        )
        where = f"/api/tasks/{begun['parentTaskId']}"
        whys: list[str] = []

        def over() -> bool:
            for asked in served.call("GET", "/api/inquiries")["inquiries"]:
                assert asked["targets"] == [page]
                whys.append(asked["why"])
                served.call("POST", f"/api/inquiries/{asked['id']}", {"reply": "approve"})
            return not served.call("GET", where)["running"]

        until(over)
        whole = served.call("GET", where)
    finally:
        errors = [ended_by(process) for process in (worker, served.process)]
    outputs = {entry["stepId"]: entry for entry in whole["executedPlan"]}
    assert [entry["status"] for entry in outputs.values()] == ["COMPLETED"] * 3, (whole, errors)
    assert whole["finalAnswer"] == "They see ultraviolet."
    assert [why.startswith("worker far asks, on its machine: ") for why in whys] == [False, True]


def ended_by(process: "subprocess.Popen[str]") -> str:
    """What a program said until a signal ended it."""
    process.send_signal(signal.SIGTERM)
    return process.communicate(timeout=SECONDS)[1]
