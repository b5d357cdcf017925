"""What each verb does with an execution in each situation, whole: ``steering.txt``.

As a program, this writes it. A line that differs is a promise that changed: what is refused, what an
execution becomes, which steps are opened, and what its log says of that.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from sam_tui.core.ports.workflows import EventQuery
from sam_tui.core.workflow.views import Advanced, VerbName, WorkflowRefused
from tests.workflow.bench import DONE, Bench

RECORDED = Path(__file__).with_name("steering.txt")
STEPS = """
    policy: {attempts: 1, rollbacks: 1, on_exhausted: %s}
    steps:
      - {id: a, prompt: a, timeout: 60, on_fail: abort}
      - {id: b, prompt: b, needs: [a], timeout: 60, on_fail: %s}
      - {id: c, prompt: c, needs: [b]}
"""
ITEMS = """
    params: {items: {default: [one, two]}}
    steps:
      - {id: a, prompt: a, each: "@{params.items}", attempts: 1, on_fail: ask}
      - {id: b, prompt: b, needs: [a]}
"""
PLANNED = """
    policy: {replans: 1, parallel: 1}
    steps:
      - {id: plan, kind: plan, prompt: plan, review: "%s"}
      - {id: end, prompt: end, needs: [plan]}
"""


def child(name: str, *needs: str) -> dict[str, object]:
    """A step of a plan."""
    return {"id": name, "prompt": name, "needs": [*needs]}


PLAN = {"summary": "p", "steps": [child("x"), child("y", "x")]}


def begun(bench: Bench, text: str, *submitted: tuple[str, object]) -> str:
    """An execution in which these steps were handed in."""
    execution = bench.begin(text).execution_id
    for step, output in submitted:
        bench.workflows.submit(execution, step, output)
    return execution


def held(bench: Bench) -> str:
    """One that was made and not begun."""
    bench.define(STEPS % ("ask", "ask"))
    return bench.workflows.start("flow", hold=True).execution_id


def failed(bench: Bench, *steps: str, exhausted: str = "ask", on_fail: str = "ask") -> str:
    """One in which these steps failed one after the other."""
    execution = begun(bench, STEPS % (exhausted, on_fail))
    for step in steps:
        if step != "a":
            bench.workflows.submit(execution, "a", DONE)
        bench.workflows.fail_step(execution, step, "it broke")
    return execution


def steered(bench: Bench, verb: VerbName, word: str, *submitted: tuple[str, object]) -> str:
    """One that was steered before."""
    execution = begun(bench, STEPS % ("ask", "ask"), *submitted)
    bench.workflows.steer(verb, execution, word)
    return execution


def listed(bench: Bench, *ends: str) -> str:
    """One that works on a list, of which items were completed or failed."""
    execution = begun(bench, ITEMS)
    for end in ends:
        if end == "failed":
            bench.workflows.fail_step(execution, "a", "it broke")
        else:
            bench.workflows.submit(execution, "a", DONE)
    return execution


def paused_plan(bench: Bench) -> str:
    """One whose plan was approved, and that was paused then."""
    execution = begun(bench, PLANNED % "true", ("plan", PLAN))
    bench.workflows.steer("decide", execution, "approve")
    bench.workflows.submit(execution, "plan/x", DONE)
    bench.workflows.steer("pause", execution)
    return execution


SITUATIONS: dict[str, Callable[[Bench], str]] = {
    "idle": held,
    "its first step is open": lambda bench: begun(bench, STEPS % ("ask", "ask")),
    "its second step is open": lambda bench: begun(bench, STEPS % ("ask", "ask"), ("a", DONE)),
    "paused": lambda bench: steered(bench, "pause", "later", ("a", DONE)),
    "a step failed and it asks": lambda bench: failed(bench, "b"),
    "failed": lambda bench: failed(bench, "a"),
    "went back once": lambda bench: failed(bench, "b", on_fail="rollback:a"),
    "went back too often": lambda bench: failed(bench, "b", "b", on_fail="rollback:a"),
    "diverged": lambda bench: failed(bench, "b", "b", on_fail="rollback:a", exhausted="diverge"),
    "abandoned": lambda bench: steered(bench, "abandon", ""),
    "completed": lambda bench: begun(
        bench, STEPS % ("ask", "ask"), ("a", DONE), ("b", DONE), ("c", DONE)
    ),
    "at the second item": lambda bench: listed(bench, "completed"),
    "an item failed": lambda bench: listed(bench, "completed", "failed"),
    "its list is done": lambda bench: listed(bench, "completed", "completed"),
    "it plans": lambda bench: begun(bench, PLANNED % "false"),
    "its plan waits for approval": lambda bench: begun(bench, PLANNED % "true", ("plan", PLAN)),
    "its plan is carried out": lambda bench: begun(bench, PLANNED % "false", ("plan", PLAN)),
    "its plan is paused": paused_plan,
}  # fmt: skip
STEERED: tuple[tuple[str, str], ...] = (
    ("pause", "later"), ("resume", ""), ("abandon", "no use"), ("abandon", ""),
    ("retry", ""), ("retry", "a"), ("retry", "zz"), ("retry", "plan/x"),
    ("decide", "Retry"), ("decide", "accept"), ("decide", "abort"), ("decide", "rollback:a"),
    ("decide", "approve"), ("decide", "perhaps"),
    ("replan", "plan"), ("replan", "a"), ("replan", "zz"), ("replan", "plan/x"),
    ("plan again", "plan"), ("plan again", "plan "), ("plan again", "a"), ("plan again", "zz"),
)  # fmt: skip


def steer(bench: Bench, execution: str, verb: str, word: str) -> Advanced:
    """One verb. Raises ``WorkflowRefused``."""
    match verb:
        case "replan":
            return bench.workflows.replan(execution, word, [child("x"), child("z", "x")])
        case "plan again":
            why = "" if word.endswith(" ") else " too long "
            return bench.workflows.plan_again(execution, word.strip(), why)
        case _:
            return bench.workflows.steer(cast("VerbName", verb), execution, word)


def events(bench: Bench, execution: str, after: int) -> list[str]:
    """What the log says since."""
    rows = bench.workflows.records.reader.events(EventQuery(execution, limit=10_000))
    return [f"{r.type} {r.step} {r.data_json}".replace("  ", " ") for r in rows if r.seq > after]


def last(bench: Bench, execution: str) -> int:
    """The number of the last event."""
    return bench.workflows.records.reader.events(EventQuery(execution, limit=10_000))[-1].seq


def changes(bench: Bench, execution: str, done: Advanced) -> Iterator[str]:
    """What a verb did to an execution."""
    row = bench.workflows.records.execution(execution)
    words = [done.state, done.outcome, done.message, done.target and f"to {done.target}"]
    for ticket in done.opened:
        left = f" until {ticket.deadline - bench.clock.time:+g}" if ticket.deadline else ""
        words.append(f"opened {ticket.step} {ticket.attempt}{left}")
    words += [f"failure {failure.message}" for failure in done.failures]
    if row.question:
        words.append(f"asks {' | '.join(row.question.choices)}")
    yield ", ".join([*filter(None, words), f"{row.replans_left} replans left"])
    yield " ".join(f"{name}={status}" for name, status in bench.steps(execution).items())


def lines(bench: Bench) -> Iterator[str]:
    """All that is recorded; what changes nothing is said of the same execution again."""
    for situation, prepared in SITUATIONS.items():
        yield situation
        execution = ""
        refusals: dict[str, list[str]] = {}
        for verb, word in STEERED:
            execution = execution or prepared(bench)
            before = last(bench, execution)
            bench.clock.time += 7
            try:
                done = steer(bench, execution, verb, word)
            except WorkflowRefused as refused:
                text = f"{refused.code}: {refused.explain()} {json.dumps(refused.details)}"
                text = text.replace(execution, "EX").replace("\n", " ")
                refusals.setdefault(text.replace(repr(word), "WORD"), []).append(f"{verb} {word!r}")
                assert events(bench, execution, before) == []
                continue
            yield f"  {verb} {word!r}"
            for line in (*changes(bench, execution, done), *events(bench, execution, before)):
                yield f"    {line}".replace(execution, "EX")
            execution = ""
        yield from (f"  {', '.join(verbs)}: {text}" for text, verbs in refusals.items())


@pytest.mark.requirement("workflow:verbs")
def test_each_verb_does_in_each_situation_what_is_recorded(bench: Bench) -> None:
    assert [*lines(bench)] == RECORDED.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        bench = Bench(Path(made))
        text = "".join(f"{line}\n" for line in lines(bench))
        bench.close()
    RECORDED.write_text(text, encoding="utf-8")
