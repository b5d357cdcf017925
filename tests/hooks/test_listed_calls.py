"""Calls that a person answered in a list, as hooks, modes and earlier calls leave them.

Costs about 0.6 s of CPU.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.core.authorization.message_calls import TOGETHER
from sam_tui.core.events import Event, InquiryOpened
from sam_tui.core.inquiry import Approval, ApprovalChoice, ApprovalRequest, Inquiry
from sam_tui.core.runtime import Runtime
from tests.hooks.conftest import Place, Step, call, decides, keeps, says, turn


class Person:
    """Answers a question, and what is announced with it, a moment after it opened."""

    def __init__(
        self, runtime: Runtime, *answers: ApprovalChoice, meanwhile: Callable[[], object] = int
    ) -> None:
        self._runtime = runtime
        self._answers = list(answers)
        self._meanwhile = meanwhile
        self.asked: list[Inquiry] = []
        runtime.bus.listeners.append(self._hear)

    def _hear(self, event: Event) -> None:
        if isinstance(event, InquiryOpened):
            self.asked.append(event.inquiry)
            asyncio.get_running_loop().call_soon(self._answer, event.inquiry)

    def _answer(self, inquiry: Inquiry) -> None:
        self._meanwhile()
        answer = Approval(self._answers.pop(0))
        assert not any(entry in self._runtime.inquiries.pending() for entry in inquiry.coming)
        for entry in (*inquiry.coming, inquiry):
            assert self._runtime.inquiries.answer(entry.id, answer)
            assert not self._runtime.inquiries.answer(entry.id, Approval("once"))

    @property
    def targets(self) -> list[str]:
        """The names of what was asked about, in order."""
        requests = [entry.request for entry in self.asked]
        approvals = [r for r in requests if isinstance(r, ApprovalRequest)]
        return [Path(target).name for request in approvals for target in request.targets]


def write(name: str) -> Step:
    return call("file_operations", "create_file", filePath=name, content="new\n", overwrite=True)


def edit(old: str, new: str) -> Step:
    return call("file_operations", "replace_string", filePath="a", oldString=old, newString=new)


def begin(place: Place, *proposed: Step) -> Runtime:
    """A runtime in which each of these calls of one message is asked about."""
    return place.build({"calls": list(proposed)}, {"text": "done"}, attended=True, mode="ask-all")


def read(place: Place, name: str) -> str:
    file = place.workspace / name
    return file.read_text() if file.exists() else ""


@pytest.mark.requirement("guard:announced")
async def test_edits_of_one_file_are_asked_about_once_but_for_one_that_an_earlier_one_changes(
    place: Place,
) -> None:
    (place.workspace / "a").write_text("one\n" + "same\n" * 9 + "two\nend\n")
    runtime = begin(place, edit("one", "uno"), edit("two", "dos"), edit("dos\nend", "fin"))
    person = Person(runtime, "once", "deny")
    ended = await turn(runtime)
    assert read(place, "a") == "uno\n" + "same\n" * 9 + "dos\nend\n"
    assert [(entry.before, len(entry.coming)) for entry in person.asked] == [(0, 2), (2, 0)]
    assert [d.outcome for d in ended.decisions] == ["allow", "allow", "deny"]


@pytest.mark.requirement("guard:announced")
async def test_a_stricter_mode_decides_anew_and_no_looser_one_opens_what_was_denied(
    place: Place,
) -> None:
    runtime = begin(place, write("a"), write("b"))
    person = Person(runtime, "once", meanwhile=lambda: runtime.guard.use_mode("plan"))
    ended = await turn(runtime)
    assert (read(place, "a"), read(place, "b"), len(person.asked)) == ("new\n", "", 1)
    assert [d.by for d in ended.decisions] == ["user", "mode"]
    runtime = begin(place, write("c"), write("d"))
    person = Person(runtime, "deny", meanwhile=lambda: runtime.guard.use_mode("bypass"))
    ended = await turn(runtime)
    assert (read(place, "c"), read(place, "d"), len(person.asked)) == ("", "", 1)
    assert [(d.outcome, d.by, d.scope) for d in ended.decisions][1] == ("deny", "user", TOGETHER)
    assert [result.ok for result in ended.results] == [False, False]


@pytest.mark.requirement("guard:announced")
async def test_only_once_can_be_allowed_ahead(place: Place) -> None:
    runtime = begin(place, write("a"), write("b"))
    person = Person(runtime, "timed", "deny")
    await turn(runtime)
    assert person.targets == ["a", "b"]
    assert (read(place, "a"), read(place, "b")) == ("new\n", "")


@pytest.mark.requirement("guard:announced", "hooks:rewrite")
async def test_what_a_hook_makes_of_a_listed_call_is_asked_about_by_itself(place: Place) -> None:
    arguments = write("c")["arguments"]
    place.user(says(hookSpecificOutput={"hookEventName": "PreToolUse", "updatedInput": arguments}))
    runtime = begin(place, write("a"), write("b"))
    person = Person(runtime, "once", "deny")
    await turn(runtime)
    assert person.targets == ["c", "c"]
    assert (read(place, "a"), read(place, "b"), read(place, "c")) == ("", "", "new\n")


@pytest.mark.requirement("guard:announced", "hooks:ask")
@pytest.mark.parametrize(("word", "answers"), [("ask", ("once", "deny")), ("allow", ("deny",))])
async def test_a_hook_has_a_listed_call_asked_about_again_and_opens_none_that_was_denied(
    place: Place, word: str, answers: tuple[ApprovalChoice, ...]
) -> None:
    place.user(f'grep -q \'"filePath": *"b"\' && {decides(word, "it says so")} || true')
    runtime = begin(place, write("a"), write("b"))
    person = Person(runtime, *answers)
    await turn(runtime)
    assert person.targets == ["a", "b"][: len(answers)]
    assert (read(place, "a"), read(place, "b")) == ("new\n" if word == "ask" else "", "")


@pytest.mark.requirement("guard:announced")
async def test_looking_ahead_puts_nothing_on_record_and_runs_no_hook(place: Place) -> None:
    place.user(keeps("told"))
    runtime = begin(place, write("a"), write("b"))
    looked: list[bool] = []
    person = Person(runtime, "deny", meanwhile=lambda: looked.append('"b"' in read(place, "told")))
    heard = await turn(runtime)
    assert looked == [False] and len(person.asked[0].coming) == 1
    assert '"b"' not in read(place, "told"), "no hook is asked about what was denied already"
    assert len(heard.decisions) == 2


@pytest.mark.requirement("guard:announced", "hooks:rewrite")
async def test_arguments_that_no_question_shows_count_as_well(place: Place) -> None:
    commands = [call("terminal_operations", "run_command", command=f"echo > {n}") for n in "ab"]
    changed = {**commands[1]["arguments"], "timeout": 7}
    rewritten = says(hookSpecificOutput={"hookEventName": "PreToolUse", "updatedInput": changed})
    place.user(f"grep -q '> b' && {rewritten} || true")
    runtime = begin(place, *commands)
    person = Person(runtime, "once", "deny")
    await turn(runtime)
    assert [entry.before for entry in person.asked] == [0, 1]
    assert (read(place, "a"), (place.workspace / "b").exists()) == ("\n", False)
