"""Workflows: definitions, executions, tokens, the gate and the runner; see ``service.Workflows``."""
