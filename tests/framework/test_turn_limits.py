"""Limits of model calls that the person set bind; the agent raises the default within theirs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sam_tui.core.agent.budget import Budget, Limits
from sam_tui.core.errors import ConfigurationError
from tests.fakes.openai_server import Call, FakeServer, Reply
from tests.framework.bench import Bench, Person

pytestmark = pytest.mark.requirement("turn:limits-bind")


@pytest.fixture
def policy(environ: dict[str, str], tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """How to write the person's policy."""
    (tmp_path / "settings").mkdir()
    environ["SAM_TUI_CONFIG_DIR"] = str(tmp_path / "settings")

    def write(text: str) -> None:
        (tmp_path / "settings" / "policy.toml").write_text(text, encoding="utf-8")

    yield write


@pytest.mark.parametrize(
    ("flag", "file", "project", "agrees", "limit", "asked"),
    [
        (2, "", "", False, 2, 1),
        (2, "", "", True, 4, 1),
        (2, "[limits]\nraise_to = 900", "", False, 2, 1),
        (None, "[limits]\nmax_turns = 2", "", False, 2, 1),
        (None, "", "[limits]\nmax_turns = 2", False, 2, 1),
        (None, "[limits]\nmax_turns = 2", "[limits]\nmax_turns = 900", False, 2, 1),
        (None, "", "[limits]\nmax_turns = 900", False, 300, 1),
        (None, "", "", False, 304, 0),
        (None, "[limits]\nraise_to = 304", "", False, 304, 0),
        (None, "[limits]\nraise_to = 303", "", False, 300, 1),
        (None, "[limits]\nraise_to = 900", "[limits]\nraise_to = 0", False, 300, 1),
    ],
)  # fmt: skip
async def test_the_agent_raises_what_was_left_to_it_and_asks_for_more(
    opened: Callable[..., Bench],
    policy: Callable[[str], None],
    folder: Path,
    flag: int | None,
    file: str,
    project: str,
    agrees: bool,
    limit: int,
    asked: int,
) -> None:
    policy(file)
    (folder / ".sam").mkdir()
    (folder / ".sam" / "policy.toml").write_text(project, encoding="utf-8")
    wanted = 4 if limit < 10 else 304
    raising = Call("increase_max_iterations", {"requested_iterations": wanted, "reason": "more"})
    steps = [Reply(calls=(raising,)), *[Reply(calls=(Call("think", {"thoughts": "x"}),))] * 5]
    async with FakeServer([*steps, Reply("end")]) as server:
        person = Person(agrees)
        bench = opened(person=person, model="openai/x", api_base=server.base, api_key="k",
                       max_turns=flag)  # fmt: skip
        finished = await bench.session.run("Go")
    assert len(person.approvals) == asked
    if limit < 10:
        assert (finished.reason, finished.steps) == ("limit", limit)
    else:
        assert finished.reason == "finished"
        raised = [m.text for m in bench.session.messages if "limit was raised" in m.text]
        assert bool(raised) is (limit == 304)


async def test_limits_of_the_sender_bind_its_subagents(opened: Callable[..., Bench]) -> None:
    bench = opened(person=Person(agrees=False), model="openai/x", api_base="http://127.0.0.1:1",
                   api_key="k")  # fmt: skip
    assert bench.runtime.model is not None
    budget = Budget(5, parent=Budget(5, limits=Limits(raised=0)))
    with bench.runtime.engine.budgets.running(bench.conversation, budget, bench.runtime.model):
        wanted = {"requested_iterations": 9, "reason": "more"}
        assert "refused" in await bench.bad("increase_max_iterations", wanted)
    assert budget.max_steps == 5 and len(bench.person.approvals) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limits = 3", "limits are a table"),
        ("[limits]\nturns = 3", "unknown key “turns”"),
        ("[limits]\nmax_turns = 0", "from 1 to"),
        ("[limits]\nmax_turns = true", "whole number"),
        ("[limits]\nraise_to = -1", "from 0 to"),
    ],
)
async def test_limits_that_mean_nothing_are_errors_with_their_place(
    opened: Callable[..., Bench], policy: Callable[[str], None], text: str, said: str
) -> None:
    policy(text)
    with pytest.raises(ConfigurationError, match=r"policy\.toml:[12]: .*") as error:
        opened()
    assert said in str(error.value)
