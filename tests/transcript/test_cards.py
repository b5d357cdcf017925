"""Tool calls, reasoning, reminders: cards that fold, and what the keyboard does with them."""

import re
from pathlib import Path

import pytest

from sam_tui.core.display import Diff, Display, Table, Terminal, Text, Todos
from sam_tui.core.events import ToolFinished
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from sam_tui.core.todos.item import Todo
from sam_tui.ui.transcript import Transcript
from sam_tui.ui.transcript.blocks import past_tense
from tests.transcript.hosting import Host, source_text

CALL = CallId("call_1")


def finished(
    *display: Display,
    ok: bool = True,
    call: CallId = CALL,
    text: str = "",
    summary: str = "Doing: it",
) -> ToolFinished:
    conversation = ConversationId("c")
    return ToolFinished(conversation, call, "tool.run", summary, ok, text, display, 1.25)


def start(host: Host, arguments: str = "{}") -> None:
    host.pane.start_tool(CALL, "tool.run", "Doing: it", arguments)


@pytest.mark.requirement("transcript:card-running")
async def test_a_running_call_shows_the_last_lines_of_its_output() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        start(host)
        for number in range(9):
            host.pane.tool_output(CALL, f"out {number}\n")
        host.pane.flush()
        rows = [row.strip() for row in host.seen() if row.strip()]
        assert rows[1:] == [f"out {n}" for n in range(9)], (
            "no line is left out for a line that says so"
        )
        for number in range(9, 30):
            host.pane.tool_output(CALL, f"out {number}\n")
        host.pane.flush()
        rows = [row.strip() for row in host.seen() if row.strip()]
        assert rows == ["● Doing: it ▸", "… 22 lines above", *[f"out {n}" for n in range(22, 30)]]


@pytest.mark.requirement("transcript:card-terminal")
async def test_a_finished_command_has_its_exit_code_its_time_and_its_last_lines() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        start(host)
        host.pane.tool_output(CALL, "live\n")
        output = "\x1b[31mone\x1b[0m\n10%\r100%\nthree\nfour\nfive\n"
        host.pane.finish_tool(finished(Terminal("make test", output, 2, 1.25), ok=False))
        rows = [row.strip() for row in host.seen() if row.strip()]
        assert rows == ["✗ Doing: it  exit 2  1.2s ▸", "… 2 lines above", "three", "four", "five"]
        await pilot.press("tab", "enter")
        rows = [row.strip("▎ ") for row in host.seen() if row.strip("▎ ")]
        assert rows[1:] == ["$ make test", "one", "100%", "three", "four", "five"]
        await pilot.press("enter")
        assert len([row for row in host.seen() if row.strip("▎ ")]) == 1


@pytest.mark.requirement("transcript:card-diff")
async def test_a_diff_is_shown_with_numbers_and_signs_up_to_twenty_lines() -> None:
    host = Host()
    async with host.run_test(size=(80, 40)) as pilot:
        unified = "@@ -7,2 +7,40 @@ def f\n context\n-old\n" + "".join(
            f"+new {n}\n" for n in range(38)
        )
        host.pane.finish_tool(finished(Diff("a/b.py", unified, 38, 1)))
        rows = [row.strip() for row in host.seen() if row.strip()]
        assert rows[:6] == [
            "✓ Doing: it  1.2s ▸", "a/b.py  +38 -1", "⋯ def f", "7   context", "8 - old",
            "8 + new 0",
        ]  # fmt: skip
        assert rows[-1] == "… 21 more lines"
        await pilot.press("tab", "enter")
        assert len([row for row in host.everything() if "+ new" in row]) == 38


@pytest.mark.requirement("transcript:card-diff")
async def test_what_is_left_out_above_a_change_is_marked_only_where_something_is() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        host.pane.finish_tool(finished(Diff("new", "@@ -0,0 +1 @@\n+one\n", 1, 0)))
        assert not [row for row in host.seen() if "⋯" in row]
        host.pane.finish_tool(finished(Diff("old", "@@ -4,2 +4 @@\n four\n-five\n", 0, 1)))
        assert len([row for row in host.seen() if "⋯" in row]) == 1


