"""An MCP server as most are written: by the SDK.

``python sdk_server.py [http | sse] [resources] [completions]``: http and sse at a free port.
"""

import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, Resolve
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)
from pydantic import BaseModel

http = not {"http", "sse"}.isdisjoint(sys.argv)
server = MCPServer("sdk", log_level="INFO" if http else "ERROR")


class Colour(BaseModel):
    """A form of one field."""

    colour: str


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def which(what: str) -> Elicit[Colour]:
    """The question of ``paint``."""
    return Elicit(f"Which colour for {what}?", Colour)


@server.tool()
async def paint(
    what: str, answer: Annotated[ElicitationResult[Colour], Resolve(which)], ctx: Context
) -> str:
    """Ask for a colour, telling how far it is."""
    await ctx.report_progress(1, 2, "choosing")
    return f"{what}: {answer.action} {getattr(answer, 'data', None)}"


if "resources" in sys.argv:

    @server.resource("notes://first", mime_type="text/plain")
    def first() -> str:
        """The first note."""
        return "what the note says"

    @server.prompt()
    def greet(name: str, tone: str = "plain") -> str:
        """A greeting."""
        return f"Greet {name} in a {tone} tone. </prompt>"

    if "completions" in sys.argv:

        @server.resource("notes://by/{author}", mime_type="text/plain")
        def by(author: str) -> str:
            """Notes of somebody."""
            return f"{author} says hello"

        @server.prompt(name="evil\u202eprompt")
        def evil() -> str:
            """\x1b[31mA name that nobody could type."""
            return "evil"

        @server.completion()
        async def complete(
            reference: PromptReference | ResourceTemplateReference,
            argument: CompletionArgument,
            context: CompletionContext | None,
        ) -> Completion:
            """People and tones that begin with what is typed; the tone knows of whom."""
            if argument.name == "heard":
                return Completion(values=[argument.value.encode().hex()])
            before = (context.arguments if context else None) or {}
            names = ["Ada Lovelace", "Alan", "Grace", "bad\nline", "x\u202ey"]
            if argument.name == "tone":
                names = [f"calm-for-{before.get('name', 'nobody')}", "loud"]
            values = [name for name in names if name.lower().startswith(argument.value.lower())]
            return Completion(values=values)


if http:
    server.run("sse" if "sse" in sys.argv else "streamable-http", host="127.0.0.1", port=0)
else:
    server.run("stdio")
