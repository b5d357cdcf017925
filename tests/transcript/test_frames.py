"""Frames of a streamed answer: when the first one comes, and which rows stay as they are."""

import asyncio

import pytest

from sam_tui.ui.transcript.splitter import CHUNK
from tests.transcript.hosting import Host


@pytest.mark.requirement("transcript:freeze-once")
async def test_rows_of_the_open_block_that_look_as_before_stay_the_same_ones() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        host.pane.stream_text("word " * 40)
        host.pane.flush()
        before = host.pane.rows_of(0)
        host.pane.stream_text("more " * 20)
        host.pane.flush()
        after = host.pane.rows_of(0)
        assert after[: len(before) - 1] == before[:-1]
        assert all(new is old for new, old in zip(after, before[:-1], strict=False))


@pytest.mark.requirement("transcript:long-fence")
async def test_code_that_makes_a_piece_is_not_drawn_again_for_it() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)):
        host.pane.stream_text("```python\n" + "value = 1\n" * (CHUNK - 1))
        host.pane.flush()
        before = host.pane.rows_of(0)
        host.pane.stream_text("value = 2\nvalue = 3\n")
        host.pane.flush()
        assert len(host.pane.ledger) == 2
        kept = host.pane.rows_of(0)[: len(before) - 1]
        assert all(new is old for new, old in zip(kept, before[:-1], strict=True))
        assert host.pane.rows_of(1)[0].text.strip() == "value = 3"


@pytest.mark.requirement("transcript:first-at-once")
async def test_the_first_piece_is_drawn_at_once() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        host.pane.stream_text("hello")
        for _ in range(20):
            await asyncio.sleep(0)
        assert "hello" in host.text()


@pytest.mark.requirement("transcript:first-at-once")
async def test_what_came_before_the_pane_is_drawn_with_it() -> None:
    host = Host()
    host.pane.stream_text("early")
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.pause()
        assert "early" in host.text()
