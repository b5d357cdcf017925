"""Messages on standard input, and approvals asked there or of an MCP tool."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.errors import UsageError
from sam_tui.core.messages import Image
from sam_tui.headless.dialogue.messages import ReceivedMessage, reading
from tests.headless.conftest import Program, call, shell

SERVER = """
import json, sys
def decide(tool_name, input, tool_use_id):
    name = input.get("filePath", "")
    if name.endswith("fails.txt"):
        raise ValueError(name)
    if name.endswith("mute.txt"):
        return "perhaps"
    allowed = name.endswith("yes.txt")
    if allowed:
        try:  # a yes to this call is none to what its server wants outside
            open(f"{name}-besides", "w").close()
        except OSError:
            pass
        return json.dumps({"behavior": "allow", "updatedInput": input})
    return json.dumps({"behavior": "deny", "message": f"{tool_name}: not there"})

def called(params):
    try:
        text, failed = decide(**params["arguments"]), False
    except ValueError:
        text, failed = "Error executing tool decide", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}

answers = {
    "initialize": lambda params: {
        "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
        "serverInfo": {"name": "gate", "version": "1"},
    },
    "tools/list": lambda _: {"tools": [{"name": "decide", "inputSchema": {"type": "object"}}]},
    "tools/call": called,
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answers[message["method"]](message.get("params"))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


class Dialogue:
    """A run whose other side is the test."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []

    def send(self, value: object) -> None:
        """Write a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def say(self, text: str) -> None:
        """Send a message."""
        self.send({"type": "user", "message": {"role": "user", "content": text}})

    def until(self, kind: str) -> dict[str, Any]:
        """Read to the next line of a type."""
        assert self.process.stdout is not None
        for text in self.process.stdout:
            self.lines.append(json.loads(text))
            if self.lines[-1]["type"] == kind:
                return self.lines[-1]
        raise AssertionError(f"no {kind} in {self.lines}")


def create(path: Path) -> dict[str, Any]:
    """A step that makes a file."""
    return {"calls": [call("file_operations", "create_file", filePath=str(path), content="x")]}


PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1IEND").decode()
SHOWN = f'{{"type": "image", "source": {{"type": "base64", "media_type": "x", "data": "{PIXEL}"}}}}'
MESSAGE = ('{"type": "user", "message": {"content": [{"type": "text", "text": "look"}, ', "]}}")


def replays(run: Dialogue) -> list[str]:
    """The messages that were told again."""
    return [x["message"]["content"][0]["text"] for x in run.lines if x.get("isReplay")]


@pytest.mark.requirement("headless:input-messages", "headless:permission-tool")
def test_messages_come_while_it_works_join_the_turn_and_are_told_again(program: Program) -> None:
    for name in ("first", "second"):
        os.mkfifo(program.workspace / name)
    allowed, refused = program.folder / "allowed", program.folder / "refused"
    wait = {"calls": [*create(refused)["calls"], *shell("cat first")["calls"]]}
    model = program.script(
        create(allowed), wait, {"text": "Both."}, {"text": "Third."}, shell("cat second"),
    )  # fmt: skip
    words = ("--input-format", "stream-json", "--replay-user-messages", "--model", model)
    run = Dialogue(program.start(*words, "--permission-prompt-tool", "stdio"))
    run.say("one")
    for behaviour in ({"behavior": "allow"}, {"behavior": "deny", "message": "never there"}):
        asked = run.until("control_request")
        assert asked["request"]["subtype"] == "can_use_tool"
        assert asked["request"]["tool_name"] == "file_operations"
        answer = {"subtype": "success", "request_id": asked["request_id"], "response": behaviour}
        run.send({"type": "control_response", "response": answer})
    run.say("two")
    run.send({"type": "control_request", "request_id": "i", "request": {"subtype": "initialize"}})
    assert run.until("control_response")["response"]["request_id"] == "i"
    # One with images begins a turn of its own: what joins another is words alone.
    run.send(json.loads(SHOWN.join(MESSAGE)))
    (program.workspace / "first").write_text("go on", encoding="utf-8")
    result = run.until("result")
    assert replays(run) == ["one", "two"]
    assert (result["result"], result["num_turns"]) == ("Both.", 3)
    assert result["permission_denials"][0]["reason"]
    assert allowed.exists() and not refused.exists()
    assert run.until("result")["num_turns"] == 1
    run.say("four")
    while "permission_decision" not in (said := run.until("system"))["subtype"]:
        pass
    assert said["decision"] == "allow"
    interrupt = {"subtype": "interrupt"}
    run.send({"type": "control_request", "request_id": "j", "request": interrupt})
    assert run.until("result")["subtype"] == "cancelled"
    assert replays(run) == ["one", "two", "look", "four"]
    out, err = run.process.communicate(timeout=50)
    assert (out, run.process.returncode) == ("", 130), err
    kept = (path.read_bytes() for path in (program.folder / "data").rglob("*") if path.is_file())
    assert any(PIXEL.encode() in content for content in kept)


WRONG = {
    "no json": "it is not JSON",
    "7": "it is not an object",
    '{"type": "user"}': "its message has no content",
    '{"type": "user", "message": {"content": ""}}': "its message is empty",
    '{"type": "user", "message": {"content": [{"type": "audio"}]}}': '"audio" is neither text',
    f'{{"type": "user", "message": {{"content": [{SHOWN}]}}}}': "its images have no words",
    SHOWN.join(MESSAGE).replace(PIXEL, "bm9uZQ=="): "image 1 is not a PNG",
    SHOWN.join(MESSAGE).replace("base64", "url"): "image 1 is not in the line itself",
    '{"type": "user", "message": {"role": "assistant", "content": "x"}}': 'message is "assistant"',
    '{"type": "more"}': 'its type is "more"',
    '{"type": "user", "message": {"content": "\\ud800"}}': "it is not JSON in UTF-8",
    "": "",
}


@pytest.mark.requirement("headless:input-messages")
async def test_a_line_that_is_no_message_ends_the_input_in_words() -> None:
    sources: list[int] = []  # closed at the end: the number of one must not become another's
    for line, words in WRONG.items():
        sent: list[dict[str, Any]] = []
        source, sink = os.pipe()
        good = '{"type": "user", "message": {"content": [{"type": "text", "text": "hi"}]}}'
        shown = SHOWN.join(MESSAGE)
        os.write(sink, f'{{"type": "keep_alive"}}\n{good}\n{shown}\n{line}\n'.encode())
        os.close(sink)
        async with reading(source, sent.append) as messages:
            assert await messages.next() == ReceivedMessage("hi")
            image = Image("image 1", "image/png", PIXEL)
            assert await messages.next() == ReceivedMessage("look", (image,))
            if words:
                with pytest.raises(UsageError, match="Line 4 of standard input") as wrong:
                    await messages.next()
                assert words in str(wrong.value)
            else:
                assert await messages.next() is None
            assert await messages.ask({}) is None
        sources.append(source)
    for source in sources:
        os.close(source)


@pytest.mark.requirement("headless:permission-tool", "headless:input-messages")
def test_a_tool_of_a_server_answers_approvals_and_nothing_of_the_run_is_kept(
    program: Program,
) -> None:
    (program.folder / "server.py").write_text(SERVER, encoding="utf-8")
    server = {"command": sys.executable, "args": ["-I", "-S", str(program.folder / "server.py")]}
    yes, no = program.folder / "yes.txt", program.folder / "no.txt"
    model = program.script(create(yes), create(no), {"text": "Done."})
    words = ("go", "--model", model, "--mcp-config", json.dumps({"mcpServers": {"gate": server}}))
    tool = ("--permission-prompt-tool", "mcp__gate__decide")
    ended = program.stream(*words, "--no-session-persistence", *tool, "--permission-mode", "ask")
    assert (ended.code, yes.exists(), no.exists()) == (0, True, False), ended.out
    assert not Path(f"{yes}-besides").exists()
    (denial,) = ended.result["permission_denials"]
    assert denial["tool_input"]["filePath"] == str(no)
    results = [x["message"]["content"][0]["content"] for x in ended.of_kind("user")]
    assert "file_operations: not there" in results[1]
    again = program.run("go", "--resume", ended.result["session_id"], "--model", model)
    assert (again.code, "There is no conversation" in again.err) == (2, True)


@pytest.mark.requirement("headless:permission-tool")
def test_a_permission_tool_that_fails_or_says_neither_leaves_the_run_blocked(
    program: Program,
) -> None:
    (program.folder / "server.py").write_text(SERVER, encoding="utf-8")
    server = {"command": sys.executable, "args": ["-I", "-S", str(program.folder / "server.py")]}
    paths = [program.folder / name for name in ("fails.txt", "mute.txt", "yes.txt")]
    steps = [call("file_operations", "create_file", filePath=str(p), content="x") for p in paths]
    words = ("go", "--model", program.script({"calls": steps}, {"text": "Done."}), "--mcp-config")
    tool = ("--permission-prompt-tool", "mcp__gate__decide", "--permission-mode", "ask")
    ended = program.stream(*words, json.dumps({"mcpServers": {"gate": server}}), *tool)
    assert (ended.code, [path.exists() for path in paths]) == (3, [False, False, True]), ended.out
    assert ended.result["subtype"] == "error_blocked"
    assert [d["rule"] for d in ended.result["permission_denials"]] == ["unattended"] * 2
    said = [line["text"] for line in ended.of_kind("system") if line["subtype"] == "notice"]
    asked = "mcp__gate__decide did not answer about file_operations.create_file: it"
    assert [words.startswith(asked) for words in said] == [True, True], said
    assert said[0].endswith("it failed: ERROR: Error executing tool decide")
    assert said[1].endswith("it answered: perhaps")
