"""The main text of web pages, and their metadata."""

import logging
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urljoin

from sam_tui.adapters.documents.limits import MOST_CHARACTERS, understood
from sam_tui.adapters.documents.readers.containers import MarkupError, html_tree
from sam_tui.adapters.documents.readers.selectors import Selector
from sam_tui.adapters.documents.readers.text import charset_of, clean, decode
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.documents import DocumentText

_MOST_BYTES = 10_000_000
_LITTLE = 200
"""A page with fewer characters of text counts as empty (spec/sam.md 1.11)."""
_MOST_ELEMENTS = 20_000
_MOST_FOUND = 200
_LONGEST_FOUND = 2_000
_INLINE = frozenset({
    "a",
    "abbr",
    "b",
    "code",
    "em",
    "i",
    "kbd",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
})
_FACTS = {"author": "author", "date": "published", "sitename": "site", "description": "description"}


def read_html(data: bytes, media_type: str = "", url: str = "") -> DocumentText:
    """Return the main text as Markdown, or all text of the page if no main part is recognized."""
    tree = parse_html(data, media_type)
    notes: list[str] = []
    with understood("page", MarkupError):
        whole = clean(_all_text(tree))
        metadata, main = None, ""
        if _outgrown(tree):
            notes.append("a very large page: all of its text, not only its article")
        else:
            metadata, main = _article(tree, url)
    title = clean(getattr(metadata, "title", "") or "") or _title(tree)
    text = main
    if len(main) < _LITTLE and len(whole) > 2 * len(main):
        text = whole
    if len(text) < _LITTLE and _needs_scripts(data):
        notes.append("little text: the page is probably drawn by scripts, which are not run")
    if len(text) > MOST_CHARACTERS:
        text = text[:MOST_CHARACTERS]
        notes.append(f"cut after {MOST_CHARACTERS} characters")
    return DocumentText(text, "html", " ".join(title.split()), _facts(metadata), tuple(notes))


def _facts(metadata: Any) -> dict[str, str]:
    """The page's metadata; empty without any."""
    facts = ((name, clean(str(getattr(metadata, key, None) or ""))) for key, name in _FACTS.items())
    return {name: fact for name, fact in facts if fact}


def _article(tree: Any, url: str) -> tuple[Any, str]:
    """The metadata of the page, and its main text as Markdown."""
    import trafilatura

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    library = cast("Any", trafilatura)
    # Dates that the page does not state are not guessed.
    metadata = library.extract_metadata(tree, default_url=url or None, extensive=False)
    main = library.extract(
        tree,
        url=url or None,
        output_format="markdown",
        include_comments=False,
        include_links=False,
        include_tables=True,
    )
    return metadata, clean(main or "")


def _outgrown(tree: Any) -> bool:
    """Whether finding the article would take many seconds: it costs 0.2 ms an element."""
    return any(number > _MOST_ELEMENTS for number, _ in enumerate(tree.iter()))


def select(
    data: bytes, selectors: Mapping[str, str], media_type: str = "", url: str = ""
) -> Mapping[str, list[str]]:
    """Return each named selector's matches as single lines or, with ``@attribute``, attribute values."""
    parsed = {name: Selector.parse(text) for name, text in selectors.items()}
    tree = parse_html(data, media_type)
    with understood("page", MarkupError):
        return {name: _found(tree, selector, url) for name, selector in parsed.items()}


def parse_html(data: bytes, media_type: str = "") -> Any:
    """A tree of any bytes; raises ``ToolError`` where there is nothing to parse."""
    body = data[:_MOST_BYTES]
    charset = charset_of(media_type) or ("utf-8" if _is_utf8(body) else "")
    encoding = charset if charset in ("utf-8", "iso8859-1", "ascii") else ""
    if not encoding:
        body, encoding = decode(body, media_type).encode("utf-8", "replace"), "utf-8"
    with understood("page", MarkupError):
        if not body.strip():
            raise ToolError("The page is empty.")
        return html_tree(body, encoding)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(data) - 4  # cut inside its last character
    return True


def _found(tree: Any, selector: Selector, url: str) -> list[str]:
    values: list[str] = []
    for element in tree.xpath(selector.xpath):
        if selector.attribute:
            value = element.get(selector.attribute)
            if value is not None and selector.attribute in ("href", "src", "action"):
                value = _joined(url, value)
        else:
            value = element.text_content()
        if value is not None:
            values.append(" ".join(clean(value).split())[:_LONGEST_FOUND])
        if len(values) == _MOST_FOUND:
            break
    return values


def _joined(url: str, link: str) -> str:
    try:
        return urljoin(url, link)
    except ValueError:
        return link


def _all_text(tree: Any) -> str:
    """Every visible text, block by block."""
    skipped = "self::script or self::style or self::noscript or self::template or self::title"
    blocks: list[list[str]] = []
    last = None
    for text in tree.xpath(f"//text()[normalize-space() and not(ancestor::*[{skipped}])]"):
        owner = text.getparent()
        block = _block(owner.getparent() if text.is_tail else owner)
        if not blocks or block is not last:
            blocks.append([])
        blocks[-1].extend(text.split())
        last = block
    return "\n".join(map(" ".join, blocks))


def _block(element: Any) -> Any:
    """The nearest block element: its text begins and ends a line."""
    while element.tag in _INLINE and element.getparent() is not None:
        element = element.getparent()
    return element


def _title(tree: Any) -> str:
    texts = tree.xpath("//title//text()")
    return clean(" ".join(texts))[:300]


def _needs_scripts(data: bytes) -> bool:
    return b"<script" in data.lower()
