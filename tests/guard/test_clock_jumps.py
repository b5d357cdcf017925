"""The machine's clock is put ahead or back, and the machine sleeps. Costs 0.1 s of processor time."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import sam_tui
from sam_tui.adapters.policy.saved_rules import FileLedger
from sam_tui.adapters.storage import Storage, open_storage
from sam_tui.adapters.terminal.sandbox.kernel.calls import ProcessMemory
from sam_tui.adapters.terminal.sandbox.network.allowed_hosts import Reach
from sam_tui.adapters.terminal.sandbox.supervised.places import PlaceHistory
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, RunTerms, Watch
from sam_tui.adapters.web.allowance import Allowance, Allowances
from sam_tui.core.agent.retry import COOLING_SECONDS, FallbackModel
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.clock import SystemClock
from sam_tui.core.errors import ConversationInUse, ModelLimited, ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.model import ModelRequest, TextDelta
from tests.fakes.engine_kit import RawModel

YEAR = 365 * 86_400.0
MINUTES = COOLING_SECONDS
"""What each of these lasts."""
WALL = {
    "adapters/checkpoints/store.py": "checkpoints are dated; by age they go while the clock stands still",
    "adapters/checkpoints/workspace_files.py": "compared with the dates of files",
    "adapters/code/index.py": "compared with the dates of files",
    "adapters/code/journal.py": "a record's date",
    "adapters/fleet/database.py": "a record's date, as dbos writes it",
    "adapters/llm/failures.py": "a server named a moment, and not its own time",
    "adapters/mcp_client/logins/login_file.py": "a login ends though the machine starts anew",
    "adapters/mcp_client/logins/proofs.py": "a proof's date, as servers check it",
    "adapters/policy/trust.py": "a record's date",
    "adapters/storage/__init__.py": "records' dates",
    "adapters/storage/conversation_catalog.py": "a record's date",
    "adapters/storage/conversation_state.py": "a record's date",
    "adapters/storage/conversations.py": "a record's date, and their order",
    "adapters/storage/decisions.py": "a record's date",
    "adapters/storage/writers.py": "told to people; the lease itself is a lock",
    "adapters/terminal/recordings/asciicast.py": "a record's date",
    "adapters/terminal/sessions/sessions.py": "told to people",
    "cli/commands/guard.py": "rules hold by the calendar; told to people",
    "cli/commands/sessions/sessions.py": "records of so many days",
    "core/authorization/policy/judgement.py": "rules hold by the calendar",
    "core/clock.py": "the clock itself",
    "settings/keys.py": "makes a file differ from the one before it",
    "sqlite.py": "a record's date",
    "ui/controllers/conversation_actions.py": "told to people",
    "ui/controllers/conversations.py": "told to people",
    "ui/controllers/rewind.py": "told to people",
}
"""Modules that ask for the time of day, and why what they want it for may follow the calendar."""
ALICE, CREATE = ConversationId("alice"), "file_operations.create_file"


@dataclass
class Machine:
    """By how much its clock was put ahead, and how long it slept, in seconds."""

    ahead: float = 0.0
    slept: float = 0.0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The clocks of this process, to be moved. What is awake alone, as the event loop, goes on."""
    made, wall, clock = Machine(), time.time, time.clock_gettime
    monkeypatch.setattr(time, "time", lambda: wall() + made.ahead + made.slept)

    def of(which: int) -> float:
        return clock(which) + made.slept

    monkeypatch.setattr(time, "clock_gettime", of)
    return made


@pytest.mark.requirement("guard:clock-jumps")
def test_the_time_of_day_is_asked_for_by_records_and_the_calendar_alone() -> None:
    root = Path(sam_tui.__file__).parent
    asking = {
        str(path.relative_to(root)) for path in root.rglob("*.py")
        if "time.time" in path.read_text("utf-8")
    }  # fmt: skip
    assert asking == WALL.keys()


