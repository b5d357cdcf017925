"""An agent that is not ours: it asks for what its first prompt names, and says what came of it."""

import itertools
import json
import sys
from typing import Any

numbers = itertools.count(1)


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(**fields: Any) -> None:
    send(method="session/update", params={"sessionId": "s1", "update": fields})


def ask(method: str, **params: Any) -> Any:
    number = next(numbers)
    send(id=number, method=method, params={"sessionId": "s1", **params})
    answer = json.loads(sys.stdin.readline())
    assert answer["id"] == number, answer
    return answer.get("result", "refused")


def words(kind: str, text: str) -> None:
    update(sessionUpdate=kind, content={"type": "text", "text": text})


def permission(*kinds: str) -> Any:
    options = [{"optionId": kind, "name": kind, "kind": kind} for kind in kinds]
    call = {"toolCallId": "p", "title": "no.txt"}
    return ask("session/request_permission", toolCall=call, options=options)["outcome"]


def work(task: dict[str, str]) -> None:
    print("[1]\nno JSON", flush=True)
    words("agent_thought_chunk", "Thinking.")
    update(sessionUpdate="plan", entries=[{"content": "A", "status": "pending", "priority": "low"}])
    update(sessionUpdate="tool_call", toolCallId="t", title="Own call", kind="search")
    update(sessionUpdate="tool_call_update", toolCallId="t", status="completed")
    came: dict[str, Any] = {
        "read": ask("fs/read_text_file", path=f"{task['ws']}/in.txt", line=2, limit=1)
    }
    for text in ("first\n", "second\n", "second\n"):
        came["write"] = ask("fs/write_text_file", path=f"{task['ws']}/made.txt", content=text)
    for name in ("empty.txt", "latin.txt"):
        came[name] = ask("fs/write_text_file", path=f"{task['ws']}/{name}", content="whole\n")
    came["link"] = ask("fs/write_text_file", path=f"{task['ws']}/away/no.txt", content="x")
    for name in ("yes.txt", "no.txt"):
        came[name] = ask("fs/write_text_file", path=f"{task['outside']}/{name}", content="x")
    came["secret"] = ask("fs/read_text_file", path=f"{task['home']}/.ssh/id_ed25519")
    terminal = ask("terminal/create", command="echo", args=["a b"])
    limited = ask("terminal/create", command="printf", args=["1234äbc"], outputByteLimit=3)
    ask("terminal/wait_for_exit", **limited)
    came["limited"] = ask("terminal/output", **limited)
    came["other session"] = ask("terminal/output", **limited | {"sessionId": "s2"})
    variable = {"name": "X; touch planted; Y", "value": "1"}
    came["variable"] = ask("terminal/create", command="true", env=[variable])
    came["folder"] = ask("terminal/create", command="touch", args=["no.txt"], cwd=task["outside"])
    ask("terminal/wait_for_exit", **came["folder"])
    ask("terminal/wait_for_exit", **terminal)
    came["terminal"] = ask("terminal/output", **terminal)
    came["released"] = [ask(f"terminal/{verb}", **terminal) for verb in ("release", "output")]
    came["permissions"] = [
        permission("allow_always", "allow_once", "reject_once"),
        permission("allow_always", "reject_once"),
    ]
    came["unknown"] = ask("no/such")
    words("agent_message_chunk", json.dumps(came))
    print("x" * (64 * 1024 * 1024 + 1), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    result: dict[str, Any] = {}
    if message["method"] == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {}}
    elif message["method"] == "session/new":
        result = {"sessionId": "s1"}
    elif message["method"] == "session/prompt":
        work(json.loads(message["params"]["prompt"][0]["text"]))
        result = {"stopReason": "end_turn"}
    send(id=message["id"], result=result)
