"""The messages between program, supervisor and starting commands, each one datagram."""

MESSAGE = 256 * 1024
"""The most bytes of a message."""
READY = b"R"
"""Sent by the reaper once it is ready."""
LISTENING = b"L"
"""Sent by a starting command, with the descriptor of its seccomp listener."""
GO = b"G"
"""Sent by the supervisor once it serves the listener, so that the command may start."""