def a_grant(folder: Path) -> Callable[[], bool]:
    grants = Grants(SystemClock(), FileLedger(str(folder)))
    grants.add(ALICE, CREATE, "/x/", seconds=MINUTES)
    return lambda: grants.find(ALICE, CREATE, "/x/y") is not None


def what_other_programs_are_told_of_it(folder: Path) -> Callable[[], bool]:
    a_grant(folder)
    return lambda: bool(FileLedger(str(folder)).all())


def an_answer_in_the_supervisor(_: Path) -> Callable[[], bool]:
    terms = RunTerms(1, (), (), (), (), True, 7, {})
    watch = Watch(terms, ProcessMemory(), lambda _: None, PlaceHistory())
    wish, heard = OutsideWish("write", "/etc/x"), list[bool]()
    watch.decide({}, wish, heard.append)
    watch.answer(1, allowed=True, seconds=MINUTES)

    def holds() -> bool:
        heard.clear()
        watch.decide({}, wish, heard.append)
        return heard == [True]

    return holds


def the_address_of_a_listed_name(_: Path) -> Callable[[], bool]:
    lists = {"lists": [["a.example"]], "local": [], "judged": [], "resolvers": [], "proxies": []}
    reach = Reach(lists)
    reach.learn("a.example", ["192.0.2.1"], MINUTES)
    return lambda: reach.names_of("192.0.2.1") == ("a.example",)


@pytest.mark.requirement("guard:clock-jumps")
@pytest.mark.parametrize(
    "given",
    [
        a_grant,
        what_other_programs_are_told_of_it,
        an_answer_in_the_supervisor,
        the_address_of_a_listed_name,
    ],
)
def test_no_permission_outlives_its_minutes_and_none_ends_before(
    given: Callable[[Path], Callable[[], bool]], machine: Machine, tmp_path: Path
) -> None:
    holds = given(tmp_path)
    for machine.ahead in (YEAR, -YEAR, 0.0):
        assert holds(), "the clock was put elsewhere"
    machine.slept = MINUTES - 60
    assert holds(), "it slept for less"
    machine.slept = MINUTES + 1
    for machine.ahead in (0.0, -YEAR, YEAR):
        assert not holds(), "it slept for longer, and woke with another clock"


@pytest.mark.requirement("guard:clock-jumps")
def test_a_conversation_is_taken_from_no_living_program_and_from_every_ended_one(
    machine: Machine, tmp_path: Path
) -> None:
    def opened() -> Storage:
        return open_storage(tmp_path / "data")

    mine, other = opened(), opened()
    mine.conversations.claim(ALICE)
    for machine.ahead, machine.slept in ((YEAR, 0.0), (-YEAR, 0.0), (0.0, YEAR)):
        with pytest.raises(ConversationInUse):
            other.conversations.claim(ALICE)
    machine.ahead = -YEAR
    mine.close()
    other.conversations.claim(ALICE)
    other.close()


@pytest.mark.requirement("guard:clock-jumps")
async def test_who_waits_is_let_on_after_its_time_whatever_the_clock_says(machine: Machine) -> None:
    first = RawModel([ModelLimited("slow down")], [TextDelta("one")])
    second = RawModel(*[[TextDelta("two")]] * 3)
    model = FallbackModel([first, second], SystemClock().monotonic, lambda _: None)
    hosts = Allowances(Allowance(burst=1, rate=1 / MINUTES), SystemClock())
    await hosts.take("a.example")

    async def answer() -> list[object]:
        return [delta async for delta in model.stream(ModelRequest("", "[]", []))]

    for machine.ahead in (0.0, YEAR, -YEAR):
        assert await answer() == [TextDelta("two")]
        with pytest.raises(ToolError):
            await hosts.take("a.example")
    machine.slept = MINUTES + 1
    assert await answer() == [TextDelta("one")]
    await hosts.take("a.example")
    await model.close()
