"""Broken, locked, swollen and lying files."""

import zipfile
from io import BytesIO

import pytest

from sam_tui.adapters.documents import LocalDocuments
from sam_tui.adapters.documents.readers.selectors import Selector
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.documents import DOCUMENT_FORMATS, EXTENSIONS, DocumentFormat, Styling
from tests.documents.samples import MARKDOWN, archive, article, changed, epub

REST = "is long enough to pass for a part of an article, with many words."


async def written(format_: DocumentFormat) -> bytes:
    """A small document."""
    return (await LocalDocuments().write(MARKDOWN, format_, styling=Styling())).data


@pytest.mark.requirement("documents:broken")
@pytest.mark.parametrize("format_", ["pdf", "docx", "pptx", "xlsx"])
async def test_a_file_cut_anywhere_is_read_or_refused_but_never_crashes(
    format_: DocumentFormat,
) -> None:
    data = await written(format_)
    refused = 0
    for end in range(60, len(data), max(len(data) // 12, 1)):
        try:
            await LocalDocuments().read(data[:end], name=f"x{EXTENSIONS[format_]}")
        except ToolError as error:
            refused += 1
            assert "broken" in str(error) or "No page" in str(error)
    assert refused > 5 or format_ == "pdf"


@pytest.mark.requirement("documents:broken")
@pytest.mark.parametrize("format_", DOCUMENT_FORMATS)
async def test_changed_bytes_never_crash_a_reader(format_: DocumentFormat) -> None:
    data = bytearray(await written(format_))
    for place in range(0, len(data), max(len(data) // 25, 1)):
        damaged = bytes(data[:place]) + bytes([data[place] ^ 0xFF]) + bytes(data[place + 1 :])
        try:
            await LocalDocuments().read(damaged, name=f"x{EXTENSIONS[format_]}")
        except ToolError:
            continue


@pytest.mark.requirement("documents:locked")
async def test_an_encrypted_pdf_is_told() -> None:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(BytesIO(await written("pdf"))))
    writer.encrypt("secret", algorithm="AES-256")
    buffer = BytesIO()
    writer.write(buffer)
    with pytest.raises(ToolError, match="encrypted"):
        await LocalDocuments().read(buffer.getvalue())
    writer = PdfWriter(clone_from=PdfReader(BytesIO(await written("pdf"))))
    writer.encrypt("", owner_password="owner", algorithm="AES-256")
    buffer = BytesIO()
    writer.write(buffer)
    assert "Findings" in (await LocalDocuments().read(buffer.getvalue())).text


@pytest.mark.requirement("documents:locked")
async def test_old_and_locked_office_files_are_told() -> None:
    with pytest.raises(ToolError, match="encrypted, or older than 2007"):
        await LocalDocuments().read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, name="a.doc")
    locked = changed(epub({"a": "<p>x</p>"}), "META-INF/rights.xml", b"<rights/>")
    with pytest.raises(ToolError, match="locked by its seller"):
        await LocalDocuments().read(locked)


@pytest.mark.requirement("documents:bombs")
async def test_an_archive_that_unpacks_to_too_much_is_not_opened() -> None:
    docx = await written("docx")
    with pytest.raises(ToolError, match="unpacks to far more"):
        await LocalDocuments().read(changed(docx, "word/media/a.bin", b"\0" * 20_000_000))
    swollen = epub({"a": "<p>" + "a" * 5_000_000 + "</p>"})
    with pytest.raises(ToolError, match="unpacks to far more"):
        await LocalDocuments().read(swollen)
    many = archive({"word/document.xml": "<x/>", **{f"f{n}": "" for n in range(10_001)}})
    with pytest.raises(ToolError, match="10002 files"):
        await LocalDocuments().read(many)


@pytest.mark.requirement("documents:bombs")
async def test_a_header_that_lies_about_its_size_gains_nothing() -> None:
    docx = await written("docx")
    with zipfile.ZipFile(BytesIO(docx)) as old:
        real = old.getinfo("word/document.xml").file_size
    lying = docx.replace(real.to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lying != docx
    with pytest.raises(ToolError, match="broken"):
        await LocalDocuments().read(lying)


@pytest.mark.requirement("documents:entities")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("format_", "member"),
    [
        ("docx", "word/document.xml"),
        ("pptx", "ppt/presentation.xml"),
        ("xlsx", "xl/worksheets/sheet1.xml"),
        ("xlsx", "_rels/.rels"),
    ],
)
async def test_office_files_with_entities_are_refused(
    format_: DocumentFormat, member: str, encoding: str
) -> None:
    attack = (
        f'<?xml version="1.0" encoding="{encoding}"?>'
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'
    )
    data = changed(await written(format_), member, attack.encode(encoding))
    with pytest.raises(ToolError, match="XML entities"):
        await LocalDocuments().read(data)


@pytest.mark.requirement("documents:entities")
async def test_entities_in_books_and_feeds_stay_unresolved() -> None:
    secret = '<!DOCTYPE p [<!ENTITY e SYSTEM "file:///etc/passwd"><!ENTITY b "BOMB">]>'
    book = epub({"a": f"{secret}<html><body><p>text &e; end</p></body></html>"}, title="T")
    with zipfile.ZipFile(BytesIO(book)) as old:
        package = old.read("OEBPS/content.opf").decode().replace("?>", f"?>{secret}", 1)
    book = changed(book, "OEBPS/content.opf", package.replace(">T<", ">T &e;<").encode())
    got = await LocalDocuments().read(book)
    assert "root:" not in got.text + got.title and "end" in got.text
    feed = f"<?xml version='1.0'?>{secret}<rss><channel><title>F &e;</title></channel></rss>"
    got = await LocalDocuments().read(feed.encode(), media_type="application/rss+xml")
    assert "root:" not in got.title + got.text


@pytest.mark.requirement("documents:bombs")
async def test_too_large_a_document_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(ToolError, match=r"50\.0 MB"):
        await LocalDocuments().read(bytes(50_000_001), name="a.txt")
    with pytest.raises(ToolError, match="at most 2000000"):
        await LocalDocuments().write("x" * 2_000_001, "txt", styling=Styling())


@pytest.mark.requirement("documents:selectors")
@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("h1", ["On tides"]),
        ("H1.big.head", ["On tides"]),
        (".bi", []),
        ("#t th", ["Port", "Height"]),
        ("#t tr:nth-child(2) > td:last-child", ["7 m"]),
        ("tr:nth-child(odd) th:first-child", ["Port"]),
        ("article > p:nth-of-type(8)", [f"Paragraph 7 {REST}"]),
        ("h1 + p:not(.x)", [f"Paragraph 0 {REST}"]),
        ("p ~ table td", ["Brest", "7 m"]),
        ("a@href", ["https://example.com/menu"]),
        ("a[href^='/m'][href$=nu]@href", ["https://example.com/menu"]),
        ('meta[name="author"]@content', ["Ann Lee"]),
        ("td, th", ["Port", "Height", "Brest", "7 m"]),
        ("[class~=head]", ["On tides"]),
        ("a[title=\"it's\"]", []),
        ("footer:last-of-type", ["Imprint and cookies"]),
    ],
)  # fmt: skip
async def test_a_selector_finds_what_css_says(selector: str, found: list[str]) -> None:
    got = await LocalDocuments().select(
        article(), {"x": selector}, media_type="text/html", url="https://example.com/a/b"
    )
    assert got["x"] == found


