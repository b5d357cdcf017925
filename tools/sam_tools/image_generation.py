"""Images from words, written into the workspace (seed 004, image_generation)."""

import asyncio
import re
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from sam_tui.core.accesses import Location, Write
from sam_tui.core.display import Text
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import CallId
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.web import AspectRatio, ImageFile, ImageMaker, ImageOrder
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult

_LONGEST_PROMPT = 32_000


def _worded(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("empty", "is empty: say what to draw")
    return text.strip()[:_LONGEST_PROMPT]


class Generate(Arguments):
    """The arguments of ``generate``."""

    prompt: Annotated[str, AfterValidator(_worded)]
    image_count: int = Field(default=1, ge=1, le=4)
    aspect_ratio: AspectRatio | None = None
    width: int = Field(default=0, ge=0, description="with height, instead of aspect_ratio")
    height: int = Field(default=0, ge=0)
    model: str = Field(default="", description="default the configured one")
    output_path: str = Field(default="images", description="folder; default images")


class ImageGeneration:
    """image_generation: there is one only where a provider is configured."""

    def __init__(self, images: ImageMaker, files: Files) -> None:
        self._images = images
        self._files = files

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operation = Operation(
            "generate",
            "make images and save them as files",
            Generate,
            self._generate,
            lambda a: f"Generating image: {one_line(a.prompt)[:60]}",
            lambda a: (Write(a.output_path.strip() or ".", "output_path"),),
        )
        return Tool("image_generation", "Make images from words.", (operation,))

    async def _generate(self, arguments: Generate, context: ToolContext) -> ToolResult:
        folder = context.location("output_path")
        folder_entry = await asyncio.to_thread(self._files.stat, folder)
        if folder_entry is not None and folder_entry.kind != "directory":
            raise ToolError(f"{folder.display_path} is not a folder.", hint="Name a folder.")
        context.emit(f"Asking {self._images.name}\n")
        order = ImageOrder(
            arguments.prompt,
            arguments.image_count,
            arguments.width,
            arguments.height,
            arguments.aspect_ratio,
            arguments.model.strip(),
        )
        images = await self._images.make(order)
        paths = [
            await self._written(folder, context.call, number, image)
            for number, image in enumerate(images, start=1)
        ]
        text = f"Made {len(paths)} of {arguments.image_count}: {', '.join(paths)}"
        revised = next((image.revised_prompt for image in images if image.revised_prompt), "")
        if revised:
            text += f"\nThe provider understood: {revised}"
        data = {"imagePaths": paths, "prompt": arguments.prompt}
        return ToolResult(text, display=(Text("\n".join(paths)),), data=data)

    async def _written(self, folder: Location, call: CallId, number: int, image: ImageFile) -> str:
        """Store the image under an unused name: it replaces no other file."""
        tail = re.sub(r"[^A-Za-z0-9]", "", call)[-8:] or "image"
        for again in range(100):
            suffix = f"-{again}" if again else ""
            name = f"image-{tail}-{number}{suffix}{image.extension}"
            where = replace(folder, argument=name, real=f"{folder.real.rstrip('/')}/{name}")
            if await asyncio.to_thread(self._files.stat, where) is None:
                await asyncio.to_thread(self._files.write, where, image.data, replace=False)
                return where.display_path
        raise ToolError(f"{folder.display_path} holds too many images of that name.")
