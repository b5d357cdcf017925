"""The process that is forked in tests to watch over commands: it has imported no more than it needs.

``sandbox/detached.py`` starts that with the standard library and the program alone, and this too.
"""

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable

MESSAGE = 1 << 18
"""The most bytes of what is wanted."""
_MODULES = (
    "sam_tui.adapters.terminal.holders.process",
    "sam_tui.adapters.terminal.sandbox.network.host_connections",
    "sam_tui.adapters.terminal.sandbox.reaper",
    "sam_tui.adapters.terminal.sandbox.supervisor",
)
"""What is started apart, and what most supervisors import with their first run."""


def started() -> socket.socket:
    """The end of it to send to: what is wanted, its streams and descriptors, and where to write its id.

    It ends when nobody has that end any more. Raises OSError.
    """
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE)
    with theirs:
        subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, root, str(theirs.fileno()), " " * 4096],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={"PATH": os.defpath},
            cwd="/",
            start_new_session=True,
        ).returncode = 0  # nobody waits for it
    return control


def _serve(control: socket.socket, words_before: int) -> Callable[[], object]:
    """Fork as often as it is asked to; returns in each forked process, with its program."""
    from tests.fakes import forked

    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MESSAGE, 5)
        if not message:
            os._exit(0)
        wanted = json.loads(message)
        answers = descriptors.pop()
        new = forked.fork_twice(leads=True)
        if new is None:
            control.close()
            os.close(answers)
            forked.take(wanted, descriptors)
            for number in (signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_IGN)  # as a shell does what it starts with &
            forked.enter(wanted)
            return forked.script(wanted["words"][words_before:])
        with contextlib.suppress(BrokenPipeError):
            os.write(answers, str(new).encode())
        for descriptor in (*descriptors, answers):
            os.close(descriptor)


def main() -> None:
    """Wait for what is wanted, and be that."""
    root, number = sys.argv[1:3]
    sys.path.append(root)
    from sam_tui.dataclass_methods import use_closures

    use_closures()
    for name in _MODULES:
        importlib.import_module(name)
    from tests.fakes import forked, preloaded

    forked.compile_initializers()
    gc.collect()
    gc.freeze()
    forked.run(_serve(socket.socket(fileno=int(number)), len(preloaded.APART)))


if __name__ == "__main__":
    main()
