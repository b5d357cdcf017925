"""Search results as short plain text, without an engine's markup and odd values."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from sam_tui.core.errors import ToolError
from sam_tui.core.ports.web import Page, WebHit
from sam_tui.core.todos.item import one_line

_TAG = re.compile(r"<[^<>]{0,300}>")


def plain(value: object, most: int) -> str:
    """A value of a JSON answer as one line of text without tags, at most ``most`` characters."""
    if not isinstance(value, (str, int, float)):
        return ""
    text = one_line(html.unescape(_TAG.sub("", str(value))))
    return text if len(text) <= most else text[: most - 1] + "…"


def hit(title: Any, url: Any, snippet: Any, published: Any = "") -> WebHit | None:
    """A hit from untyped values; None where there is no web address."""
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return None
    address = one_line(url)
    return WebHit(plain(title, 300) or address, address, plain(snippet, 600), plain(published, 40))


def first(hits: Sequence[WebHit | None], limit: int) -> list[WebHit]:
    """The first ``limit`` hits, each address once."""
    unique: dict[str, WebHit] = {}
    for candidate in hits:
        if candidate is not None:
            unique.setdefault(candidate.url.rstrip("/"), candidate)
    return list(unique.values())[:limit]


def decoded(page: Page, engine: str) -> Mapping[str, Any]:
    """The JSON object of an engine's answer; raises ``ToolError`` in the engine's words if it refused."""
    try:
        value = json.loads(page.body)
    except (ValueError, RecursionError):
        value = None
    complaint = _complaint(value)
    if page.status in (401, 403):
        raise ToolError(f"{engine} did not accept the key. {complaint}".strip())
    if page.status == 429:
        raise ToolError(f"{engine} limits requests. {complaint}".strip(), hint="Wait a while.")
    if page.status >= 300 or not isinstance(value, dict):
        raise ToolError(f"{engine} answered with status {page.status}. {complaint}".strip())
    return cast("Mapping[str, Any]", value)


def rows(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list that may be anything."""
    if not isinstance(value, list):
        return []
    items = cast("list[Any]", value)
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, dict)]


def _complaint(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    fields = cast("Mapping[str, object]", value)
    for name in ("error", "message", "detail"):
        detail = fields.get(name)
        if isinstance(detail, dict):
            inner = cast("Mapping[str, object]", detail)
            detail = inner.get("message") or inner.get("error") or inner.get("detail")
        if text := plain(detail, 200):
            return f"It says: {text}"
    return ""