@pytest.mark.requirement("transcript:card-diff")
async def test_a_diff_tells_removed_from_added_by_colour_as_well() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        host.pane.finish_tool(finished(Diff("f", "@@ -1 +1 @@\n-a\n+b\n", 1, 1)))
        palette = host.pane.palette
        strips = [row.strip for row in host.pane.rows_of(0)]
        styles = {s.text.strip(): s.style for strip in strips for s in strip}
        assert styles["a"] == palette.removed
        assert styles["b"] == palette.added
        assert palette.added.bgcolor != palette.removed.bgcolor


@pytest.mark.requirement("transcript:card-text")
async def test_text_stays_folded_unless_the_call_failed() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        host.pane.finish_tool(finished(Text("the content"), call=CallId("a")))
        assert "the content" not in host.text()
        host.pane.finish_tool(finished(ok=False, call=CallId("b"), text="no such file"))
        assert "no such file" in host.text()
        assert "✗ Doing: it" in host.text()


@pytest.mark.requirement("transcript:card-unstarted")
async def test_a_refused_call_that_never_started_has_a_finished_card() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        host.pane.finish_tool(finished(ok=False, text="denied by you"))
        assert len(host.pane.ledger) == 1
        assert "denied by you" in host.text()


@pytest.mark.requirement("transcript:card-past")
async def test_what_is_done_is_told_in_the_past_and_nothing_else_is() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        for state in ("reads", "fails", "goes on"):
            call, output = CallId(state), Terminal("sleep", "", None, 0.0, running=True)
            host.pane.start_tool(call, "tool.run", "Reading: a.py", "{}")
            shown = (output,) if state == "goes on" else ()
            summary, ok = "Reading: a.py", state != "fails"
            host.pane.finish_tool(finished(*shown, call=call, summary=summary, ok=ok))
        host.pane.start_tool(CALL, "tool.run", "Reading: a.py", "{}")
        rows = [row.split("  1.2s")[0].strip() for row in host.seen() if row.strip()]
        assert rows == [
            "✓ Read: a.py", "✗ Reading: a.py", "✓ Reading: a.py  in the background",
            "● Reading: a.py ▸",
        ]  # fmt: skip
    assert past_tense("String: theory") == "String: theory"
    assert past_tense("") == ""
    assert past_tense("Multi-edit: a.py") == "Edited: a.py"
    tools = Path(__file__).parents[2] / "tools" / "sam_tools"
    summary = re.compile(r'(?:lambda \w+: |return )f?"([A-Z][a-z]+ing)\b')
    verbs = {verb for path in tools.rglob("*.py") for verb in summary.findall(path.read_text())}
    assert len(verbs) > 20
    assert [verb for verb in verbs if past_tense(verb) == verb] == []


@pytest.mark.requirement("transcript:card-todos")
async def test_todos_show_what_is_being_done_and_tables_are_open() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        items = (
            Todo(1, "first", status="completed"),
            Todo(2, "second", status="in-progress"),
            Todo(3, "third", status="blocked", blocked_reason="waits"),
        )
        table = Table(("name", "size"), (("a", "1"), ("[b]", "22")))
        host.pane.finish_tool(finished(Todos(items), table))
        rows = [row.strip() for row in host.seen() if row.strip()]
        assert rows[1:] == [
            "1 of 3 done", "◐ second", "✗ third  waits",
            "name │ size", "─────┼─────", "a    │ 1", "[b]  │ 22",
        ]  # fmt: skip
        host.pane.toggle_block(0)
        host.pane.flush()
        assert "✓ first" in host.text()


