"""A Context7 server as Context7's is: two tools over streamable HTTP, by the SDK, at a free port."""

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


@server.tool(name="resolve-library-id")
def resolve_library_id(libraryName: str) -> str:
    """Find the id of a library."""
    if libraryName == "broken":
        raise ValueError("no such luck")
    return LIBRARIES if "react" in libraryName.lower() else "No documentation libraries found."


@server.tool(name="get-library-docs")
def get_library_docs(
    context7CompatibleLibraryID: str, topic: str = "", tokens: int = 10_000
) -> str:
    """The documentation of a library."""
    if context7CompatibleLibraryID == "/facebook/react" and topic == "nothing":
        return ""
    return f"docs of {context7CompatibleLibraryID}, topic {topic or '-'}, {tokens} tokens"


server.run("streamable-http", host="127.0.0.1", port=0)
