"""The messages between program, supervisor and starting commands, each one datagram."""

MESSAGE = 256 * 1024
"""The most bytes of a message."""
READY = b"R"
"""Sent by the process that ends what outlives the program, once it watches."""
LISTENING = b"L"
"""Sent by a starting command with its listener."""
GO = b"G"
"""Sent by the supervisor once it listens, so that the command may start."""
