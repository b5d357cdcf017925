"""Tools of servers as tools of ours: made when a call names one, run like every other."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sam_tui.adapters.mcp_client.adverts import FittedTool, plain
from sam_tui.core.accesses import Access, Fetch, Location, Use
from sam_tui.core.display import Diff
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.offer import Advert, Offer

if TYPE_CHECKING:
    from sam_tui.adapters.mcp_client.arguments import ServerArguments

_SUMMARY = 160
_PREVIEW_LINES = 400


class OfferHost(Protocol):
    """The connection that a tool's calls go to."""

    @property
    def name(self) -> str:
        """The server's name."""
        ...

    @property
    def url(self) -> str:
        """Where it is, over HTTP; else empty."""
        ...

    async def call(
        self, tool: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> ToolResult:
        """Call a tool by the server's own name for it. Raises ``ToolError``."""
        ...


def offer_of(host: OfferHost, fitted: FittedTool) -> Offer:
    """The tool as it stands among ours."""
    advert = Advert(fitted.name, (fitted.name,), fitted.text, consolidated=False)
    return Offer(advert, lambda: _made(host, fitted))


def _made(host: OfferHost, fitted: FittedTool) -> Tool:
    from sam_tui.adapters.mcp_client.arguments import arguments_for

    def accesses(_: "ServerArguments") -> Sequence[Access]:
        used = Use(host.name, fitted.raw)
        return (used, Fetch(host.url, "server", configured=True)) if host.url else (used,)

    async def run(arguments: "ServerArguments", context: ToolContext) -> ToolResult:
        return await host.call(fitted.raw, arguments.values, context)

    def summary(arguments: "ServerArguments") -> str:
        text = json.dumps(arguments.values, ensure_ascii=False) if arguments.values else ""
        short = text if len(text) <= _SUMMARY else f"{text[: _SUMMARY - 1]}…"
        return f"{host.name}: {plain(fitted.raw, 64)} {short}".rstrip()

    def preview(arguments: "ServerArguments", _: Mapping[str, Location]) -> Sequence[Diff]:
        return (_sent(host.name, arguments.values),) if arguments.values else ()

    operation = Operation(
        name=fitted.name,
        about=fitted.about,
        arguments=arguments_for(fitted.schema),
        run=run,
        summary=summary,
        accesses=accesses,
        preview=preview,
    )
    return Tool(fitted.name, fitted.about, (operation,), consolidated=False)


def _sent(server: str, arguments: Mapping[str, Any]) -> Diff:
    """All that the server will be told, for whoever is asked."""
    lines = json.dumps(arguments, ensure_ascii=False, indent=2).splitlines()
    visible = lines[:_PREVIEW_LINES]
    body = [f"@@ -0,0 +1,{len(visible)} @@", *(f"+{line}" for line in visible)]
    if len(lines) > len(visible):
        body.append(f" ({len(lines) - len(visible)} more lines)")
    return Diff(f"what {server} is sent", "\n".join(body) + "\n", len(lines), 0)
