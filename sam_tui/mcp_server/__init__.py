"""The MCP server: our tools, workflows and prompts for any MCP client, on stdio or loopback HTTP.

Nothing here is loaded before ``sam-tui mcp serve`` is called: the ``mcp`` package costs 0.3 s.
"""
