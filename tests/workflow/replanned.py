"""A planned execution whose step fails once, as a driver works on it that may be killed at any moment."""

from collections import Counter

from tests.workflow.bench import Bench

FLOW = """
    policy: {on_failure: finish-stage}
    steps:
      - {id: plan, kind: plan, prompt: plan}
      - {id: end, prompt: end, needs: [plan]}
"""
_GOOD = {"id": "good", "prompt": "good"}
_FIRST = [_GOOD, {"id": "beside", "prompt": "beside"}, {"id": "bad", "prompt": "bad"}]
_SECOND = [_GOOD, {"id": "instead", "prompt": "instead", "needs": ["good"]}]


def drive(bench: Bench) -> None:
    """Begin the execution if it does not exist, then work until nothing is open."""
    workflows = bench.workflows
    if not workflows.records.executions():
        workflows.start("flow", execution_id="run")
    while tickets := workflows.tickets("run"):
        ticket = tickets[-1]
        if ticket.step == "plan/bad":
            workflows.fail_step("run", ticket.step, "it cannot be had")
        elif ticket.step == "plan":
            revised = "it cannot be had" in ticket.instructions
            steps = _SECOND if revised else _FIRST
            workflows.advance(ticket.token, {"summary": "planned", "steps": steps})
        else:
            workflows.advance(ticket.token, {"summary": ticket.step})


def require_ended(bench: Bench) -> None:
    """It failed once, was planned twice, and nothing was done twice."""
    view = bench.workflows.records.execution("run")
    assert (view.state, view.replans_left) == ("completed", 4)
    ended = Counter((a.step, a.status) for a in bench.workflows.records.history("run"))
    assert ended == {
        ("plan", "completed"): 2, ("plan/good", "completed"): 1, ("plan/beside", "completed"): 1,
        ("plan/bad", "failed"): 1, ("plan/instead", "completed"): 1, ("end", "completed"): 1,
    }  # fmt: skip


def require_whole(bench: Bench) -> None:
    """A failure has its new plan: no moment is in between."""
    if not bench.workflows.records.executions():
        return
    types, steps = bench.types("run"), bench.steps("run")
    waits = "running" in (steps.get("plan/good"), steps.get("plan/beside"))
    due = types.count("replan_due")
    assert types.count("replan_asked") == (0 if waits else due)
    open_ = [a.step for a in bench.store.reader.attempts("run", status="open")]
    assert sorted(open_) == sorted(s for s, status in steps.items() if status == "running")
