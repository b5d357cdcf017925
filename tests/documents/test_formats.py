"""Every format in and out, through the real libraries."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest

from sam_tui.adapters.documents import LocalDocuments
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.documents import DOCUMENT_FORMATS, EXTENSIONS, DocumentFormat, Styling
from tests.documents.samples import ATOM, FEED, MARKDOWN, WORDS, article, epub

CYRILLIC = [
    Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"),
    Path("/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf"),
    Path("/usr/share/fonts/TTF/DejaVuSans.ttf"),
    Path("/System/Library/Fonts/Supplemental/Arial Unicode.ttf"),
]


async def written(content: str, format_: DocumentFormat, **styling: Any) -> bytes:
    """A document's bytes."""
    file = await LocalDocuments().write(content, format_, title="T", styling=Styling(**styling))
    return file.data


@pytest.mark.requirement("documents:round-trip")
@pytest.mark.parametrize("format_", DOCUMENT_FORMATS)
async def test_what_is_written_is_read_again_word_for_word_and_in_order(
    format_: DocumentFormat,
) -> None:
    if format_ == "pdf" and not any(name.is_file() for name in CYRILLIC):
        pytest.skip("no font here shows Cyrillic letters")
    documents = LocalDocuments()
    file = await documents.write(MARKDOWN, format_, title="Sizes", styling=Styling())
    assert file.notes == ()
    got = await documents.read(file.data, name=f"x{EXTENSIONS[format_]}")
    assert got.format == format_
    at = 0
    for word in WORDS:
        if (word, format_) == ("3.", "xlsx"):
            continue
        assert word in got.text[at:], f"{word!r} after {got.text[max(at - 40, 0) : at]!r}"
        at = got.text.index(word, at)
    if format_ in ("pdf", "docx", "pptx", "xlsx"):
        assert got.title == "Sizes"


@pytest.mark.requirement("documents:charsets")
@pytest.mark.parametrize(
    ("page", "body", "text"),
    [
        ("1251", rb"\'cf\'f0\'e8\'e2\'e5\'f2", "Привет"),
        ("932", rb"\uc2\u26085\'93\'fa\u26412\'96\'7b \'83e\'83X\'83g", "日本 テスト"),
        ("65001", rb"\uc0\u233 \'c3\'a9", "éé"),
        ("0", rb"\u8364?\'93", "€“"),
        ("037", rb"\'e9", "é"),
        ("99999", rb"\'e9", "é"),
    ],
)
async def test_rich_text_is_decoded_by_its_code_page(page: str, body: bytes, text: str) -> None:
    data = rb"{\rtf1\ansi\ansicpg%s " % page.encode() + body + b"}"
    document = await LocalDocuments().read(data, name="x.rtf")
    assert document.text == text
    assert bool(document.notes) == (page in ("037", "99999"))


@pytest.mark.requirement("documents:structure")
async def test_structure_survives_in_office_formats() -> None:
    documents = LocalDocuments()
    docx = (await documents.read(await written(MARKDOWN, "docx"))).text
    assert "# Report on Größe" in docx and "## Findings" in docx
    assert "- first finding\n- second finding\n  - a detail" in docx
    assert "| Name | Amount |\n| --- | --- |\n| Ada | 12 |" in docx
    slides = (await documents.read(await written(MARKDOWN, "pptx"))).text
    assert "## Slide 2: Findings\n- first finding\n- second finding\n  - a detail" in slides
    assert "| Ada | 12 |" in slides
    sheets = (await documents.read(await written(MARKDOWN, "xlsx"))).text
    assert "## Findings" in sheets and "| Ada | 12 |" in sheets


@pytest.mark.requirement("documents:structure")
async def test_word_gets_real_styles_and_the_looks_asked_for() -> None:
    import docx

    data = await written(MARKDOWN, "docx", font_size=10, heading_sizes=(30, 22, 18), margin=36)
    document: Any = docx.Document(BytesIO(data))
    assert document.paragraphs[0].style.name == "Heading 1"
    assert document.styles["Heading 1"].font.size.pt == 30
    assert document.styles["Normal"].font.size.pt == 10
    assert document.sections[0].left_margin.pt == 36
    runs = {run.text: run for run in document.paragraphs[1].runs}
    assert runs["bold"].font.bold and runs["italic"].font.italic
    assert runs["code"].font.name == "Courier New"


@pytest.mark.requirement("documents:structure")
async def test_a_pdf_has_the_page_asked_for_and_as_many_as_it_needs() -> None:
    from pypdf import PdfReader

    content = "\n\n".join(f"Paragraph {n} " + "word " * 60 for n in range(40))
    data = await written(content, "pdf", page_width=400, page_height=300, margin=40)
    reader = PdfReader(BytesIO(data))
    box = reader.pages[0].mediabox
    assert (float(box.width), float(box.height)) == (400, 300)
    assert len(reader.pages) > 10
    assert "Paragraph 39" in reader.pages[-1].extract_text() + reader.pages[-2].extract_text()
    large = PdfReader(BytesIO(await written(content, "pdf", font_size=24)))
    small = PdfReader(BytesIO(await written(content, "pdf", font_size=8)))
    assert len(large.pages) > 2 * len(small.pages)


