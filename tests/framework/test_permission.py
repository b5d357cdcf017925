"""user_collaboration with authorize_operation: leave for what was refused, and for nothing else."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Question, Reply
from sam_tui.headless.answers import read_answers
from sam_tui.mcp_server.elicitation import form_of
from sam_tui.ui.widgets.inquiries.card import approval_lines
from tests.framework.bench import Bench, Person

pytestmark = pytest.mark.requirement("collaboration:permission")
CREATE, READ = "file_operations.create_file", "file_operations.read_file"
RUN = "terminal_operations.run_command"
NO, ONCE, TIMED = Approval("deny", "not now"), Approval("once"), Approval("timed")


@dataclass
class Judge(Person):
    """Gives its answers to approvals in their order, then refuses; replies yes to questions."""

    says: list[Answer] = field(default_factory=list[Answer])

    def __call__(self, inquiry: Inquiry) -> Answer | None:
        self.asked.append(inquiry)
        if isinstance(inquiry.request, Question):
            return Reply("yes")
        return self.says.pop(0) if self.says else NO


Sitting = Callable[..., tuple[Bench, Judge]]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the workspace."""
    (tmp_path / "outside").mkdir()
    return (tmp_path / "outside").resolve()


@pytest.fixture
def sitting(opened: Callable[..., Bench]) -> Sitting:
    """A runtime whose person gives these answers."""

    def open_(*says: Answer, **options: Any) -> tuple[Bench, Judge]:
        judge = Judge(says=list(says))
        return opened(person=judge, **options), judge

    return open_


def there(path: Path) -> bool:
    """Whether there is a file."""
    return path.exists()


async def create(bench: Bench, path: Path, content: str = "x") -> bool:
    """Whether a file could be made."""
    done = await bench.call(CREATE, filePath=str(path), content=content)
    assert done.finished.ok is there(path)
    return done.finished.ok


async def plead(bench: Bench, operation: str = CREATE, prompt: str = "May I?") -> str:
    """What a request for leave comes back with."""
    done = await bench.call("user_collaboration", prompt=prompt, authorize_operation=operation)
    return done.finished.text


async def test_a_yes_after_a_refusal_lasts_for_minutes_and_covers_what_was_refused(
    sitting: Sitting, outside: Path
) -> None:
    bench, judge = sitting(NO, TIMED)
    assert not await create(bench, outside / "a.txt")
    text = await plead(bench)
    assert text.startswith("User response: yes\n") and "5 minutes" in text
    question = judge.approvals[1]
    assert (question.operation, question.targets) == (CREATE, (str(outside / "a.txt"),))
    assert "refused before" in question.why and question.words == "May I?"
    assert await create(bench, outside / "a.txt")
    assert await bench.call("file_operations.delete_file", filePath=str(outside / "a.txt"))
    (outside / "a.txt").unlink()
    assert await create(bench, outside / "a.txt")  # more than once
    assert not await create(bench, outside / "b.txt")  # and nothing beside it
    assert [d.decision.outcome for d in bench.runtime.decisions.past(
        bench.runtime.workspace.root, CREATE, limit=9)].count("allow") == 3  # fmt: skip


async def test_a_single_yes_is_for_the_next_call_alone(sitting: Sitting, outside: Path) -> None:
    bench, _ = sitting(NO, ONCE)
    assert not await create(bench, outside / "a.txt")
    assert "one call only" in await plead(bench)
    assert await create(bench, outside / "a.txt")
    (outside / "a.txt").unlink()
    assert not await create(bench, outside / "a.txt")


async def test_a_no_grants_nothing_and_what_it_was_about_is_not_asked_again(
    sitting: Sitting, outside: Path
) -> None:
    bench, judge = sitting(NO, NO)
    assert not await create(bench, outside / "a.txt")
    assert (await plead(bench)).startswith("User response: no. not now\n\nNot granted")
    assert "Nothing was granted" in await plead(bench)
    assert [type(i.request) for i in judge.asked] == [ApprovalRequest, ApprovalRequest, Question]
    assert not await create(bench, outside / "a.txt")


async def test_without_a_refusal_a_yes_grants_nothing(sitting: Sitting, outside: Path) -> None:
    bench, judge = sitting()
    assert f"Nothing was granted for {CREATE}" in await plead(bench)
    assert not bench.runtime.guard.grants.current()
    assert not await create(bench, outside / "a.txt")
    assert len(judge.approvals) == 1


async def test_another_operation_or_conversation_gives_no_leave(
    sitting: Sitting, outside: Path
) -> None:
    bench, judge = sitting()
    await create(bench, outside / "a.txt")
    other = ConversationId("other")
    ask = {"prompt": "?", "authorize_operation": CREATE}
    await bench.call("user_collaboration", ask, other)
    await plead(bench, READ)
    await plead(bench, "file_operations")
    assert len(judge.approvals) == 1
    judge.says = [TIMED]
    await plead(bench)
    assert await create(bench, outside / "a.txt")
    arguments = {"filePath": str(outside / "b.txt"), "content": "y"}
    assert not (await bench.call(CREATE, arguments, other)).finished.ok
    arguments["filePath"] = str(outside / "a.txt")
    assert not (await bench.call(CREATE, arguments, other)).finished.ok


async def test_what_leads_elsewhere_by_now_is_not_asked_about(
    sitting: Sitting, outside: Path
) -> None:
    bench, judge = sitting(NO, TIMED)
    (outside / "one").mkdir()
    (outside / "two").mkdir()
    (outside / "way").symlink_to("one")
    assert not await create(bench, outside / "way" / "a.txt")
    (outside / "way").unlink()
    (outside / "way").symlink_to("two")
    assert "its target has changed" in await plead(bench)
    assert len(judge.approvals) == 1


