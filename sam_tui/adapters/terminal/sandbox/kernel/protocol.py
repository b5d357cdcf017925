"""The messages between program, supervisor and starting commands, each one datagram."""

MESSAGE = 256 * 1024
"""Bytes of a message at most."""
READY = b"R"
"""The process that ends what outlives the program watches from now on."""
LISTENING = b"L"
"""A starting command hands over its listener."""
GO = b"G"
"""The supervisor listens: the command may start."""
