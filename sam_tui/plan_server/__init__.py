"""The plan API of seed 002: tasks over HTTP, on loopback; docs/plan-api.md has it for clients."""
