"""What a server answered -> our result: text for the model, data for programs."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sam_tui.core.display import Text
from sam_tui.core.ports.processes.sandbox import OutsideAccess
from sam_tui.core.tooling.contract import ToolResult

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

MOST_CHARACTERS = 4_000_000
MOST_IMAGE = 8_000_000
"""Characters of an image in base64 that programs still get."""


def result_of(
    answer: "CallToolResult", refused: Sequence[OutsideAccess], *, server: str
) -> ToolResult:
    """The result. Images and sound are named; ``refused`` is what the sandbox kept it from."""
    parts = [_in_words(block) for block in answer.content]
    structured = answer.structured_content
    spoken = any(block.type in ("text", "resource") for block in answer.content)
    if structured is not None and not spoken:
        parts.append(json.dumps(structured, ensure_ascii=False, indent=1, default=str))
    text = "\n".join(parts)
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}\n[{len(text) - MOST_CHARACTERS} more characters dropped]"
    if answer.is_error:
        text = f"ERROR: {text or f'{server} gave no reason.'}"
    if refused:
        text = "\n".join([text, "", *(f"The sandbox refused to {r.words}." for r in refused)])
    return ToolResult(
        text or "(no output)",
        ok=not answer.is_error,
        display=(Text(text or "(no output)"),),
        data=_data(answer, server),
    )


def _in_words(block: "ContentBlock") -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return f"[{block.type}, {block.mime_type}, {_size(block.data)}: not shown to you]"
        case "resource_link":
            about = [block.title or block.name, block.mime_type or "", block.description or ""]
            return f"[resource {block.uri}: {', '.join(word for word in about if word)}]"
        case "resource":
            inner = block.resource
            if (text := getattr(inner, "text", None)) is not None:
                return f"[resource {inner.uri}]\n{text}"
            blob = getattr(inner, "blob", "")
            return f"[resource {inner.uri}, {inner.mime_type or 'unknown type'}, {_size(blob)}]"


def _size(base64: str) -> str:
    return f"{len(base64) * 3 // 4 / 1000:,.1f} kB"


def _data(answer: "CallToolResult", server: str) -> Mapping[str, Any]:
    data: dict[str, Any] = {"server": server}
    if answer.structured_content is not None:
        data["structuredContent"] = answer.structured_content
    images = [
        {"mimeType": block.mime_type, "data": block.data}
        for block in answer.content
        if block.type == "image" and len(block.data) <= MOST_IMAGE
    ]
    if images:
        data["images"] = images
    links = [block.uri for block in answer.content if block.type == "resource_link"]
    if links:
        data["links"] = links
    return data