@pytest.mark.requirement("documents:hostile-content")
async def test_markup_of_the_libraries_in_content_is_only_text() -> None:
    content = (
        'A <font color="[[[getattr(x)]]]">tag</font> & <img src="file:///etc/passwd"/> {\\b rtf}\n\n'
        "<script>alert(1)</script>\n\n[x](javascript:alert(1))\n\n![pic](http://127.0.0.1/p.png)"
    )
    documents = LocalDocuments()
    for format_ in DOCUMENT_FORMATS:
        got = await documents.read(await written(content, format_), name=f"x{EXTENSIONS[format_]}")
        flat = " ".join(got.text.replace("\\|", "|").split())
        assert "<img" in flat and "passwd" in flat, format_
        assert "<script>alert(1)</script>" in flat.replace("> ", ">"), format_


@pytest.mark.requirement("documents:fonts")
async def test_a_pdf_shows_other_scripts_and_tells_what_it_cannot_show() -> None:
    documents = LocalDocuments()
    text = "Latin, Привет, 你好, こんにちは, 한국어"
    file = await documents.write(text, "pdf", styling=Styling())
    got = await documents.read(file.data)
    for word in ("Latin", "你好", "こんにちは", "한국어"):
        assert word in got.text
    file = await documents.write("A \U000f0000 b", "pdf", styling=Styling())
    assert "\U000f0000" in file.notes[0] and "?" in (await documents.read(file.data)).text


@pytest.mark.requirement("documents:sheets")
async def test_a_sheet_holds_numbers_and_harmless_formulas_and_no_others() -> None:
    from openpyxl import load_workbook

    rows = [
        "| What | Value |",
        "| --- | --- |",
        "| whole | 12 |",
        "| thousands | 1,234.5 |",
        "| zip | 01234 |",
        "| sum | =SUM(B2:B3) |",
        "| link | =HYPERLINK(A1) |",
        "| dde | =cmd!A1 |",
        "| service | =WEBSERVICE(A1) |",
        "| plus | +1-2 |",
    ]
    book = load_workbook(BytesIO(await written("## Numbers\n\n" + "\n".join(rows), "xlsx")))
    sheet = cast("Any", book.active)
    values: Mapping[str, Any] = {row[0].value: row[1] for row in sheet.iter_rows()}
    assert sheet.title == "Numbers"
    assert values["whole"].value == 12 and values["thousands"].value == 1234.5
    assert values["zip"].value == "01234"
    assert (values["sum"].data_type, values["sum"].value) == ("f", "=SUM(B2:B3)")
    for name in ("link", "dde", "service", "plus"):
        assert values[name].data_type == "s", name


@pytest.mark.requirement("documents:sheets")
async def test_separated_values_become_one_sheet_and_sections_become_several() -> None:
    documents = LocalDocuments()
    got = await documents.read(await written('a,b\n1,"x, y"\n2,z\n', "xlsx"))
    assert "| a | b |\n| --- | --- |\n| 1 | x, y |\n| 2 | z |" in got.text
    content = (
        "# One/Two\n\n| a |\n|---|\n| 1 |\n\n# " + "Long " * 20 + "\n\ntext\n\n# one two\n\ntext"
    )
    got = await documents.read(await written(content, "xlsx"))
    assert got.properties["sheets"].split(", ")[0] == "One Two"
    assert got.text.count("## ") == 3


@pytest.mark.requirement("documents:slides")
async def test_long_slides_go_on_on_further_ones() -> None:
    content = "## Many\n\n" + "\n".join(f"- point {n}" for n in range(30))
    got = await LocalDocuments().read(await written(content, "pptx"))
    assert got.properties["slides"] == "3"
    assert "Slide 3: Many (continued)" in got.text and "- point 29" in got.text


@pytest.mark.requirement("documents:html")
async def test_a_page_is_its_article_with_what_it_says_about_itself() -> None:
    got = await LocalDocuments().read(
        article(), media_type="text/html", url="https://example.com/t"
    )
    assert got.title == "On tides"
    assert (got.properties["author"], got.properties["published"]) == ("Ann Lee", "2024-05-01")
    assert "Paragraph 7" in got.text and "| Brest | 7 m |" in got.text
    for other in ("Menu entry", "Imprint", "hidden"):
        assert other not in got.text


@pytest.mark.requirement("documents:html")
async def test_a_page_without_an_article_gives_all_its_visible_text() -> None:
    body = (
        b"<title>T</title><nav><a>Alpha <i>one</i></a></nav><script>x()</script><form>Beta</form>"
    )
    got = await LocalDocuments().read(body, media_type="text/html")
    assert got.text == "Alpha one\nBeta"
    assert "scripts" in got.notes[0]


