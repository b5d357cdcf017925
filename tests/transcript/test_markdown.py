"""Cutting and drawing Markdown: parts look like the whole."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.color import Color

from sam_tui.ui.transcript.blocks import Block, CodeContent, Markdown, Piece, TableRows, plain
from sam_tui.ui.transcript.render.code import Highlighter
from sam_tui.ui.transcript.render.content import draw
from sam_tui.ui.transcript.render.palette import make_palette
from sam_tui.ui.transcript.render.rows import Canvas, margin, wrap
from sam_tui.ui.transcript.render.safe_text import clean
from sam_tui.ui.transcript.splitter import LONGEST, MOST_ROWS, Splitter, split

PALETTE = make_palette(Color.parse("white"), Color.parse("black"), {}, dark=True)
WIDTH = 60


def rows_of(pieces: list[Piece], width: int = WIDTH) -> list[str]:
    """All rows, of large tables too."""
    rows: list[str] = []
    for piece in pieces:
        rows += [""] * piece.gap
        drawn = draw(Block(1, 1, piece.content, piece.gap, expanded=True), width, PALETTE)
        rows += [row.text.rstrip() for row in drawn]
    return rows


def whole(source: str, width: int = WIDTH) -> list[str]:
    """The document drawn at once, without a cut."""
    if not source.strip():
        return []
    drawn = draw(Block(1, 1, Markdown(source), 1), width, PALETTE)
    return ["", *[row.text.rstrip() for row in drawn]]


def streamed(source: str, cuts: list[int]) -> list[Piece]:
    splitter = Splitter()
    pieces: list[Piece] = []
    places = [0, *sorted(cut % (len(source) + 1) for cut in cuts), len(source)]
    for start, end in pairwise(places):
        pieces += splitter.feed(source[start:end])
        splitter.open_piece()
    return pieces + splitter.finish()


WORD = st.sampled_from([
    "alpha",
    "beta",
    "**bold**",
    "`code`",
    "*it*",
    "x",
    "日本",
    "a_b",
    "1.",
    "#",
])
LINE = st.lists(WORD, min_size=1, max_size=14).map(" ".join)
PARAGRAPH = st.lists(LINE, min_size=1, max_size=3).map("\n".join)
CODE_LINE = st.sampled_from(["", "x = 1", "    y()", "# not a heading", "- no item"])


@st.composite
def headings(draw_value: st.DrawFn) -> str:
    return "#" * draw_value(st.integers(1, 4)) + " " + draw_value(LINE)


@st.composite
def fences(draw_value: st.DrawFn) -> str:
    mark = draw_value(st.sampled_from(["```", "~~~", "````"]))
    language = draw_value(st.sampled_from(["", "python", "nosuch"]))
    return "\n".join([mark + language, *draw_value(st.lists(CODE_LINE, max_size=6)), mark])


@st.composite
def tables(draw_value: st.DrawFn) -> str:
    rows = draw_value(st.lists(st.tuples(WORD, WORD), max_size=30))
    return "\n".join(["| a | b |", "|---|--:|", *[f"| {x} | {y} |" for x, y in rows]])


@st.composite
def lists(draw_value: st.DrawFn, depth: int = 0) -> str:
    """A list with tight and loose items, nested lists and paragraphs inside."""
    ordered = draw_value(st.booleans())
    start = draw_value(st.integers(0, 12))
    lines: list[str] = []
    for count in range(draw_value(st.integers(1, 4))):
        mark = f"{start + count}. " if ordered else "- "
        lines.append(mark + draw_value(LINE))
        inner: list[str] = []
        kind = draw_value(st.integers(0, 4))
        if kind == 1:
            inner = ["", *draw_value(PARAGRAPH).split("\n")]
        elif kind == 2 and depth < 2:
            inner = draw_value(lists(depth + 1)).split("\n")
        elif kind == 3:
            inner = ["", *draw_value(fences()).split("\n")]
        lines += [" " * len(mark) + line if line else "" for line in inner]
        if draw_value(st.booleans()):
            lines.append("")
    return "\n".join(lines).rstrip("\n")


QUOTE = st.one_of(PARAGRAPH, lists()).map(lambda t: "\n".join(f"> {x}" for x in t.split("\n")))
BLOCK = st.one_of(PARAGRAPH, headings(), fences(), tables(), lists(), QUOTE, st.just("---"))
DOCUMENT = st.lists(BLOCK, max_size=6).map("\n\n".join)


@pytest.mark.requirement("transcript:cut-anywhere")
@settings(max_examples=80, deadline=None)
@given(DOCUMENT, st.lists(st.integers(0, 10_000), max_size=12))
@example("1. a\n\n2. b\n\n   c\n3. d", [3, 5, 9])
@example("- a\n- b\n\n\n- c\n* d", [6])
def test_however_markdown_is_delivered_it_looks_like_the_document_drawn_at_once(
    source: str, cuts: list[int]
) -> None:
    expected = whole(source)
    assert rows_of(split(source)) == expected
    assert rows_of(streamed(source, cuts)) == expected


@pytest.mark.requirement("transcript:cut-anywhere")
@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet="ab \n\n`~>-*#|1.\t[]()_!<&\\", max_size=200), st.lists(st.integers(0, 300))
)
def test_delivery_never_changes_what_arbitrary_text_looks_like(
    source: str, cuts: list[int]
) -> None:
    assert rows_of(streamed(source, cuts)) == rows_of(split(source))


@pytest.mark.requirement("transcript:ordered-numbers")
def test_an_ordered_list_keeps_counting_across_cuts() -> None:
    source = "".join("1. item\n" for _ in range(12)) + "\nend\n"
    splitter = Splitter()
    pieces = [piece for line in source.splitlines(keepends=True) for piece in splitter.feed(line)]
    assert len(pieces) == 12
    rows = rows_of(pieces + splitter.finish())
    assert rows[1:13] == [f"  {n}. item" for n in range(1, 13)]
    assert rows[13:] == ["", "  end"]


@pytest.mark.requirement("transcript:diff-words")
def test_the_last_line_of_a_diff_in_a_fence_has_its_colour_also_while_it_is_open() -> None:
    colours = Highlighter("diff", PALETTE)
    assert colours.peek("+ open") == [("+ open", PALETTE.added)]
    assert colours.feed("- old\n+ new") == [
        [("- old", PALETTE.removed)],
        [("+ new", PALETTE.added)],
    ]


@pytest.mark.requirement("transcript:fence-blank-lines")
def test_blank_lines_inside_a_fence_cut_nothing() -> None:
    source = "```python\na = 1\n\nb = 2\n\n- c\n```\nafter\n"
    pieces = streamed(source, [12, 17, 25])
    assert [type(piece.content) for piece in pieces] == [CodeContent, Markdown]
    assert rows_of(pieces) == [
        "",
        "  python",
        "   a = 1",
        "",
        "   b = 2",
        "",
        "   - c",
        "",
        "  after",
    ]


@pytest.mark.requirement("transcript:long-fence")
def test_lines_of_an_open_fence_are_finished_while_it_is_open() -> None:
    splitter = Splitter()
    pieces = splitter.feed("```\n" + "line\n" * 2_000)
    assert (
        sum(len(p.content.text.split("\n")) for p in pieces if isinstance(p.content, CodeContent))
        == 2_000
    )
    assert (
        splitter.open_piece() is None or len(rows_of([p for p in [splitter.open_piece()] if p])) < 3
    )


@pytest.mark.requirement("transcript:long-table")
def test_rows_of_a_long_table_stand_in_steady_columns() -> None:
    head = "| name | value |\n|:--|--:|\n"
    source = head + "".join(f"| row {n} | {n * 1000} |\n" for n in range(100))
    splitter = Splitter()
    pieces = splitter.feed(source)
    assert all(isinstance(piece.content, TableRows) for piece in pieces)
    rows = rows_of(pieces + splitter.finish())
    assert len(rows) == 1 + 2 + 100
    assert rows == whole(source)
    assert {row.index("│") for row in rows[3:]} == {rows[1].index("│")}


@pytest.mark.requirement("transcript:long-table")
def test_a_burst_of_rows_is_cut_into_pieces() -> None:
    head = "| name | value |\n|:--|--:|\n"
    source = head + "".join(f"| row {n} | {n * 1000} |\n" for n in range(5_000))
    pieces = Splitter().feed(source + "\nThe end.\n\n")
    sizes = [
        piece.content.rows.count("\n") + 1
        for piece in pieces
        if isinstance(piece.content, TableRows)
    ]
    assert sum(sizes) == 5_000
    assert max(sizes) == MOST_ROWS


@pytest.mark.requirement("transcript:nested")
def test_blank_lines_in_nested_lists_and_quotes_end_nothing() -> None:
    source = "1. one\n\n   - inner\n\n     still inner\n2. two\n\n> quote\n>\n> more\n"
    rows = rows_of(streamed(source, [8, 18, 21, 40, 50]))
    assert rows == [
        "", "  1. one", "", "     • inner", "", "       still inner", "  2. two", "",
        "  │ quote", "  │", "  │ more",
    ]  # fmt: skip


@pytest.mark.requirement("transcript:long-lines")
@pytest.mark.parametrize("unit", ["x", "word ", "日本 ", "*[`", "> ", "- "])
def test_a_line_of_a_megabyte_is_cut_into_plain_rows(unit: str) -> None:
    source = (unit * (1 << 20))[: 1 << 20]
    pieces = streamed(source, [100_000, 500_000])
    assert max(len(plain(piece.content)) for piece in pieces) <= LONGEST
    assert len(pieces) >= (1 << 20) // LONGEST
    rows = draw(Block(1, 1, pieces[0].content, 0), 100, PALETTE)
    assert "".join(row.text[row.start :] + (row.glue or "") for row in rows).strip(" ") != ""


@pytest.mark.requirement("transcript:deep")
def test_nesting_too_deep_to_parse_is_shown_as_written() -> None:
    source = "> " * 60 + "secret"
    assert "secret" in "".join(rows_of(split(source)))
    assert "secret" in "".join(
        rows_of(split("".join("  " * n + "- a\n" for n in range(60)) + " secret"))
    )


@pytest.mark.requirement("transcript:no-html", "transcript:links")
def test_html_is_text_and_a_link_says_where_it_leads() -> None:
    source = "<b>x</b> [docs](https://e.org/a) [run](javascript:alert(1)) <https://e.org/b>"
    drawn = draw(Block(1, 1, Markdown(source), 0), 200, PALETTE)
    assert drawn[0].text.strip() == (
        "<b>x</b> docs (https://e.org/a) [run](javascript:alert(1)) https://e.org/b"
    )
    links = {
        s.style.link for row in drawn for s in row.strip if s.style is not None and s.style.link
    }
    assert links == {"https://e.org/a", "https://e.org/b"}


@pytest.mark.requirement("transcript:links")
@pytest.mark.parametrize("address", ["file:///etc/passwd", "ssh://h", "ftp://h/p", "//h/p"])
def test_only_web_addresses_become_links(address: str) -> None:
    drawn = draw(Block(1, 1, Markdown(f"[x](<{address}>)"), 0), 200, PALETTE)
    assert all(s.style is None or s.style.link is None for row in drawn for s in row.strip)
    assert "x" in drawn[0].text


@pytest.mark.requirement("transcript:hostile")
@given(st.text())
def test_cleaned_text_holds_no_control_and_cleaning_works_piece_by_piece(text: str) -> None:
    result = clean(text)
    assert clean(text[: len(text) // 2]) + clean(text[len(text) // 2 :]) == result
    assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in result)
    result.encode("utf-8")


@pytest.mark.requirement("transcript:cells")
@given(st.text(alphabet="ab é日本\u0301👩\u200d👧🇩—→│ ", max_size=120), st.integers(4, 30))
def test_rows_fit_their_width_in_cells_and_lose_no_text(text: str, width: int) -> None:
    ranges = wrap(text, width)
    assert all(cell_len(text[a:b].rstrip(" ")) <= max(width, 4) for a, b, _ in ranges)
    rebuilt = ""
    for start, end, glue in ranges:
        rebuilt += glue + text[start:end]
    assert text.startswith(rebuilt)
    assert not text[len(rebuilt) :].strip(" ")


@pytest.mark.requirement("transcript:cells")
def test_every_strip_is_as_wide_as_the_pane() -> None:
    canvas = Canvas(30, PALETTE, leads=[margin(PALETTE)])
    for text in ("", "日本" * 20, "é́ 👩‍👧 x" * 9, "plain words " * 8):
        canvas.line([(text, PALETTE.text)])
    assert {row.strip.cell_length for row in canvas.rows} == {30}
    assert {sum(cell_len(s.text) for s in row.strip) for row in canvas.rows} == {30}
