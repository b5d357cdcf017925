"""What tests of places that later run share: who is asked, and the beginning of a script."""

from sam_tui.core.ports.processes.sandbox import OutsideAccess

PRELUDE = """
import ctypes, mmap, os, socket, struct, sys, threading
libc, HERE = ctypes.CDLL(None, use_errno=True), -100
def write(path, flags=os.O_WRONLY | os.O_CREAT, **given):
    d = os.open(path, flags, 0o755, **given)
    os.write(d, b"evil")
    os.close(d)
"""


class Person:
    """Answers questions about places, and remembers them."""

    def __init__(self, *, says: bool = False) -> None:
        self.asked: list[OutsideAccess] = []
        self._says = says

    async def __call__(self, access: OutsideAccess) -> bool:
        self.asked.append(access)
        return self._says
