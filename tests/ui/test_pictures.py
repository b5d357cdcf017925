"""Images in the transcript: half blocks where there are colours, else their label. 2 s of CPU."""

import base64
import struct
import zlib

import pytest

from sam_tui.core.messages import Image
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.prompt.images import image_of
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, Stage, app_over, driven


def chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, pixels: bytes, *more: bytes) -> bytes:
    """A PNG file that says it has that size, whatever pixels it has."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (
        chunk(b"IHDR", head),
        *more,
        chunk(b"IDAT", zlib.compress(pixels)),
        chunk(b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


RED_OVER_BLUE = png(30, 20, (b"\0" + b"\xff\0\0" * 30) * 10 + (b"\0" + b"\0\0\xff" * 30) * 10)


def colours(me: Driver) -> set[tuple[str, str]]:
    """The colours of the half blocks on the screen, upper and lower."""
    pane = me.app.chat.transcript
    return {
        (part.style.color.name, part.style.bgcolor.name)
        for strip in pane.render_lines(pane.size.region)
        for part in strip
        if "▀" in part.text and part.style and part.style.color and part.style.bgcolor
    }


@pytest.mark.requirement("images:drawn")
async def test_an_attached_image_is_drawn_below_its_label_and_again_when_it_is_resumed(
    stage: Stage, model: RawModel
) -> None:
    (stage.workspace / "two.png").write_bytes(RED_OVER_BLUE)
    model.answers += [[TextDelta("I see it.")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("What is @two.png ?")
        await me.until(lambda: "I see it." in me.transcript() and colours(me))
        drawn = me.drawn()
        assert colours(me) == {("#ff0000", "#ff0000"), ("#0000ff", "#0000ff")}
        assert "▣ two.png (image/png, 30x20" in drawn and drawn.count("▀" * 30 + " ") == 10
        await me.send("/new")
        await me.until(lambda: not colours(me))
        await me.send("/resume What")
        await me.pilot.press("enter")
        await me.until(lambda: colours(me))
        assert me.drawn().count("▀" * 30 + " ") == 10


@pytest.mark.requirement("images:drawn")
async def test_without_colours_the_label_stands_alone_and_nothing_is_decoded(
    stage: Stage, model: RawModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    (stage.workspace / "two.png").write_bytes(RED_OVER_BLUE)
    model.answers += [[TextDelta("I see it.")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("What is @two.png ?")
        await me.until(lambda: "I see it." in me.transcript() and not me.bench.turns.running)
        assert "▣ two.png" in me.drawn() and "▀" not in me.drawn()
        assert not me.app.chat.transcript.asked_pictures


@pytest.mark.requirement("images:hostile")
async def test_what_a_hostile_image_asks_for_is_not_done(stage: Stage) -> None:
    decoded = stage.runtime.pictures
    text = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(50_000_000)))
    assert image_of("bomb", png(100_000, 100_000, bytes(1_000_000))) is None
    assert image_of("cut", RED_OVER_BLUE[:60]) is None
    hostile = {
        "bomb": png(8_000, 8_000, bytes(1_000_000)),
        "long text": png(1, 1, b"\0\1\2\3", text),
        "cut": RED_OVER_BLUE[:60] + b"IEND",
        "another kind": b"\xff\xd8" + b"\xff" * 2_000 + RED_OVER_BLUE + b"\xff\xd9",
    }
    for name, data in hostile.items():
        image = image_of(name, data)
        assert image is not None and await decoded.raster(image) is None, name
    assert await decoded.raster(Image("x", "image/svg+xml", "")) is None
    assert await decoded.raster(Image("x", "image/png", "no base64")) is None
    # A file with something behind its end is the image that it begins with.
    both = base64.b64encode(RED_OVER_BLUE + b"PK\3\4<script>").decode()
    raster = await decoded.raster(Image("x", "image/png", both))
    assert raster is not None and (raster.width, raster.height) == (30, 20)
    assert raster.pixels[:4] == b"\xff\0\0\xff"
    await stage.runtime.close()  # no app took it
