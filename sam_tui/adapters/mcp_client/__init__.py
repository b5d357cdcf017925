"""MCP servers whose tools the agent may call: named in files, confined by the sandbox, guarded per call.

settings, oauth_settings             what the files name
servers              those of a runtime: their files, how each may be started, when their tools come
pool, connection, lifetime         all servers, one server, one run of it
tool_descriptions    what the model is told of tools, and those of last time
server_tools         a call and its answer
transports, logins   programs, addresses, OAuth
session, elicitation               what is said, and what a server asks for meanwhile
listings, resources  lists of a server, and tools for what it has to read

Only ``lifetime`` and what it uses load the SDK, on a thread, when the first server starts.
"""
