"""Questions to the person: shown in a pause, answered on purpose, one at a time."""

import asyncio
from dataclasses import replace

import pytest
from textual.widgets import Button, Input, Static

from sam_tui.core.display import Diff
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiries import InquiryOutcome
from sam_tui.core.inquiry import Approval, ApprovalRequest, Question
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.text.invisible import foreign_letters
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.widgets.inquiries.card import approval_lines
from sam_tui.ui.widgets.inquiries.question import InquiryPanel
from tests.fakes.engine_kit import RawModel, calls
from tests.ui.driver import (
    Driver,
    QuickApp,
    Stage,
    StillApp,
    Watch,
    app_over,
    driven,
)

HERE = ConversationId("c")
REQUEST = ApprovalRequest(
    "file_operations.create_file",
    "Creating: [b]x[/b]",
    ("/etc/evil\u202etxt", "echo a\nwhy     nothing"),
    "outside the workspace",
    "/work",
    timed_scope="create_file on /etc",
)


def panel(me: Driver) -> InquiryPanel | None:
    return next(iter(me.app.chat.query(InquiryPanel)), None)


async def shown(me: Driver) -> InquiryPanel:
    """Wait until a panel is up and has the keys."""
    await me.until(lambda: (found := panel(me)) and found.has_focus_within)
    await me.pilot.pause()
    found = panel(me)
    assert found is not None
    return found


def ask(
    me: Driver, request: ApprovalRequest | Question, call: str = "k"
) -> asyncio.Task[InquiryOutcome]:
    assert me.app.runtime is not None
    asking = me.app.runtime.inquiries.ask(HERE, CallId(call), request)
    return asyncio.get_running_loop().create_task(asking)


def words(found: InquiryPanel) -> str:
    return "\n".join(str(static.render()) for static in found.query(Static))


def outside(stage: Stage) -> dict[str, str]:
    """A call that writes next to the workspace."""
    target = stage.workspace.parent / "outside.txt"
    return {"operation": "create_file", "filePath": str(target), "content": "new [text]\n"}


@pytest.mark.usefixtures("side_column")
@pytest.mark.requirement("ui:approve", "ui:approval-whole", "ui:allow-comment")
@pytest.mark.parametrize("size", [(40, 10), (40, 12), (60, 16), (80, 24), (120, 40), (200, 50)])
async def test_an_approval_shows_what_would_happen_and_lets_it_happen_once(
    stage: Stage, model: RawModel, size: tuple[int, int]
) -> None:
    model.answers += [calls(("file_operations", outside(stage))), [TextDelta("made")]]
    async with driven(app_over(stage), size) as me:
        await me.ready()
        await me.send("write it")
        found = await shown(me)
        target = stage.workspace.parent / "outside.txt"
        assert "+new [text]" in words(found)
        row = next(line for line in words(found).splitlines() if line.startswith("target"))
        assert len(row) <= found.size.width and row.endswith("outside.txt")
        if size[1] >= 24:
            await me.until(lambda: "+new [text]" in me.drawn())
        assert "write-outside" not in words(found)
        await me.pilot.press("question_mark")
        await me.until(lambda: "rule    write-outside" in words(found))
        await me.pilot.press("question_mark", "w")
        await me.until(lambda: str(target) in words(found) and "write-outside" not in words(found))
        await me.pilot.press("c", *"1 mind it", "enter")
        await me.until(lambda: "you say 1 mind it" in words(found))
        assert me.app.chat.status.activity.words(0) == "waiting for you"
        assert not target.exists()
        if size[1] > 10:  # before anything is scrolled
            await me.until(lambda: "target" in me.drawn())
        for button in found.query(Button):
            assert button.region.area and found.region.contains_region(button.region)
            assert me.app.chat.region.contains_region(found.region)
            assert len(str(button.label)) <= button.region.width
        assert me.app.chat.transcript.region.height >= (3 if size[1] >= 24 else 1)
        await me.pilot.press("1")
        await me.until(lambda: "made" in me.transcript())
        assert target.read_text() == "new [text]\n"
        await me.until(lambda: panel(me) is None and me.app.chat.prompt.area.has_focus)
        assert "You allowed" in me.transcript()
        result = next(m.text for m in model.seen[-1] if m.kind == "tool")
        assert result.startswith("CREATED")
        said = "The person allowed file_operations.create_file and said: 1 mind it"
        assert said in [m.text for m in model.seen[-1] if m.kind == "reminder"]


