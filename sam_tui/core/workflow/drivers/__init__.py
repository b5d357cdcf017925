"""Drivers of open steps: our own agent, a tool call, a person."""
