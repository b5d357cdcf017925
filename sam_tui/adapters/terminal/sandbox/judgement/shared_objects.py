"""Judging System V shared memory, semaphores and queues: a run reaches only those that it made itself.

They belong to the whole machine and have no path, so Landlock does not know them. The supervisor makes
them for the caller and so knows their numbers; later calls name a number in a register.
"""

import os
from collections.abc import Callable

from sam_tui.adapters.terminal.sandbox.judgement.paths import signed
from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import OBJECT_CALLS
from sam_tui.adapters.terminal.sandbox.kernel.calls import call
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.supervised.caller import Target, own_rights
from sam_tui.adapters.terminal.sandbox.supervised.run import Watch

_CREATE, _EXCLUSIVELY = 0o1000, 0o2000
_PRIVATE = 0
_SIXTY_FOUR = 0x100
"""IPC_64, a flag that the C library adds to commands."""
_READING = {
    "shm": frozenset({2, 3, 13, 14, 15}),
    "sem": frozenset({2, 3, 11, 12, 13, 14, 15, 18, 19, 20}),
    "msg": frozenset({2, 3, 11, 12, 13}),
}
"""Commands of shmctl, semctl and msgctl that change nothing (linux/ipc.h, shm.h, sem.h, msg.h)."""
_COMMAND_AT = {"shm": 1, "sem": 2, "msg": 1}
_MAKING = ("shmget", "semget", "msgget")


def _get(watch: Watch, notification: Notification) -> None:
    """shmget, semget, msgget: an object of this run's, or a new one."""
    name = watch.names[notification.number]
    target = Target(notification.thread, watch.memory)
    mine = own_rights()
    if os.geteuid() == 0 and target.rights().user != mine.user:
        watch.refuse(notification)  # it would not be the caller's own
        return
    key = signed(notification.arguments[0])
    sizes = [notification.arguments[1]] if name != "msgget" else []
    flags = signed(notification.arguments[1 + len(sizes)])
    if key != _PRIVATE and (existing := _existing(name, key, len(sizes))) is not None:
        if (name[:3], existing) not in watch.created.numbered:
            watch.refuse(notification)
            return
    elif key != _PRIVATE and flags & _CREATE:
        flags |= _EXCLUSIVELY  # somebody else's, made in between, is not this run's
    if not watch.waits(notification):
        return
    number = call(name, key, *sizes, flags)
    watch.created.numbered.add((name[:3], number))
    watch.returned(notification, number)


def _existing(name: str, key: int, sizes: int) -> int | None:
    """The number of the object that has a key, -1 where it may not be known; None without one."""
    try:
        return call(name, key, *[0] * sizes, 0)
    except FileNotFoundError:
        return None
    except OSError:
        return -1


def _use(watch: Watch, notification: Notification) -> None:
    """Attaching, raising and lowering, sending and receiving."""
    _judge(watch, notification, watch.names[notification.number][:3])


def _control(watch: Watch, notification: Notification) -> None:
    """shmctl, semctl, msgctl: everybody may look."""
    kind = watch.names[notification.number][:3]
    command = signed(notification.arguments[_COMMAND_AT[kind]]) & ~_SIXTY_FOUR
    if command in _READING[kind]:
        watch.proceed(notification)
    else:
        _judge(watch, notification, kind)


def _judge(watch: Watch, notification: Notification, kind: str) -> None:
    if (kind, signed(notification.arguments[0])) in watch.created.numbered:
        watch.proceed(notification)
    else:
        watch.refuse(notification)


def object_handlers() -> dict[str, Callable[[Watch, Notification], None]]:
    """The handlers of system calls on System V shared memory, semaphores and queues, by name."""
    return {
        name: _get if name in _MAKING else _control if name.endswith("ctl") else _use
        for name in OBJECT_CALLS
    }