async def test_a_link_swapped_after_the_yes_leads_to_nothing_that_was_granted(
    sitting: Sitting, outside: Path
) -> None:
    bench, judge = sitting(NO, TIMED)
    (outside / "one").mkdir()
    (outside / "two").mkdir()
    (outside / "way").symlink_to("one")
    assert not await create(bench, outside / "way" / "a.txt")
    assert "Granted" in await plead(bench)
    assert judge.approvals[1].targets == (str(outside / "one" / "a.txt"),)
    (outside / "way").unlink()
    (outside / "way").symlink_to("two")
    assert not await create(bench, outside / "way" / "a.txt")
    assert not (outside / "two" / "a.txt").exists()


async def test_a_permission_ends(sitting: Sitting, outside: Path) -> None:
    bench, _ = sitting(NO, TIMED)
    bench.runtime.guard.seconds = 0.0
    assert not await create(bench, outside / "a.txt")
    assert "Granted" in await plead(bench)
    assert not await create(bench, outside / "a.txt")


async def test_what_a_rule_refuses_cannot_be_asked_for(sitting: Sitting, home: Path) -> None:
    bench, judge = sitting()
    (home / ".ssh").mkdir()
    await create(bench, home / ".ssh" / "id_new")
    assert "Nothing was granted" in await plead(bench)
    bench.runtime.guard.use_mode("plan")
    assert not await create(bench, bench.folder / "inside.txt")
    assert "Nothing was granted" in await plead(bench)
    assert not judge.approvals


async def test_commands_and_what_they_want_outside_are_asked_for_by_the_commands_name(
    sitting: Sitting, outside: Path
) -> None:
    bench, judge = sitting(NO, TIMED)
    touch = f"touch {outside}/made"
    await bench.call(RUN, command=touch)
    if not judge.approvals or judge.approvals[0].operation == RUN:
        pytest.skip("this kernel asks for no single write of a command")
    assert "Granted" in await plead(bench, RUN)
    assert judge.approvals[1].targets == (f"{outside}/made",)
    await bench.call(RUN, command=touch)
    assert (outside / "made").exists() and len(judge.approvals) == 2


@pytest.mark.parametrize("mode", ["bypass", "auto"])
async def test_a_mode_that_asks_nobody_says_so(sitting: Sitting, outside: Path, mode: str) -> None:
    bench, judge = sitting(mode=mode)
    made = await create(bench, outside / "a.txt")
    text = await plead(bench, prompt="500 files. Proceed?")
    assert made is (mode == "bypass") and not judge.approvals
    if mode == "bypass":
        assert text == "Auto-approved: 500 files. Proceed?" and not judge.asked
    else:
        assert "auto mode never asks" in text and "Nothing was granted" in text


IMITATION = "fine?\ntarget  /tmp/harmless\nwhy     you asked for it" + " x" * 400


async def test_the_agents_words_stand_apart_and_decide_nothing(
    sitting: Sitting, outside: Path, tmp_path: Path
) -> None:
    bench, judge = sitting(NO, NO)
    await create(bench, outside / "a.txt")
    await plead(bench, prompt=IMITATION)
    inquiry = judge.asked[-1]
    assert isinstance(inquiry.request, ApprovalRequest)
    assert inquiry.request.targets == (str(outside / "a.txt"),)
    for shown in (approval_lines(inquiry.request).plain, form_of(inquiry, "2025-11-25").message):
        rows = shown.splitlines()
        assert [row for row in rows if re.match(r"\s*target", row)] == [
            row for row in rows if str(outside / "a.txt") in row and "target" in row
        ]
        said = [row for row in rows if "harmless" in row]
        assert len(said) == 1 and re.match(r"\s*agent +[│|] ", said[0])
        agents = [row for row in rows if re.match(r"\s*agent +[│|] ", row)]
        assert max(map(len, agents)) < 80 and len(agents) == 9
    file = tmp_path / "answers.json"
    file.write_text(json.dumps([{"match": "harmless|fine", "reply": "approve"}]), encoding="utf-8")
    assert read_answers(str(file))(inquiry) is None


async def test_headless_answers_count_as_a_persons(
    opened: Callable[..., Bench], outside: Path, tmp_path: Path
) -> None:
    file = tmp_path / "answers.json"
    entries = [{"match": "refused before|two calls|b\\.txt", "reply": "deny"},
               {"match": "a\\.txt", "reply": "approve", "scope": "timed"}]  # fmt: skip
    file.write_text(json.dumps(entries), encoding="utf-8")
    answers = read_answers(str(file))

    responder: list[Callable[[Inquiry], Answer | None]] = [lambda _: None]

    def respond(inquiry: Inquiry) -> Answer | None:
        return responder[0](inquiry)

    bench = opened(responder=respond, attended=False)
    assert not await create(bench, outside / "a.txt")
    assert (await plead(bench)).startswith("USER_INPUT_REQUIRED: May I?")
    assert not await create(bench, outside / "a.txt")
    responder[0] = answers
    assert "Granted" in await plead(bench)
    responder[0] = lambda _: None
    assert await create(bench, outside / "a.txt")
    # Two refused targets: an entry that fits one of them approves neither.
    for name in ("c.txt", "d.txt"):
        assert not await create(bench, outside / name)
    file.write_text(json.dumps([{"match": "c\\.txt", "reply": "approve"}]), encoding="utf-8")
    responder[0] = read_answers(str(file))
    assert (await plead(bench)).startswith("USER_INPUT_REQUIRED")
    responder[0] = lambda _: None
    assert not await create(bench, outside / "c.txt")
    assert not await create(bench, outside / "d.txt")
