"""Streaming into the pane: what is drawn, how often, and where the view stands."""

from typing import Self

import pytest
from textual.geometry import Offset, Region
from textual.selection import Selection

from sam_tui.core.messages import AssistantMessage, Message, UserMessage
from sam_tui.ui.transcript import Transcript
from tests.transcript.hosting import Host, source_text

PARAGRAPH = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi"


def lines(count: int) -> str:
    return "".join(f"line {number}\n\n" for number in range(count))


@pytest.mark.requirement("transcript:freeze-once")
async def test_two_thousand_tokens_draw_each_finished_block_once_and_the_open_one_per_frame() -> (
    None
):
    host = Host()
    async with host.run_test(size=(80, 24)):
        tokens = [f"word{n} " if n % 20 else "\n\n" for n in range(2_000)]
        frames = 0
        for number, token in enumerate(tokens):
            host.pane.stream_text(token)
            if number % 25 == 24:
                frames += host.pane.flush()
        host.pane.end_answer()
        assert frames == 80
        assert len(host.pane.ledger) == 100
        assert host.pane.draws <= 100 + frames


@pytest.mark.requirement("transcript:freeze-once")
async def test_text_that_waits_for_a_frame_costs_no_drawing() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        for _ in range(500):
            host.pane.stream_text("word ")
        assert host.pane.draws == 0
        host.pane.flush()
        assert host.pane.draws == 1


class Painted(Transcript):
    """A transcript that notes what it asks to be painted anew."""

    def __init__(self) -> None:
        super().__init__()
        self.painted: list[tuple[int, int]] = []

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        self.painted += [(region.y, region.height) for region in regions] or [(0, -1)]
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


@pytest.mark.requirement("transcript:paint-little")
async def test_a_word_that_is_added_repaints_its_row_and_no_other() -> None:
    host = Host()
    host.pane = pane = Painted()
    async with host.run_test(size=(80, 24)):
        pane.stream_text("# title\n\n" + "word " * 40)
        pane.flush()
        last = max(number for number, row in enumerate(host.seen()) if row)
        pane.painted.clear()
        pane.stream_text("more")
        pane.flush()
        assert pane.painted == [(last, 1)]


@pytest.mark.requirement("transcript:idle")
async def test_the_frame_clock_rests_while_nothing_changes() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        assert host.pane.at_rest
        host.pane.stream_text("hello")
        assert not host.pane.at_rest
        for _ in range(500):
            await pilot.pause(0.01)
            if host.pane.at_rest:
                break
        assert host.pane.at_rest
        assert "hello" in host.text()


@pytest.mark.requirement("transcript:follow")
async def test_the_view_follows_while_it_stands_at_the_end() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        for number in range(60):
            host.pane.stream_text(f"line {number}\n\n")
            host.pane.flush()
        assert "line 59" in host.text()
        assert "new line" not in host.text()


@pytest.mark.requirement("transcript:follow", "transcript:hint")
async def test_a_view_that_was_scrolled_up_stays_put_and_says_how_much_is_new() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        host.pane.stream_text(lines(60))
        host.pane.flush()
        await pilot.press("pageup", "up")
        before = host.seen()
        host.pane.stream_text(lines(10))
        host.pane.flush()
        after = host.seen()
        assert after[:-1] == before[:-1]
        assert "↓ 20 new lines" in after[-1]
        await pilot.press("end")
        assert "new line" not in host.text()
        assert "line 9" in host.text()
        host.pane.stream_text("the last")
        host.pane.flush()
        assert "the last" in host.text()


@pytest.mark.requirement("transcript:hint")
async def test_a_click_on_the_marker_leads_to_the_end() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        host.pane.stream_text(lines(60))
        host.pane.flush()
        await pilot.press("home")
        host.pane.stream_text("the end\n\n")
        host.pane.flush()
        await pilot.click(host.pane, offset=(74, host.pane.size.height - 1))
        assert "the end" in host.text()
        assert host.pane.following