@pytest.mark.requirement("transcript:parallel")
async def test_calls_that_run_side_by_side_keep_their_own_cards() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        for name in ("one", "two"):
            host.pane.start_tool(CallId(name), "tool.run", f"Doing: {name}", "{}")
        host.pane.tool_output(CallId("one"), "from one\n")
        host.pane.flush()
        host.pane.finish_tool(finished(Text("x"), call=CallId("two"), summary="Did: two"))
        rows = [row.strip() for row in host.seen() if row.strip()]
        assert rows == ["● Doing: one ▸", "from one", "✓ Did: two  1.2s ▸"]


@pytest.mark.requirement("transcript:reasoning")
async def test_reasoning_is_shown_while_it_lasts_and_folds_to_a_line_with_a_count() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        host.pane.stream_reasoning("first I look, ")
        host.pane.stream_reasoning("then I think")
        host.pane.flush()
        assert "│ first I look, then I think" in host.text()
        host.pane.stream_text("answer")
        host.pane.flush()
        rows = [row.strip() for row in host.seen() if row.strip()]
        assert rows == ["∴ thought · 6 words ▸", "answer"]
        await pilot.press("tab", "enter")
        assert "│ first I look" in host.text()


@pytest.mark.requirement("transcript:reminder")
async def test_a_reminder_is_one_line_until_it_is_opened() -> None:
    host = Host()
    async with host.run_test(size=(60, 24)) as pilot:
        host.pane.add_reminder("todo", "line one\n" + "word " * 100)
        rows = [row for row in host.seen() if row.strip()]
        assert len(rows) == 1
        assert rows[0].strip() == "↻ 1 ▸"
        await pilot.click(host.pane, offset=(5, host.seen().index(rows[0])))
        assert len([row for row in host.seen() if row.strip()]) > 5
        assert [type(m).__name__ for m in host.messages] == ["CardToggled"]


@pytest.mark.requirement("transcript:decision")
async def test_a_decision_is_told_by_a_sign() -> None:
    host = Host()
    async with host.run_test(size=(60, 24)):
        host.pane.add_decision("allowed once by you: /etc/x", allowed=True)
        host.pane.add_decision("denied by rule: /root", allowed=False)
        host.pane.add_decision("You changed what it would write", allowed=None)
        rows = [row.strip() for row in host.seen() if row.strip()]
        assert rows == [
            "✓ allowed once by you: /etc/x", "✗ denied by rule: /root",
            "· You changed what it would write",
        ]  # fmt: skip


@pytest.mark.requirement("transcript:toggle-steady")
async def test_opening_a_card_leaves_its_head_where_it_is() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        for number in range(30):
            call = CallId(str(number))
            text = Text("\n".join(f"row {n}" for n in range(15)))
            host.pane.finish_tool(finished(text, call=call, summary=f"card {number}"))
        await pilot.pause()
        row = next(n for n, line in enumerate(host.seen()) if "card 15 " in line)
        await pilot.click(host.pane, offset=(5, row))
        assert "card 15 " in host.seen()[row]
        assert "row 0" in host.seen()[row + 1]
        await pilot.click(host.pane, offset=(5, row))
        assert "card 15 " in host.seen()[row]
        assert "card 16 " in host.seen()[row + 1]


@pytest.mark.requirement("transcript:cursor")
async def test_the_cursor_walks_the_blocks_and_lets_go_of_the_key_behind_the_last() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        host.pane.add_user("question")
        host.pane.stream_text("para one\n\npara two\n\npara three")
        host.pane.end_answer()
        await pilot.press("tab")
        assert [row.strip() for row in host.seen() if row.startswith("▎")] == ["▎ ▌ question"]
        await pilot.press("tab")
        assert [row[:8] for row in host.seen() if row.startswith("▎")] == [
            "▎ para o",
            "▎ para t",
            "▎ para t",
        ]
        await pilot.press("tab")
        assert not host.pane.has_focus
        assert not any(row.startswith("▎") for row in host.seen())


