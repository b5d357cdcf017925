"""Nothing can be taken out of the assembled program unnoticed: reminders, events, flags, stages, limits."""

import asyncio
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, cast, get_args

import pytest

import sam_reminders
from sam_tui.assembly.runtime import AssembledRuntime
from sam_tui.core import events as core_events
from sam_tui.core.accesses import Fetch, Use
from sam_tui.core.authorization.policy.access_stages import (
    FETCH_STAGES,
    NETWORK_STAGES,
    PATH_STAGES,
    SOCKET_STAGES,
    USE_STAGES,
)
from sam_tui.core.authorization.policy.command_stages import COMMAND_STAGES
from sam_tui.core.errors import ToolError
from sam_tui.core.events import (
    Event,
    HistoryShortened,
    Noticed,
    Reminded,
    ToolFinished,
    ToolStarted,
)
from sam_tui.core.ids import CallId, SessionId
from sam_tui.core.messages import ReminderMessage, ToolCall
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.contract import Operation, operation_key
from sam_tui.core.tooling.offer import arguments_schema, example_call
from tests.fakes.interpreter import INTERPRETER
from tests.fakes.openai_server import Call, FakeServer, Reply, failure
from tests.fakes.web_server import Answer, WebServer
from tests.framework.bench import Person
from tests.framework.conftest import Opened
from tests.framework.stages import LISTENS, RULES, STAGES, located

DEADLINE = 90.0


def over(server: FakeServer, **options: Any) -> dict[str, Any]:
    """The options of a runtime whose model is a server."""
    return {"model": "openai/x", "api_base": server.base, "api_key": "k", **options}


# Reminders

SPOKEN = (
    "user_context", "instructions", "skills", "documents", "mini_prompts", "pins", "user_defined",
    "todo_list", "workflow_phase", "background_commands", "repeated_calls", "status_signal", "memories",
)  # fmt: skip
"""Every reminder, in the order in which the model reads them."""


@pytest.fixture
def config(home: Path, environ: dict[str, str]) -> Path:
    """The person's settings folder."""
    folder = home / "settings"
    folder.mkdir()
    environ["SAM_TUI_CONFIG_DIR"] = str(folder)
    return folder


