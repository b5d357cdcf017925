"""Transports to a server: standard streams, streamable HTTP, and the HTTP of before 2025."""
