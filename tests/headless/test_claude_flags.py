"""Options of ``claude -p`` under their own names, and its field names and codes. Costs some 4 s of CPU."""

import json
from pathlib import Path

import click
import pytest

from sam_tui.cli.claude import NEEDLESS, REFUSED, spread
from sam_tui.cli.program import program as cli
from sam_tui.core.errors import UsageError
from tests.fakes.openai_server import Call, Reply, background
from tests.headless.conftest import Program, call, shell

DOCS = Path(__file__).parents[2] / "docs" / "headless.md"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
SAYS_NO = {
    **{f"{name} x": words.split(";")[0][:30] for name, words in REFUSED.items()},
    "--allowedTools Bash(git": "Bash(git names no tool",
    "--allowedTools Bash(:*)": "names no command",
    "--allowedTools Bash('x *)": "No closing quotation",
    "--disallowedTools Task(x)": "is not a pattern of this tool",
    "--disallowedTools Bash(a | b)": "one simple command",
    "--tools nothing": "No tool is called 'nothing'",
    "--disallowedTools Qwertyz": "There are: think,",
    "--allowedTools read_file": "Did you mean file_operations.read_file?",
    "--allowedTools file_operations.raed_file": "file_operations.read_file",
    "--max-budget-usd nan": "is not a finite number",
    "--request-timeout inf": "is not a finite number",
    "--input-format stream-json": "needs --output-format stream-json",
    "--permission-prompt-tool stdio": "needs --input-format stream-json",
    "--goal ": "--goal is empty",
    "--resume ": "--resume is empty",
    "--output-last-message ": "--output-last-message is empty",
    "--disallowedTools ": "--disallowed-tools is empty",
    "-C ": "--workspace is empty",
    "--data-dir ": "--data-dir is empty",
    "--append-system-prompt ": "--append-system-prompt is empty",
    "--settings ": "--settings is empty",
    "--system-prompt-file ": "--system-prompt-file is empty",
    '--json-schema {"type":7}': "is not a JSON schema",
    "--json-schema [": "--json-schema: [",
}
"""A wrong word on the command line, and what is said of it."""


@pytest.mark.requirement("headless:claude-flags")
@pytest.mark.parametrize("words", SAYS_NO)
def test_what_has_no_meaning_here_is_refused_in_words_that_say_what_has(
    words: str, tmp_path: Path
) -> None:
    option, _, value = words.partition(" ")
    given = [option] if option in ("--ide", "--bare", "--chrome") else [option, value]
    place = ["-C", str(tmp_path), "--data-dir", str(tmp_path / "data")]
    with pytest.raises((UsageError, click.BadParameter)) as refused:
        cli.main(["run", "go", *place, "--model", "x", *given], standalone_mode=False)
    error = refused.value
    assert SAYS_NO[words] in (error.explain() if isinstance(error, UsageError) else str(error))


@pytest.mark.requirement("headless:claude-flags")
def test_a_script_for_claude_may_name_tools_that_are_not_there(program: Program) -> None:
    model = program.script({"text": "Done."})
    lists = ("--allowedTools", "Nope", "--disallowedTools", "Nope", "--tools", "Nope")
    ended = program.stream("go", "--model", model, *lists, "--compat", "claude")
    assert (ended.code, ended.of_kind("init")[0]["tools"]) == (0, [])


@pytest.mark.requirement("headless:claude-flags")
def test_a_system_prompt_comes_from_a_file_and_a_fork_leaves_its_conversation(
    program: Program,
) -> None:
    words = program.folder / "role.md"
    words.write_text("You are a pilot.", encoding="utf-8")
    with background([Reply(text="One."), Reply(text="Two.")]) as server:
        place = ("--model", "fake", "--provider", "direct", "--api-base", server.base)
        first = program.stream("go", *place, "--system-prompt-file", str(words))
        fork = ("--resume", first.result["session_id"], "--fork-session")
        ended = program.stream("on", *place, *fork)
        sent = [json.loads(post.body)["messages"] for post in server.posts]
    assert sent[0][0]["content"].startswith("You are a pilot.")
    assert [message["content"] for message in sent[1] if message["role"] == "assistant"] == ["One."]
    assert ended.result["session_id"] != first.result["session_id"]


@pytest.mark.requirement("headless:claude-flags")
def test_each_option_stands_in_the_table_of_the_docs() -> None:
    text = DOCS.read_text(encoding="utf-8")
    named = ("--allowedTools", "--disallowedTools", "--tools", "--append-system-prompt")
    more = ("--system-prompt", "--dangerously-skip-permissions", "--json-schema", "--debug")
    assert [name for name in (*named, *more, *REFUSED, *NEEDLESS) if f"`{name}" not in text] == []


@pytest.mark.requirement("headless:claude-flags")
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (
            "-p x --allowedTools A B --verbose y",
            "-p x --allowedTools A --allowedTools B --verbose y",
        ),
        ("--tools A -- B C", "--tools A -- B C"),
        ("--add-dir=a b", "--add-dir=a b"),
        ("--model a b", "--model a b"),
    ],
)
def test_lists_of_claude_take_all_words_up_to_the_next_option(words: str, meant: str) -> None:
    assert spread(words.split()) == meant.split()


def _run(command: str) -> Reply:
    arguments = {"operation": "run_command", "command": command}
    return Reply(calls=(Call("terminal_operations", arguments),))


