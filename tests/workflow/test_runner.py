"""The runner: our own agent works on steps, behind the gate, with a person where one is needed."""

import asyncio
from pathlib import Path
from typing import Literal

import pytest

from sam_tui.adapters.llm.scripted import ScriptedModel
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.events import InquiryOpened
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiry import Reply
from sam_tui.core.messages import UserMessage
from sam_tui.core.workflow.execution.output import first_object
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import WorkflowRefused
from tests.fakes.engine_kit import Hand
from tests.workflow.bench import Bench
from tests.workflow.stage import Stage, on

THREE = """
    steps:
      - {id: look, prompt: look, persona: scout, tools: [voice.murmur]}
      - {id: act, prompt: "act on @{outputs.look.summary}", needs: [look], tools: [voice]}
      - {id: end, kind: llm, prompt: end, needs: [act]}
"""


@pytest.mark.requirement("workflow:runner")
async def test_each_step_has_a_conversation_with_its_persona_and_what_came_before(
    bench: Bench, tmp_path: Path
) -> None:
    bench.persona("scout")
    bench.define(THREE)
    stage = Stage(bench, tmp_path / "k", on("look", "a door"), on("act", "opened"), on("end"))
    execution = bench.workflows.start("flow").execution_id
    view = await stage.run(execution)
    assert (view.state, view.progress) == ("completed", "3/3")
    history = bench.workflows.records.history(execution)
    assert [(a.output or {})["summary"] for a in history] == ["a door", "opened", "done"]
    assert len({a.conversation for a in history}) == 3
    first, second, _ = (
        stage.kit.storage.conversations.messages(ConversationId(a.conversation)) for a in history
    )
    asked = [m.text for m in (*first, *second) if isinstance(m, UserMessage)]
    assert "You are the scout." in asked[0]
    assert "- look: a door" in asked[1]
    assert "act on a door" in asked[1]
    assert stage.kit.storage.conversations.find(ConversationId(execution)) is not None


@pytest.mark.requirement("workflow:runner-gate")
async def test_a_step_s_agent_cannot_call_what_its_step_does_not_allow(
    bench: Bench, tmp_path: Path
) -> None:
    bench.persona("scout")
    bench.define(THREE)
    loud = ("voice", {"operation": "speak", "text": "loud"})
    quiet = ("voice", {"operation": "murmur", "text": "quiet"})
    plays = on("look", "seen", loud, quiet), on("act", "acted", loud), on("end", "e", quiet)
    stage = Stage(bench, tmp_path / "k", *plays)
    execution = bench.workflows.start("flow").execution_id
    assert (await stage.run(execution)).state == "completed"
    assert stage.kit.journal.lines == ["begin quiet", "end quiet", "begin loud", "end loud"]
    refused = [text for text in stage.results(execution) if "not allowed" in text]
    assert ["phase look" in refused[0], "phase end" in refused[1]] == [True, True]
    evidence = bench.workflows.records.reader.evidence(execution)
    assert [(e.step, e.operation, e.ok) for e in evidence] == [
        ("look", "voice.speak", False),
        ("look", "voice.murmur", True),
        ("act", "voice.speak", True),
        ("end", "voice.murmur", False),
    ]


