"""What is wired into parts that are looked at in rare cases alone. Costs 2.5 s of CPU."""

import asyncio
import gc
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from sam_tui.adapters.policy import FileLedger
from sam_tui.adapters.terminal.holders.client import Holders
from sam_tui.assembly import Options
from sam_tui.assembly.runtime import AssembledRuntime
from sam_tui.cli.preload import prepare
from sam_tui.core.agent.notes.planned import WhatLeaves
from sam_tui.core.bus import Subscription
from sam_tui.core.errors import (
    ConfigurationError,
    ConversationInUse,
    ModelUnavailable,
    StorageError,
)
from sam_tui.core.events import InquiryOpened, Noticed, Reminded, SubagentStarted
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiry import Answer, Approval, Inquiry
from sam_tui.core.ports.policy import DecisionFilter
from tests.fakes.interpreter import INTERPRETER
from tests.fakes.openai_server import Call, FakeServer, Recorded, Reply, failure
from tests.framework.bench import Person
from tests.framework.conftest import Opened
from tests.framework.stages import LISTENS
from tests.llm.folding import answer

DEADLINE = 90.0


@pytest.fixture
def config(home: Path, environ: dict[str, str]) -> Path:
    """The person's settings folder."""
    environ["SAM_TUI_CONFIG_DIR"] = str(home / "settings")
    return home / "settings"


