"""MCP servers: listed, and read one by one."""

from functools import partial
from typing import TYPE_CHECKING

from sam_tui.ui.controllers.context import Context
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice
from sam_tui.ui.screens.reader import Reader, whole

if TYPE_CHECKING:
    from sam_tui.core.ports.servers import ServerReport

_EMPTY = "No file names an MCP server. Add one with: sam-tui mcp add NAME -- COMMAND"


def pick_server(context: Context) -> None:
    """List the servers as they stand; the one that is picked shows tools, errors, and what it printed."""

    def read(report: "ServerReport") -> None:
        context.app.push_screen(Reader(f"MCP server {report.name}", whole(words_of(report))))

    options = [
        (Choice(one_line(report.name, 40), standing_of(report)), partial(read, report))
        for report in context.runtime.servers.reports()
    ]
    context.pick("MCP servers", options, empty=_EMPTY)


def standing_of(report: "ServerReport") -> str:
    """How a server stands, in a line."""
    match report.standing:
        case "ready":
            return f"{len(report.tools)} tools"
        case "failed" | "ended":
            return one_line(f"{report.standing}: {report.error}", 120)
        case "untrusted":
            return "not loaded: the folder is not trusted (/trust)"
        case "waiting" | "starting" | "disabled":
            return report.standing


def words_of(report: "ServerReport") -> str:
    """All that is known of a server."""
    lines = [
        f"{report.name}: {standing_of(report)}",
        f"{report.kind}: {report.target}",
        f"named by {report.file}",
    ]
    if report.error:
        lines += ["", f"error: {report.error}"]
    if report.tools:
        lines += ["", "tools:", *(f"  {name}" for name in report.tools)]
    if report.left_out:
        lines += ["", "not offered:", *(f"  {why}" for why in report.left_out)]
    if report.log:
        lines += ["", "it printed:", report.log]
    return "\n".join(lines)
