"""The servers of a runtime: which files name them, how each may be started, and their tools for the agent.

None of these modules loads the rest of the client before a file names a server.
"""
