"""document_operations end to end: a real executor, real storage, real files."""

import os
from io import BytesIO
from pathlib import Path

import pytest

from sam_tui.core.ports.documents import DOCUMENT_FORMATS, EXTENSIONS, DocumentFormat
from tests.documents.samples import MARKDOWN, article
from tests.fakes.web_server import Answer, WebServer
from tests.web.harness import Harness


@pytest.mark.requirement("documents:tool-import")
async def test_an_imported_file_is_found_in_memory_under_its_id_and_tags(harness: Harness) -> None:
    text = "\n\n".join(f"Section {n}. " + f"word{n} " * 60 for n in range(30))
    (harness.workspace / "notes.md").write_text("# Notes\n\n" + text, encoding="utf-8")
    got = await harness.done(
        "document_operations", operation="document_import", path="notes.md", tags=["tides", " "]
    )
    id_ = got.data["document_id"]
    assert got.data["passages"] > 5 and got.data["memory_stored"]
    assert f"document_id: {id_}" in got.finished.text and "# Notes" in got.finished.text
    hit = harness.remembered("word17")[0].memory.draft
    assert (hit.source, hit.tags, hit.type, hit.context) == (id_, ("tides",), "document", "Notes")
    recorded = harness.storage.documents.imported(harness.conversation)
    assert [(d.id, d.name, d.characters) for d in recorded] == [
        (id_, "notes.md", got.data["characters"])
    ]


@pytest.mark.requirement("documents:tool-import")
async def test_importing_the_same_content_again_says_so_and_changed_content_is_imported(
    harness: Harness,
) -> None:
    file = harness.workspace / "a.txt"
    file.write_text("tides rise", encoding="utf-8")
    first = await harness.done("document_operations", operation="document_import", path="a.txt")
    (harness.workspace / "copy.txt").write_text("tides rise", encoding="utf-8")
    again = await harness.done("document_operations", operation="document_import", path="copy.txt")
    assert again.data == {"document_id": first.data["document_id"], "already_imported": True}
    assert "already imported" in again.finished.text
    file.write_text("tides fall", encoding="utf-8")
    changed = await harness.done("document_operations", operation="document_import", path="a.txt")
    assert changed.data["document_id"] != first.data["document_id"]
    assert harness.remembered("tides fall")[0].memory.draft.content == "tides fall"
    listed = await harness.done("document_operations", operation="get_doc_info")
    assert changed.data["document_id"] in listed.finished.text


@pytest.mark.requirement("documents:tool-import")
async def test_a_page_of_the_web_is_imported_through_the_guarded_door(
    harness: Harness, site: WebServer
) -> None:
    site.routes["/tides.html"] = Answer(article(), 200, {"content-type": "text/html"})
    got = await harness.done(
        "document_operations", operation="document_import", path=site.url("/tides.html")
    )
    assert (got.data["name"], got.data["source"]) == ("tides.html", site.url("/tides.html"))
    assert harness.remembered("Brest")[0].memory.draft.context == "On tides"
    for url in ("http://169.254.169.254/", "http://localhost/x.pdf", "HTTP://[::1]/"):
        told = await harness.refused("document_operations", operation="document_import", path=url)
        assert "not on the public internet" in told
    told = await harness.refused(
        "document_operations", operation="document_import", path=site.url("/none.pdf")
    )
    assert "404" in told


