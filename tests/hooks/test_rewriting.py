"""Hooks change the input of calls, and the guard judges what comes of it. Costs 2 s of CPU."""

from typing import Any

import pytest

from sam_tui.core.events import Noticed
from sam_tui.core.inquiry import Approval
from tests.hooks.conftest import Place, decides, one_call, says, touch


def wants(word: str = "", /, **updated: Any) -> str:
    """A hook that wants a call to have another input."""
    specific: dict[str, Any] = {"hookEventName": "PreToolUse", "updatedInput": updated}
    return says(hookSpecificOutput=specific | ({"permissionDecision": word} if word else {}))


@pytest.mark.requirement("hooks:rewrite")
async def test_the_changed_call_is_made_and_everybody_is_told(place: Place) -> None:
    place.user(wants(command="echo changed > made"))
    runtime = place.build()
    heard = runtime.bus.subscribe()
    ran = await touch(runtime)
    assert (place.workspace / "made").read_text(encoding="utf-8") == "changed\n"
    (warning,) = [e.text for e in heard.drain() if isinstance(e, Noticed)]
    assert "echo ran > made became " in warning and "echo changed > made" in warning
    assert ran.executed is not None
    (note,) = ran.executed.notes
    assert "changed the input of this call to:" in note and "echo changed" in note
    (decision,) = ran.decisions
    assert decision.targets == ("$ echo changed > made",)


@pytest.mark.requirement("hooks:rewrite")
async def test_the_guard_judges_what_hooks_make_of_a_call(place: Place) -> None:
    """What the person's and the folder's hooks want of a call in the workspace, and who decides then."""
    outside = {"filePath": str(place.folder / "out.txt"), "content": "x"}
    secret = {"filePath": str(place.config / "hooks.json"), "content": "{}"}
    cases: list[tuple[list[str], list[str], str, bool]] = [
        ([wants(**outside)], [], "unattended", False),
        ([wants("allow", **secret)], [], "", False),
        ([decides("allow")], [wants(**outside)], "unattended", False),
        ([], [wants("allow", **outside)], "unattended", False),
        ([wants(**outside)], [wants(**secret)], "hook", False),
        ([wants(nothing="x")], [], "", False),
        ([wants("allow", **outside)], [], "hook", True),
    ]
    before = place.user_file
    for number, (own, project, rule, written) in enumerate(cases):
        for file in (before, place.project_file):
            file.unlink(missing_ok=True)
        if own:
            place.user(*own)
        if project:
            place.project(*project)
        text = before.read_text(encoding="utf-8") if own else ""
        runtime = place.build()
        ran = await one_call(runtime, "create_file", filePath="in.txt", content="y")
        await runtime.close()
        where = f"case {number}: {ran.results}"
        assert (place.folder / "out.txt").exists() is written, where
        assert (before.read_text(encoding="utf-8") if own else "") == text, where
        assert not (place.workspace / "in.txt").exists(), where
        assert ran.results[0].ok is written, where
        decided = [rule in (d.rule, d.by) for d in ran.decisions]
        assert all(decided) if rule else not any(d.allowed for d in ran.decisions), where


@pytest.mark.requirement("hooks:rewrite")
async def test_a_hook_cannot_make_another_operation_of_a_call(place: Place) -> None:
    """Of another operation the hooks that are about it were not asked."""
    cases: list[tuple[object, str]] = [
        ("create_file", "file_operations.create_file in place"),
        (7, "file_operations.7 in place"),
        ("read_file", ""),
    ]
    (place.workspace / "a.txt").write_text("a", encoding="utf-8")
    (place.workspace / "b.txt").write_text("b", encoding="utf-8")
    for operation, refusal in cases:
        place.user_file.unlink(missing_ok=True)
        place.user(wants("allow", operation=operation, filePath="b.txt", content="x"))
        ran = await one_call(place.build(), "read_file", filePath="a.txt")
        (result,) = ran.results
        assert (place.workspace / "b.txt").read_text(encoding="utf-8") == "b"
        assert result.ok is not bool(refusal) and refusal in result.text, result
        assert result.text.startswith("b.txt") is not bool(refusal)
        assert not refusal or [d.by for d in ran.decisions] == ["hook"]


@pytest.mark.requirement("hooks:rewrite")
async def test_that_the_person_changed_a_proposal_is_told_though_a_hook_changes_it_anew(
    place: Place,
) -> None:
    place.user(wants(filePath="a.txt", content="of the hook\n"))
    answers = [Approval("amend", amended="of the person\n"), Approval("once")]
    runtime = place.build(responder=lambda _: answers.pop(0), mode="ask-all")
    ran = await one_call(runtime, "create_file", filePath="a.txt", content="of the model\n")
    assert (place.workspace / "a.txt").read_text(encoding="utf-8") == "of the hook\n"
    assert ran.executed is not None and ran.executed.decision is not None
    assert "I changed what you proposed" in ran.executed.decision.comment
