"""EPUB -> Markdown, chapter by chapter in reading order."""

import posixpath
import zipfile
from io import BytesIO
from typing import Any
from urllib.parse import unquote

from sam_tui.adapters.documents.limits import GatheredText, understood
from sam_tui.adapters.documents.readers.containers import MarkupError, inspect, xml_tree
from sam_tui.adapters.documents.readers.text import clean
from sam_tui.adapters.documents.readers.web_pages import parse_html
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.documents import DocumentText

_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS = (*_HEADINGS, "p", "li", "blockquote", "pre", "dt", "dd", "td", "th", "figcaption")


def read_epub(data: bytes) -> DocumentText:
    """The chapters that the book's spine names; raises ``ToolError`` for a locked or broken book."""
    with understood("book", MarkupError):
        inspect(data, office=False)
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = set(archive.namelist())
            if "META-INF/rights.xml" in names:
                raise ToolError("The book is locked by its seller (DRM).")
            package_path = _package_place(_xml(archive.read("META-INF/container.xml")))
            package = _xml(archive.read(package_path))
            gathered = GatheredText("chapters")
            for chapter in _spine(package, posixpath.dirname(package_path)):
                if not gathered.goes_on():
                    break
                if chapter in names:
                    gathered.add(_chapter(archive.read(chapter)))
    title, author = _first(package, "title"), _first(package, "creator")
    properties = {"chapters": str(gathered.size), **({"author": author} if author else {})}
    return DocumentText(clean(gathered.text), "epub", title, properties, gathered.notes)


def _xml(data: bytes) -> object:
    tree = xml_tree(data)
    if tree is None:
        raise ToolError("The book's table of contents is broken.")
    return tree


def _package_place(container: Any) -> str:
    paths = container.xpath("//*[local-name()='rootfile']/@full-path")
    if not paths:
        raise ToolError("The book does not say where its content is.")
    return posixpath.normpath(str(paths[0]))


def _spine(package: Any, folder: str) -> list[str]:
    """Member names of the chapters, in reading order."""
    paths = {
        item.get("id"): item.get("href", "")
        for item in package.xpath("//*[local-name()='manifest']/*[local-name()='item']")
    }
    order = package.xpath("//*[local-name()='spine']/*[local-name()='itemref']/@idref")
    hrefs = [unquote(paths.get(str(ref), "")).partition("#")[0] for ref in order]
    return [posixpath.normpath(posixpath.join(folder, href)) for href in hrefs if href]


def _first(package: Any, name: str) -> str:
    texts = package.xpath(f"//*[local-name()='metadata']/*[local-name()='{name}']//text()")
    return " ".join(clean(" ".join(map(str, texts[:3]))).split())


def _chapter(data: bytes) -> str:
    """A chapter's blocks in order. A block inside a block speaks for itself."""
    body: Any = parse_html(data, "text/html; charset=utf-8")
    lines: list[str] = []
    for element in body.iter(*_BLOCKS):
        if any(child.tag in _BLOCKS for child in element.iterdescendants(*_BLOCKS)):
            continue
        text = element.text_content()
        text = text.strip("\n") if element.tag == "pre" else " ".join(text.split())
        if not text.strip():
            continue
        mark = _HEADINGS.get(element.tag) or {"li": "-", "blockquote": ">"}.get(element.tag, "")
        lines.append(f"{mark} {text}" if mark else text)
    return "\n\n".join(lines) or " ".join(body.text_content().split())
