"""The program as a command of a shell: what the shell starts has the process of the test fork it."""

import contextlib
import marshal
import os
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path

from tests.fakes import preloaded

CLIENT = """
import marshal, os, socket, sys
ours, theirs = os.pipe()
with socket.socket(fileno=int(sys.argv[1])) as asking:
    wanted = marshal.dumps((sys.argv[2:], os.getcwd(), dict(os.environ)))
    socket.send_fds(asking, [wanted], [0, 1, 2, theirs])
os.close(theirs)
sys.exit(int(os.read(ours, 9)))
"""
"""Hands over its arguments, folder, environment and streams, and ends as the program did."""


@contextlib.contextmanager
def shell_command(path: Path, *words: str) -> Generator[tuple[int, ...]]:
    """A command at this path that runs the program, with these words before its own.

    It gives the descriptors that the shell has to inherit.
    """
    if not preloaded.is_installed():
        _write(path, *preloaded.COMMAND, *words)
        yield ()
        return
    requests, asks = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    thread = threading.Thread(target=_serve, args=(requests,))
    thread.start()
    try:
        with asks:
            _write(path, sys.executable, "-I", "-S", "-c", CLIENT, str(asks.fileno()), *words)
            yield (asks.fileno(),)
    finally:
        thread.join()
        requests.close()


def _write(path: Path, *words: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    path.chmod(0o700)


def _serve(requests: socket.socket) -> None:
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, preloaded.MESSAGE, 4)
        if not message:
            return
        threading.Thread(target=_run, args=(message, *descriptors)).start()


def _run(message: bytes, *descriptors: int) -> None:
    words, folder, environ = marshal.loads(message)
    *streams, answer = descriptors
    with open(answer, "w", encoding="ascii") as end:
        try:
            program = subprocess.Popen(
                [*preloaded.COMMAND, *words],
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                cwd=folder,
                env=environ,
            )
        finally:
            for stream in streams:
                os.close(stream)
        code = program.wait()
        end.write(str(code if code >= 0 else 128 - code))
