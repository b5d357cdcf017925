"""MCP servers whose tools the agent may call: named in files, confined by the sandbox, guarded per call.

settings, oauth_settings             the entries of the files
servers              those of a runtime: their files, their admission, the arrival of their tools
pool, connection, lifetime         all servers, one server, one run of it
tool_descriptions    descriptions of tools for the model, and those of last time
server_tools         a call and its answer
transports, logins   programs, addresses, OAuth
session, elicitation               messages, and a server's requests meanwhile
listings, resources  lists of a server, and tools that read its resources

Only ``lifetime`` and what it uses load the SDK, on a thread, when the first server starts.
"""
