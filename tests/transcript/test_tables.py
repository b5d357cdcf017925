"""Large tables: their first rows, the count of the others, and how these open."""

import pytest

from sam_tui.ui.transcript.render.table import SAMPLE
from sam_tui.ui.transcript.search import TranscriptSearch
from tests.transcript.hosting import Host, source_text

HEAD = "| name | value |\n|:--|--:|\n"


def table(rows: int) -> str:
    return HEAD + "".join(f"| row {n:03} | {n * 1000:06} |\n" for n in range(rows))


@pytest.mark.requirement("transcript:long-table")
async def test_a_large_table_folds_while_it_comes_and_opens_by_key() -> None:
    host = Host()
    async with host.run_test(size=(80, 60)) as pilot:
        for start in range(0, len(table(200)), 500):
            host.pane.stream_text(table(200)[start : start + 500])
            host.pane.flush()
        rows = [row.strip() for row in host.everything() if row.strip()]
        assert len(rows) == 2 + SAMPLE + 1
        assert rows[-1].startswith("… 17") and rows[-1].endswith(" more rows")
        host.pane.stream_text("\nThe end.\n")
        host.pane.end_answer()
        rows = [row.strip() for row in host.everything() if row.strip()]
        assert rows[-2:] == [f"… {200 - SAMPLE} more rows", "The end."]
        await pilot.press("tab", "enter")
        rows = [row.strip() for row in host.everything() if row.strip()]
        assert rows[-2].split() == ["row", "199", "│", "199000"]
        assert len(rows) == 2 + 200 + 1
        await pilot.press("enter")
        assert len([row for row in host.everything() if row.strip()]) == 2 + SAMPLE + 2
        assert source_text(host.pane).count("| row ") == 200


@pytest.mark.requirement("transcript:long-table")
async def test_an_open_table_stays_open_while_rows_come() -> None:
    host = Host()
    async with host.run_test(size=(80, 60)) as pilot:
        host.pane.stream_text(table(100))
        host.pane.flush()
        await pilot.press("tab", "enter")
        host.pane.stream_text("| last | 1 |\n")
        host.pane.flush()
        rows = [row.split() for row in host.everything() if row.strip()]
        assert rows[-1] == ["last", "│", "1"]


@pytest.mark.requirement("transcript:long-table")
async def test_the_count_of_rows_opens_them_on_a_click_and_search_opens_them_too() -> None:
    host = Host()
    async with host.run_test(size=(80, 60)) as pilot:
        host.pane.stream_text(table(45))
        host.pane.end_answer()
        await pilot.pause()
        place = next(y for y, row in enumerate(host.seen()) if "more rows" in row)
        await pilot.click(host.pane, offset=(6, place))
        assert "row 044" in host.text()
        await pilot.click(host.pane, offset=(6, 1))
        await pilot.press("enter")
        assert "row 044" not in host.text()
        assert TranscriptSearch(host.pane).look_for("row 044") == (1, 1)
        assert "row 044" in host.text()


@pytest.mark.requirement("transcript:long-table")
async def test_a_few_rows_more_than_are_shown_do_not_fold() -> None:
    host = Host()
    async with host.run_test(size=(80, 60)) as pilot:
        host.pane.stream_text(table(SAMPLE + 12))
        host.pane.end_answer()
        await pilot.pause()
        assert f"row {SAMPLE + 11:03}" in host.text()