@pytest.mark.requirement("workflow:runner-output")
async def test_an_answer_that_does_not_fit_is_asked_for_once_more_with_its_faults(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define("""
        steps:
          - id: a
            prompt: a
            attempts: 1
            output: {type: object, required: [n], properties: {n: {type: integer}}}
    """)
    used = {"input_tokens": 100, "output_tokens": 10, "cost": 0.5}
    repaired = [
        {
            "when": {"user": "cannot be taken"},
            "text": 'Sorry: ```json\n{"n": 4}\n```',
            "usage": used,
        }
    ]
    stage = Stage(bench, tmp_path / "k", on("a", 'no {"n": "four"}', usage=used), repaired)
    execution = bench.workflows.start("flow").execution_id
    assert (await stage.run(execution)).state == "completed"
    (attempt,) = bench.workflows.records.history(execution)
    assert (attempt.output or {})["n"] == 4
    messages = stage.kit.storage.conversations.messages(ConversationId(attempt.conversation))
    asked = [m.text for m in messages if isinstance(m, UserMessage)]
    assert "output.n must be integer, not string" in asked[1]
    calls, usage = bench.workflows.records.used(execution)
    assert (calls, usage.input_tokens, usage.output_tokens, usage.cost) == (2, 200, 20, 1.0)
    hopeless = Stage(bench, tmp_path / "h", on("a", "no"), [{"text": "still no"}])
    execution = bench.workflows.start("flow").execution_id
    view = await hopeless.run(execution)
    assert (view.state, "did not fit" in view.reason) == ("failed", True)


@pytest.mark.requirement("workflow:runner-output")
@pytest.mark.parametrize(
    ("step", "attempts"),
    [
        ("kind: tool, tool: voice.murmur, arguments: {text: once}", 1),
        ("kind: human, prompt: 'How many?'", 2),
    ],
)
async def test_what_a_tool_or_a_person_answers_and_the_schema_refuses_fails_the_attempt(
    bench: Bench, tmp_path: Path, step: str, attempts: int
) -> None:
    schema = "{type: object, required: [n], properties: {n: {type: integer}}}"
    bench.define(f"steps: [{{id: a, {step}, output: {schema}}}]")
    stage = Stage(bench, tmp_path / "k")
    execution = bench.workflows.start("flow").execution_id
    view = await stage.run(execution, lambda _: Reply("many"))
    assert (view.state, "output.n" in view.reason) == ("failed", True)
    assert len(bench.workflows.records.history(execution)) == attempts
    assert stage.kit.journal.lines in ([], ["begin once", "end once"])


@pytest.mark.requirement("workflow:runner-parallel")
async def test_steps_that_may_run_side_by_side_do(bench: Bench, tmp_path: Path) -> None:
    bench.define("""
        steps:
          - {id: a, prompt: a}
          - {id: b, prompt: b}
          - {id: c, prompt: c, needs: [a, b]}
    """)
    say = ("voice", {"operation": "murmur", "text": "hold"})
    stage = Stage(bench, tmp_path / "k", on("a", "A", say), on("b", "B"), on("c", "C"))
    gate = stage.kit.journal.gates["hold"] = asyncio.Event()
    execution = bench.workflows.start("flow").execution_id
    async with asyncio.TaskGroup() as group:
        run = group.create_task(stage.run(execution))
        await stage.kit.journal.until("begin hold")
        while bench.steps(execution)["b"] != "completed":
            await stage.kit.events.batch()
        assert bench.steps(execution) == {"a": "running", "b": "completed", "c": "pending"}
        gate.set()
        assert (await run).state == "completed"


@pytest.mark.requirement("workflow:runner-person")
async def test_a_human_step_is_a_question_and_waits_where_nobody_is(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define("""
        steps:
          - {id: ask, kind: human, prompt: "Red or blue?", choices: [red, blue]}
          - {id: use, prompt: "paint it @{outputs.ask.answer}", needs: [ask]}
    """)
    stage = Stage(bench, tmp_path / "k", on("use", "painted"))
    execution = bench.workflows.start("flow").execution_id
    view = await stage.run(execution)
    assert (view.state, view.reason) == ("paused", "step ask needs a person")
    bench.workflows.steer("resume", execution)
    view = await stage.run(execution, lambda _: Reply("green"))
    wrong = "step ask needs a person: 'green' is none of: red, blue."
    assert (view.state, view.reason, len(stage.asked)) == ("paused", wrong, 2)
    bench.workflows.steer("resume", execution)
    view = await stage.run(execution, lambda _: Reply(" BLUE"))
    assert view.state == "completed"
    assert (bench.workflows.records.steps(execution)[0].output or {})["answer"] == "blue"


@pytest.mark.requirement("workflow:runner-person")
async def test_what_a_paused_execution_asks_is_asked_of_the_person(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define("steps: [{id: a, kind: tool, tool: voice.murmur,"
                 " arguments: {text: crash}, on_fail: ask}, {id: b, prompt: b, needs: [a]}]")  # fmt: skip
    stage = Stage(bench, tmp_path / "k", on("b"))
    execution = bench.workflows.start("flow").execution_id
    waiting = await stage.run(execution)
    assert (waiting.state, waiting.question is not None) == ("paused", True)
    waiting = await stage.run(execution, lambda _: Reply("what?"))
    assert (waiting.state, waiting.question is not None) == ("paused", True)
    assert stage.said[-1] == f"{execution}: 'what?' is none of: retry, accept, abort."
    view = await stage.run(execution, lambda _: Reply("Accept"))
    assert view.state == "completed"
    assert "boom" in stage.asked[-1].request.prompt  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # a question


@pytest.mark.requirement("workflow:runner-tool")
async def test_a_tool_step_is_one_call_through_execute(bench: Bench, tmp_path: Path) -> None:
    bench.define("""
        params: {word: {required: true}}
        steps:
          - {id: a, kind: tool, tool: voice.speak, arguments: {text: "say @{params.word}"}}
          - {id: b, kind: tool, tool: voice.nonsense, needs: [a]}
    """)
    stage = Stage(bench, tmp_path / "k", [])
    stage.model = None
    execution = bench.workflows.start("flow", {"word": "it"}).execution_id
    view = await stage.run(execution)
    assert (view.state, "no operation" in view.reason) == ("failed", True)
    assert (bench.workflows.records.steps(execution)[0].output or {})["text"] == "say it"
    assert bench.workflows.records.execution(execution).effectiveness == 0.8


@pytest.mark.requirement("workflow:runner-faults")
async def test_without_a_model_nothing_is_lost(bench: Bench, tmp_path: Path) -> None:
    bench.define("steps: [{id: a, prompt: a}]")
    stage = Stage(bench, tmp_path / "k", on("a"))
    stage.model, model = None, stage.model
    execution = bench.workflows.start("flow").execution_id
    with pytest.raises(ConfigurationError):
        await stage.run(execution)
    assert bench.steps(execution) == {"a": "running"}
    stage.model = model
    assert (await stage.run(execution)).state == "completed"


@pytest.mark.requirement("workflow:runner-faults")
async def test_a_provider_that_fails_pauses_and_the_step_goes_on_later(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define("steps: [{id: a, prompt: a, attempts: 1}]")
    broken = [{"error": {"type": "ModelAuthError", "message": "no key"}}]
    stage = Stage(bench, tmp_path / "k", broken, [{"when": {"user": "finish it"}, "text": "ok"}])
    execution = bench.workflows.start("flow").execution_id
    view = await stage.run(execution)
    assert (view.state, "no key" in view.reason) == ("paused", True)
    bench.workflows.steer("resume", execution)
    assert (await stage.run(execution)).state == "completed"
    assert len(bench.workflows.records.history(execution)) == 1


@pytest.mark.requirement("workflow:budgets")
async def test_a_step_has_its_own_limit_of_model_calls_and_the_run_one_for_all(
    bench: Bench, tmp_path: Path
) -> None:
    say = ("voice", {"operation": "murmur", "text": "again"})
    bench.define("steps: [{id: a, prompt: a, attempts: 1, max_calls: 2}]")
    stage = Stage(bench, tmp_path / "k", on("a", "never", say, say, say))
    view = await stage.run(bench.workflows.start("flow").execution_id)
    assert (view.state, "limit of 2 model calls" in view.reason) == ("failed", True)
    bench.define("""
        policy: {model_calls: 2}
        steps: [{id: a, prompt: a}, {id: b, prompt: b, needs: [a]}]
    """)
    stage = Stage(bench, tmp_path / "l", on("a", "A", say), on("b"))
    execution = bench.workflows.start("flow").execution_id
    view = await stage.run(execution)
    assert (view.state, view.reason) == ("paused", "the budget of model calls is used up")
    assert bench.workflows.records.calls_left(execution) == 0


@pytest.mark.requirement("workflow:runner-alone")
async def test_two_runners_never_drive_one_execution(bench: Bench, tmp_path: Path) -> None:
    bench.define("steps: [{id: a, prompt: a}]")
    stage = Stage(bench, tmp_path / "k", on("a"))
    execution = bench.workflows.start("flow").execution_id
    with bench.workflows.claims.hold(execution) as mine:
        assert mine
        with pytest.raises(WorkflowRefused) as refused:
            await stage.run(execution)
    assert refused.value.code == "execution_held"
    assert (await stage.run(execution)).state == "completed"


@pytest.mark.requirement("workflow:runner-resume")
async def test_a_cancelled_run_goes_on_in_the_same_attempt_and_conversation(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define("steps: [{id: a, prompt: a}]")
    say = ("voice", {"operation": "murmur", "text": "hold"})
    after = [{"when": {"user": "finish it"}, "text": "finished"}]
    stage = Stage(bench, tmp_path / "k", on("a", "never", say), after)
    stage.kit.journal.gates["hold"] = asyncio.Event()
    execution = bench.workflows.start("flow").execution_id
    loop = asyncio.get_running_loop()
    run = loop.create_task(stage.run(execution))
    await stage.kit.journal.until("begin hold")
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert bench.steps(execution) == {"a": "running"}
    view = await stage.run(execution)
    (attempt,) = bench.workflows.records.history(execution)
    assert (view.state, attempt.number) == ("completed", 1)
    assert (attempt.output or {})["summary"] == "finished"


@pytest.mark.requirement("workflow:runner-stop")
async def test_pausing_from_elsewhere_stops_the_run_at_its_next_step(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define("steps: [{id: a, prompt: a}, {id: b, prompt: b}]")
    say = ("voice", {"operation": "murmur", "text": "hold"})
    stage = Stage(bench, tmp_path / "k", on("a", "A", say), on("b", "B", say))
    gate = stage.kit.journal.gates["hold"] = asyncio.Event()
    execution = bench.workflows.start("flow").execution_id
    async with asyncio.TaskGroup() as group:
        run = group.create_task(stage.run(execution))
        await stage.kit.journal.until("begin hold")
        bench.workflows.steer("pause", execution, "enough")
        gate.set()
        view = await run
    assert (view.state, view.reason) == ("paused", "enough")
    assert set(bench.steps(execution).values()) == {"running"}
    assert not any(isinstance(e, InquiryOpened) for e in stage.kit.events.drain())


@pytest.mark.requirement("workflow:plan")
async def test_a_plan_s_steps_are_run_and_a_failed_one_leads_to_a_new_plan(
    bench: Bench, tmp_path: Path
) -> None:
    bench.define("""
        policy: {attempts: 1}
        steps:
          - {id: plan, kind: plan, prompt: plan it}
          - {id: end, prompt: e, needs: [plan], on_fail: replan,
             guards: [{value: "@{output.summary}", is: contains, to: good}]}
    """)
    step = {"id": "x", "prompt": "x"}
    stage = Stage(
        bench, tmp_path / "k", on("plan", {"steps": [step]}), on("plan/x"), on("end", "bad"),
    )  # fmt: skip
    execution = bench.workflows.start("flow").execution_id
    view = await stage.run(execution)
    assert (view.state, "same error" in view.reason) == ("paused", True)
    assert bench.types(execution).count("plan_adopted") == 3
    stage.model = ScriptedModel(on("end", "good"))
    view = await stage.run(execution, lambda _: Reply("retry"))
    assert (view.state, bench.types(execution).count("replan_asked")) == ("completed", 2)


@pytest.mark.requirement("workflow:runner-output")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Here:\n```json\n{"a": {"b": 2}}\n```\nDone.', {"a": {"b": 2}}),
        ('{not json} then {"a": 1} and {"b": 2}', {"a": 1}),
        ("[1, 2]", None),
        ("{" * 100_000, None),
        ("", None),
    ],
)
def test_the_first_object_of_an_answer_is_found(text: str, found: object) -> None:
    assert first_object(text) == found


class PutAhead(Hand):
    """A clock whose time of day can be put elsewhere."""

    ahead = 0.0

    def now(self) -> float:
        """The time, and what it was put ahead."""
        return super().now() + self.ahead


class PuttingAhead(asyncio.Event):
    """A gate: who comes through it finds the clock put ahead."""

    def __init__(self, clock: PutAhead) -> None:
        super().__init__()
        self._clock = clock

    async def wait(self) -> Literal[True]:
        """Put it ahead."""
        self._clock.ahead = 3600.0
        return True


@pytest.mark.requirement("workflow:clock")
async def test_work_has_its_time_where_the_clock_is_put_ahead_meanwhile(
    bench: Bench, tmp_path: Path
) -> None:
    clock = PutAhead()
    bench.workflows = Workflows(bench.store, bench.source, clock, bench.told.append)
    stage = Stage(bench, tmp_path / "k", clock=clock)
    journal = stage.kit.journal
    journal.gates["hold"] = PuttingAhead(clock)
    view = await stage.run(
        bench.begin("""
        steps: [{id: a, kind: tool, tool: voice.murmur, arguments: {text: hold}, timeout: 600}]
    """).execution_id
    )
    assert (view.state, journal.lines.count("begin hold")) == ("completed", 1)
