"""The agent for editors: the Agent Client Protocol on standard streams.

agent     methods, and the sessions they speak of
session   one conversation of a client    updates  events and histories as a client is shown them
person    what a client's person sends, and what they are asked
"""