@pytest.mark.requirement("documents:selectors")
@pytest.mark.parametrize(
    "selector",
    ["", ">", "a >", "a:hover", "a::before", "//a", "a[", "a[b=]", "a)('", "p:nth-child(x)", "a,,b", "a,"],
)  # fmt: skip
def test_a_selector_that_is_none_is_told_with_an_example(selector: str) -> None:
    with pytest.raises(ToolError) as caught:
        Selector.parse(selector)
    assert "h2.title" in caught.value.hint


@pytest.mark.requirement("documents:html")
async def test_of_a_very_large_page_all_text_is_given_instead_of_a_search_for_its_article() -> None:
    page = b"<html><body><nav>Menu</nav>" + b"<p>words</p>" * 20_001 + b"</body></html>"
    got = await LocalDocuments().read(page, media_type="text/html")
    assert got.text.startswith("Menu\nwords\nwords") and got.text.count("words") == 20_001
    assert "very large page" in got.notes[0]


@pytest.mark.requirement("documents:hostile-content")
@pytest.mark.parametrize("format_", DOCUMENT_FORMATS)
async def test_content_that_fits_nowhere_is_written_or_refused_but_never_crashes(
    format_: DocumentFormat,
) -> None:
    row = "|" + "a|" * 300
    for content in (
        f"{row}\n{row.replace('a', '-')}\n{row}",
        "|a|\n|-|\n|" + "word " * 6000 + "|",
        "x" * 20_000,
        ">" * 3000 + " deep",
        "\n".join("  " * n + "- x" for n in range(60)),
        "[" * 2000,
        "# \n\n#\n\n- \n\n```\n```",
        "\x00\ud800\ufffe\x0b",
    ):
        try:
            await LocalDocuments().write(content, format_, styling=Styling())
        except ToolError as error:
            assert format_ == "pdf" and "fit" in str(error)
