"""The agent for editors: the Agent Client Protocol on standard streams.

agent     methods, and their sessions
session   one conversation of a client    updates  events and histories for a client
person    messages of a client's person, and questions to them
"""
