"""image_generation end to end against an endpoint that speaks OpenAI's images."""

import base64
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.images import EndpointImages, ImageSettings, image_settings
from sam_tui.adapters.images.endpoint import size_for
from sam_tui.adapters.web import GuardedWeb
from sam_tui.core.errors import ConfigurationError, ToolError
from sam_tui.core.ports.web import ImageOrder
from tests.fakes.web_server import Answer, Asked, WebServer, answered, moved
from tests.web.harness import Harness

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
JPEG = b"\xff\xd8\xff\xe0" + b"pixels"


def drawn(*images: bytes, **fields: Any) -> Answer:
    """An endpoint's answer."""
    return answered({
        "data": [{"b64_json": base64.b64encode(image).decode(), **fields} for image in images]
    })


@pytest.mark.requirement("images:generate")
async def test_images_are_asked_for_as_ordered_and_written_into_the_workspace(
    harness: Harness, site: WebServer
) -> None:
    site.routes["/v1/images/generations"] = drawn(PNG, JPEG, revised_prompt="a red cat")
    got = await harness.done(
        "image_generation", operation="generate", prompt="a cat", image_count=2, aspect_ratio="16:9"
    )
    paths = got.data["imagePaths"]
    assert [Path(path).suffix for path in paths] == [".png", ".jpg"]
    assert (harness.workspace / paths[0]).read_bytes() == PNG
    assert (harness.workspace / paths[1]).read_bytes() == JPEG
    assert paths[0].startswith("images/")
    assert "a red cat" in got.finished.text
    asked = site.asked[0]
    assert asked.json == {
        "prompt": "a cat", "n": 2, "model": "local", "size": "1344x768", "response_format": "b64_json",
    }  # fmt: skip
    assert asked.headers["authorization"] == "Bearer k"


@pytest.mark.requirement("images:generate")
async def test_every_argument_reaches_the_provider(harness: Harness, site: WebServer) -> None:
    site.routes["/v1/images/generations"] = drawn(PNG)
    got = await harness.done(
        "image_generation", prompt="x", operation="generate", width=512, height=256, model="other",
        output_path="art/new",
    )  # fmt: skip
    assert site.asked[0].json["size"] == "512x256" and site.asked[0].json["model"] == "other"
    assert got.data["imagePaths"][0].startswith("art/new/image-")


@pytest.mark.requirement("images:guarded")
async def test_a_folder_outside_the_workspace_is_asked_for_and_nothing_is_made_without_it(
    harness: Harness, site: WebServer, tmp_path: Path
) -> None:
    site.routes["/v1/images/generations"] = drawn(PNG)
    for path in (str(tmp_path / "elsewhere"), "../elsewhere", "~/art"):
        told = await harness.refused(
            "image_generation", operation="generate", prompt="x", output_path=path
        )
        assert "outside the workspace" in told
    assert site.asked == []
    (harness.workspace / "file").write_text("x", encoding="utf-8")
    told = await harness.refused(
        "image_generation", operation="generate", prompt="x", output_path="file"
    )
    assert "is not a folder" in told
    assert site.asked == []


@pytest.mark.requirement("images:refusals")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            answered({"error": {"message": "no such model"}}, status=404),
            "404. It says: no such model",
        ),
        (answered({"error": "bad"}, status=401), "did not accept the key"),
        (answered({"data": []}), "without an image"),
        (answered({"data": [{"b64_json": "%%%"}]}), "not an image"),
        (drawn(b"<html>"), "not an image"),
        (Answer(b"oops", 500), "500"),
    ],
)
async def test_what_the_provider_refuses_is_told(
    harness: Harness, site: WebServer, answer: Answer, words: str
) -> None:
    site.routes["/v1/images/generations"] = answer
    told = await harness.refused("image_generation", operation="generate", prompt="x")
    assert words in told
    assert not (harness.workspace / "images").exists()


