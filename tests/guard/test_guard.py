"""The guard decides by rules, then grants, then the person; it never widens what was shown."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.core.accesses import Access, CommandAccess, LocatedAccess, Read, Type, Write
from sam_tui.core.authorization.grants.grants import Grant, Grants
from sam_tui.core.authorization.guard import Guard, Request
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.policy.policy import PermissionMode, Policy
from sam_tui.core.bus import Bus
from sam_tui.core.clock import SystemClock
from sam_tui.core.events import InquiryClosed, InquiryOpened
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry
from sam_tui.core.verdict import Decision

ALICE = ConversationId("alice")
CREATE = "file_operations.create_file"


class Hand(SystemClock):
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time = 100.0

    def monotonic(self) -> float:
        return self.time


class Harness:
    """A guard over a real folder, and the person at it."""

    def __init__(
        self,
        root: Path,
        *,
        mode: PermissionMode = "ask",
        sandboxed: bool = True,
        attended: bool = True,
    ) -> None:
        self.clock, self.bus = Hand(), Bus()
        self.asked: list[ApprovalRequest] = []
        self.answers: list[Answer] = []
        self.inquiries = Inquiries(
            self.bus, self.clock, attended=attended, responder=self._respond if attended else None
        )
        self.grants = Grants(self.clock)
        policy = Policy(mode, sandboxed, (str(root.parent / "vault"),))
        self.guard = Guard(Workspace.open(str(root)), policy, self.grants, self.inquiries)

    def _respond(self, inquiry: Inquiry) -> Answer | None:
        assert isinstance(inquiry.request, ApprovalRequest)
        self.asked.append(inquiry.request)
        return self.answers.pop(0) if self.answers else None

    async def decide(
        self, *accesses: Access, operation: str = CREATE, conversation: ConversationId = ALICE
    ) -> Decision:
        located = self.guard.locate(accesses)
        request = Request(conversation, CallId("c1"), operation, "Creating", located, lambda: ())
        return await self.guard.decide(request)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace beside an outside folder and a vault."""
    for name in ("ws", "out", "vault"):
        (tmp_path / name).mkdir()
    return tmp_path / "ws"


@pytest.mark.requirement("guard:inside-allowed")
async def test_inside_the_workspace_nothing_is_asked(root: Path) -> None:
    harness = Harness(root)
    decision = await harness.decide(Write("a.txt", "filePath"))
    assert (decision.allowed, decision.by, decision.rule) == (True, "rule", "inside-workspace")
    assert harness.asked == []


@pytest.mark.requirement("guard:outside-asks")
async def test_a_write_outside_is_asked_with_the_resolved_path(root: Path) -> None:
    harness = Harness(root)
    harness.answers = [Approval("once")]
    decision = await harness.decide(Write("../out/x", "filePath"))
    assert decision.allowed
    assert decision.by == "user"
    assert harness.asked[0].targets == (str(root.parent / "out" / "x"),)
    assert harness.asked[0].operation == CREATE


@pytest.mark.requirement("guard:every-path")
async def test_every_path_of_a_call_counts(root: Path) -> None:
    harness = Harness(root)
    harness.answers = [Approval("deny", "not there")]
    decision = await harness.decide(
        Write("a.txt", "oldPath"),
        Write("../out/b", "newPath"),
        operation="file_operations.rename_file",
    )
    assert not decision.allowed
    assert decision.comment == "not there"
    assert harness.asked[0].targets == (str(root.parent / "out" / "b"),)


@pytest.mark.requirement("guard:once")
async def test_once_covers_one_call(root: Path) -> None:
    harness = Harness(root)
    harness.answers = [Approval("once"), Approval("deny")]
    assert (await harness.decide(Write("../out/x", "filePath"))).allowed
    assert not (await harness.decide(Write("../out/x", "filePath"))).allowed
    assert len(harness.asked) == 2