@pytest.mark.requirement("ui:deny-comment")
async def test_a_denial_can_say_why_and_the_model_reads_it(stage: Stage, model: RawModel) -> None:
    model.answers += [calls(("file_operations", outside(stage))), [TextDelta("understood")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("write it")
        found = await shown(me)
        await me.pilot.press("4")
        await me.until(lambda: found.query_one(Input).has_focus)
        await me.pilot.press(*"use ws 1", "enter")
        await me.until(lambda: "understood" in me.transcript())
        result = [m.text for m in model.seen[-1] if m.kind == "tool"]
        assert "use ws 1" in result[0]
        assert not (stage.workspace.parent / "outside.txt").exists()


@pytest.mark.requirement("ui:approve")
async def test_each_choice_has_its_key(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        for keys, choice in (
            (["1"], "once"),
            (["2"], "timed"),
            (["3"], "deny"),
            (["escape"], "deny"),
            (["ctrl+c"], "deny"),
            (["right", "right", "enter"], "timed"),
            (["4", "escape", "1"], "once"),
            (["4", "enter"], "deny"),
        ):
            asking = ask(me, REQUEST)
            await shown(me)
            for key in keys:
                await me.pilot.press(key)
                await me.pilot.pause()
            outcome = await asking
            assert isinstance(outcome.answer, Approval)
            assert outcome.answer.choice == choice, keys
            await me.until(lambda: panel(me) is None)


@pytest.mark.requirement("ui:stray-keys")
async def test_enter_and_typing_approve_nothing(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        asking = ask(me, REQUEST)
        found = await shown(me)
        await me.pilot.press("enter", "y", "space", "a", "enter")
        await me.pilot.click(found, offset=(3, 1))
        await me.pilot.pause()
        assert not asking.done() and panel(me) is found
        await me.pilot.click(found.query_one("#deny", Button))
        outcome = await asking
        assert outcome.answer == Approval("deny")


@pytest.mark.requirement("ui:stray-keys")
async def test_keys_in_the_first_moment_are_ignored_and_extend_it(stage: Stage) -> None:
    watch: Watch = StillApp.WATCH
    async with driven(app_over(stage, StillApp)) as me:
        await me.ready()
        asking = ask(me, REQUEST)
        await shown(me)
        await me.pilot.press("1")
        watch.time += 0.3
        await me.pilot.press("1", "escape")
        watch.time += 0.3
        await me.pilot.press("x", "1")
        await me.pilot.pause()
        assert not asking.done()
        watch.time += 0.5
        await me.pilot.press("1")
        assert (await asking).answer == Approval("once")


@pytest.mark.requirement("ui:stray-keys")
async def test_a_question_waits_until_the_person_pauses_typing(stage: Stage) -> None:
    watch = Watch()

    class Typist(QuickApp):
        PATIENCE = Patience(quiet=0.7, grace=0.0, clock=watch)

    async with driven(app_over(stage, Typist)) as me:
        await me.ready()
        await me.pilot.press("a")
        asking = ask(me, REQUEST)
        await me.until(lambda: me.app.chat.status.activity.waiting)
        await me.pilot.press("b", "1")
        assert panel(me) is None
        assert me.app.chat.prompt.area.text == "ab1"
        watch.time += 0.7
        await shown(me)
        await me.pilot.press("3")
        await asking
        await me.until(lambda: me.app.chat.prompt.area.has_focus)
        assert me.app.chat.prompt.area.text == "ab1"


@pytest.mark.requirement("ui:nothing-hidden", "ui:no-markup")
async def test_nothing_in_a_request_is_hidden_or_passes_for_our_own_words(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        asking = ask(me, REQUEST)
        found = await shown(me)
        text = words(found)
        assert "/etc/evil\\u202etxt" in text and "Creating: [b]x[/b]" in text
        lines = [line for line in text.splitlines() if line.startswith("why ")]
        assert lines == ["why     outside the workspace"]
        await me.pilot.press("3")
        await asking


@pytest.mark.requirement("ui:nothing-hidden")
async def test_what_a_wrapped_line_of_a_change_goes_on_with_passes_for_no_line_of_it(
    stage: Stage,
) -> None:
    unified = "@@ -1 +1 @@\n-old\n+" + "-removed +added @@ " * 8
    request = replace(
        REQUEST, targets=("/project/a",), preview=(Diff("/project/a", unified, 1, 1),)
    )
    async with driven(app_over(stage), (60, 30)) as me:
        await me.ready()
        asking = ask(me, request)
        found = await shown(me)
        preview = found.query_one("#preview", Static)
        rows = [strip.text for strip in preview.render_lines(preview.size.region)]
        marks = [row[:1] for row in rows if "removed" in row or "added" in row]
        assert marks == ["+", " ", " "]
        assert "".join(rows).replace(" ", "").endswith("-removed+added@@" * 8)
        await me.pilot.press("3")
        await asking


@pytest.mark.requirement("ui:approve")
async def test_without_a_timed_scope_only_once_is_offered(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        asking = ask(me, ApprovalRequest("op", "Doing", ("/x",), "why", "/"))
        found = await shown(me)
        assert [button.id for button in found.query(Button)] == ["once", "deny", "comment"]
        await me.pilot.press("2")
        await me.pilot.pause()
        assert not asking.done()
        await me.pilot.press("3")
        await asking


@pytest.mark.requirement("ui:one-at-a-time")
async def test_several_questions_come_one_at_a_time_and_are_counted(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        asking = [ask(me, REQUEST, str(n)) for n in range(3)]
        await me.until(lambda: (found := panel(me)) and "1 of 3" in str(found.border_title))
        await shown(me)
        await me.pilot.press("3")
        await me.until(lambda: (found := panel(me)) and "2 of 3" in str(found.border_title))
        asking[2].cancel()
        await me.until(lambda: (found := panel(me)) and "of 3" not in str(found.border_title))
        await shown(me)
        await me.pilot.press("1")
        await me.until(lambda: panel(me) is None)
        assert (await asking[0]).answer == Approval("deny")
        assert (await asking[1]).answer == Approval("once")


@pytest.mark.requirement("ui:alike", "guard:together")
async def test_what_is_of_one_kind_is_listed_whole_and_answered_at_once_but_nothing_that_came_later(
    stage: Stage, model: RawModel
) -> None:
    paths = [stage.workspace.parent / f"outside-{n}.txt" for n in range(3)]
    for path in paths:
        path.write_text("read me\n")
    reads = [{"operation": "read_file", "filePath": str(path)} for path in paths]
    model.answers += [calls(*(("file_operations", read) for read in reads)), [TextDelta("done")]]
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        await me.send("read them")
        await me.until(lambda: (found := panel(me)) and "a all 3" in str(found.border_title))
        found = await shown(me)
        assert "1 of 3 · a all 3 of this kind" in str(found.border_title)
        await me.pilot.press("a")
        await me.until(lambda: "These 3 calls" in words(found))
        assert all(path.name in words(found) for path in paths)
        later = ask(me, replace(REQUEST, operation="file_operations.read_file"))
        await me.until(lambda: "a all 4" in str(found.border_title))
        assert "These 3 calls" in words(found) and "evil" not in words(found)
        await me.pilot.press("c", *"only now", "enter", "enter", "2")
        await me.until(lambda: "you say only now" in words(found))
        assert panel(me) is found
        await me.pilot.press("1")
        await me.until(lambda: "You have not seen all of them" in str(found.border_subtitle))
        assert paths[2].name not in me.drawn()
        await me.pilot.press("pagedown", "pagedown")
        await me.until(lambda: paths[2].name in me.drawn())
        await me.pilot.press("1")
        await me.until(lambda: "done" in me.transcript())
        results = [m.text for m in model.seen[-1] if m.kind == "tool"]
        assert len(results) == 3 and all("read me" in text for text in results)
        made = stage.runtime.decisions.past(
            str(stage.workspace), "file_operations.read_file", limit=9
        )
        assert [(entry.decision.outcome, entry.decision.by) for entry in made] == [
            ("allow", "user")
        ] * 3
        assert not later.done()
        await shown(me)
        await me.pilot.press("3")
        assert (await later).answer == Approval("deny")


@pytest.mark.requirement("guard:together")
async def test_a_wider_yes_takes_back_the_questions_that_it_answers(
    stage: Stage, model: RawModel
) -> None:
    folder = stage.workspace.parent / "beside"
    (folder / "in").mkdir(parents=True)
    listings = [{"operation": "list_dir", "path": str(path)} for path in (folder, folder / "in")]
    model.answers += [calls(*(("file_operations", each) for each in listings)), [TextDelta("done")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("list both")
        await me.until(lambda: (found := panel(me)) and "1 of 2" in str(found.border_title))
        await shown(me)
        await me.pilot.press("2")
        await me.until(lambda: "done" in me.transcript())
        assert not me.app.chat.status.activity.waiting


@pytest.mark.requirement("ui:withdrawn")
async def test_a_withdrawn_question_is_taken_down(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        asking = ask(me, REQUEST)
        await shown(me)
        asking.cancel()
        await me.until(lambda: panel(me) is None)
        assert me.app.chat.prompt.display and not me.app.chat.status.activity.waiting


@pytest.mark.requirement("ui:keys-stay")
async def test_a_question_waits_behind_a_dialog_and_is_deaf_to_the_key_that_closed_it(
    stage: Stage,
) -> None:
    watch: Watch = StillApp.WATCH
    async with driven(app_over(stage, StillApp)) as me:
        await me.ready()
        await me.pilot.press("f1")
        await me.until(lambda: me.app.screen is not me.app.chat)
        asking = ask(me, REQUEST)
        await me.until(lambda: me.app.chat.status.activity.waiting)
        assert panel(me) is None
        await me.pilot.press("escape")
        await shown(me)
        await me.pilot.press("escape")
        await me.pilot.pause()
        assert not asking.done()
        watch.time += 1.0
        await me.pilot.press("escape")
        assert (await asking).answer == Approval("deny")


@pytest.mark.requirement("ui:approve")
def test_no_length_of_a_command_pushes_reason_and_target_away_and_foreign_letters_are_named() -> (
    None
):
    long = "true && " * 500
    host = "p\u0430ypal.example"
    request = ApprovalRequest(
        "run", f"touch wants {host} · {long}", (long, host), "it is outside", "/ws"
    )
    lines = approval_lines(request).plain.splitlines()
    kinds = ["run", "target", "why", "letters", "in", "target", "call"]
    assert [line.split()[0] for line in lines] == kinds
    assert long.strip() in lines[5] and long.strip() in lines[6], "nothing is left out"
    assert max(map(len, lines[:5])) < 200
    assert "\u0430 in p\u0430ypal is cyrillic small letter a (U+0430)" in lines[3]
    for plain in (
        "caf\u00e9.example",
        "/\u0434\u043e\u043a\u0443\u043c\u0435\u043d\u0442\u044b/x",
        "/a/b",
    ):
        assert foreign_letters(plain) == ()
    assert foreign_letters("\u0430\u0440\u0440\u04cf\u0435.com")
