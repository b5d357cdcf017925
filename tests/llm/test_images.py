"""Images on their way to the model: from prompts, from calls, over the wire. About 0.8 s of CPU."""

import base64
import json
import struct
from collections.abc import Callable

import pytest

from sam_tui.adapters.llm.wire import Dialect, RequestWriter, chat_messages
from sam_tui.cli.main import main
from sam_tui.core.errors import UsageError
from sam_tui.core.messages import Image, ReminderMessage, UserMessage, dump_message, load_message
from sam_tui.core.ports.model import ModelRequest, TextDelta
from sam_tui.core.prompt.images import LARGEST, image_of
from sam_tui.core.prompt.reminders import described
from sam_tui.ui.mentions import dropped_image
from tests.fakes.engine_kit import RawModel, calls
from tests.hooks.conftest import Place
from tests.hooks.conftest import folder as folder
from tests.hooks.conftest import place as place

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + bytes(40) + b"IEND"
DONE = [TextDelta("Done.")]


class Blind(RawModel):
    """A model that takes no images."""

    sees_images = False


def sent(model: RawModel, index: int) -> list[str]:
    """The names of the images of a request."""
    images = [m.images for m in model.seen[index] if isinstance(m, ReminderMessage)]
    return [image.name for several in images for image in several]


@pytest.mark.requirement("images:shown")
def test_an_image_is_told_by_its_bytes_stored_and_written_as_a_part_of_the_request() -> None:
    image = image_of("a.png", PNG)
    assert image is not None and described(image).startswith("a.png (image/png, 640x480, ")
    webp, frame = b"RIFF\0\0\0\0WEBP", b"\xff\xff\xc2\0\x0b\x08"
    kinds: dict[str, Callable[[int, int], bytes]] = {
        "jpeg": lambda w, h: b"\xff\xd8\xff\xe0\0\3." + frame + struct.pack(">HH", h, w),
        "gif": lambda w, h: b"GIF89a" + struct.pack("<HH", w, h),
        "png": lambda w, h: PNG[:16] + struct.pack(">II", w, h),
        "webp": lambda w, h: webp + b"VP8 " + bytes(10) + struct.pack("<HH", w, h),
    }
    ends = {"jpeg": b"\xff\xd9" + bytes(60), "gif": b";", "png": b"IEND", "webp": b""}
    for kind, sized in kinds.items():
        made = image_of("x", sized(3, 8000) + ends[kind])
        assert made is not None and described(made).startswith(f"x (image/{kind}, 3x8000, ")
        wrong = [sized(0, 3), sized(3, 0), sized(8001, 3), sized(3, 8001), sized(3, 3)[:-1]]
        assert [image_of("x", data + ends[kind]) for data in wrong[:4]] == [None] * 4
        assert image_of("x", wrong[4]) is None
        assert not ends[kind] or image_of("x", sized(3, 3) + bytes(100)) is None, (
            "its end is cut off"
        )
    assert image_of("x", b"RIFF\x30\0\0\0WEBPVP8 " + bytes(20) + b"\1\0\1\0") is None
    wide = webp + b"VP8X" + bytes(8) + b"\x3f\x1f\0\2\0\0"
    assert image_of("x", wide[:-3] + b"\0\0\1") is image_of("x", wide[:-6]) is None
    made = image_of("x", wide)
    assert made is not None and "8000x3" in described(made)
    lossless = image_of("x", webp + b"VP8L" + bytes(4) + b"\x2f\xff\xc1\0\0")
    assert lossless is not None and "512x4," in described(lossless)
    assert image_of("x", webp + b"VP8L" + bytes(4) + b"\x2f\xff\x7f\0\0") is None, "too wide"
    far = b"\xff\xd8" + b"\xff" * 9_000 + b"\xff\xd9"
    assert image_of("x", far) is not None  # its sides stand elsewhere
    assert image_of("a.png", b"<svg>") is None and image_of("a", PNG + bytes(LARGEST)) is None
    message = ReminderMessage("images", "Look", images=(image,))
    assert load_message(dump_message(message)) == message
    assert "images" not in dump_message(ReminderMessage("r", "x"))
    history = [message, UserMessage("What is it?")]
    body = json.loads(RequestWriter("m", Dialect(), {}).body(ModelRequest("", "[]", history)))
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert body["messages"][0]["content"][1] == {"type": "image_url", "image_url": {"url": url}}
    (merged,) = chat_messages("", history, Dialect(strict=True))
    assert [part["type"] for part in merged["content"]] == ["text", "image_url", "text"]
    assert "image_url" not in str(chat_messages("", history, Dialect(images=lambda: False)))


@pytest.mark.requirement("images:shown", "images:refused")
async def test_images_of_prompts_and_calls_are_shown_to_a_model_that_takes_them(
    place: Place,
) -> None:
    (place.workspace / "a.png").write_bytes(PNG)
    (place.folder / "far.png").write_bytes(PNG)
    runtime, model = place.build(), RawModel()
    runtime.use_model(model)
    read = calls(("file_operations", {"operation": "read_file", "filePath": "a.png"}))
    model.answers += [DONE, read, DONE, DONE]
    session = runtime.open_session()
    await session.run(f"See @a.png and @{place.folder}/far.png")
    assert sent(model, 0) == ["a.png"], "outside is not read unasked"
    await session.run("Read it.")
    assert sent(model, 2) == ["a.png", "a.png"]
    assert model.seen[2][-2].kind == "tool" and "640x480" in model.seen[2][-2].text
    await session.run("And this", images=[Image("b.png", "image/png", "AAAA")])
    assert sent(model, 3)[-1] == "b.png" and model.seen[3][-1] == UserMessage("And this")

    blind = Blind()
    blind.answers += [read, DONE]
    session.model = blind
    with pytest.raises(UsageError, match="raw does not accept images"):
        await session.run("x", images=[Image("b.png", "image/png", "AAAA")])
    await session.run("See @a.png")
    told = [m.text for m in blind.seen[-1] if isinstance(m, ReminderMessage)]
    assert sum("You take no images" in t or "You cannot be shown images" in t for t in told) == 2
    assert sent(blind, 1) == sent(model, 3), "those of before are left out where they are written"


@pytest.mark.requirement("images:shown", "images:refused")
def test_the_command_line_takes_images_and_a_dropped_file_is_one(
    place: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    picture = place.folder / "my plan.png"
    picture.write_bytes(PNG)
    (place.folder / "no.png").write_text("text", encoding="utf-8")
    monkeypatch.setenv("SAM_TUI_DATA_DIR", str(place.folder / "data"))
    words = ["run", "-C", str(place.workspace), "--model", place.script({"text": "Seen."})]
    assert main([*words, "--image", str(picture), "look"]) == 0
    assert "Seen." in capfd.readouterr().out
    assert main([*words, "--image", str(place.folder / "no.png"), "look"]) == 2
    assert "not a PNG" in capfd.readouterr().err
    for variable in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(variable, "x")
    for model in ("openai/o3-mini", "deepseek/deepseek-v4-pro"):  # nothing is sent to anybody
        assert main([*words[:4], model, "--image", str(picture), "look"]) == 2
        assert f"{model} does not accept images" in capfd.readouterr().err
    dropped = str(picture)
    for text in (
        f"'{dropped}'",
        dropped.replace(" ", "\\ "),
        f"file://{dropped.replace(' ', '%20')}",
    ):
        assert dropped_image(f"{text}\n") == dropped
    for text in ("look at a.png", f"{place.folder}/none.png", "a\nb.png"):
        assert dropped_image(text) == ""
