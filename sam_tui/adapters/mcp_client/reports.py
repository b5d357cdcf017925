"""The state of a server for lists of servers."""

from sam_tui.adapters.mcp_client.settings import ServerSettings
from sam_tui.adapters.mcp_client.tool_descriptions import FittedServer, plain
from sam_tui.core.ports.servers import ServerReport, ServerStanding


def report_of(
    settings: ServerSettings,
    standing: ServerStanding,
    *,
    fitted: FittedServer | None = None,
    error: str = "",
) -> ServerReport:
    """A server's state as lists of servers show it."""
    current = fitted or FittedServer()
    return ServerReport(
        settings.name,
        settings.source,
        settings.file,
        "http" if settings.http else "stdio",
        plain(settings.summary, 400),
        standing,
        tuple(tool.name for tool in current.tools),
        current.left_out,
        error,
        destructive=tuple(tool.name for tool in current.tools if tool.destructive),
    )
