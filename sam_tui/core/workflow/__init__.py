"""Workflows: definitions, executions, tokens, the gate and the runner; ``service.Workflows`` is the door."""
