"""The plan API, called over its port."""

import asyncio
import contextlib
import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from sam_tui.core.ids import CallId, ConversationId, InquiryId
from sam_tui.core.inquiry import Approval, ApprovalRequest, Inquiry, Question
from sam_tui.loopback.access import Receive, Scope, Send, refuse
from sam_tui.loopback.server import MOST_CONNECTIONS, RequestSeconds, listen, serve_until
from sam_tui.plan_server.server import attends
from sam_tui.plan_server.tasks import MOST_LINES, ServedTask, ServedTasks, answer_of

SECONDS = 60
pytestmark = pytest.mark.timeout(240)
PLAN = "/api/generate-plan"


def planned(tool: str, **inputs: object) -> dict[str, Any]:
    """What a planner says: one step."""
    step = {
        "stepId": "one",
        "assigned_agent_role": "Orchestrator",
        "tool_name": tool,
        "sub_task_input": inputs,
        "narrative_step": "Do it",
    }
    return {"text": json.dumps([[step]])}


@dataclass(frozen=True)
class Server:
    """A server, and how to call it."""

    port: int
    token: str
    folder: Path

    def call(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, Any], http.client.HTTPMessage]:
        """Status, object and headers of one answer."""
        connection = self.open(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text), answer.headers

    def open(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> http.client.HTTPConnection:
        """A request that was sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(
            method, path, data if body is not None else None, {**sent, **(headers or {})}
        )
        return connection


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """One server for all of these tests, with a scripted model."""
    folder = tmp_path_factory.mktemp("plans")
    (folder / "ws").mkdir()
    steps = [
        {
            **planned("LLMStepExecutor", prompt="x"),
            "when": {"user": "ponder"},
            "wait_for": {"file": "never"},
        },
        {
            **planned(
                "FileSystemTool",
                operation="create_file",
                params={"filename": ".envrc", "content": "approved"},
            ),
            "when": {"user": "keep a file"},
        },
        {"text": "Greetings.", "when": {"user": "Salute them."}},
        planned("LLMStepExecutor", prompt="Salute them.", isFinalAnswer=True),
    ]
    (folder / "script.json").write_text(json.dumps(steps))
    process = subprocess.Popen(
        [
            *(sys.executable, "-P", "-m", "sam_tui", "serve", "--port", "0"),
            *("-C", str(folder / "ws"), "--data-dir", str(folder / "data")),
            *("--model", f"scripted:{folder / 'script.json'}"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        found = re.search(r"127\.0\.0\.1:(\d+)", process.stderr.readline())
        assert found
        token = (folder / "data" / "plan-token").read_text("ascii").strip()
        yield Server(int(found[1]), token, folder)
    finally:
        process.terminate()
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err


WRONG_FORMS: list[tuple[object, str]] = [
    ({"task": 5, "shell": "y"}, "body.task: must be text; body.shell: there is no such field."),
    (b"[]", "body: must be an object."),
    (b"{", "body: is not valid JSON: EOF while parsing an object at line 1 column 1."),
]


@pytest.mark.requirement("plan-api:access", "plan-api:codes")
def test_who_may_call_and_what_is_no_request(server: Server) -> None:
    cases: list[tuple[int, str, str, object, dict[str, str]]] = [
        (200, "GET", "/", None, {"Authorization": ""}),
        (200, "GET", "/openapi.json", None, {"Authorization": ""}),
        (401, "POST", PLAN, {"task": "x"}, {"Authorization": "Bearer x"}),
        (401, "GET", "/api/inquiries", None, {"Authorization": ""}),
        (403, "GET", "/", None, {"Origin": "https://evil.example"}),
        (421, "GET", "/", None, {"Host": f"evil.example:{server.port}"}),
        (400, "POST", PLAN, {}, {}),
        (400, "POST", PLAN, {"task": "x", "mode": "EVERYTHING"}, {}),
        (400, "POST", PLAN, {"task": "x", "shell": "y"}, {}),
        (400, "POST", PLAN, {"task": 5}, {}),
        (400, "POST", PLAN, {"task": None, "mode": "PLAN_ONLY"}, {}),
        (404, "POST", PLAN, {"task": "x", "aiService": "nobody"}, {}),
        (400, "POST", PLAN, {"mode": "SYNTHESIZE_ONLY"}, {}),
        (400, "POST", PLAN, b"{", {}),
        (404, "POST", PLAN, {"mode": "EXECUTE_PLANNED_TASK", "taskIdToLoad": "exec_x"}, {}),
        (413, "POST", PLAN, b" " * 2_600_000, {}),
        (404, "POST", PLAN, {"task": "\U0001f41d" * 200_000, "aiService": "nobody"}, {}),
        (415, "POST", PLAN, {"task": "x"}, {"Content-Type": "text/plain"}),
        (404, "GET", "/api/tasks/exec_x", None, {}),
        (404, "POST", "/api/tasks/exec_x/cancel", None, {}),
        (404, "POST", "/api/inquiries/inq_x", {"reply": "approve"}, {}),
        (404, "GET", "/elsewhere", None, {}),
        (405, "GET", PLAN, None, {}),
        (400, "POST", PLAN, b'{"task":' + b"[" * 100_000 + b"]" * 100_000 + b"}", {}),
        (400, "POST", PLAN, b'{"task": "\\ud800"}', {}),
        (404, "GET", "/api/tasks/..%2f..%2fetc%2fpasswd", None, {}),
        (404, "GET", "/api/tasks/%00", None, {}),
        (404, "POST", PLAN, {"mode": "SYNTHESIZE_ONLY", "taskIdToLoad": "../../x\0"}, {}),
    ]
    for status, method, path, body, headers in cases:
        answer = server.call(method, path, body, headers)
        assert answer[0] == status, (method, path, body, answer)
        if status in (400, 404, 413, 415):
            assert answer[1]["success"] is False and answer[1]["message"]
    for form, words in WRONG_FORMS:
        assert server.call("POST", PLAN, form)[1]["message"] == words


@pytest.mark.requirement("plan-api:connections")
def test_who_comes_beyond_the_most_connections_is_told_so_and_may_come_back(server: Server) -> None:
    with contextlib.ExitStack() as opened:
        for _ in range(MOST_CONNECTIONS):
            opened.enter_context(socket.create_connection(("127.0.0.1", server.port), SECONDS))
        status, answer, headers = server.call("GET", "/")
        assert (status, headers["connection"]) == (503, "close")
        assert "128 connections" in answer["error"]
        beyond = [
            opened.enter_context(socket.create_connection(("127.0.0.1", server.port), SECONDS))
            for _ in range(MOST_CONNECTIONS + 1)
        ]
        with contextlib.suppress(ConnectionError):
            assert beyond[-1].recv(1) == b""  # it cannot even ask
    while server.call("GET", "/")[0] == 503:
        pass  # those that are closed here are closed there soon
    assert server.call("GET", "/api/inquiries")[0] == 200


@pytest.mark.requirement("plan-api:connections")
async def test_a_connection_that_asks_nothing_is_closed_and_one_that_asked_stays() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await refuse(404, "nothing", send)

    listening = listen(0)
    where = listening.getsockname()
    async with serve_until(app, listening, seconds=RequestSeconds(head=0.05)):
        reader, writer = await asyncio.open_connection(*where)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n")  # and never its end
        assert await reader.read() == b""
        writer.close()
        reader, writer = await asyncio.open_connection(*where)
        for _ in range(2):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 404")
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n")  # and never its end
        assert await reader.read() == b""
        writer.close()


@pytest.mark.requirement("plan-api:connections")
@pytest.mark.parametrize("reads_body", [True, False])
async def test_a_request_whose_body_never_ends_is_closed_whether_it_was_answered_or_not(
    reads_body: bool,
) -> None:
    heard: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while reads_body and heard[-1:] != ["http.disconnect"]:
            heard.append((await receive())["type"])
        await refuse(401, "who are you", send)

    listening = listen(0)
    async with serve_until(app, listening, seconds=RequestSeconds(body=0.05)):
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        answer = await reader.read()  # to the end of the connection
        assert answer.startswith(b"" if reads_body else b"HTTP/1.1 401")
        assert bool(answer) is not reads_body
        writer.close()
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        whole = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n{"
        if not reads_body:
            for _ in range(2):  # one that is whole is not ended, nor is the next
                writer.write(whole)
                assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 401")
        writer.close()
    assert not reads_body or heard[-1] == "http.disconnect"


@pytest.mark.requirement("plan-api:modes")
def test_a_plan_is_made_held_and_carried_out_with_the_seeds_fields(server: Server) -> None:
    status, whole, _ = server.call("POST", PLAN, {"task": "greet", "aiService": "scripted"})
    assert (status, whole["success"], whole["originalTask"]) == (200, True, "greet")
    assert whole["finalAnswer"] == "Greetings."
    assert whole["plan"][0][0]["stepId"] == "one"
    assert whole["executedPlan"][0]["status"] == "COMPLETED"
    assert whole["currentWorkingContext"]["summaryOfProgress"]
    absent = {"taskIdToLoad": None, "aiService": None}
    status, held, _ = server.call("POST", PLAN, {"task": "greet", "mode": "PLAN_ONLY", **absent})
    assert (status, held["success"], held["finalAnswer"]) == (200, True, None)
    again = {"mode": "EXECUTE_PLANNED_TASK", "taskIdToLoad": held["parentTaskId"]}
    status, done, _ = server.call("POST", PLAN, again)
    assert (status, done["finalAnswer"]) == (200, "Greetings.")
    assert done["parentTaskId"] == held["parentTaskId"]


@pytest.mark.requirement("plan-api:events", "plan-api:cancel")
def test_progress_is_streamed_and_a_task_can_be_cancelled(server: Server) -> None:
    events = server.open("POST", PLAN, {"task": "greet"}, {"Accept": "text/event-stream"})
    answer = events.getresponse()
    assert answer.getheader("content-type", "").startswith("text/event-stream")
    names = re.findall(r"^event: (\w+)$", answer.read().decode(), re.MULTILINE)
    events.close()
    assert (names[0], names[-1]) == ("task", "result")
    assert "progress" in names
    status, begun, headers = server.call(
        "POST", PLAN, {"task": "ponder"}, {"Prefer": "respond-async"}
    )
    assert (status, begun["running"]) == (202, True)
    where = headers["location"]
    following = server.open("GET", f"{where}/events")
    follower = following.getresponse()
    assert server.call("POST", f"{where}/cancel")[0] == 202
    assert "event: result" in follower.read().decode()
    following.close()
    assert server.call("GET", where)[1]["running"] is False
    assert server.call("POST", f"{where}/cancel")[0] == 409


@pytest.mark.requirement("plan-api:approvals")
def test_what_a_step_needs_approved_is_answered_over_the_wire(server: Server) -> None:
    begun = server.call("POST", PLAN, {"task": "keep a file"}, {"Prefer": "respond-async"})
    where = begun[2]["location"]
    following = server.open("GET", f"{where}/events")
    lines = iter(following.getresponse())

    def waiting() -> dict[str, Any]:
        """The inquiry that the progress tells of next."""
        told = next(m for line in lines if (m := re.search(rb"inquiry (\S+) waits", line)))
        listed = server.call("GET", "/api/inquiries")[1]["inquiries"]
        (asked,) = [inquiry for inquiry in listed if inquiry["id"] == told[1].decode()]
        return asked

    def kept() -> list[Path]:
        return list((server.folder / "ws").rglob(".envrc"))

    asked = waiting()
    assert (asked["kind"], asked["choices"]) == ("approval", ["approve", "deny"])
    assert asked["targets"][0].endswith(".envrc") and not kept()
    assert "+approved" in asked["change"].splitlines()
    answered = f"/api/inquiries/{asked['id']}"
    assert server.call("POST", answered, {"reply": "deny"})[0] == 200
    assert server.call("POST", answered, {"reply": "approve"})[0] == 404
    again = waiting()  # the plan was made anew, and asks anew
    assert again["id"] != asked["id"] and not kept()
    server.call("POST", f"/api/inquiries/{again['id']}", {"reply": "approve"})
    assert any(b"event: result" in line for line in lines)
    following.close()
    assert [file.read_text() for file in kept()] == ["approved"]
    assert server.call("GET", where)[1]["success"] is True


@pytest.mark.requirement("plan-api:approvals")
def test_somebody_may_answer_approvals_and_what_a_workflow_asks_pauses_it() -> None:
    approval = ApprovalRequest("file_operations.create_file", "x", ("/x",), "outside", "/")
    question = Question("Shall this plan be carried out?")

    def inquiry(conversation: str, request: ApprovalRequest | Question) -> Inquiry:
        name = ConversationId(conversation)
        return Inquiry(InquiryId("inq_1"), name, CallId("call_1"), request)

    assert attends(inquiry("exec_1", approval))
    assert attends(inquiry("20261122-1", question))
    assert not attends(inquiry("exec_1", question))
    asked = inquiry("exec_1", approval)
    assert answer_of(asked, "approve") == Approval("once")
    assert answer_of(asked, "deny") == Approval("deny")
    assert answer_of(asked, "yes") == Approval("deny", "yes")


@pytest.mark.requirement("plan-api:events")
async def test_a_long_task_is_followed_to_its_end_however_many_lines_it_has() -> None:
    ended = asyncio.Event()
    work = asyncio.ensure_future(ended.wait())
    served = ServedTask("exec_1", cast("asyncio.Task[None]", work))
    progress = ServedTasks.progress(cast("ServedTasks", None), served)
    for number in range(MOST_LINES + 5):
        served.add(str(number))
    heard = [await anext(progress) for _ in range(MOST_LINES)]
    assert (heard[0], heard[-1]) == ("5", str(MOST_LINES + 4))
    served.add("one more")
    ended.set()
    await work
    assert [line async for line in progress] == ["one more"]
