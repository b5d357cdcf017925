"""Judging connections: unix sockets outside are asked about, the network setting limits the internet.

The supervisor connects a copy of the caller's socket itself, to exactly the judged address.
"""

import errno
import os
import socket
import stat
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from sam_tui.adapters.terminal.sandbox.judgement.paths import signed
from sam_tui.adapters.terminal.sandbox.kernel.calls import AT_FDCWD, call, checked, libc
from sam_tui.adapters.terminal.sandbox.kernel.listeners import bearer
from sam_tui.adapters.terminal.sandbox.kernel.notifications import Notification
from sam_tui.adapters.terminal.sandbox.supervised import file_calls
from sam_tui.adapters.terminal.sandbox.supervised.caller import Rights, Target
from sam_tui.adapters.terminal.sandbox.supervised.run import OutsideWish, Watch

NETWORK = "the network"
_NAME_SERVICES = ("/run/nscd/", "/run/systemd/userdb/", "/run/systemd/resolve/")
"""Sockets that the C library tries for every name; without them it looks names up itself."""
_LONGEST_ADDRESS = 128
_UNIX_PATH = 108
_MOST_WAITING = 128

_waiting = threading.BoundedSemaphore(_MOST_WAITING)


def _connect(watch: Watch, notification: Notification) -> None:
    _, address, length = notification.arguments[:3]
    target = Target(notification.thread, watch.memory)
    if not 2 <= length <= _LONGEST_ADDRESS:
        raise OSError(errno.EINVAL, "Invalid argument")
    address_data = target.data(address, length)
    rights = target.rights()
    if address_data[:2] != socket.AF_UNIX.to_bytes(2, "little"):
        if watch.hosts is not None:
            watch.hosts.connect(notification, rights, address_data)
            return
        # Such an address names no socket of this machine, even if a socket has that path now.
        in_its_own_time(watch, notification, rights, address_data)
        return
    judge_unix(
        watch,
        notification,
        address_data,
        lambda path: in_its_own_time(watch, notification, rights, address_data, path=path),
    )


def judge_unix(
    watch: Watch, notification: Notification, address: bytes, go: Callable[[str], None]
) -> None:
    """Judge the address of a unix socket that a call connects or sends to.

    ``go`` carries the call out, with the real path that was judged; empty for an abstract name.
    Sockets of this program's commands are free, and those that lie inside.
    """
    name = address[2:]
    if len(name) > _UNIX_PATH:
        raise OSError(errno.EINVAL, "Invalid argument")
    if not name or name[0] == 0:
        name_shown = "@" + os.fsdecode(name[1:]) if name else "@"
        if watch.own_socket(bearer(name)):
            watch.carry_out(notification, lambda: go(""))
        else:
            watch.settle(notification, OutsideWish("connect", name_shown), lambda: go(""))
        return
    path = os.fsdecode(name.split(b"\0", 1)[0])
    target_path = Target(notification.thread, watch.memory).resolve(AT_FDCWD, path, follow=True)
    if (
        target_path.special
        or not _is_socket(target_path.real)
        or target_path.real.startswith(_NAME_SERVICES)
    ):
        raise OSError(errno.ECONNREFUSED, "Connection refused")
    if watch.inside.holds(target_path.real):
        watch.carry_out(notification, lambda: go(target_path.real))
    else:
        watch.settle(
            notification, OutsideWish("connect", target_path.real), lambda: go(target_path.real)
        )


def _is_socket(path: str) -> bool:
    """Whether there is a socket. Raises OSError when there is nothing."""
    return stat.S_ISSOCK(os.stat(path, follow_symlinks=False).st_mode)


@contextmanager
def copy_of(target: Target, descriptor: int) -> Generator[socket.socket]:
    """The caller's own socket. Raises OSError (ENOTSOCK, EBADF)."""
    process = os.pidfd_open(target.process)
    try:
        copied = call("pidfd_getfd", process, descriptor, 0)
    finally:
        os.close(process)
    try:
        duplicate = socket.socket(fileno=copied)
    except OSError:
        os.close(copied)
        raise
    with duplicate:
        yield duplicate


def in_its_own_time(
    watch: Watch,
    notification: Notification,
    rights: Rights,
    address: bytes | Callable[[socket.socket], bytes],
    *,
    path: str = "",
) -> None:
    """Connect on a thread, because the person's answer or the connection may take minutes.

    An ``address`` that is a function is called on that thread.
    """

    def connect() -> None:
        target = Target(notification.thread, watch.memory)
        with copy_of(target, signed(notification.arguments[0])) as copied:
            if not path:
                _connect_to(copied, address if isinstance(address, bytes) else address(copied))
            else:
                assert isinstance(address, bytes)
                with file_calls.acting_as(rights), file_calls.exact(path) as handle:
                    link = f"/proc/self/fd/{handle}".encode()
                    _connect_to(copied, address[:2] + link + b"\0")
        watch.succeed(notification)

    on_its_own(watch, notification, connect)


def on_its_own(watch: Watch, notification: Notification, action: Callable[[], None]) -> None:
    """Carry a call out on a thread, because it may block. Raises OSError if too many calls do."""
    if not _waiting.acquire(blocking=False):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    def work() -> None:
        try:
            watch.carry_out(notification, action)
        except OSError:
            pass  # the caller is gone
        finally:
            _waiting.release()

    threading.Thread(target=work, name="connect", daemon=True).start()


def _connect_to(copied: socket.socket, address: bytes) -> None:
    checked(libc().connect(copied.fileno(), address, len(address)))


def _socket(watch: Watch, notification: Notification) -> None:
    """An internet socket where the network is off: one question for all of it."""
    if watch.hosts is not None:
        watch.hosts.datagrams(notification)
        return
    watch.settle(notification, OutsideWish("connect", NETWORK), lambda: watch.proceed(notification))


def _listen(watch: Watch, notification: Notification) -> None:
    """A server, where the network is held to hosts."""
    if watch.hosts is None:
        watch.proceed(notification)
    else:
        watch.hosts.listen(notification)


def connection_handlers() -> dict[str, Callable[[Watch, Notification], None]]:
    """The handlers of system calls on sockets, by name."""
    return {"connect": _connect, "socket": _socket, "listen": _listen}