@pytest.mark.requirement("documents:charsets")
async def test_text_is_decoded_as_declared_or_as_it_looks() -> None:
    documents = LocalDocuments()
    text = "Größe – “x”"
    for data, kind in (
        (text.encode(), ""),
        (b"\xef\xbb\xbf" + text.encode(), ""),
        (text.encode("cp1252"), ""),
        (text.encode("utf-16"), ""),
        (text.encode("cp1252"), "text/plain; charset=windows-1252"),
        ("Größe – “x”".encode("mac-roman"), 'text/plain; charset="macintosh"'),
        (text.encode(), "text/plain; charset=nonsense"),
        (text.encode(), "text/plain; charset=idna"),
    ):
        assert (await documents.read(data, name="a.txt", media_type=kind)).text == text, kind
    page = "<html><body><p>Größe</p></body></html>".encode("latin-1")
    got = await documents.read(page, media_type="text/html; charset=iso-8859-1")
    assert got.text == "Größe"


@pytest.mark.requirement("documents:clean")
async def test_invisible_and_control_characters_are_left_out() -> None:
    hidden = "a\x1b[31mb\u202ec\u200bd\ufeffe\U000e0041fg\r\nh\x07\u2066i\x85j"
    got = await LocalDocuments().read(hidden.encode(), name="a.md", media_type="text/markdown")
    assert got.text == "a[31mbcdefg\nhij"


@pytest.mark.requirement("documents:feeds")
@pytest.mark.parametrize("media_type", ["application/rss+xml", "text/xml", "application/xml", ""])
async def test_a_feed_is_its_entries_without_markup(media_type: str) -> None:
    got = await LocalDocuments().read(FEED.encode(), media_type=media_type)
    assert (got.format, got.title, got.properties["entries"]) == ("feed", "News of tides", "2")
    assert (
        "## High water\nWed, 01 May 2024 10:00:00 GMT\nhttps://example.com/1\nIt rose & fell."
        in got.text
    )
    atom = await LocalDocuments().read(ATOM.encode(), media_type="application/atom+xml")
    assert (
        "## One" in atom.text
        and "Body text" in atom.text
        and "https://example.com/one" in atom.text
    )


@pytest.mark.requirement("documents:text-formats")
async def test_json_csv_and_plain_text_stay_what_they_are() -> None:
    documents = LocalDocuments()
    got = await documents.read(b'{"b":1,"a":[2]}', media_type="application/json")
    assert got.text == '{\n  "b": 1,\n  "a": [\n    2\n  ]\n}'
    got = await documents.read(b"{broken", media_type="application/json")
    assert got.text == "{broken"
    got = await documents.read(b"a;b\n1;2\n3;4\n", name="x.csv")
    assert got.text == "a;b\n1;2\n3;4"
    assert (got.properties["rows"], got.properties["columns"]) == ("3", "2")
    got = await documents.read(b"int main() {}", name="a.c", media_type="text/x-c")
    assert (got.format, got.text) == ("txt", "int main() {}")
    got = await documents.read(b"# Title\n\ntext", name="a.md")
    assert (got.format, got.title) == ("markdown", "Title")


@pytest.mark.requirement("documents:epub")
async def test_a_book_is_read_in_the_order_of_its_spine() -> None:
    got = await LocalDocuments().read(
        epub({
            "zwei": "<html><body><h1>Second comes first</h1><p>One <b>para</b>.</p></body></html>",
            "eins": "<html><body><ul><li>item</li></ul><pre>a\n  b</pre></body></html>",
        }),
        name="book.epub",
    )
    assert (got.format, got.title, got.properties["author"]) == ("epub", "A Book", "Ann Lee")
    assert got.text == "# Second comes first\n\nOne para.\n\n- item\n\na\n  b"


@pytest.mark.requirement("documents:passages")
async def test_passages_hold_every_word_and_end_between_paragraphs() -> None:
    paragraphs = [f"Paragraph {n} " + "word " * (n * 7 % 200) for n in range(60)]
    paragraphs.append("endless " * 2000)
    got = await LocalDocuments().read("\n\n".join(paragraphs).encode(), name="a.txt")
    passages = list(got.passages(1500))
    assert " ".join(passages).split() == got.text.split()
    assert all(len(passage) <= 3000 for passage in passages)
    assert len(passages) < 45
    assert all(passage.startswith("Paragraph") for passage in passages[:8])
    block = await LocalDocuments().read(b"x" * 10_000, name="a.txt")
    assert "".join(block.passages(1500)) == "x" * 10_000


@pytest.mark.requirement("documents:formats-by-bytes")
async def test_the_bytes_decide_what_a_document_is() -> None:
    documents = LocalDocuments()
    pdf = await written("hello", "pdf")
    assert (await documents.read(pdf, name="a.txt", media_type="text/plain")).format == "pdf"
    docx = await written("hello", "docx")
    assert (await documents.read(docx, media_type="application/octet-stream")).format == "docx"
    page = await documents.read(b"<!DOCTYPE html><p>hi</p>", name="a")
    assert page.format == "html"
    for data, what in (
        (b"\x89PNG\r\n\x1a\n123", "a PNG image of 11 bytes"),
        (b"\x1f\x8b\x08" + b"0" * 2000, "a gzip archive of 2.0 kB"),
        (b"\0\1\2\3", "a binary file of 4 bytes"),
    ):
        with pytest.raises(ToolError, match=what):
            await documents.read(data, name="a.txt", media_type="text/plain" * ("PNG" in what))
