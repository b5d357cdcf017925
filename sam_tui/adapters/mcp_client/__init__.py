"""MCP servers whose tools the agent may call: named in files, confined by the sandbox, guarded per call.

settings             what the files name
pool, connection, lifetime         all servers, one server, one run of it
tool_descriptions    what the model is told of tools, and those of last time
server_tools         a call and its answer
stdio_transport, http_transport, login      programs, addresses, OAuth
session, elicitation               what is said, and what a server asks for meanwhile
listings, resources  lists of a server, and tools for what it has to read

Only ``lifetime`` and what it uses load the SDK, on a thread, when the first server starts.
"""

from sam_tui.adapters.mcp_client.connection_context import (
    Caller,
    Callers,
    Logins,
    ServerSurroundings,
    ServerTerms,
)
from sam_tui.adapters.mcp_client.pool import ServerFile, ServerPool
from sam_tui.adapters.mcp_client.settings import (
    PROJECT_FILE,
    USER_FILE,
    ServerSettings,
    SettingsReader,
    secrets_of,
    server_files,
)
from sam_tui.adapters.mcp_client.tool_descriptions import RememberedTools

__all__ = [
    "PROJECT_FILE",
    "USER_FILE",
    "Caller",
    "Callers",
    "Logins",
    "RememberedTools",
    "ServerFile",
    "ServerPool",
    "ServerSettings",
    "ServerSurroundings",
    "ServerTerms",
    "SettingsReader",
    "secrets_of",
    "server_files",
]
