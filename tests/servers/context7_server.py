"""A Context7 server as Context7's is: two tools over streamable HTTP, by the SDK, at a free port.

With ``CONTEXT7_NEWER`` in the environment they are those of the newer one.
"""

import os

from mcp.server.mcpserver import MCPServer

server = MCPServer("Context7", log_level="INFO")
LIBRARIES = """\
Available Libraries (top matches):

- Title: React Router
- Context7-compatible library ID: /remix-run/react-router
- Description: see https://reactrouter.com/docs/en
----------
- Title: React
- Context7-compatible library ID: /facebook/react
"""


def resolve_library_id(libraryName: str) -> str:
    """Find the id of a library."""
    if libraryName == "broken":
        raise ValueError("no such luck")
    return LIBRARIES if "react" in libraryName.lower() else "No documentation libraries found."


def newer_resolve_library_id(query: str, libraryName: str) -> str:
    """Find the id of a library for a question."""
    return resolve_library_id(libraryName) if query else ""


def query_docs(libraryId: str, query: str) -> str:
    """What the documentation of a library has on a question."""
    return f"docs of {libraryId} on {query}: " + "x" * 1000


def get_library_docs(
    context7CompatibleLibraryID: str, topic: str = "", tokens: int = 10_000
) -> str:
    """The documentation of a library."""
    if context7CompatibleLibraryID == "/facebook/react" and topic == "nothing":
        return ""
    return f"docs of {context7CompatibleLibraryID}, topic {topic or '-'}, {tokens} tokens"


if os.environ.get("CONTEXT7_NEWER"):
    server.tool(name="resolve-library-id")(newer_resolve_library_id)
    server.tool(name="query-docs")(query_docs)
else:
    server.tool(name="resolve-library-id")(resolve_library_id)
    server.tool(name="get-library-docs")(get_library_docs)
server.run("streamable-http", host="127.0.0.1", port=0)