@pytest.mark.requirement("headless:claude-flags", "headless:compat")
def test_a_script_for_claude_is_understood_and_told_in_its_names(program: Program) -> None:
    with background() as server:
        server.replies += [_run("touch asked-for"), _run("touch other"), Reply(text="Done.")]
        ended = program.stream(
            "go", "--model", "fake", "--provider", "direct", "--api-base", server.base,
            "--sandbox", "off", "--allowedTools", "Bash(touch asked-for),Read Grep",
            "--tools", "Bash TodoWrite", "--disallowedTools", "TodoWrite",
            "--system-prompt", "You are a tester.", "--append-system-prompt", "Say little.",
            "--debug", "--compat", "claude", "--include-partial-messages",
        )  # fmt: skip
        sent = json.loads(server.posts[0].body)
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["terminal_operations"]
    system = sent["messages"][0]["content"]
    assert system.startswith("You are a tester.\n\nSay little.\n\nWhat holds")
    assert (program.workspace / "asked-for").exists()
    assert not (program.workspace / "other").exists()
    # Something was refused and an answer came: for claude that is a success.
    result = ended.result
    assert (ended.code, result["subtype"], result["is_error"]) == (0, "success", False)
    assert [denial["tool_name"] for denial in result["permission_denials"]]
    assert ended.lines[0]["permissionMode"] == "default"
    assert len({line["uuid"] for line in ended.lines}) == len(ended.lines)
    first = ended.of_kind("assistant")[0]
    assert first["message"]["id"].startswith("msg_") and first["message"]["type"] == "message"
    events = [line["event"] for line in ended.of_kind("stream_event")]
    started = [e["content_block"] for e in events if e["type"] == "content_block_start"]
    uses = [block for block in started if block["type"] == "tool_use"]
    assert [use["id"] for use in uses][:1] == [first["message"]["content"][0]["id"]]
    pieces = [e["delta"] for e in events if e["type"] == "content_block_delta"]
    arguments = [p["partial_json"] for p in pieces if p["type"] == "input_json_delta"]
    assert json.loads(arguments[0])["command"] == "touch asked-for"


ALLOWED = "Bash(git add:*),Bash(touch *) Edit(//{outside}/**),Read"
REFUSED_PARTS = "NotebookEdit Skill(x),Write(kept/**) Read(kept/secret*),Bash(mkdir *),LS"
CALLS = {
    "touch a": True,
    "git init -q . && touch b": False,
    "touch a; git add a": True,
    "touch a > c": False,
    "rm -rf kept": False,
    "touchy": False,
    "cat kept/secret.txt": False,
    "sh -c 'mkdir d'": False,
}
"""A command, and whether it runs."""


@pytest.mark.requirement("headless:claude-flags")
def test_patterns_approve_and_refuse_parts_of_tools(program: Program, tmp_path: Path) -> None:
    kept = program.workspace / "kept"
    kept.mkdir()
    (kept / "secret.txt").write_text("7", encoding="utf-8")
    files = {
        "{outside}/deep/new": ("create_file", True),
        "{folder}/other": ("create_file", False),
        "kept/new": ("create_file", False),
        "kept/secret.txt": ("read_file", False),
        "kept": ("list_dir", False),
        "free": ("create_file", True),
    }
    outside = {"outside": str(tmp_path / "outside"), "folder": str(tmp_path)}
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    steps = [shell(command) for command in CALLS]
    for path, (operation, _) in files.items():
        place = {"path" if operation == "list_dir" else "filePath": path.format(**outside)}
        content = {"content": "x"} if operation == "create_file" else {}
        steps.append({"calls": [call("file_operations", operation, **place, **content)]})
    ended = program.stream(
        "go", "--model", program.script(*steps, {"text": "Done."}), "--sandbox", "off",
        "--allowedTools", ALLOWED.format(outside=outside["outside"].lstrip("/")),
        "--disallowedTools", REFUSED_PARTS,
    )  # fmt: skip
    refused = {denial["tool_use_id"] for denial in ended.result["permission_denials"]}
    ran = [
        line["message"]["content"][0]["tool_use_id"] not in refused
        for line in ended.of_kind("user")
    ]
    assert ran == [*CALLS.values(), *(done for _, done in files.values())]
    rules = {denial["rule"] for denial in ended.result["permission_denials"]}
    assert {"option:Bash(mkdir *)", "option:LS", "option:Write(kept/**)"} < rules


@pytest.mark.requirement("headless:claude-flags")
def test_tools_named_in_part_are_offered_and_the_rest_of_them_is_refused(program: Program) -> None:
    calls = [
        call("file_operations", "create_file", filePath="a", content="x"),
        shell("ls")["calls"][0],
    ]
    model = program.script({"calls": calls}, {"text": "Done."})
    ended = program.stream("go", "--model", model, "--tools", "Read,Grep")
    assert ended.of_kind("init")[0]["tools"] == ["file_operations"]
    assert [d["rule"] for d in ended.result["permission_denials"]] == [
        "option:--tools without file_operations.create_file"
    ]
    assert not (program.workspace / "a").exists()


@pytest.mark.requirement("headless:json-schema")
def test_an_answer_of_another_form_is_asked_for_again_and_then_an_error(program: Program) -> None:
    asked = ("go", "--json-schema", json.dumps(SCHEMA))
    model = program.script({"text": "It is 7."}, {"text": '```json\n{"n": 7}\n```'})
    ended = program.stream(*asked, "--model", model)
    assert (ended.code, ended.result["structured_output"]) == (0, {"n": 7})
    assert ended.result["num_turns"] == 2  # the calls of all turns
    assert "is asked again" in ended.of_kind("notice")[0]["text"]
    model = program.script(*({"text": text} for text in ("7", '{"n": "7"}', '{"n": NaN}')))
    ended = program.stream(*asked, "--model", model)
    assert (ended.code, ended.result["structured_output"]) == (65, None)
    assert ended.result["num_turns"] == 3
    assert ended.result["subtype"] == "error_max_structured_output_retries"
    assert "NaN is not JSON" in ended.result["error"]["message"]