@pytest.mark.requirement("transcript:copy-block")
async def test_alt_c_copies_the_source_of_the_block_under_the_cursor() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        host.pane.stream_text("para **one**\n\n```py\nx\n```\n")
        host.pane.end_answer()
        await pilot.press("tab", "alt+c")
        assert host.clipboard == "para **one**\n\n```py\nx\n```\n"
        assert [type(m).__name__ for m in host.messages] == ["BlockCopied"]


@pytest.mark.requirement("transcript:load")
async def test_a_stored_conversation_shows_calls_with_their_results() -> None:
    host = Host()
    async with host.run_test(size=(80, 30)) as pilot:
        calls = (ToolCall(CallId("a"), "read", '{"p": 1}'), ToolCall(CallId("b"), "write", "{}"))
        messages = [
            UserMessage("do it"),
            ReminderMessage("todos", "none"),
            AssistantMessage("I will.", "thinking hard", calls),
            ToolMessage(CallId("a"), "read", "content", ok=True),
            AssistantMessage("Done."),
        ]
        host.pane.load(messages)
        await pilot.pause()
        rows = [row.strip() for row in host.seen() if row.strip()]
        assert rows == [
            "▌ do it", "↻ 1 ▸", "∴ thought · 2 words ▸", "I will.", '✓ read {"p": 1} ▸',
            "○ write {}  no result ▸", "Done.",
        ]  # fmt: skip
        assert source_text(host.pane).startswith(
            "> do it\n\n[todos] none\n\nthinking hard\n\nI will.\n"
        )


@pytest.mark.requirement("transcript:clear")
async def test_clear_leaves_nothing_and_the_pane_goes_on() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        host.pane.stream_text("old text")
        host.pane.flush()
        host.pane.clear()
        await pilot.pause()
        assert host.text().strip() == ""
        assert source_text(host.pane) == ""
        host.pane.stream_text("new text")
        host.pane.end_answer()
        assert "new text" in host.text()


@pytest.mark.requirement("transcript:reminder")
async def test_reminders_that_stand_together_are_one_line_live_and_stored() -> None:
    host = Host()
    async with host.run_test(size=(60, 24)) as pilot:
        host.pane.add_user("go")
        host.pane.add_reminder("user_context", "a day")
        host.pane.add_reminder("todo_list", "a list")
        await pilot.pause()
        rows = [row.strip() for row in host.seen() if row.strip()]
        assert rows == ["▌ go", "↻ 2 ▸"]
        host.pane.load([
            ReminderMessage("user_context", "a day"),
            ReminderMessage("todo_list", "a list"),
            UserMessage("go"),
        ])
        await pilot.pause()
        assert [row.strip() for row in host.seen() if row.strip()] == rows
        row = next(n for n, line in enumerate(host.seen()) if "↻" in line)
        await pilot.click(host.pane, offset=(5, row))
        assert "↻ user_context, todo_list ▾" in host.text()
        assert "a day" in host.text() and "a list" in host.text()


@pytest.mark.requirement("transcript:long-prompt")
async def test_a_long_prompt_folds_to_its_head_and_opens_by_key_and_click() -> None:
    text = "\n".join(f"line {n}" for n in range(5000))
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        host.pane.add_user(text)
        rows = [row.strip() for row in host.everything() if row]
        assert (rows[0], rows[9]) == ("▌ line 0", "▌ line 9")
        assert rows[10:] == ["… 4990 more lines"]
        await pilot.press("tab", "enter")
        assert host.everything()[-1].endswith("line 4999")
        await pilot.press("enter")
        assert "more lines" in host.text()
        at = next(y for y, row in enumerate(host.seen()) if "more lines" in row)
        await pilot.click(Transcript, offset=(5, at))
        assert host.everything()[-1].endswith("line 4999")
        assert source_text(host.pane).count("> line") == 5000
        host.pane.clear()
        host.pane.add_user("x" * 100_000)
        assert host.everything()[-1].strip() == "… 99000 more characters"
        host.pane.clear()
        host.pane.add_user("\n".join("short" for _ in range(24)))
        assert "more" not in host.text()
