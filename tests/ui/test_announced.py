"""Calls of one message that follow one another: announced, answered at once, and judged anew.

Costs about 2.5 s of CPU.
"""

import pytest
from textual.widgets import Static

from sam_tui.core.authorization.message_calls import TOGETHER
from sam_tui.core.events import InquiryOpened
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.verdict import Decision
from sam_tui.ui.widgets.inquiries.approval import ApprovalPanel
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Driver, Stage, app_over, driven

FILES = "file_operations"


def writing(path: str, content: str = "new\n") -> tuple[str, dict[str, object]]:
    return FILES, {
        "operation": "create_file",
        "filePath": path,
        "content": content,
        "overwrite": True,
    }


def running(command: str, **more: object) -> tuple[str, dict[str, object]]:
    return "terminal_operations", {"operation": "run_command", "command": command, **more}


async def asked(me: Driver, title: str, text: str = "") -> ApprovalPanel:
    """Wait until a question is up that has this title, says this, and has the keys."""

    def up() -> ApprovalPanel | None:
        panels = me.app.chat.query(ApprovalPanel)
        return next(
            (p for p in panels if p.has_focus_within and title in str(p.border_title)
             and text in words(p)),
            None,
        )  # fmt: skip

    await me.until(up)
    await me.pilot.pause()
    found = up()
    assert found is not None
    return found


def words(panel: ApprovalPanel) -> str:
    return "\n".join(str(static.render()) for static in panel.query(Static))


def results(model: RawModel) -> list[str]:
    return [m.text for m in model.seen[-1] if m.kind == "tool"]


def decided(stage: Stage, operation: str) -> list[Decision]:
    """What is on record of an operation, oldest first."""
    entries = stage.runtime.decisions.past(str(stage.workspace), operation, limit=9)
    return [entry.decision for entry in reversed(entries)]


async def begin(me: Driver, stage: Stage, model: RawModel, *proposed: tuple[str, object]) -> None:
    """Have the model propose calls in one message, each of which is asked about."""
    model.answers += [calls(*proposed), [TextDelta("all seen")]]
    await me.ready()
    me.bench.perform("mode", "ask-all")
    await me.send("do it")


async def allow_all(me: Driver) -> None:
    """Allow what is listed, once its end was in view."""
    await me.pilot.press("a", *["pagedown"] * 4)
    await me.pilot.pause()
    await me.pilot.press("1")


@pytest.mark.requirement("ui:announced", "ui:alike")
async def test_three_writes_are_counted_named_listed_and_allowed_at_once(
    stage: Stage, model: RawModel
) -> None:
    heard = stage.runtime.bus.subscribe()
    async with driven(app_over(stage), (80, 24)) as me:
        await begin(me, stage, model, *(writing(f"new/{n}.txt") for n in "abc"))
        panel = await asked(me, "Approve? 1 of 3 · a all 3 of this kind")
        rows = [row.strip(" ┃").rstrip() for row in me.drawn().splitlines()]
        assert "then    2 more: create_file new/b.txt · create_file new/c.txt" in rows
        assert "+new" in rows, "the change is in view"
        await me.pilot.press("w")
        whole = f"thencreate_file{stage.workspace}/new/c.txt"
        await me.until(lambda: whole in "".join(words(panel).split()))
        await me.pilot.press("a", "c", *"mind", "enter", "1")
        await me.until(lambda: "you say mind" in words(panel))
        await me.until(lambda: "You have not seen all of them yet" in str(panel.border_subtitle))
        assert not (stage.workspace / "new").exists()
        await allow_all(me)
        await me.until(lambda: "all seen" in me.transcript())
        assert [(stage.workspace / f"new/{n}.txt").read_text() for n in "abc"] == ["new\n"] * 3
        assert len(results(model)) == 3 and all(r.startswith("CREATED") for r in results(model))
        remark = "The person allowed file_operations.create_file and said: mind"
        assert [m.text for m in model.seen[-1] if m.kind == "reminder"].count(remark) == 1
        made = decided(stage, "file_operations.create_file")
    assert [(d.outcome, d.by, d.scope) for d in made] == [
        ("allow", "user", "this call"),
        ("allow", "user", TOGETHER),
        ("allow", "user", TOGETHER),
    ]
    assert sum(isinstance(event, InquiryOpened) for event in heard.drain()) == 1


