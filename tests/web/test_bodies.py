"""Bodies: cut at the limit, decompressed into a bounded space."""

import gzip
import zlib

import pytest

from sam_tui.adapters.web import GuardedWeb
from sam_tui.adapters.web.guarded_http import Decoder
from sam_tui.core.errors import ToolError
from tests.fakes.web_server import Answer, WebServer, packed


@pytest.mark.requirement("web:size")
async def test_a_flood_is_cut_at_the_limit(site: WebServer, web: GuardedWeb) -> None:
    site.routes["/flood"] = Answer(b"x" * 50_000, flood=True)
    got = await web.fetch(site.url("/flood"), most_bytes=120_000)
    assert got.truncated and len(got.body) == 120_000


@pytest.mark.requirement("web:size")
async def test_a_page_of_exactly_the_limit_is_not_cut(site: WebServer, web: GuardedWeb) -> None:
    site.routes["/plain"] = Answer(b"x" * 1000)
    site.routes["/packed"] = packed(b"x" * 1000)
    for path in ("/plain", "/packed"):
        got = await web.fetch(site.url(path), most_bytes=1000)
        assert len(got.body) == 1000 and not got.truncated
        assert (await web.fetch(site.url(path), most_bytes=999)).truncated


@pytest.mark.requirement("web:size")
async def test_a_decompression_bomb_fills_the_limit_and_no_more(
    site: WebServer, web: GuardedWeb
) -> None:
    bomb = gzip.compress(b"\0" * 30_000_000)
    assert len(bomb) < 40_000
    site.routes["/bomb"] = Answer(bomb, 200, {"content-encoding": "gzip"})
    got = await web.fetch(site.url("/bomb"), most_bytes=100_000)
    assert got.truncated and len(got.body) == 100_000


@pytest.mark.requirement("web:encodings")
async def test_compressed_pages_are_read_and_unasked_or_broken_compression_is_told(
    site: WebServer, web: GuardedWeb
) -> None:
    text = b"Hello " * 5000
    raw = zlib.compressobj(wbits=-15)
    bodies = {
        "gzip": gzip.compress(text),
        "deflate": zlib.compress(text),
        "x-gzip": gzip.compress(text),
    }
    for encoding, body in bodies.items():
        site.routes["/z"] = Answer(body, 200, {"content-encoding": encoding})
        assert (await web.fetch(site.url("/z"))).body == text
    body = raw.compress(text) + raw.flush()
    site.routes["/z"] = Answer(body, 200, {"content-encoding": "deflate"})
    assert (await web.fetch(site.url("/z"))).body == text
    assert site.asked[0].headers["accept-encoding"] == "gzip, deflate"
    site.routes["/z"] = Answer(b"\x1b\x00", 200, {"content-encoding": "br"})
    with pytest.raises(ToolError, match="not requested: 'br'"):
        await web.fetch(site.url("/z"))
    site.routes["/z"] = Answer(b"not gzip at all", 200, {"content-encoding": "gzip"})
    with pytest.raises(ToolError, match="compression is broken"):
        await web.fetch(site.url("/z"))


@pytest.mark.requirement("web:size")
@pytest.mark.parametrize(
    "endless",
    [b"\x1f\x8b\x08\x08" + bytes(6) + b"a", gzip.compress(b"x"), b"\x1f\x8b\x08" + bytes(7)],
    ids=["a name", "what stands after the end", "blocks of nothing"],
)
def test_a_compressed_body_that_comes_to_nothing_is_read_no_further_than_the_limit(
    endless: bytes,
) -> None:
    decoder, piece = Decoder("gzip", 100_000), b"\x00\x00\x00\xff\xff" * 1000
    decoder.feed(endless)
    if endless.endswith(b"a"):
        piece = b"a" * 5000
    fed = 0
    while not decoder.full and fed < 1_000_000:
        decoder.feed(piece)
        fed += len(piece)
    assert fed <= 105_000
    assert len(decoder.body) <= 1