@pytest.mark.requirement("transcript:void")
async def test_a_void_step_takes_back_what_it_streamed_and_nothing_else() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        host.pane.add_user("question")
        host.pane.begin_step()
        host.pane.stream_reasoning("hmm")
        host.pane.stream_text("half an ans")
        host.pane.flush()
        host.pane.add_notice("warning", "trying again in 2 s")
        assert "half an ans" in host.text()
        host.pane.void_step()
        assert "half" not in host.text()
        assert "thinking" not in host.text()
        assert "question" in host.text()
        assert "trying again" in host.text()
        host.pane.begin_step()
        host.pane.stream_text("whole answer")
        host.pane.end_answer()
        assert source_text(host.pane) == "> question\n\ntrying again in 2 s\n\nwhole answer\n"


@pytest.mark.requirement("transcript:order")
async def test_a_notice_amid_an_answer_stands_below_it_and_the_answer_goes_on_above() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        host.pane.stream_text("first part")
        host.pane.flush()
        host.pane.add_notice("info", "a notice")
        host.pane.stream_text(" goes on\n\nsecond part")
        host.pane.flush()
        rows = [row.strip() for row in host.seen() if row.strip()]
        assert rows == ["first part goes on", "second part", "· a notice"]


@pytest.mark.requirement("transcript:long-fence")
async def test_an_open_code_block_of_two_thousand_lines_is_drawn_line_by_line() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        host.pane.stream_text("```python\n")
        for number in range(2_000):
            host.pane.stream_text(f"value_{number} = {number}\n")
            if number % 10 == 9:
                host.pane.flush()
        host.pane.stream_text("```\n")
        host.pane.end_answer()
        assert host.pane.draws <= 2 * 200 + 25
        rows = host.everything()
        assert rows[:3] == ["", "  python", "   value_0 = 0"]
        assert len(rows) == 2_002


@pytest.mark.requirement("transcript:load")
async def test_opening_a_long_conversation_draws_only_what_is_seen() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        messages: list[Message] = []
        for number in range(250):
            messages.append(UserMessage(f"question {number}"))
            messages.append(AssistantMessage(f"answer {number}\n\n- a\n- b\n\n" + PARAGRAPH * 3))
        host.pane.load(messages)
        await pilot.pause()
        assert "answer 249" in host.text()
        assert host.pane.draws <= 24
        await pilot.press("home")
        assert host.seen()[1].strip() == "▌ question 0"
        assert host.pane.draws <= 60


@pytest.mark.requirement("transcript:scroll-walk")
async def test_scrolling_up_through_unmeasured_history_skips_no_row() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        messages: list[Message] = [
            AssistantMessage(f"a{n}\n\n" + PARAGRAPH * (n % 7)) for n in range(40)
        ]
        host.pane.load(messages)
        await pilot.pause()
        seen = host.seen()
        for _ in range(1_000):
            if host.pane.scroll_offset.y == 0:
                break
            host.pane.move(-1)
            now = host.seen()
            assert now[1:] == seen[:-1] or "new" in now[-1]
            seen = now
        assert host.pane.scroll_offset.y == 0
        assert "a0" in seen[1]


@pytest.mark.requirement("transcript:resize")
async def test_the_line_at_the_top_stays_at_the_top_when_the_width_changes() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        for number in range(40):
            host.pane.stream_text(f"mark{number} {PARAGRAPH} {PARAGRAPH}\n\n")
        host.pane.end_answer()
        await pilot.press("home", *["pagedown"] * 3)
        top = next(row for row in host.seen() if "mark" in row).split()[0]
        place = [top in row for row in host.seen()].index(True)
        await pilot.resize_terminal(50, 24)
        await pilot.pause()
        assert any(top in row for row in host.seen()[: place + 3])
        await pilot.resize_terminal(120, 30)
        await pilot.pause()
        assert any(top in row for row in host.seen()[: place + 3])
        assert not host.pane.following


