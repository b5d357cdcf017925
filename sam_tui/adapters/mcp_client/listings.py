"""Lists of a server, read entry by entry: one that does not fit the protocol is left out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from sam_tui.adapters.mcp_client.tool_descriptions import RawTool, hints_of
from sam_tui.core.text.field_faults import fault_words

MOST_LISTED, MOST_PAGES = 2_000, 50
_REVISION = "2025-11-25"
"""The revision of MCP by which entries are validated; newer ones define them in the same way."""
_LISTS = {
    "tools": ("tools/list", ("name", "title", "description", "inputSchema", "annotations")),
    "resources": ("resources/list", ("uri", "name", "mimeType", "description")),
    "resourceTemplates": (
        "resources/templates/list",
        ("uriTemplate", "name", "mimeType", "description"),
    ),
    "prompts": ("prompts/list", ("name", "title", "description", "arguments")),
}
"""For each list the request that it answers, and the fields of its entries that are read."""
_LEFT_OUT = "sam-tui/left-out"
"""The key of a page's ``_meta`` with the entries that were removed, each with the reason."""

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Listing(Generic[Entry]):
    """All pages of a list. ``faults`` are entries that are not in it, by name, each with why."""

    entries: Sequence[Entry] = ()
    faults: Sequence[tuple[str, str]] = ()

    def left_out(self, kind: str = "") -> list[RawTool]:
        """Return the faults as tools that are not offered, so that people learn of them."""
        return [RawTool(f"{kind} {name}".strip(), "", {}, why) for name, why in self.faults]


def fit_entries(message: object) -> None:
    """Remove invalid entries from the lists in a server's answer; ``_meta`` then names them.

    Of the other entries only the fields that are read stay: an invalid hint, or a schema of results whose
    pattern could run forever, must not cost a tool.
    """
    result: Any = getattr(message, "result", None)
    page = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
    keys = [key for key in _LISTS if isinstance(page.get(key), list)]
    if not keys:
        return
    faults: list[tuple[str, str]] = []
    for key in keys:
        page[key] = list(_fitting(key, page[key], "ttlMs" in page, faults))
    if not isinstance(page.get("nextCursor"), str | None):
        del page["nextCursor"]
        faults.append(("nextCursor", "it is not text, so the rest is not read"))
    meta = page.get("_meta")
    page["_meta"] = (cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}) | {
        _LEFT_OUT: faults
    }


def _read_fields(fields: dict[str, Any], read: Sequence[str]) -> dict[str, Any]:
    """The fields that are read of an entry; the schema of a tool is always that of an object, and a hint
    is true or false."""
    fitted = {name: fields[name] for name in read if name in fields}
    schema = fitted.get("inputSchema")
    if isinstance(schema, dict):
        fitted["inputSchema"] = {"type": "object", **cast("dict[str, Any]", schema)}
    if "annotations" in fitted:
        fitted["annotations"] = hints_of(fitted["annotations"])
    return fitted


def _require_headers(schema: Any) -> None:
    """Raises ``ValueError`` if ``x-mcp-header`` of a schema names no header that can be sent."""
    if schema and (why := find_invalid_x_mcp_header(schema)):
        raise ValueError(f"x-mcp-header: {why}")


def _fitting(
    key: str, entries: list[Any], modern: bool, faults: list[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    method, read = _LISTS[key]
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            faults.append((f"(entry {number})", "it is not an object"))
            continue
        fields = cast("dict[str, Any]", entry)
        fitted = _read_fields(fields, read)
        try:
            validate_server_result(method, _REVISION, {key: [fitted]})
            if modern:
                _require_headers(fitted.get("inputSchema"))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"][2:])
            faults.append((_called(fields, read[0], number), f"{field}: {fault_words(first)}"))
        except ValueError as error:
            faults.append((_called(fields, read[0], number), str(error)))
        else:
            yield fitted


def _called(fields: Mapping[str, Any], key: str, number: int) -> str:
    name = fields.get(key)
    return name if isinstance(name, str) and name else f"(entry {number})"


async def listing(ask: Callable[..., Any], key: str) -> Listing[Any]:
    """Return every page of a server's list. Raises as the session does."""
    entries: list[Any] = []
    faults: list[tuple[str, str]] = []
    cursors: list[str | None] = [None]
    while len(entries) < MOST_LISTED:
        page = await ask(cursor=cursors[-1])
        entries += getattr(page, key)
        faults += cast("dict[str, Any]", page.meta)[_LEFT_OUT]
        if not page.next_cursor:
            break
        if page.next_cursor in cursors or len(cursors) == MOST_PAGES:
            faults.append(("nextCursor", f"the list does not end: {len(cursors)} pages were read"))
            break
        cursors.append(page.next_cursor)
    return Listing(entries[:MOST_LISTED], faults)
