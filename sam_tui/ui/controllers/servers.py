"""MCP servers: listed, read one by one, and logged in at."""

from functools import partial
from typing import TYPE_CHECKING

from sam_tui.core.errors import SamError
from sam_tui.ui.controllers.context import Context, Option
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Choice
from sam_tui.ui.screens.reader import LoginPage, Reader, whole

if TYPE_CHECKING:
    from sam_tui.core.ports.servers import ServerReport

_EMPTY = "No file names an MCP server. Add one with: sam-tui mcp add NAME -- COMMAND"


def pick_server(context: Context) -> None:
    """List the servers as they stand; the one that is picked is read, or logged in at."""
    options = [
        (Choice(one_line(report.name, 40), standing_of(report)), partial(_open, context, report))
        for report in context.runtime.servers.reports()
    ]
    context.pick("MCP servers", options, empty=_EMPTY)


def _open(context: Context, report: "ServerReport") -> None:
    """Its tools, errors, and what it printed; for one over HTTP its login as well."""

    def read() -> None:
        context.app.push_screen(Reader(f"MCP server {report.name}", whole(words_of(report))))

    def log_out() -> None:
        context.runtime.servers.forget_login(report.name)
        context.notify(f"{report.name}: logged out")

    if report.kind != "http" or report.standing in ("untrusted", "disabled", "starting"):
        read()
        return
    again = "Log in again" if report.login else "Log in"
    options: list[Option] = [
        (Choice("Read", "tools, errors, what it printed"), read),
        (Choice(again, "on its own page, in your browser"), partial(_log_in, context, report.name)),
    ]
    if report.login:
        options.append((Choice("Log out", "the login is deleted here"), log_out))
    context.pick(f"MCP server {one_line(report.name, 40)}", options)


def _log_in(context: Context, name: str) -> None:
    """Have the person log in on a page, whose dialog ends it; the server is connected afterwards."""
    page = LoginPage(name)

    async def work() -> None:
        try:
            await context.runtime.servers.log_in(name, page.offer)
        except SamError as error:
            context.notify(f"{name}: {one_line(error.explain(), 300)}", warning=True)
        else:
            context.notify(f"{name}: logged in. Its tools join with your next message.")
        if page.is_current:
            page.dismiss(None)

    worker = context.app.run_worker(work(), name="login", group="login")

    def closed(_: int | None) -> None:
        if not worker.is_finished:
            worker.cancel()

    context.app.push_screen(page, closed)


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
