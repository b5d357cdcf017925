"""MCP servers whose tools the agent may call: named in files, held by the sandbox, asked for.

settings      what the files name        pool, connection, life   all of them, one, one run of it
adverts       what the model is told     arguments, results       a call and its answer
wire, door    stdio and HTTP             session, forms           what is said, and what is asked
resources     two tools for what a server has to read    remembered   its tools of last time
login         OAuth, its tokens in a private file

Only ``life`` and what it uses load the SDK, on a thread, when the first server starts.
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
from sam_tui.adapters.mcp_client.tool_cache import RememberedTools

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