@pytest.mark.requirement("documents:tool-guarded")
async def test_every_path_is_guarded(harness: Harness, tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret words", encoding="utf-8")
    (harness.workspace / "link.txt").symlink_to(outside)
    for path in (str(outside), "../secret.txt", "link.txt", f"file://{outside}"):
        for operation in ("document_import", "get_doc_info"):
            told = await harness.refused("document_operations", operation=operation, path=path)
            assert "outside the workspace" in told, told
    (harness.workspace / "out").symlink_to(tmp_path)
    for place in (
        {"output_path": str(tmp_path)},
        {"output_path": "out"},
        {"output_path": "../new.pdf"},
        {"filename": "../new"},
        {"filename": str(tmp_path / "new")},
    ):
        told = await harness.refused(
            "document_operations", operation="document_create", content="x", **place
        )
        assert "outside the workspace" in told, told
    assert sorted(os.listdir(tmp_path)) == ["data", "secret.txt", "ws"]


@pytest.mark.requirement("documents:tool-import")
async def test_a_file_address_inside_the_workspace_is_a_path(harness: Harness) -> None:
    (harness.workspace / "a b.txt").write_text("tides", encoding="utf-8")
    address = (harness.workspace / "a b.txt").as_uri()
    got = await harness.done("document_operations", operation="document_import", path=address)
    assert got.data["name"] == "a b.txt"


@pytest.mark.requirement("documents:tool-errors")
async def test_what_cannot_be_imported_is_told(harness: Harness) -> None:
    (harness.workspace / "empty.txt").write_text("", encoding="utf-8")
    (harness.workspace / "pic.png").write_bytes(b"\x89PNG\r\n\x1a\n123")
    (harness.workspace / "broken.pdf").write_bytes(b"%PDF-1.7 nothing more")
    for path, words in (
        ("empty.txt", "no text"),
        ("pic.png", "PNG image"),
        ("broken.pdf", "broken"),
        ("none.pdf", "none.pdf"),
        (".", "folder"),
    ):
        told = await harness.refused("document_operations", operation="document_import", path=path)
        assert words in told, told
    assert harness.storage.documents.imported(harness.conversation) == []
    assert "path" in await harness.refused("document_operations", operation="document_import")


@pytest.mark.requirement("documents:tool-create")
@pytest.mark.parametrize("format_", DOCUMENT_FORMATS)
async def test_every_format_is_made_and_can_be_imported_again(
    harness: Harness, format_: DocumentFormat
) -> None:
    got = await harness.done(
        "document_operations",
        operation="document_create",
        content=MARKDOWN,
        format=format_,
        filename="report",
        output_path="out/deep",
    )
    assert got.data["path"] == f"out/deep/report{EXTENSIONS[format_]}"
    file = harness.workspace / got.data["path"]
    assert file.stat().st_size == got.data["bytes"]
    info = await harness.done(
        "document_operations", operation="get_doc_info", path=got.data["path"]
    )
    assert info.data["format"] == format_ and info.data["words"] > 20
    await harness.done("document_operations", operation="document_import", path=got.data["path"])
    assert "first finding" in harness.remembered("first finding")[0].memory.draft.content


@pytest.mark.requirement("documents:tool-create")
async def test_names_and_formats_are_understood_as_they_are_written(harness: Harness) -> None:
    async def made(**arguments: object) -> str:
        got = await harness.done(
            "document_operations", operation="document_create", content="# Hello", **arguments
        )
        return got.data["path"]

    assert await made() == "document.pdf"
    assert await made(filename="a.pdf") == "a.pdf"
    assert await made(filename="a", format="MD") == "a.md"
    assert await made(filename="b", format="text") == "b.txt"
    assert await made(output_path="sub/c.docx") == "sub/c.docx"
    assert await made(filename="d.xlsx") == "d.xlsx"
    assert await made(output_path="sub/e.docx", format="docx", filename="ignored") == "sub/e.docx"
    assert (harness.workspace / "document.pdf").read_bytes().startswith(b"%PDF")
    assert (harness.workspace / "b.txt").read_text(encoding="utf-8") == "Hello\n=====\n"


@pytest.mark.requirement("documents:tool-create")
async def test_an_existing_file_is_replaced_only_on_demand(harness: Harness) -> None:
    (harness.workspace / "a.txt").write_text("mine", encoding="utf-8")
    told = await harness.refused(
        "document_operations", operation="document_create", content="x", filename="a", format="txt"
    )
    assert "exists already" in told
    told = await harness.refused(
        "document_operations",
        operation="document_create",
        content="x",
        output_path="a.docx",
        format="txt",
    )
    assert "ends with .docx, but format is txt" in told
    assert (harness.workspace / "a.txt").read_text(encoding="utf-8") == "mine"
    await harness.done(
        "document_operations", operation="document_create", content="new", filename="a", format="txt",
        overwrite=True,
    )  # fmt: skip
    assert (harness.workspace / "a.txt").read_text(encoding="utf-8") == "new\n"


@pytest.mark.requirement("documents:tool-create")
async def test_a_name_with_a_line_feed_is_told_escaped(harness: Harness) -> None:
    got = await harness.done(
        "document_operations", operation="document_create", content="x", filename="n", format="txt",
        output_path="a\nb/",
    )  # fmt: skip
    assert "Created a\\nb/n.txt (txt" in got.finished.text


@pytest.mark.requirement("documents:tool-create")
async def test_every_styling_is_honoured(harness: Harness) -> None:
    import docx
    from pypdf import PdfReader

    looks = {
        "fontSize": 9, "headingSizes": [40], "margin": 30, "pageWidth": 300, "pageHeight": 500,
        "lineSpacing": 2,
    }  # fmt: skip
    for format_ in ("docx", "pdf", "rtf"):
        await harness.done(
            "document_operations", operation="document_create", content="# A\n\ntext",
            format=format_, styling=looks,
        )  # fmt: skip
    document = docx.Document(str(harness.workspace / "document.docx"))
    section = document.sections[0]
    assert section.page_width is not None and section.page_width.pt == 300
    assert section.left_margin is not None and section.left_margin.pt == 30
    normal, heading = document.styles["Normal"], document.styles["Heading 1"]
    assert normal.font.size.pt == 9 and heading.font.size.pt == 40  # pyright: ignore
    assert normal.paragraph_format.line_spacing == 2  # pyright: ignore
    data = (harness.workspace / "document.pdf").read_bytes()
    assert [float(n) for n in PdfReader(BytesIO(data)).pages[0].mediabox] == [0, 0, 300, 500]
    rtf = (harness.workspace / "document.rtf").read_text(encoding="ascii")
    for word in (r"\paperw6000", r"\paperh10000", r"\margl600", r"\fs18", r"\fs80", r"\sl480"):
        assert word in rtf, word
    told = await harness.refused(
        "document_operations", operation="document_create", content="x", styling={"fontSize": 900}
    )
    assert "fontSize" in told


@pytest.mark.requirement("documents:tool-info")
async def test_info_tells_format_size_and_what_the_document_says_of_itself(
    harness: Harness,
) -> None:
    await harness.done(
        "document_operations", operation="document_create", content="# Tides\n\nthree words here"
    )
    got = await harness.done("document_operations", operation="get_doc_info", path="document.pdf")
    assert got.data["format"] == "pdf" and got.data["pages"] == "1" and got.data["title"] == "Tides"
    assert got.data["bytes"] == (harness.workspace / "document.pdf").stat().st_size
    assert "imported_as" not in got.data
    await harness.done("document_operations", operation="document_import", path="document.pdf")
    got = await harness.done("document_operations", operation="get_doc_info", path="document.pdf")
    assert got.data["imported_as"].startswith("doc_")