@pytest.mark.requirement("ui:announced")
async def test_three_commands_are_denied_at_once_and_each_has_its_own_result(
    stage: Stage, model: RawModel
) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        await begin(me, stage, model, *(running(f"touch {n}.txt") for n in "abc"))
        panel = await asked(me, "1 of 3 · a all 3 of this kind", "2 more: run_command $ touch b.t")
        await me.pilot.press("a", "c", *"not now", "enter")
        await me.until(lambda: "you say not now" in words(panel))
        me.bench.perform("mode", "ask")  # no mode opens what was denied already
        await me.pilot.press("3")
        await me.until(lambda: "all seen" in me.transcript())
        assert len(results(model)) == 3
        assert all("refused" in r and "They said: not now" in r for r in results(model))
        assert not list(stage.workspace.glob("*.txt"))
        made = decided(stage, "terminal_operations.run_command")
    assert [(d.outcome, d.by, d.comment) for d in made] == [("deny", "user", "not now")] * 3
    assert [d.scope for d in made][1:] == [TOGETHER] * 2
    assert [d.targets for d in made] == [(f"$ touch {n}.txt",) for n in "abc"]


@pytest.mark.requirement("ui:announced")
async def test_calls_of_two_kinds_are_counted_together_and_answered_one_by_one(
    stage: Stage, model: RawModel
) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        await begin(me, stage, model, writing("a.txt"), running("touch c.txt"), writing("b.txt"))
        await asked(me, "Approve? 1 of 3 · a all 2 of this kind", "run_command $ touch c.txt · cr")
        await me.pilot.press("1")
        panel = await asked(me, "Approve? 2 of 3", "1 more: create_file b.txt")
        assert "of this kind" not in str(panel.border_title)
        await me.pilot.press("3")
        await asked(me, "Approve? 3 of 3", "Creating: b.txt")
        await me.pilot.press("1")
        await me.until(lambda: "all seen" in me.transcript())
        assert sorted(path.name for path in stage.workspace.glob("*.txt")) == ["a.txt", "b.txt"]
        assert [d.scope for d in decided(stage, "file_operations.create_file")] == ["this call"] * 2


@pytest.mark.requirement("guard:announced")
async def test_a_call_whose_file_changed_since_it_was_listed_is_asked_about_by_itself(
    stage: Stage, model: RawModel
) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        await begin(me, stage, model, *(writing(f"{n}.txt") for n in "abc"))
        await asked(me, "1 of 3")
        (stage.workspace / "b.txt").write_text("precious\n")
        await allow_all(me)
        await asked(me, "Approve?", "-precious")
        assert (stage.workspace / "a.txt").exists() and not (stage.workspace / "c.txt").exists()
        await me.pilot.press("3")
        await me.until(lambda: "all seen" in me.transcript())
        assert (stage.workspace / "b.txt").read_text() == "precious\n"
        assert (stage.workspace / "c.txt").exists(), "this one is what was listed"


@pytest.mark.requirement("guard:announced")
async def test_a_call_that_an_earlier_one_led_elsewhere_is_asked_about_by_itself(
    stage: Stage, model: RawModel
) -> None:
    outside = stage.workspace.parent / "outside"
    outside.mkdir()
    (stage.workspace / "link").symlink_to(outside)
    (stage.workspace / "a.txt").write_text("mine\n")
    rename = {"operation": "rename_file"}
    async with driven(app_over(stage), (80, 24)) as me:
        await begin(
            me,
            stage,
            model,
            (FILES, {**rename, "oldPath": "link", "newPath": "docs"}),
            (FILES, {**rename, "oldPath": "a.txt", "newPath": "docs/a.txt"}),
        )
        await asked(me, "1 of 2 · a all 2")
        await allow_all(me)
        await asked(me, "Approve? 2 of 2", "outside/a.txt")
        assert (stage.workspace / "docs").is_symlink() and not list(outside.iterdir())
        await me.pilot.press("3")
        await me.until(lambda: "all seen" in me.transcript())
        assert (stage.workspace / "a.txt").exists() and not list(outside.iterdir())


@pytest.mark.requirement("guard:announced")
async def test_what_was_answered_in_a_list_ends_with_the_turn(
    stage: Stage, model: RawModel
) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        await begin(me, stage, model, running("tail -f /dev/null > z"), running("touch b.txt"))
        await asked(me, "1 of 2")
        await allow_all(me)  # the first waits for input that never comes
        await me.until(lambda: len(decided(stage, "terminal_operations.run_command")) == 1)
        me.bench.perform("cancel")
        await me.until(lambda: me.app.chat.status.activity.phase == "ready")
        model.answers.clear()
        await begin(me, stage, model, running("touch b.txt"))
        panel = await asked(me, "Approve?")
        assert str(panel.border_title) == "Approve?"
        await me.pilot.press("3")
        await me.until(lambda: "all seen" in me.transcript())
        assert not (stage.workspace / "b.txt").exists()