@pytest.mark.requirement("guard:timed")
async def test_a_timed_grant_covers_the_path_until_it_expires(root: Path) -> None:
    harness = Harness(root)
    harness.answers = [Approval("timed")]
    assert (await harness.decide(Write("../out/x", "filePath"))).allowed
    again = await harness.decide(Write("../out/x", "filePath"))
    assert (again.allowed, again.by) == (True, "user")
    assert again.rule.startswith("grant:")
    harness.clock.time += 301
    harness.answers = [Approval("deny")]
    assert not (await harness.decide(Write("../out/x", "filePath"))).allowed


@pytest.mark.requirement("guard:grant-key")
@pytest.mark.parametrize(
    ("path", "operation", "conversation"),
    [
        ("../out/y", CREATE, ALICE),
        ("../out/xy", CREATE, ALICE),
        ("../out/x", "file_operations.delete_file", ALICE),
        ("../out/x", CREATE, ConversationId("bob")),
    ],
)
async def test_a_grant_covers_nothing_else(
    root: Path, path: str, operation: str, conversation: ConversationId
) -> None:
    harness = Harness(root)
    harness.answers = [Approval("timed"), Approval("deny")]
    assert (await harness.decide(Write("../out/x", "filePath"))).allowed
    other = await harness.decide(
        Write(path, "filePath"), operation=operation, conversation=conversation
    )
    assert not other.allowed


@pytest.mark.requirement("guard:unattended")
async def test_with_nobody_there_an_ask_is_denied_at_once(root: Path) -> None:
    harness = Harness(root, attended=False)
    decision = await harness.decide(Write("../out/x", "filePath"))
    assert (decision.allowed, decision.by, decision.rule) == (False, "mode", "unattended")


@pytest.mark.requirement("guard:modes")
@pytest.mark.parametrize(
    ("mode", "access", "outcome", "rule"),
    [
        ("plan", Write("a", "p"), "deny", "mode:plan"),
        ("plan", Read("a", "p"), "allow", "inside-workspace"),
        ("plan", CommandAccess("true"), "deny", "mode:plan"),
        ("auto", Write("../out/x", "p"), "deny", "mode:auto"),
        ("auto", Write("a", "p"), "allow", "inside-workspace"),
        ("accept-edits", Write("a", "p"), "allow", "inside-workspace"),
        ("accept-edits", Write("../out/x", "p"), "ask", "write-outside"),
        ("bypass", Write("../out/x", "p"), "allow", "mode:bypass"),
        ("ask-all", Write("a", "p"), "ask", "mode:ask-all"),
        ("ask-all", Read("a", "p"), "allow", "inside-workspace"),
        ("ask-all", CommandAccess("touch a"), "ask", "mode:ask-all"),
        ("ask-all", Write("../vault/key", "p"), "deny", "protected:"),
        ("ask", Read("../out/x", "p"), "ask", "read-outside"),
        ("ask", CommandAccess("true"), "allow", "sandboxed"),
        ("ask", Read("../vault/key", "p"), "deny", "protected:"),
        ("ask", Write("../vault/key", "p"), "deny", "protected:"),
    ],
)
def test_each_mode_decides_as_documented(
    root: Path, mode: PermissionMode, access: Access, outcome: str, rule: str
) -> None:
    guard = Harness(root, mode=mode).guard
    explained = guard.explain(ALICE, CREATE, guard.locate([access]))
    assert explained.outcome == outcome
    assert explained.rule.startswith(rule)


@pytest.mark.requirement("guard:inside-allowed")
@pytest.mark.parametrize("access", [Read("a", "p"), Write("a", "p")])
def test_a_file_that_was_not_located_is_refused_in_every_mode(root: Path, access: Access) -> None:
    modes: tuple[PermissionMode, ...] = ("ask", "accept-edits", "auto", "bypass")
    for mode in modes:
        policy = Harness(root, mode=mode).guard.policy
        judged = policy.judge(LocatedAccess(access, None))
        assert (judged.outcome, judged.rule) == ("deny", "unlocated")
        assert policy.trace(LocatedAccess(access, None))[-1].outcome == "deny"


