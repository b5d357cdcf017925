"""Signals of this process that are ignored or blocked are not handed down to the programs it starts.

An ignored signal stays ignored through exec, and a mask is inherited; a handler is not (execve(2)).
Python ignores SIGPIPE and SIGXFSZ, ``nohup`` SIGHUP, and a shell without job control SIGINT and SIGQUIT
behind ``&``. With a handler that does nothing in place of that, every program starts with the defaults,
started by any code and on any thread.
"""

import signal
from types import FrameType

_FIXED = {signal.SIGKILL, signal.SIGSTOP}


def keep_own() -> None:
    """Have every program that this process starts begin with default dispositions and an empty mask.

    Call it on the main thread before there are others: they inherit its mask.
    """
    ignore(*(n for n in signal.valid_signals() - _FIXED if signal.getsignal(n) == signal.SIG_IGN))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def ignore(*numbers: int) -> None:
    """Ignore signals in this process alone; its children get the default disposition."""
    for number in numbers:
        signal.signal(number, _nothing)


def ignored(number: int) -> bool:
    """Whether a signal does nothing here, because of ``ignore`` or of this process's parent."""
    return signal.getsignal(number) in (signal.SIG_IGN, _nothing)


def _nothing(number: int, frame: FrameType | None) -> None:
    """The handler of ignored signals."""
