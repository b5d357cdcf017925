"""``sam-tui acp``: the agent for editors."""

import asyncio
import os
from typing import TYPE_CHECKING, Any

import click

from sam_tui import __version__
from sam_tui.cli.options import editor_options, open_runtime
from sam_tui.cli.settings import user_settings
from sam_tui.cli.streams import protocol_streams, require_output

if TYPE_CHECKING:
    from collections.abc import Callable

    from sam_tui.acp_agent.agent import SessionTerms
    from sam_tui.core.inquiry import Inquiry
    from sam_tui.core.runtime import Runtime


@click.command("acp", short_help="Act as the agent of an editor that speaks ACP.")
@editor_options
def acp_command(**values: Any) -> int:
    """Act as the agent of an editor that speaks the Agent Client Protocol, until it disconnects.

    The editor names the folder of each session and asks the person for
    approvals. Standard output carries nothing but the protocol.
    """
    require_output()
    source, sink = protocol_streams()
    if os.isatty(source):
        click.echo("sam-tui speaks ACP on its standard streams; Ctrl+C ends it.", err=True)

    def opens(terms: "SessionTerms", attends: "Callable[[Inquiry], bool]") -> "Runtime":
        more = (*values["add_dir"], *terms.others)
        folders = {"workspace": terms.root or values["workspace"], "add_dir": more}
        changed = {**folders, "client_servers": terms.servers, "buffers": terms.buffers}
        return open_runtime({**values, **changed}, attended=attends, program="sam-tui acp")

    from sam_tui.acp_agent.agent import ClientUse, serve

    chosen = user_settings()
    use = ClientUse(chosen["acp.files"] == "editor", chosen["acp.terminals"] == "editor")
    asyncio.run(serve(source, sink, opens, __version__, use))
    return 0