@pytest.mark.requirement("transcript:resize")
async def test_a_view_at_the_end_stays_there_when_its_size_changes() -> None:
    host = Host()
    async with host.run_test(size=(200, 50)) as pilot:
        host.pane.stream_text(lines(80) + PARAGRAPH * 4 + " END")
        host.pane.end_answer()
        for size in ((80, 24), (40, 10), (200, 50)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert "END" in host.text()
            assert all(len(row) <= size[0] for row in host.seen())


@pytest.mark.requirement("transcript:hostile")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[bold]x[/]", "[bold]x[/]"),
        ("[/nope]", "[/nope]"),
        ("a\x1b[2Jb", "a␛[2Jb"),
        ("a\x9b2Jb", "a\ufffd2Jb"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\u200bb\u3164\u2062.py", "a⟨U+200B⟩b⟨U+3164⟩⟨U+2062⟩.py"),
        ("a\x07b\x00", "a␇b␀"),
        ("\ud800x", "\ufffdx"),
    ],
)
async def test_hostile_text_is_shown_and_never_obeyed(text: str, shown: str) -> None:
    host = Host()
    async with host.run_test(size=(80, 40)):
        pane = host.pane
        pane.add_user(text)
        pane.stream_reasoning(text)
        pane.stream_text(text)
        pane.end_answer()
        pane.add_notice("error", text)
        pane.add_reminder(text, text)
        pane.toggle_block(len(pane.ledger) - 1)
        pane.add_decision(text, allowed=False)
        rows = [row for row in host.seen() if shown in row]
        assert len(rows) == 6, host.seen()
        assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for row in host.seen() for c in row)


@pytest.mark.requirement("transcript:selection")
async def test_a_selection_joins_soft_wraps_and_leaves_gutters_out() -> None:
    host = Host()
    async with host.run_test(size=(50, 24)) as pilot:
        host.pane.stream_text(f"{PARAGRAPH}\n\n- one\n- two\n\n```python\nx = 1\n```\n\n> quoted\n")
        host.pane.end_answer()
        await pilot.pause()
        rows = host.seen()
        last = max(number for number, row in enumerate(rows) if row)
        first = next(number for number, row in enumerate(rows) if row)
        await pilot.mouse_down(host.pane, offset=(0, first))
        await pilot.hover(host.pane, offset=(40, last))
        await pilot.mouse_up(host.pane, offset=(40, last))
        await pilot.pause()
        assert host.screen.get_selected_text() == (
            f"{PARAGRAPH}\n\n- one\n- two\n\nx = 1\n\n> quoted"
        )


@pytest.mark.requirement("transcript:selection")
async def test_a_selection_within_a_line_gives_its_characters_and_shows_them_selected() -> None:
    host = Host()
    async with host.run_test(size=(50, 24)) as pilot:
        host.pane.stream_text("日本 alpha beta")
        host.pane.end_answer()
        await pilot.pause()
        await pilot.mouse_down(host.pane, offset=(7, 1))
        await pilot.hover(host.pane, offset=(11, 1))
        await pilot.mouse_up(host.pane, offset=(11, 1))
        await pilot.pause()
        assert host.screen.get_selected_text() == "alpha"
        style = host.screen.get_component_rich_style("screen--selection")
        strip = host.pane.render_lines(host.pane.size.region)[1]
        chosen = [s.text for s in strip if s.style is not None and s.style.bgcolor == style.bgcolor]
        assert "".join(chosen) == "alpha"


@pytest.mark.requirement("transcript:selection")
async def test_a_selection_of_all_holds_what_was_never_drawn() -> None:
    host = Host()
    async with host.run_test(size=(50, 24)) as pilot:
        host.pane.load([AssistantMessage(f"answer **{number}**") for number in range(100)])
        await pilot.pause()
        host.screen.selections = {host.pane: Selection(None, None)}
        text = host.screen.get_selected_text() or ""
        assert "answer **50**" in text
        assert text.endswith("answer 99")
        assert host.pane.draws < 60


@pytest.mark.requirement("transcript:selection")
async def test_a_selection_names_the_same_text_after_things_above_it_grew() -> None:
    host = Host()
    async with host.run_test(size=(50, 24)) as pilot:
        host.pane.add_reminder("tasks", "a\nb\nc\nd")
        host.pane.stream_text("alpha beta")
        host.pane.end_answer()
        await pilot.pause()
        order = host.pane.ledger[1].order
        place = order << 20
        host.screen.selections = {host.pane: Selection(Offset(2, place), Offset(7, place))}
        assert host.screen.get_selected_text() == "alpha"
        host.pane.toggle_block(0)
        assert host.screen.get_selected_text() == "alpha"


@pytest.mark.requirement("transcript:memory")
async def test_rows_of_blocks_long_gone_are_forgotten_and_drawn_again_when_seen() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        for number in range(2_400):
            host.pane.add_notice("info", f"notice {number}")
        assert sum(map(host.pane.is_kept, host.pane.ledger)) <= 2_000
        await pilot.press("home")
        assert "notice 0" in host.text()