@pytest.mark.requirement("guard:commands")
async def test_a_command_without_a_sandbox_is_asked(root: Path) -> None:
    harness = Harness(root, sandboxed=False)
    harness.answers = [Approval("timed"), Approval("deny")]
    operation = "terminal_operations.run_command"
    assert (await harness.decide(CommandAccess("make"), operation=operation)).allowed
    assert (await harness.decide(CommandAccess("make"), operation=operation)).allowed
    assert not (await harness.decide(CommandAccess("make install"), operation=operation)).allowed
    assert [question.targets for question in harness.asked] == [("$ make",), ("$ make install",)]


@pytest.mark.requirement("guard:commands")
async def test_keys_for_a_terminal_without_a_sandbox_are_asked_and_shown(root: Path) -> None:
    harness = Harness(root, sandboxed=False)
    harness.answers = [Approval("deny")]
    send = "terminal_operations.send_input"
    assert not (await harness.decide(Type("term_1", "rm -rf ~\r"), operation=send)).allowed
    assert harness.asked[0].targets == ("keys 'rm -rf ~\\r' in term_1",)
    assert (await Harness(root).decide(Type("term_1", "ls\r"), operation=send)).allowed


@pytest.mark.requirement("guard:one-question-at-a-time")
async def test_a_grant_answers_the_questions_that_wait_behind_it(root: Path) -> None:
    harness = Harness(root)
    subscription = harness.bus.subscribe()

    async def answer_the_first() -> None:
        while True:
            for event in await subscription.batch():
                if isinstance(event, InquiryOpened):
                    harness.inquiries.answer(event.inquiry.id, Approval("timed"))
                    return

    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(harness.decide(Write("../out/x", "p"))) for _ in range(3)]
        group.create_task(answer_the_first())
    assert [task.result().allowed for task in calls] == [True, True, True]
    assert len(harness.asked) == 1


@pytest.mark.requirement("inquiries:withdrawn")
async def test_cancelling_the_call_withdraws_its_question(root: Path) -> None:
    harness = Harness(root)
    subscription = harness.bus.subscribe()
    task = asyncio.ensure_future(harness.decide(Write("../out/x", "p")))
    opened = (await subscription.batch())[0]
    assert isinstance(opened, InquiryOpened)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    closed = subscription.drain()[-1]
    assert isinstance(closed, InquiryClosed)
    assert closed.outcome == "withdrawn"
    assert not harness.inquiries.answer(opened.inquiry.id, Approval("once"))


PARTS = st.lists(st.sampled_from(["a", "ab", "b", ".."]), min_size=1, max_size=4)


@pytest.mark.requirement("guard:grant-key")
@given(granted=PARTS, asked=PARTS)
def test_a_grant_never_covers_a_path_that_is_not_below_it(
    granted: Sequence[str], asked: Sequence[str]
) -> None:
    top, below = "/" + "/".join(granted), "/" + "/".join(asked)
    folder = Grant("g", ALICE, CREATE, f"{top}/", expires=1.0)
    expected = list(asked[: len(granted)]) == list(granted)
    assert folder.covers(CREATE, below) is expected
    assert not folder.covers("other", below)
    assert Grant("g", ALICE, CREATE, top, expires=1.0).covers(CREATE, below) is (top == below)


@pytest.mark.requirement("guard:once")
def test_a_counted_grant_ends_with_its_last_use() -> None:
    grants = Grants(Hand())
    grants.add(ALICE, CREATE, "/x", seconds=10, uses=2)
    for _ in range(2):
        grant = grants.find(ALICE, CREATE, "/x")
        assert grant is not None
        grants.use(grant)
    assert grants.find(ALICE, CREATE, "/x") is None


@pytest.mark.requirement("guard:revoke")
def test_a_grant_can_be_listed_and_taken_back() -> None:
    grants = Grants(Hand())
    grant = grants.add(ALICE, CREATE, "/x", seconds=10)
    assert grants.current(ALICE) == [grant]
    assert grants.revoke(grant.id)
    assert not grants.revoke(grant.id)
    assert grants.current(ALICE) == []
