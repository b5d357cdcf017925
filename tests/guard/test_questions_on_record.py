"""Whatever the host asks on behalf of a call or a command is put on record, with what was answered."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sam_tui.core.accesses import CommandAccess, Use, Write
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.outside_access import OutsideRun
from sam_tui.core.authorization.request import GuardTerms, Request
from sam_tui.core.bus import Bus
from sam_tui.core.display import Diff
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, ScopeChoice
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.tooling.questions import HostQuestions, OutsideQuestions, ask_person
from sam_tui.core.verdict import REHEARSAL, Decision
from tests.guard.ward import ALICE, CREATE, RUN, Hand, Ward

CHANGE, READ = "commands.change_outside", "commands.read_outside"
CALL = CallId("c1")
SHOWN = Diff("a.txt", "@@ -1 +1 @@", 1, 1, made=False)
PREVIEW = Diff("b.txt", "@@ -2 +2 @@", 2, 2, made=False)
NO, ONCE = Approval("deny", "not now"), Approval("once", "go on")


def run_of(*, lasting: bool = False) -> OutsideRun:
    """A command of the agent's."""
    return OutsideRun(ALICE, CALL, RUN, "$ make", "a subagent", lasting)


def request_of(here: Ward) -> Request:
    """A call of a server's tool, which nothing stops."""
    return Request(
        ALICE, CALL, "mcp__notes__add", "Adding", here.guard.locate((Use("notes", "add", True),)),
        lambda: (SHOWN,), "a subagent", words="please",
    )  # fmt: skip


def denied(operation: str, rule: str, reason: str, **changes: object) -> Decision:
    """A decision of the person's against something."""
    return replace(Decision(operation, "deny", "user", rule, reason), **changes)


