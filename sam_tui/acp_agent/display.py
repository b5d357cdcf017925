"""The program in a terminal of the client: it prints a command's output, and ends as the command does.

The command itself runs in the agent's sandbox. The client starts the text of this module with a
Python of its own, so it imports the standard library alone.
"""

import os
import socket
import struct
import sys

HEAD = struct.Struct(">I")
"""Precedes each piece of output and has its length in bytes; 0 announces one byte, the exit code."""


def show(address: str, token: str) -> int:
    """Print all pieces that come from the agent; the exit code, 1 if the agent is gone."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
        agent.connect(address)
        agent.sendall(token.encode() + b"\n")
        with agent.makefile("rb") as pieces:
            while len(head := pieces.read(HEAD.size)) == HEAD.size:
                (length,) = HEAD.unpack(head)
                piece = memoryview(pieces.read(length or 1))
                if not length:
                    return piece[0] if piece else 1
                while piece:
                    piece = piece[os.write(1, piece) :]
    return 1


if __name__ == "__main__":
    sys.exit(show(*sys.argv[1:]))
