"""The scopes of a question: in words, with their figures, taken by two deliberate keys."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Button

from sam_tui.adapters.storage import open_storage
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import InquiryOutcome
from sam_tui.core.inquiry import Approval, ApprovalRequest, PastCall, ScopeChoice
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.verdict import Decision
from sam_tui.ui.widgets.inquiries.approval import ApprovalPanel
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import Driver, Stage, StillApp, Watch, app_over, driven

CHOICES = (
    ScopeChoice("once", "this call only", "once", considered=7),
    ScopeChoice("timed", "exactly /x, for 5 minutes", "minutes", covered=1, considered=7),
    ScopeChoice(
        "session",
        "all below /\u202ex, here",
        "session",
        covered=2,
        considered=7,
        refused=1,
        past=(PastCall("/x/[b]yes\n", 0.0), PastCall("/x/no", 0.0, refused=True)),
    ),
    ScopeChoice(
        "rehearse", "on a copy of the workspace, shown as a diff", "once", label="Rehearse"
    ),
)
REQUEST = ApprovalRequest(
    "op", "Doing", ("/x",), "why", "/", timed_scope="op on /x", choices=CHOICES
)

TAKEN: tuple[tuple[tuple[str, ...], Approval], ...] = (
    (("6",), Approval("scope", scope="rehearse")),
    (("5", "down", "enter"), Approval("once")),
    (("5", "2", "enter"), Approval("timed")),
    (("5", "up", "enter"), Approval("scope", scope="rehearse")),
    (("5", "3", "escape", "5", "enter", "escape", "3"), Approval("deny")),
    (("5", "9", "enter", "escape", "escape"), Approval("deny")),
)
"""Keys, and the answer that they give."""


async def shown(me: Driver) -> ApprovalPanel:
    """Wait until the panel is up and has the keys."""
    await me.until(lambda: (found := panel(me)) and found.has_focus_within)
    await me.pilot.pause()
    found = panel(me)
    assert found is not None
    return found


def panel(me: Driver) -> ApprovalPanel | None:
    return next(iter(me.app.chat.query(ApprovalPanel)), None)


def ask(me: Driver, request: ApprovalRequest = REQUEST) -> asyncio.Task[InquiryOutcome]:
    assert me.app.runtime is not None
    asking = me.app.runtime.inquiries.ask(ConversationId("c"), CallId("k"), request)
    return asyncio.get_running_loop().create_task(asking)


@pytest.mark.requirement("ui:scopes")
async def test_wider_scopes_stand_in_words_and_list_the_past_calls_they_would_have_covered(
    stage: Stage,
) -> None:
    async with driven(app_over(stage), (40, 12)) as me:
        await me.ready()
        for size in ((40, 12), (40, 20), (60, 16), (80, 24)):
            await me.pilot.resize_terminal(*size)
            await me.until(lambda size=size: tuple(me.app.chat.size) == size)
            asking = ask(me)
            found = await shown(me)
            assert [b.id for b in found.query(Button)] == [
                "once", "timed", "deny", "comment", "wider", "rehearse",
            ]  # fmt: skip
            for button in found.query(Button):
                assert found.region.contains_region(button.region)
                assert me.app.chat.query_one("#bottom").region.contains_region(found.region)
                assert len(str(button.label)) <= button.region.width
            await me.pilot.press("5")
            await me.until(lambda: me.app.chat.query("#scopes"))
            await me.pilot.press("3")
            await me.until(lambda: "▸ 3" in me.drawn())
            if size[1] >= 24:
                await me.until(lambda: "you refused this" in me.drawn())
                text = me.drawn()
                assert "all below /\\u202ex" in text and "2 of 7 past calls, 1 refused" in text
                assert "/x/[b]yes\\n" in text
            assert not asking.done()
            for button in found.query("#scope-choices Button"):
                assert me.app.chat.region.contains_region(button.region) and button.region.area
            await me.pilot.press("enter")
            assert (await asking).answer == Approval("scope", scope="session")
            await me.until(lambda: panel(me) is None)


@pytest.mark.requirement("ui:scopes")
async def test_a_scope_is_marked_first_and_taken_by_enter(stage: Stage) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        for keys, answer in TAKEN:
            asking = ask(me)
            await shown(me)
            for key in keys:
                assert not asking.done(), keys
                await me.pilot.press(key)
                await me.pilot.pause()
            assert (await asking).answer == answer, keys
            await me.until(lambda: panel(me) is None)


@pytest.mark.requirement("ui:scopes", "ui:stray-keys")
async def test_keys_meant_for_the_buttons_take_no_scope(stage: Stage) -> None:
    watch: Watch = StillApp.WATCH
    async with driven(app_over(stage, StillApp), (80, 24)) as me:
        await me.ready()
        asking = ask(me)
        found = await shown(me)
        watch.time += 1
        await me.pilot.press("5")
        await me.until(lambda: found.query("#scopes"))
        await me.pilot.press("3", "enter")
        await me.pilot.pause()
        assert not asking.done()
        watch.time += 1
        await me.pilot.click("#scopes .scope")
        await me.pilot.pause()
        assert not asking.done()
        await me.pilot.click("#allow-scope")
        assert (await asking).answer == Approval("once")


@pytest.mark.requirement("ui:scopes", "guard:scopes-kept")
@pytest.mark.parametrize("span", ["session", "project", "user"])
async def test_a_scope_that_was_taken_answers_the_calls_after_it(
    stage: Stage, model: RawModel, span: str
) -> None:
    def call(number: int) -> tuple[str, dict[str, str]]:
        path = str(stage.workspace.parent / "out" / f"{number}.txt")
        return ("file_operations", {"operation": "create_file", "filePath": path, "content": "x"})

    (stage.workspace.parent / "out").mkdir()
    model.answers += [calls(call(1)), calls(call(2)), [TextDelta("both made")]]
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        await me.send("write them")
        found = await shown(me)
        wanted = ["once", "timed", "session", "project", "user"].index(span) + 1
        await me.pilot.press("5", str(wanted), "enter")
        await me.until(lambda: "both made" in me.transcript())
        assert panel(me) is None or panel(me) is found
        assert {p.name for p in (stage.workspace.parent / "out").iterdir()} == {"1.txt", "2.txt"}
        assert me.transcript().count("You allowed") == (2 if span == "session" else 1)


@pytest.mark.requirement("guard:simulator")
async def test_the_figures_come_from_the_calls_of_this_workspace(
    stage: Stage, model: RawModel, tmp_path: Path
) -> None:
    out = stage.workspace.parent / "out"
    out.mkdir()
    storage = open_storage(tmp_path / "data")
    storage.conversations.create(ConversationId("old"), stage.runtime.workspace.root)
    for name in ("a", "b"):
        target = (str(out.resolve() / name),)
        allowed = Decision("file_operations.create_file", "allow", "user", "r", "w", targets=target)
        decision = allowed if name == "a" else replace(allowed, outcome="deny")
        storage.decisions.record(ConversationId("old"), CallId(name), decision)
    storage.close()
    call = {"operation": "create_file", "filePath": str(out / "c"), "content": "x"}
    model.answers += [calls(("file_operations", call)), [TextDelta("done")]]
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        await me.send("write it")
        await shown(me)
        await me.until(lambda: "conversation (2 of 2)" in me.drawn())
        await me.pilot.press("5", "3")
        await me.until(lambda: "you refused this" in me.drawn())
        await me.pilot.press("escape", "escape")
        await me.until(lambda: "done" in me.transcript())