class Record:
    """What was put on record, and questions that wait for somebody until they are cancelled."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    async def cancelled(self, asking: Awaitable[object]) -> Decision:
        """What is on record of a question that is cancelled before it was answered."""
        task = asyncio.ensure_future(asking)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert self.decisions == []
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (decision,) = self.decisions
        return decision


@pytest.fixture
def record() -> Record:
    """Nothing yet."""
    return Record()


def waiting(here: Ward) -> Ward:
    """A ward whose person is there and says nothing yet."""
    inquiries = Inquiries(Bus(), here.clock, attended=True)
    here.guard = type(here.guard)(here.workspace, here.policy(), here.grants, inquiries)
    return here


@pytest.mark.requirement("outside:asked")
@pytest.mark.parametrize(
    ("mode", "answer", "expected"),
    [
        ("ask", ONCE, {"outcome": "allow", "comment": "go on"}),
        ("ask", Approval("scope", scope="once"), {"outcome": "allow"}),
        ("ask", Approval("scope", scope="session"), {}),
        ("ask", Approval("timed"), {}),
        ("ask", NO, {"comment": "not now"}),
        ("ask", None, {"by": "mode", "rule": "unattended"}),
        ("bypass", ONCE, {"outcome": "allow", "comment": "go on"}),
        ("auto", ONCE, {"by": "mode", "rule": "mode:auto"}),
    ],
)
async def test_a_call_that_the_host_asks_about_itself_is_allowed_for_this_once_or_not(
    ward: Callable[..., Ward],
    record: Record,
    mode: str,
    answer: Answer | None,
    expected: dict[str, str],
) -> None:
    here = ward(mode=mode, trusted=mode == "ask", answers=[answer] if answer else [])
    host = HostQuestions(here.guard, request_of(here), record.decisions.append)
    assert (host.approves_all, host.trusted) == (mode == "bypass", mode == "ask")
    decision = await host.confirm(
        "it changed", once="this once", rule="changed-tool", preview=(PREVIEW,), revision="r2"
    )
    target = here.guard.explain(ALICE, "mcp__notes__add", request_of(here).accesses).targets
    verdict = denied(
        "mcp__notes__add", "changed-tool", "it changed", scope="this call", targets=target,
        asker="a subagent", elapsed=decision.elapsed,
    )  # fmt: skip
    assert decision == replace(verdict, **expected)
    assert record.decisions == [decision]
    assert host.refusal == (None if decision.allowed else decision)
    if mode == "auto":
        assert here.asked == []
        return
    assert here.asked == [
        ApprovalRequest(
            "mcp__notes__add", "Adding", target, "it changed", here.workspace.root, (PREVIEW,),
            asker="a subagent", choices=(ScopeChoice("once", "this once", "once"),), words="please",
            destructive=True, revision="r2",
        )
    ]  # fmt: skip
    await host.confirm("again", once="this once", rule="x")
    assert (here.asked[1].preview, here.asked[1].revision) == ((SHOWN,), "")


@pytest.mark.requirement("outside:asked")
async def test_a_question_of_the_host_that_is_cancelled_is_on_record_as_that(
    ward: Callable[..., Ward], record: Record
) -> None:
    here = waiting(ward())
    host = HostQuestions(here.guard, request_of(here), record.decisions.append)
    why = "the call was cancelled before the question was answered"
    cancelled = Decision(
        "mcp__notes__add", "cancelled", "user", "cancelled", why, asker="a subagent"
    )
    assert await record.cancelled(host.confirm("why", once="once", rule="x")) == cancelled
    assert host.refusal is None
    write = here.guard.locate((Write(f"{here.folder}/out/x", "filePath"),))
    refused = Request(ALICE, CALL, CREATE, "Making", write, tuple)
    here.guard.refusals.add(refused, denied(CREATE, "x", "y", targets=(f"{here.folder}/out/x",)))
    record.decisions.clear()
    assert await record.cancelled(host.permission(CREATE, "please")) == cancelled


@pytest.mark.requirement("outside:asked")
async def test_what_the_agent_asks_leave_for_is_on_record_question_by_question(
    ward: Callable[..., Ward], record: Record
) -> None:
    here = ward(answers=[NO])
    host = HostQuestions(here.guard, request_of(here), record.decisions.append)
    assert (await host.permission(CREATE, "please")).decisions == ()
    await here.decide(Write("../out/x", "filePath"), operation=CREATE)
    here.answers = [Approval("timed")]
    response = await host.permission(CREATE, "please")
    assert [d.outcome for d in response.decisions] == ["allow"]
    assert record.decisions == [*response.decisions]
    assert here.asked[-1].words == "please"


OUT = OutsideAccess("write", "OUT/x", "tee", 7)


@pytest.mark.requirement("outside:asked", "outside:session-grants")
@pytest.mark.parametrize(
    ("answer", "lasting", "seconds"),
    [
        (ONCE, False, math.inf),
        (ONCE, True, math.inf),
        (Approval("timed"), False, 1.0),
        (NO, False, math.inf),
        (NO, True, 30.0),
        (None, False, 1.0),
    ],
)
async def test_an_answer_about_what_a_command_wants_holds_as_long_as_nothing_can_change_it(
    ward: Callable[..., Ward],
    record: Record,
    answer: Approval | None,
    seconds: float,
    *,
    lasting: bool,
) -> None:
    here = ward(answers=[answer] * 3 if answer else [])
    questions = OutsideQuestions(here.guard, run_of(lasting=lasting), record.decisions.append)
    access = replace(OUT, path=f"{here.folder}/out/x")
    told = await questions.ask(access)
    assert (told.allowed, told.seconds) == (answer in (ONCE, Approval("timed")), seconds)
    assert await questions.ask(access) == await questions.ask(access) == told
    # What a person said is always on record, what a mode or a grant said once for each thing.
    outcome, by = ("allow" if told.allowed else "deny"), ("user" if answer else "mode")
    times = {ONCE: 3, NO: 3, Approval("timed"): 2, None: 1}[answer]
    assert [(d.outcome, d.by) for d in record.decisions] == [(outcome, by)] * times
    here.answers.clear()
    record.decisions.clear()
    path, to = f"{here.folder}/out/y", f"{here.folder}/out/z"
    others = [OutsideAccess("write", path), OutsideAccess("delete", path)]
    others += [OutsideAccess("rename", path, to=place) for place in (to, f"{to}z")]
    for other in (*others, *others):
        assert not (await questions.ask(other)).allowed
    targets = [(path,), (path,), (path, to), (path, f"{to}z")]
    assert [d.targets for d in record.decisions] == targets


@pytest.mark.requirement("outside:asked")
async def test_what_a_command_waits_for_as_it_ends_is_on_record_with_its_targets(
    ward: Callable[..., Ward], tmp_path: Path
) -> None:
    here = waiting(ward())
    why = "the command ended before the question was answered"
    inside = OutsideAccess("read", f"{here.workspace.root}/.env")
    outside = [replace(OUT, path=f"{here.folder}/out/{name}") for name in ("x", "y")]
    asked: list[tuple[str, tuple[str, ...], Callable[[OutsideQuestions], Awaitable[object]]]] = [
        (CHANGE, (outside[0].path,), lambda questions: questions.ask(outside[0])),
        (READ, (inside.path,), lambda questions: questions.ask(inside)),
        (CHANGE, (outside[0].path, outside[1].path), lambda questions: questions.again(outside)),
        (RUN, ("a.txt", "b.txt"), lambda q: q.confirm_rehearsal("3 changes", (SHOWN, PREVIEW))),
    ]
    for operation, targets, ask in asked:
        record = Record()
        questions = OutsideQuestions(here.guard, run_of(), record.decisions.append)
        assert await record.cancelled(ask(questions)) == Decision(
            operation, "cancelled", "user", "cancelled", why, targets=targets
        )


@pytest.mark.requirement("outside:asked")
@pytest.mark.parametrize(("answer", "yes"), [(ONCE, True), (NO, False), (None, False)])
async def test_a_second_run_and_the_changes_of_a_rehearsal_are_made_after_a_yes_alone(
    ward: Callable[..., Ward], record: Record, answer: Answer | None, *, yes: bool
) -> None:
    here = ward(answers=[answer, answer] if answer else [])
    questions = OutsideQuestions(here.guard, run_of(), record.decisions.append)
    out = f"{here.folder}/out"
    assert await questions.again([replace(OUT, path=f"{out}/x")]) == ((out,) if yes else ())
    assert (
        await questions.confirm_rehearsal("1 change", (SHOWN, replace(PREVIEW, path=".envrc")))
        is yes
    )
    assert [(d.operation, d.outcome) for d in record.decisions] == [
        (CHANGE, "allow" if yes else "deny"),
        (RUN, "allow" if yes else "deny"),
    ]
    kept = here.asked[1]
    assert (kept.summary, kept.targets) == (
        "make the changes: 1 change · $ make",
        ("a.txt", ".envrc"),
    )
    assert (kept.asker, kept.cwd) == ("a subagent", here.workspace.root)
    assert kept.why.endswith("; of it this would later run or instruct: .envrc")
    assert [(c.id, c.span) for c in kept.choices] == [("once", "once")]
    await questions.confirm_rehearsal("1 change", (SHOWN,))
    assert here.asked[2].why.endswith("nothing of this is in the workspace yet")


@pytest.mark.requirement("outside:asked")
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (ONCE, {"outcome": "allow", "scope": "this once", "comment": "go on"}),
        (Approval("scope", scope="session"), {"outcome": "allow", "scope": "all along"}),
        (Approval("scope", scope="user"), {}),
        (Approval("timed"), {}),
        (NO, {"comment": "not now"}),
        (None, {"by": "mode", "rule": "unattended"}),
    ],
)
async def test_a_question_that_belongs_to_no_call_is_on_record_with_what_it_was_about(
    record: Record, answer: Answer | None, expected: dict[str, str]
) -> None:
    keys: list[tuple[str, str]] = []

    def put(conversation: ConversationId, call: CallId, decision: Decision) -> None:
        keys.append((conversation, call))
        record.decisions.append(decision)

    clock = Hand()

    def answered(_: Inquiry) -> Answer | None:
        clock.time += 2.0
        return answer

    inquiries = Inquiries(Bus(), clock, attended=False, responder=answered)
    choices = (
        ScopeChoice("once", "this once", "once"),
        ScopeChoice("session", "all along", "session"),
    )
    question = ApprovalRequest(
        "terminal.clipboard", "Copy", ("secret",), "it asks", "/", choices=choices
    )
    allowed = await ask_person(inquiries, put, question, named=["the clipboard"])
    about = ("the clipboard",)
    verdict = denied("terminal.clipboard", "asked", "it asks", targets=about, elapsed=2.0)
    assert record.decisions == [replace(verdict, **expected)]
    assert allowed == (answer if expected.get("outcome") == "allow" else None)
    assert keys == [("", "")]


@pytest.mark.requirement("outside:asked")
async def test_a_question_that_belongs_to_no_call_is_on_record_where_nobody_answers_it(
    record: Record,
) -> None:
    def put(_: ConversationId, __: CallId, decision: Decision) -> None:
        record.decisions.append(decision)

    question = ApprovalRequest("terminal.clipboard", "Copy", ("secret",), "it asks", "/")
    verdict = denied("terminal.clipboard", "asked", "it asks", targets=("the clipboard",))
    inquiries = Inquiries(Bus(), Hand(), attended=True)
    asking = ask_person(inquiries, put, question, named=("the clipboard",))
    assert await record.cancelled(asking) == replace(verdict, outcome="cancelled", rule="cancelled")
    impatient = Inquiries(Bus(), Hand(), attended=True, patience=1e-9)
    assert await ask_person(impatient, put, question, named=("the clipboard",)) is None
    assert record.decisions[1] == replace(verdict, outcome="expired")


@pytest.mark.requirement("outside:rehearse-flag")
@pytest.mark.parametrize("rehearses", [True, False])
def test_a_command_is_tried_on_a_copy_by_choice_or_where_all_are_that_do_more_than_read(
    ward: Callable[..., Ward], *, rehearses: bool
) -> None:
    here = ward()
    guard = Guard(
        here.workspace, here.policy(), here.grants, here.inquiries, GuardTerms(rehearses=rehearses)
    )
    allowed = Decision(RUN, "allow", "user", "x", "y")
    tried = {
        command: guard.rehearsed(allowed, guard.locate((CommandAccess(command),)))
        for command in ("ls", "make", "ls; make")
    }
    assert tried == {"ls": False, "make": rehearses, "ls; make": rehearses}
    assert not guard.rehearsed(allowed, ())
    assert guard.rehearsed(replace(allowed, scope=REHEARSAL), ())
    guard.policy = replace(guard.policy, reader=None)
    assert guard.rehearsed(allowed, guard.locate((CommandAccess("ls"),))) is rehearses
