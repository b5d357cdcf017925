"""Documents as other programs write them, made here piece by piece."""

import zipfile
from collections.abc import Mapping
from io import BytesIO

MARKDOWN = """# Report on Größe

Some **bold**, *italic* and `code` words with a [link](https://example.com/x).

## Findings

- first finding
- second finding
  - a detail
3. third
4. fourth

| Name | Amount |
| --- | --- |
| Ada | 12 |
| Bob | 3.5 |

```python
print("hi")
```

> quoted words

---

The end: Привет.
"""
WORDS = (
    "Report on Größe",
    "bold",
    "italic",
    "code",
    "link",
    "Findings",
    "first finding",
    "second finding",
    "a detail",
    "3.",
    "third",
    "Name",
    "Amount",
    "Ada",
    "12",
    "3.5",
    'print("hi")',
    "quoted words",
    "The end: Привет.",
)
"""What every format must still say, in this order."""


def archive(members: Mapping[str, str | bytes]) -> bytes:
    """A zip file."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return buffer.getvalue()


def changed(data: bytes, member: str, content: bytes) -> bytes:
    """An archive with one member exchanged or added."""
    with zipfile.ZipFile(BytesIO(data)) as old:
        members: dict[str, str | bytes] = {name: old.read(name) for name in old.namelist()}
    return archive({**members, member: content})


def epub(chapters: Mapping[str, str], *, title: str = "A Book", author: str = "Ann Lee") -> bytes:
    """A book of XHTML chapters, its spine in the order given but its manifest in another."""
    items = "".join(
        f'<item id="{name}" href="text/{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in sorted(chapters)
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    return archive({
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<?xml version="1.0"?><container><rootfiles>'
        '<rootfile full-path="OEBPS/content.opf"/></rootfiles></container>',
        "OEBPS/content.opf": '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        f"<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        **{f"OEBPS/text/{name}.xhtml": body for name, body in chapters.items()},
    })


def article(paragraphs: int = 8) -> bytes:
    """A page with navigation, an article and a footer."""
    text = "".join(
        f"<p>Paragraph {n} is long enough to pass for a part of an article, with many words.</p>"
        for n in range(paragraphs)
    )
    return (
        '<!doctype html><html><head><title>On tides</title><meta name="author" content="Ann Lee">'
        '<meta property="article:published_time" content="2024-05-01T10:00:00Z"></head><body>'
        '<nav><ul><li><a href="/menu">Menu entry</a></li></ul></nav>'
        f'<article><h1 class="big head">On tides</h1>{text}'
        '<table id="t"><tr><th>Port</th><th>Height</th></tr><tr><td>Brest</td><td>7 m</td></tr></table>'
        "</article><footer>Imprint and cookies</footer><script>var hidden = 1</script></body></html>"
    ).encode()


FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>News of tides</title>
<description>All about water</description>
<item><title>High &lt;b&gt;water&lt;/b&gt;</title><link>https://example.com/1</link>
<pubDate>Wed, 01 May 2024 10:00:00 GMT</pubDate><description>&lt;p&gt;It rose &amp;amp; fell.&lt;/p&gt;
</description></item><item><title>Low water</title><link>https://example.com/2</link></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Atoms</title><entry><title>One</title>
<link href="https://example.com/one"/><updated>2024-05-01T10:00:00Z</updated>
<content type="html">&lt;i&gt;Body&lt;/i&gt; text</content></entry></feed>"""