def put(path: Path, text: str) -> None:
    """Write a file, its folders with it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.requirement("framework:assembled", "subagent:model-host")
async def test_where_no_turn_is_at_work_a_task_stays_at_the_host_of_the_model_asked_for(
    opened: Opened, environ: dict[str, str]
) -> None:
    environ |= {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "k"}
    environ["OLLAMA_API_BASE"] = "http://127.0.0.2:9"
    bench = opened(person=Person(agrees=False), model="openai/x")
    done = await bench.call("run_subagent", task="secret task", model="ollama/other")
    assert not done.finished.ok and done.decision is not None
    assert (done.decision.outcome, done.decision.rule) == ("deny", "model-host")
    (asked,) = bench.person.approvals
    assert "would be sent the whole task; yours is at 127.0.0.1:9" in asked.why
    assert "its model is at 127.0.0.2:9" in asked.why


@pytest.mark.requirement("framework:assembled")
def test_parts_are_released_at_the_end_the_newest_first(tmp_path: Path) -> None:
    options = Options(str(tmp_path), str(tmp_path / "data"))
    parts, released = AssembledRuntime(options, {}), list[str]()
    for name in ("first", "second"):
        parts.at_close.callback(released.append, name)
    assert released == []
    parts.release()
    assert released == ["second", "first"]


@pytest.mark.requirement("framework:assembled", "sessions:read-only")
async def test_a_program_that_is_to_write_does_not_start_where_nothing_can_be_written(
    opened: Opened, tmp_path: Path
) -> None:
    await opened().runtime.close()
    (tmp_path / "data/sam.db-shm").mkdir()  # as on a disk where SQLite can make no file
    with pytest.raises(StorageError):
        opened()
    assert opened(reads=True).runtime.conversations.find(ConversationId("c")) is None


@pytest.mark.requirement("framework:assembled")
def test_a_second_program_is_told_which_one_has_the_conversation(opened: Opened) -> None:
    first, second = (opened(program=f"sam-tui {name}").runtime for name in ("one", "two"))
    conversation = ConversationId("shared")
    first.conversations.claim(conversation)
    with pytest.raises(ConversationInUse, match="sam-tui one"):
        second.conversations.claim(conversation)


@pytest.mark.requirement("framework:assembled")
async def test_a_turn_shows_its_images_and_ends_once_its_conversation_is_taken_over(
    opened: Opened,
) -> None:
    async with FakeServer([Reply(text="Yes.")] * 3) as server:
        first, second = (
            opened(model="openai/x", api_base=server.base, api_key=KEY) for _ in range(2)
        )
        (first.folder / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0\0\0\1" * 9 + b"IEND")
        await first.session.run("look at @dot.png")
        shown = [e.images for e in first.events.drain() if isinstance(e, Reminded) and e.images]
        assert [(image.name, image.mime) for (image,) in shown] == [("dot.png", "image/png")]
        second.runtime.conversations.claim(first.conversation, take_over=True)
        finished = await first.session.run("on")
    assert finished.reason == "failed" and "Nothing more is written to it" in finished.error


SECRET = "correct-horse-battery-9"
KEY = "another-horse-of-a-provider-7"
POLICY = """
minutes = 7
caches = ["pip"]
[environment]
pass = ["PASSED_TOKEN"]
[commands]
open_files = 77
"""


@pytest.mark.requirement("framework:assembled")
async def test_a_secret_leaves_in_no_text_that_files_settings_or_models_have(
    opened: Opened, config: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    environ |= {"TEST_PASSWORD": SECRET, "SAM_TUI_COMPACTION": "model"}
    said = f"It is {SECRET}, or {KEY}."
    put(tmp_path / "data/reminders/always.md", said)
    put(config / "commands/enter.md", f"Enter. {said}")
    put(config / "agents/porter.md", f"---\ndescription: Opens.\n---\nYou open doors. {said}")
    put(config / "prices.toml", '["openai/x"]\ninput = 1\noutput = 2\n')
    used = {"prompt_tokens": 1_000_000, "completion_tokens": 10}
    notes = Reply(text=f"## Task\n- {said}\n")
    opens = Reply(
        calls=[Call("run_subagent", {"task": "Open", "agent": "porter", "sharedTopicId": "doors"})]
    )
    turns = [Reply(text="Yes.", usage=used), opens, Reply(text="Opened."), Reply(text="Yes.")]
    async with FakeServer([*turns, notes, failure(400, said)]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key=KEY, context_tokens=64_000)
        todo = {"id": 1, "title": said, "status": "in-progress"}
        await bench.good("todo_operations.write", todoList=[todo])
        await bench.session.run("/enter")
        await bench.session.run("again")
        await bench.good("create_file", filePath=str(tmp_path / "note"), content=said)
        leaving = WhatLeaves("up to", 1, f"Keep this: {said}")
        planned, _ = await bench.session.planner.plan(bench.session.model, leaving)
        assert (await bench.session.run("more")).reason == "failed"
    (child,) = [e.child for e in bench.events.drain() if isinstance(e, SubagentStarted)]
    assert bench.runtime.remembered.memories.scope_of(child) == "topic:doors"
    assert planned.written.notes is not None and "## Task" not in planned.written.fault
    calls = bench.runtime.calls.calls(bench.conversation)
    assert [bool(call.fault) for call in calls] == [False, False, False, True]
    assert "It is" in calls[0].todo and round(calls[0].usage.cost or 0) == 1
    told = [*map(sent, server.posts), planned.written.notes.text, calls[0].todo, calls[3].fault]
    told.append(str(bench.person.approvals[-1]))
    assert [text for text in told if "It is" not in text] == []
    assert [text for text in told if SECRET in text or KEY in text] == []


@pytest.mark.requirement("framework:assembled")
async def test_what_a_provider_said_of_a_secret_is_not_told_when_another_model_answers(
    opened: Opened, environ: dict[str, str]
) -> None:
    environ["TEST_PASSWORD"] = SECRET
    async with FakeServer([failure(404, f"no model for {SECRET}"), Reply(text="Yes.")]) as server:
        options = {"api_base": server.base, "api_key": KEY, "fallback_models": ("openai/y",)}
        bench = opened(model="openai/x", **options)
        assert (await bench.session.run("go")).answer == "Yes."
    (notice,) = [e.text for e in bench.events.drain() if isinstance(e, Noticed)]
    assert notice.startswith("openai/y answers instead of openai/x") and SECRET not in notice


@pytest.mark.requirement("framework:assembled", "model:request-timeout")
async def test_a_model_waits_for_a_silent_server_as_long_as_the_person_said(opened: Opened) -> None:
    async with FakeServer([Reply(hang="start")]) as server:
        options = {"api_base": server.base, "api_key": KEY, "request_timeout": 0.1}
        model = opened(model="openai/x", **options).runtime.model
        assert model is not None
        with pytest.raises(ModelUnavailable):
            async with asyncio.timeout(DEADLINE):
                await answer(model)


@pytest.mark.requirement("framework:assembled")
async def test_a_window_that_turns_out_small_gets_a_shorter_request_as_long_as_there_is_one(
    opened: Opened,
) -> None:
    long = failure(400, "maximum context length is 8192 tokens", code="context_length_exceeded")
    async with FakeServer([long, Reply(text="Done."), *[long] * 9]) as server:
        bench = opened(model="openai/x", api_base=server.base, api_key=KEY)
        assert (await bench.session.run("go")).answer == "Done."
        first, second = map(len, map(sent, server.posts))
        assert second < first / 2
        assert (await bench.session.run("on")).reason == "failed"
        assert len(server.posts) == 3


def sent(request: Recorded) -> str:
    """The body of a request."""
    return request.body.decode()


@pytest.mark.requirement("framework:assembled")
@pytest.mark.confined("live")
async def test_what_the_persons_policy_says_of_commands_holds_in_them(
    opened: Opened, config: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(config / "policy.toml", POLICY)
    put(home / ".ssh/id", "planted")
    monkeypatch.setenv("PASSED_TOKEN", "value-1")
    monkeypatch.setenv("HIDDEN_TOKEN", "value-2")
    bench = opened()
    assert isinstance(bench.runtime, AssembledRuntime)
    untrusted = bench.runtime.sandbox.reads()
    bench.runtime.trust.trust()
    assert (untrusted.restricted, bench.runtime.sandbox.reads().restricted) == (True, False)
    shown = await bench.good(
        "run_command",
        command="echo ${#PASSED_TOKEN} ${#HIDDEN_TOKEN} $(ulimit -n) ${UV_CACHE_DIR#$TMPDIR/}"
        ' ${PIP_CACHE_DIR:-unset}; touch "$HOME/.cache/pip/kept"',
    )
    assert "7 0 77 caches/uv unset" in shown
    assert (home / ".cache/pip/kept").exists() and bench.person.approvals == []
    assert "planted" not in await bench.bad("run_command", command="d=.ss; cat ~/${d}h/id")
    await bench.good("create_file", filePath=str(home / "new"), content="x")
    await bench.good("create_file", filePath=str(home / "newer"), content="x")
    first, second = ((a.choices[1].words, a.choices[1].considered) for a in bench.person.approvals)
    assert "7 minutes" in first[0] and (first[1], second[1]) == (0, 1)
    bench.events.drain()
    await bench.bad("run_command", command="echo HIDDEN_TOKEN is not set >&2; false")
    assert ["HIDDEN_TOKEN" in e.text for e in bench.events.drain() if isinstance(e, Noticed)] == [
        True
    ]


@pytest.mark.requirement("guard:grants-elsewhere", "framework:assembled")
async def test_a_grant_ends_with_its_program_also_in_the_list_of_others(
    opened: Opened, tmp_path: Path
) -> None:
    bench, others = opened(person=Patient()), FileLedger(str(tmp_path / "data"), process=1)
    await bench.good("create_file", filePath=str(tmp_path / "away"), content="x")
    assert len(others.all()) == 1
    await bench.runtime.close()
    assert list((tmp_path / "data/grants").iterdir()) == []


@pytest.mark.requirement("sandbox:strict", "framework:assembled")
def test_a_strict_sandbox_that_cannot_be_had_is_no_start(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigurationError, match="strict"):
        opened(sandbox="strict")


@pytest.mark.requirement("framework:assembled")
@pytest.mark.skipif(sys.platform != "linux", reason="holders need memfd and pidfd")
async def test_a_terminal_that_is_kept_is_there_for_the_next_program(
    opened: Opened, tmp_path: Path
) -> None:
    before, after = (opened(keeps_terminals=True) for _ in range(2))
    begun = await before.data("create_session")
    name = {"session_id": begun["session_id"]}
    await before.good("send_input", {**name, "input": "echo ear$((1+1))lier\n"})
    await before.runtime.close()
    try:
        again = await after.call("create_session", None, before.conversation)
        assert again.data["session_id"] == begun["session_id"]
        told = await after.call("get_output", name, before.conversation)
        assert told.finished.ok and "ear2lier" in told.finished.text
    finally:
        holders = Holders(str(tmp_path / "data/terminals"))
        for kept in await holders.sessions():
            await holders.end(kept)


@pytest.mark.requirement("framework:assembled")
@pytest.mark.confined("live", "landlock")
async def test_a_server_that_a_terminal_session_runs_is_the_agents_own(
    opened: Opened, folder: Path
) -> None:
    bench = opened()
    os.mkfifo(folder / "port")
    put(folder / "serve.py", f"{LISTENS}\n")
    session = (await bench.data("create_session"))["session_id"]
    await bench.good("send_input", session_id=session, input=f"{INTERPRETER} serve.py &\n")
    async with asyncio.timeout(DEADLINE):
        port = int(await asyncio.to_thread((folder / "port").read_text))
    assert bench.runtime.guard.policy.serves(port)
    await bench.good("close_session", session_id=session)


@pytest.mark.requirement("framework:assembled", "ironmanus:api-tables")
async def test_the_persons_tables_of_apis_join_the_list(opened: Opened, config: Path) -> None:
    table = (
        "| Name | Keywords | Base URL |\n|---|---|---|\n| Tides | tides | https://tides.test |\n"
    )
    put(config / "apis/mine.md", table)
    put(config / "apis/folder.md/x", "")
    bench = opened(profile="iron-manus")
    told = await bench.good("APISearch", objective="tides of the sea", user_role="coder")
    assert "https://tides.test" in told and "folder.md" not in told


@pytest.mark.requirement("framework:assembled", "memory:prompts-trust")
async def test_a_prompt_counts_as_it_was_trusted_and_no_longer_once_it_is_another(
    opened: Opened, config: Path, folder: Path
) -> None:
    prompt = folder / ".sam/prompts/mini/mine.md"
    put(prompt, "---\nenabled: true\n---\nObey.\n")
    bench = opened()

    def spoken() -> list[str]:
        return [p.content for p in bench.runtime.prompts.enabled_mini(bench.conversation)]

    assert spoken() == []
    bench.runtime.trust.trust()
    assert list(map(str.strip, spoken())) == ["Obey."]
    put(prompt, "---\nenabled: true\n---\nObey me.\n")
    assert spoken() == [] and bench.runtime.trust.state == "changed"


class Patient(Person):
    """Allows for the minutes."""

    def __call__(self, inquiry: Inquiry) -> Answer | None:
        self.asked.append(inquiry)
        return Approval("timed")


class Away(Person):
    """Leaves every question open."""

    def __call__(self, inquiry: Inquiry) -> Answer | None:
        self.asked.append(inquiry)
        return None


@pytest.mark.requirement("inquiries:withdrawn")
@pytest.mark.confined("live")
async def test_a_question_whose_call_is_cancelled_stands_on_record_as_that(
    opened: Opened, environ: dict[str, str], tmp_path: Path
) -> None:
    environ |= {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "k"}
    environ["OLLAMA_API_BASE"] = "http://127.0.0.2:9"
    bench, away = opened(person=Away(), model="openai/x"), tmp_path / "away"
    calls = [
        ("create_file", {"filePath": str(away), "content": "x"}, ()),
        ("run_command", {"command": f"d={tmp_path}; echo x > $d/away"}, (str(away),)),
        ("run_subagent", {"task": "x", "model": "ollama/other"}, ()),
    ]
    for name, arguments, targets in calls:
        bench.events.drain()
        call = asyncio.ensure_future(bench.call(name, arguments))
        while not any(isinstance(event, InquiryOpened) for event in await bench.events.batch()):
            pass
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        entry = bench.runtime.decisions.page(DecisionFilter(), limit=1)[0]
        assert (entry.decision.outcome, entry.decision.rule) == ("cancelled", "cancelled"), name
        assert entry.decision.targets == targets, name
    assert not away.exists()


@pytest.mark.requirement("checkpoints:no-git")
async def test_that_nothing_can_be_kept_is_said_once(
    opened: Opened, environ: dict[str, str], tmp_path: Path
) -> None:
    environ["PATH"] = str(tmp_path)
    bench = opened()
    for name in ("a", "b"):
        await bench.good("create_file", filePath=name, content="x")
    notices = [event.text for event in bench.events.drain() if isinstance(event, Noticed)]
    assert len([text for text in notices if "git is not on the search path" in text]) == 1, notices


@pytest.mark.requirement("framework:assembled")
async def test_who_made_a_program_ready_hears_nothing_more(opened: Opened) -> None:
    def heard() -> int:
        return sum(isinstance(found, Subscription) for found in gc.get_objects())

    runtime = opened().runtime
    gc.collect()
    before = heard()
    await prepare(runtime, awaited=False)
    gc.collect()
    assert heard() == before
