"""lxml, which has no types, behind two functions: HTML and XML without entities or the network."""

from typing import Any, cast

import lxml.etree  # pyright: ignore[reportMissingTypeStubs]
import lxml.html  # pyright: ignore[reportMissingTypeStubs]

_etree = cast("Any", lxml.etree)  # pyright: ignore[reportUnknownMemberType]
_html = cast("Any", lxml.html)

MarkupError: type[Exception] = _etree.LxmlError
"""What lxml raises, beside ``ValueError``."""


def html_tree(data: bytes, encoding: str) -> Any:
    """The tree of an HTML document in a known encoding, comments left out."""
    parser = _html.HTMLParser(encoding=encoding, remove_comments=True, no_network=True)
    return _html.document_fromstring(data, parser=parser)


def html_fragment(text: str) -> Any:
    """One element that holds a fragment of HTML."""
    return _html.fromstring(f"<div>{text}</div>")


def xml_tree(data: bytes) -> Any:
    """The tree of an XML document, or None; entities stay unresolved and no DTD is loaded."""
    parser = _etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    return _etree.fromstring(data, parser)