def put(path: Path, text: str) -> None:
    """Write a file, its folders with it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.requirement("framework:assembled")
async def test_each_reminder_reaches_the_model_in_its_place(
    opened: Opened, config: Path, tmp_path: Path
) -> None:
    put(config / "AGENTS.md", "Answer in Latin.")
    put(config / "skills/release/SKILL.md", "---\nname: release\ndescription: Tags.\n---\nTag.\n")
    put(tmp_path / "data/prompts/mini/brief.md", "Be brief.")
    put(tmp_path / "data/reminders/always.md", "Mind the gap.")
    done = Reply(text='Done.\n{"status": "complete"}')
    loop = Reply(calls=[Call("think", {"thoughts": "Hm"})] * 4)
    async with FakeServer([done, done, loop, done]) as server:
        bench = opened(**over(server, workflow_mode=True))
        await bench.session.run("first")
        bench.runtime.conversations.keep_pins(bench.conversation, ["Never push."])
        await bench.good("document_operations.document_import", path="root_files/README.md")
        await bench.good("memory_operations.store_memory", content="The key is under the mat.")
        plan = [{"id": 1, "title": "Look", "status": "not-started"}]
        await bench.good("todo_operations.write", todoList=plan)
        begun = await bench.data("run_command", command="exec sleep 300", isBackground=True)
        background = bench.runtime.background.find(SessionId(begun["terminalId"]))
        assert background is not None
        await bench.runtime.background.stop(background.id)
        await bench.good("workflow.start", name="phased", params={"objective": "x"})
        await bench.session.run("second")
        order = [m.name for m in bench.session.messages if isinstance(m, ReminderMessage)]
        await bench.session.run("third")
        texts = [str(m["content"]) for m in server.requests[-1].json["messages"]]
    heard = [e for e in bench.events.drain() if isinstance(e, Reminded)]
    assert {e.name for e in heard} == set(SPOKEN)
    assert all(any(e.text in text for text in texts) for e in heard)
    begins = order.index("documents")
    for turn in (order[:begins], order[begins:]):
        assert [SPOKEN.index(name) for name in turn] == sorted(map(SPOKEN.index, turn))
    exported = vars(sam_reminders).items()
    injectors = {
        value.name for name, value in exported if name.endswith("Reminder") and name != "Reminder"
    }
    assert injectors - {"agents"} == set(SPOKEN)


# Events


def hooks(config: Path) -> None:
    """A hook that every finished call runs, and that fails."""
    entry = {"hooks": [{"type": "command", "command": "exit 1"}]}
    put(config / "hooks.json", json.dumps({"hooks": {"PostToolUse": [entry]}}))


def calling(name: str, /, **arguments: Any) -> Reply:
    """An answer that calls."""
    return Reply(reasoning="Hm.", text="So.", calls=(Call(name, arguments),))


@pytest.mark.requirement("framework:assembled")
async def test_everything_that_can_happen_is_told(opened: Opened, config: Path) -> None:
    hooks(config)
    plan = [{"id": 1, "title": "Look", "status": "not-started"}]
    long = failure(400, "maximum context length is 16000 tokens", code="context_length_exceeded")
    replies = [
        failure(503, "busy", retry_after="0"),
        calling("todo_operations.write", todoList=plan),
        calling("run_command", command="echo hello; seq 2000"),
        calling("create_session"),
        calling("user_collaboration", prompt="Which?"),
        calling("run_subagent", task="Count"),
        Reply(text="Two."),
        long,
        Reply(text="Done."),
    ]
    async with FakeServer(replies) as server:
        bench = opened(**over(server))
        waiting = ["mind this"]
        finished = await bench.session.run("go", lambda: [waiting.pop() for _ in waiting[:1]])
        assert (finished.reason, finished.answer) == ("finished", "Done."), finished
        (session,) = bench.runtime.terminals.of(bench.conversation)
        session.turns.pass_to("person")
        session.turns.pass_to("agent")
        await bench.good("close_session", session_id=session.id)
        await bench.good("workflow.start", name="phased", params={"objective": "x"})
    happened = {type(event) for event in bench.events.drain()}
    assert {event.__name__ for event in get_args(Event)} - {e.__name__ for e in happened} == set()
    own = [e for e in vars(core_events).values() if is_dataclass(e)]
    assert {e for e in own if e.__module__ == core_events.__name__} == set(get_args(Event))


# Operations, and what their flags come to

SECRET = "correct-horse-battery-9"


@pytest.mark.requirement("framework:assembled")
async def test_a_secret_is_put_back_where_a_call_stays_here_and_nowhere_else(
    opened: Opened, online: WebServer, environ: dict[str, str]
) -> None:
    environ["TEST_PASSWORD"] = SECRET
    bench = opened()
    executor = bench.runtime.executor
    shown = executor.shield.mask(SECRET).text
    assert SECRET not in shown
    for tool in bench.runtime.registry.tools:
        for operation in tool.operations:
            key = operation_key(tool, operation)
            given = json.loads(example_call(tool, operation))
            texts = texts_of(arguments_schema(operation.arguments)["properties"], given)
            for name in texts:
                value = f"https://example.org/{shown}" if name in ("url", "path") else shown
                call = ToolCall(CallId("c"), key, json.dumps(given | {name: value}))
                plan = executor.plan(call)
                if plan.arguments is None:
                    continue
                got = json.dumps(plan.arguments.model_dump(mode="json"))
                sent = fetches(operation, plan.arguments)
                assert (SECRET in got) is (tool.name in LOCAL and not sent), (key, name)
                assert not (sent and SECRET in plan.summary)


@pytest.mark.requirement("framework:assembled")
async def test_a_secret_that_a_command_writes_and_prints_is_masked_in_its_own_result(
    opened: Opened,
) -> None:
    bench = opened()
    write = f"printf '%s=%s\\n' DB_PASSWORD {SECRET} > .env"  # the call itself gives nothing away
    assert SECRET not in await bench.good("run_command", command=f"{write}; cut -d= -f2 .env")
    assert bench.text(".env") == f"DB_PASSWORD={SECRET}\n"


@pytest.mark.requirement("sandbox:when-used")
async def test_a_call_without_a_command_plans_the_sandbox_and_makes_none(opened: Opened) -> None:
    bench = opened()
    runtime = cast(AssembledRuntime, bench.runtime)
    assert not runtime.is_made("sandbox_plan")
    await bench.good("read_file", filePath="root_files/README.md")
    await bench.good("create_file", filePath="new.txt", content="new")
    assert runtime.is_made("sandbox_plan")
    assert not runtime.is_made("sandbox")
    await bench.good("run_command", command="echo out")
    assert runtime.is_made("sandbox")


def fetches(operation: Operation[Any], arguments: Any) -> bool:
    """Whether a call reaches a host by itself."""
    with suppress(ToolError):  # a patch that is none
        return any(isinstance(a, Fetch) for a in operation.accesses(arguments))
    return False


LOCAL = {
    "file_operations",
    "terminal_operations",
    "build_and_version_control",
    "document_operations",
}
"""Tools whose calls stay on this machine; what they fetch does not."""


def texts_of(properties: dict[str, Any], given: dict[str, Any]) -> Iterable[str]:
    """The parameters that take any text."""
    for name, schema in properties.items():
        free = schema.get("type") == "string" and "enum" not in schema
        if free and name != "operation" and isinstance(given.get(name, ""), str):
            yield name


@pytest.mark.requirement("framework:assembled")
@pytest.mark.parametrize(
    ("name", "arguments", "offered"),
    [
        ("run_command", {"command": "rm -rf src"}, True),
        ("run_command", {"command": "rm -rf src", "isBackground": True}, False),
        ("create_and_run_task", {"task": {"label": "t", "type": "shell", "command": "rm -rf src"}}, False),
    ],
)  # fmt: skip
async def test_a_trial_on_a_copy_is_offered_for_what_can_be_tried(
    opened: Opened, name: str, arguments: dict[str, Any], *, offered: bool
) -> None:
    bench = opened(person=Person(agrees=False))
    await bench.bad(name, **arguments)
    (question,) = bench.person.approvals
    assert ("rehearse" in [choice.id for choice in question.choices]) is offered


# What one conversation learns, and how much goes on at once


@pytest.mark.requirement("framework:assembled")
async def test_the_limit_that_a_refusal_names_holds_from_then_on_in_every_conversation(
    opened: Opened,
) -> None:
    long = calling("run_command", command="seq 3000")
    refusal = failure(400, "maximum context length is 16000 tokens", code="context_length_exceeded")
    async with FakeServer([long, long, refusal, Reply(text="One.")]) as server:
        bench = opened(**over(server))
        assert (await bench.session.run("go")).answer == "One."
        bench.events.drain()
        server.replies += [long, long, Reply(text="Two.")]
        other = bench.runtime.open_session()
        assert (await other.run("go")).answer == "Two."
    shortened = [e for e in bench.events.drain() if isinstance(e, HistoryShortened)]
    assert {e.conversation for e in shortened} == {other.conversation}


@pytest.mark.requirement("framework:assembled")
async def test_eight_calls_go_on_side_by_side_and_the_rest_waits(
    opened: Opened, online: WebServer
) -> None:
    held, all_ask = asyncio.Event(), asyncio.Event()

    def asked(_: object) -> Answer:
        if len(online.asked) == 8:
            all_ask.set()
        return Answer(b"<p>page</p>", 200, {"content-type": "text/html"}, after=held)

    online.routes["/page"] = asked
    fetch = Call("web_operations.fetch", {"url": online.url("/page")})
    async with FakeServer([Reply(calls=[fetch] * 12), Reply(text="Done.")]) as server:
        bench = opened(**over(server))
        turn = asyncio.ensure_future(bench.session.run("go"))
        async with asyncio.timeout(DEADLINE):
            await all_ask.wait()
            held.set()
            assert (await turn).answer == "Done."
    running, most = 0, 0
    for event in bench.events.drain():
        running += isinstance(event, ToolStarted) - isinstance(event, ToolFinished)
        most = max(most, running)
    assert most == 8


# The stages of the guard


@pytest.mark.requirement("framework:assembled")
async def test_each_stage_of_the_guard_decides_what_it_is_for(
    opened: Opened, config: Path, home: Path
) -> None:
    put(config / "policy.toml", RULES)
    bench = opened()
    runtimes: dict[str, Runtime] = {"{}": bench.runtime}
    os.mkfifo(bench.folder / "port")
    await bench.good("run_command", command=f"{INTERPRETER} -c '{LISTENS}'", isBackground=True)
    async with asyncio.timeout(DEADLINE):
        port = await asyncio.to_thread((bench.folder / "port").read_text)
    wrong: list[str] = []
    for row in STAGES:
        if str(row.options) not in runtimes:
            runtimes[str(row.options)] = opened(**row.options).runtime
        runtime = runtimes[str(row.options)]
        if row.stage == "kernel sandbox" and runtime.commands.confinement.kind == "none":
            continue
        used = row.access
        operation = f"mcp__{used.server}__{used.tool}" if isinstance(used, Use) else "x.y"
        where = located(runtime.guard, used, home, port)
        said = runtime.guard.policy.trace(where[0], row.operation or operation)[-1]
        if (said.stage, said.outcome) != (row.stage, row.outcome):
            wrong.append(f"{row}: {said}")
    assert wrong == []


@pytest.mark.requirement("framework:assembled")
def test_every_stage_there_is_has_a_row() -> None:
    tables = {
        "files": PATH_STAGES,
        "commands": COMMAND_STAGES,
        "sockets": SOCKET_STAGES,
        "hosts": NETWORK_STAGES,
        "addresses": FETCH_STAGES,
        "servers": USE_STAGES,
    }
    here = {(row.stages, row.stage) for row in STAGES}
    assert here == {(name, stage) for name, table in tables.items() for stage, _ in table}


# What the folder of another is believed


@pytest.mark.requirement("framework:assembled")
async def test_what_changed_in_a_trusted_folder_is_named_and_what_is_over_is_counted(
    opened: Opened, folder: Path
) -> None:
    hooks = [folder / f".sam/hooks/h{number}" for number in range(6)]
    for hook in hooks:
        put(hook, "true\n")
    trust, events = (bench := opened()).runtime.trust, bench.events
    for count, more in ((1, ""), (4, ""), (5, " and 1 more"), (6, " and 2 more")):
        trust.trust()
        for hook in hooks[:count]:
            put(hook, f"echo {count}\n")
        trust.look()
        (told,) = [e.text for e in events.drain() if isinstance(e, Noticed)]
        named = ", ".join(f"changed: .sam/hooks/h{number}" for number in range(min(count, 4)))
        assert (
            told == "These files changed since you trusted the folder, "
            f"so they are no longer trusted: {named}{more}."
        )
