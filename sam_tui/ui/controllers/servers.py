"""MCP servers: started once the workbench stands, listed, and read one by one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice, Picker

if TYPE_CHECKING:
    from sam_tui.core.ports.servers import ServerReport
    from sam_tui.core.runtime import Runtime

_EMPTY = "No file names an MCP server. Add one with: sam-tui mcp add NAME -- COMMAND"


class Servers:
    """The list of servers, as they stand when it is opened."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._runtime: Runtime | None = None

    def begin(self, runtime: "Runtime") -> None:
        """Start them in the background: nobody waits for them yet."""
        self._runtime = runtime
        runtime.servers.begin()

    def show(self) -> None:
        """List them; the one that is picked shows its tools, its errors, and what it printed."""
        runtime = self._runtime
        if runtime is None:
            return
        reports = runtime.servers.reports()

        async def load() -> Sequence[Choice]:
            return [Choice(one_line(report.name, 40), standing_of(report)) for report in reports]

        def chosen(index: int | None) -> None:
            if index is not None:
                self._read(reports[index])

        self._app.push_screen(Picker("MCP servers", load, empty=_EMPTY), chosen)

    def _read(self, report: "ServerReport") -> None:
        from sam_tui.ui.screens.reader import Reader, whole

        self._app.push_screen(Reader(f"MCP server {report.name}", whole(words_of(report))))


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
