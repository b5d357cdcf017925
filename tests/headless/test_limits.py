"""What a run may spend: calls, tokens and money, its subagents included."""

from typing import Any

import pytest

from sam_tui.cli.main import main
from sam_tui.core.agent.retry import RetryPolicy
from sam_tui.core.errors import ModelLimited
from tests.fakes.openai_server import Reply, background
from tests.headless.conftest import Program, Step, shell


def spends(step: Step, **usage: Any) -> Step:
    """A step that says what it used."""
    return {**step, "usage": {"input_tokens": 900, "output_tokens": 100, **usage}}


ANSWER: Step = spends({"text": "All done."}, cost=0.02)


@pytest.mark.requirement("headless:limit")
@pytest.mark.parametrize(
    ("option", "value", "subtype", "said"),
    [
        ("--max-tokens", "1500", "error_max_tokens", "1,500 tokens was reached"),
        ("--max-cost", "0.03", "error_max_cost", "$0.03 was reached"),
        ("--max-budget-usd", "0.03", "error_max_cost", "--max-cost"),
    ],
)
def test_a_run_ends_with_53_once_its_tokens_or_its_money_are_gone(
    program: Program, option: str, value: str, subtype: str, said: str
) -> None:
    steps = [spends(shell(f"echo {n}"), cost=0.02) for n in range(4)]
    ended = program.stream("go", "--model", program.script(*steps, ANSWER), option, value)
    assert (ended.code, ended.result["subtype"], ended.result["num_turns"]) == (53, subtype, 2)
    assert said in ended.result["error"]["message"]
    enough = program.stream("go", "--model", program.script(ANSWER), option, value)
    assert (enough.code, enough.result["result"]) == (0, "All done.")


@pytest.mark.requirement("headless:limit")
@pytest.mark.parametrize(
    ("option", "step", "said"),
    [
        ("--max-cost", spends(shell("echo hi")), "price of the model is not known"),
        ("--max-cost", shell("echo hi"), "does not report its usage"),
        ("--max-tokens", shell("echo hi"), "does not report its usage"),
    ],
)
def test_a_limit_that_nothing_can_be_held_against_ends_the_run_and_says_so(
    program: Program, option: str, step: Step, said: str
) -> None:
    ended = program.stream("go", "--model", program.script(step, ANSWER), option, "5")
    assert (ended.code, ended.result["num_turns"]) == (53, 1)
    assert said in ended.result["error"]["message"]


@pytest.mark.requirement("headless:limit")
def test_a_limit_of_money_without_a_price_is_reported_before_the_first_call(
    program: Program,
) -> None:
    with background([Reply(text="All done.")]) as server:
        ended = program.stream(
            *("go", "--model", "openai/x", "--api-base", server.base, "--api-key", "k"),
            *("--max-cost", "5"),
        )
    assert (ended.code, ended.result["result"]) == (0, "All done.")
    warned, answered = ended.of_kind("notice"), ended.of_kind("assistant")
    assert "The price of openai/x is not known" in warned[0]["text"]
    assert ended.lines.index(warned[0]) < ended.lines.index(answered[0])


@pytest.mark.requirement("headless:limit", "headless:subagents")
def test_what_a_subagent_spends_is_its_senders(program: Program) -> None:
    send = {"calls": [{"name": "run_subagent", "arguments": {"task": "look around"}}]}
    steps = [spends(send), *(spends(shell(f"echo {n}")) for n in range(5))]
    ended = program.stream("go", "--model", program.script(*steps), "--max-tokens", "2500")
    assert (ended.code, ended.result["subtype"]) == (53, "error_max_tokens")
    assert ended.result["usage"]["input"] == 2700


@pytest.mark.requirement("headless:limit", "headless:subagents")
def test_a_subagent_has_no_more_calls_than_its_sender_was_given(program: Program) -> None:
    send = {"calls": [{"name": "run_subagent", "arguments": {"task": "go on"}}]}
    steps = [send, *(shell(f"echo {n}") for n in range(9)), ANSWER]
    ended = program.stream("go", "--model", program.script(*steps), "--max-turns", "3")
    asked = [line for line in ended.of_kind("assistant") if line["parent_tool_use_id"]]
    assert (ended.code, len(asked)) == (53, 3)


@pytest.mark.requirement("headless:exit-codes")
@pytest.mark.parametrize(
    "stream",
    ["data: [DONE]\n\n", 'data: {"choices":[]}\n\ndata: [DONE]\n\n'],
    ids=["nothing", "no choice"],
)
def test_a_stream_without_an_answer_is_no_success(program: Program, stream: str) -> None:
    with background([Reply(raw=stream), Reply(text="All done.")]) as server:
        ended = program.stream(
            "go", "--model", "openai/x", "--api-base", server.base, "--api-key", "k"
        )
    assert (ended.code, ended.result["result"]) == (0, "All done.")
    assert len(ended.of_kind("api_retry")) == 1


@pytest.mark.requirement("headless:provider-500")
def test_a_provider_that_says_try_at_once_is_not_asked_at_once_for_ever() -> None:
    policy, now = RetryPolicy(), ModelLimited("later", retry_after=0.0)
    waits = [policy.delay(attempt, now) or 0.0 for attempt in range(1, policy.attempts(now))]
    assert waits[:3] == [0.0, 0.0, 0.0]
    assert all(wait >= policy.waits[-1] for wait in waits[3:])


@pytest.mark.requirement("headless:limit")
@pytest.mark.parametrize("number", ["nan", "inf"])
def test_a_limit_that_nothing_reaches_is_refused(
    number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "go", "--max-cost", number]) == 2
    assert "not a finite number" in capsys.readouterr().err
