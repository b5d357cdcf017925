"""Processes that are forked instead of started: what each does until it is the one that was wanted."""

import atexit
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn, TextIO

from tests.fakes.memory import show


def compile_initializers() -> None:
    """Compile each late ``__init__`` of ``sam_tui.dataclass_methods`` before this process is forked."""
    classes: list[type[object]] = [object]
    for cls in classes:
        classes += type.__subclasses__(cls)
    # A class with slots takes the place of one without, which is older.
    newest = {vars(cls)["__init__"]: cls for cls in classes if "__init__" in vars(cls)}
    for cls in newest.values():
        if "__dataclass_fields__" in vars(cls):
            cls.__init__  # noqa: B018


def fork_twice(*, leads: bool) -> int | None:
    """Fork twice; the new process's id, or None in it. The one between may lead a session.

    A process whose parent ended is given to the next one above that takes in orphans: whoever asked
    for a child of its own. The new one goes on when it has been given away.
    """
    told, tells = os.pipe()
    gate, held = os.pipe()
    between = os.fork()
    new = 0
    if between == 0:
        if leads:
            os.setsid()
        new = os.fork()
        if new:
            os.write(tells, str(new).encode())
            os._exit(0)
    for end in (tells, held):
        os.close(end)
    if between:
        os.waitpid(between, 0)
        new = int(os.read(told, 32))
    else:
        os.read(gate, 1)  # there is nothing to read, but its end when the one between ended
    for end in (told, gate):
        os.close(end)
    return new or None


def take(wanted: dict[str, Any], descriptors: list[int]) -> None:
    """Use these streams, and name the descriptor that comes after them in the last word."""
    for number in range(3):
        os.dup2(descriptors[number], number)
        os.close(descriptors[number])
    if descriptors[3:]:
        wanted["words"][-1] = str(descriptors[3])


def enter(wanted: dict[str, Any]) -> None:
    """Have the folder, environment, command line and standard streams that were wanted."""
    os.umask(wanted["umask"])
    os.chdir(wanted["folder"])
    if wanted["first"]:
        module, name = wanted["first"]
        getattr(importlib.import_module(module), name)()
    os.environ.clear()
    os.environ.update(wanted["environment"])
    time.tzset()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(number, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    show(wanted["words"])


def _stream(number: int, ready: TextIO) -> TextIO:
    """A standard stream as Python would have made it now, told by the one it made at its start."""
    mode, buffering = "w" if number else "r", 1 if number == 2 or os.isatty(number) else -1
    return open(number, mode, buffering, ready.encoding, ready.errors, "\n", closefd=False)


def script(words: list[str]) -> Callable[[], object]:
    """A text of Python as the program, followed by its arguments."""
    sys.argv = ["-c", *words[1:]]
    text = words[0]
    return lambda: exec(text, {"__name__": "__main__"})


def run(program: Callable[[], object]) -> NoReturn:
    """Run and end as Python does, but do not take apart all that was imported, which costs most."""
    try:
        code = program()
    except SystemExit as ended:
        code = ended.code
    for module, name in ((threading, "_shutdown"), (atexit, "_run_exitfuncs")):
        getattr(module, name)()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        code = 120
    os._exit(code if isinstance(code, int) else code is not None)