@pytest.mark.requirement("images:refusals")
async def test_arguments_out_of_range_are_refused(harness: Harness, site: WebServer) -> None:
    for wrong in (
        {"prompt": " "},
        {"prompt": "x", "image_count": 5},
        {"prompt": "x", "width": 512},
        {"prompt": "x", "width": 500, "height": 500},
        {"prompt": "x", "width": 512, "height": 512, "aspect_ratio": "1:1"},
        {"prompt": "x", "aspect_ratio": "5:1"},
    ):
        await harness.refused("image_generation", operation="generate", **wrong)
    assert site.asked == []


@pytest.mark.requirement("images:by-address")
async def test_an_image_given_by_address_is_fetched_through_the_same_door(
    site: WebServer,
) -> None:
    web = GuardedWeb(allowed=frozenset({site.origin}))
    maker = EndpointImages(web, ImageSettings(site.url("/v1")))
    site.routes["/v1/images/generations"] = answered({"data": [{"url": site.url("/i.png")}]})
    site.routes["/i.png"] = Answer(PNG, 200, {"content-type": "image/png"})
    assert (await maker.make(ImageOrder("x")))[0].data == PNG
    site.routes["/i.png"] = moved("http://169.254.169.254/")
    with pytest.raises(ToolError, match="not on the public internet"):
        await maker.make(ImageOrder("x"))


@pytest.mark.requirement("images:models")
async def test_models_that_make_one_image_a_request_are_asked_as_often_as_needed(
    site: WebServer,
) -> None:
    def play(asked: Asked) -> Answer:
        assert asked.json["n"] == 1
        return drawn(PNG)

    site.routes["/v1/images/generations"] = play
    web = GuardedWeb(allowed=frozenset({site.origin}))
    maker = EndpointImages(web, ImageSettings(site.url("/v1"), "dall-e-3"))
    assert len(await maker.make(ImageOrder("x", 3))) == 3
    maker = EndpointImages(web, ImageSettings(site.url("/v1"), "gpt-image-1"))
    await maker.make(ImageOrder("x"))
    assert "response_format" not in site.asked[-1].json


@pytest.mark.requirement("images:models")
def test_a_ratio_becomes_the_nearest_size_that_the_model_makes() -> None:
    assert size_for(ImageOrder("x", aspect_ratio="16:9"), "gpt-image-1") == (1536, 1024)
    assert size_for(ImageOrder("x", aspect_ratio="9:16"), "dall-e-3") == (1024, 1792)
    assert size_for(ImageOrder("x", aspect_ratio="1:1"), "dall-e-2") == (1024, 1024)
    assert size_for(ImageOrder("x"), "sdxl") is None
    with pytest.raises(ToolError, match="does not make 512x512"):
        size_for(ImageOrder("x", width=512, height=512), "gpt-image-1")


@pytest.mark.requirement("images:configured")
def test_there_is_a_provider_only_where_one_is_named() -> None:
    assert image_settings({}) is None
    assert image_settings({"OPENAI_API_KEY": "k"}) is None
    local = image_settings({
        "SAM_TUI_IMAGE_BASE": "http://127.0.0.1:8080/v1/",
        "OPENAI_API_KEY": "k",
    })
    assert local is not None
    assert (local.base, local.model, local.key) == ("http://127.0.0.1:8080/v1", "", "")
    assert local.origin == "127.0.0.1:8080"
    official = image_settings({"SAM_TUI_IMAGE_MODEL": "gpt-image-1", "OPENAI_API_KEY": "k"})
    assert official is not None
    assert (official.origin, official.key) == ("api.openai.com:443", "k")
    assert "k'" not in repr(official)
    for base in ("ftp://x/", "localhost:8080", "http://", "http://h:99999/"):
        with pytest.raises(ConfigurationError):
            image_settings({"SAM_TUI_IMAGE_BASE": base})


@pytest.mark.requirement("images:guarded")
@pytest.mark.parametrize(
    ("base", "origin"),
    [
        ("http://127.0.0.1:8080/v1", "127.0.0.1:8080"),
        ("http://images.test/v1", "images.test:80"),
        ("https://images.test", "images.test:443"),
        ("https://[::1]/v1", "[::1]:443"),
    ],
)
def test_the_door_is_opened_for_the_endpoint_s_own_host_and_port(base: str, origin: str) -> None:
    assert ImageSettings(base).origin == origin
