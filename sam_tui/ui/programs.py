"""Programs of the person that the workbench starts: pager, editor, browser."""

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from typing import Literal

from textual.app import App, SuspendNotSupported
from textual.widget import Widget

from sam_tui.settings.values import words_of

Reader = Literal["pager", "editor"]
ANSWERED = 1.0
"""Seconds in which a terminal, or tmux, must report its kind."""
_FALLBACKS: dict[Reader, tuple[str, ...]] = {
    "pager": ("less", "more"),
    "editor": ("vim", "vi", "nano"),
}
_TAKE_A_LINE = frozenset([
    "vim",
    "vi",
    "nvim",
    "nano",
    "emacs",
    "emacsclient",
    "micro",
    "joe",
    "jed",
    "kak",
    "ne",
    "mg",
    "less",
    "view",
])
"""Editors that take ``+LINE`` before a file."""
_TAKE_A_COLON = frozenset(["hx", "helix", "zed", "subl"])
"""Editors that take ``FILE:LINE``."""
_GO_TO = frozenset(["code", "code-insiders", "codium", "cursor", "windsurf"])
"""Editors that take ``--goto FILE:LINE``."""
_VARIABLES: dict[Reader, tuple[str, ...]] = {"pager": ("PAGER",), "editor": ("VISUAL", "EDITOR")}


def command_for(reader: Reader) -> list[str] | None:
    """The person's own program for reading, else one that is installed; None if there is none."""
    for name in _VARIABLES[reader]:
        words = words_of(os.environ.get(name, ""))
        if words and shutil.which(words[0]):
            return words
    return next(([program] for name in _FALLBACKS[reader] if (program := shutil.which(name))), None)


async def started(words: Sequence[str], *, answers: bool) -> asyncio.subprocess.Process:
    """Start a program of the person's settings, without variables that look like secrets.

    With ``answers`` it gets input and its output is read. Raises ``OSError`` and ``ValueError``.
    """
    from sam_tui.core.authorization.variables import looks_secret  # the first frame starts none

    pipe = asyncio.subprocess.PIPE if answers else asyncio.subprocess.DEVNULL
    return await asyncio.create_subprocess_exec(
        *words,
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
        env={n: v for n, v in os.environ.items() if not looks_secret(n, v)},
        start_new_session=True,
    )


async def printed(*words: str) -> str:
    """The output of a program that ends within a moment; empty for any other."""
    try:
        program = await started(words, answers=True)
    except OSError:
        return ""
    try:
        output, _ = await asyncio.wait_for(program.communicate(), ANSWERED)
    except TimeoutError:
        program.kill()
        await program.wait()
        return ""
    return output.decode(errors="replace")


async def read(app: App[None], reader: Reader, text: str) -> str:
    """Show a text in the pager or the editor, which has the terminal meanwhile.

    Running turns go on. Returns why the text could not be shown, or nothing.
    """
    _, trouble = await _lend(app, reader, text)
    return trouble


async def edit(app: App[None], text: str) -> tuple[str, str]:
    """Open a text in the editor. Returns the edited text, and why that was not possible.

    An editor that ends with a code other than 0 changed nothing.
    """
    return await _lend(app, "editor", text)


async def _lend(app: App[None], reader: Reader, text: str) -> tuple[str, str]:
    command = command_for(reader)
    if command is None:
        return text, f"There is no {reader} here: set ${_VARIABLES[reader][0]}."
    handle, name = tempfile.mkstemp(prefix="sam-tui-", suffix=".txt")  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        # Nothing is drawn before the terminal is ours again.
        with app.batch_update(), app.suspend():
            # No shell, and the person's own terminal.
            code = await _ended(await asyncio.create_subprocess_exec(*command, name))
        left = _content(name)
    except SuspendNotSupported:
        return text, "This terminal cannot be handed to another program."
    except OSError as error:
        return text, f"{command[0]} could not be used: {error.strerror}"
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
    return (left if code == 0 else text), ""


async def open_file(app: App[None], path: str, line: int) -> str:
    """Open a file, by its whole path, at a line in the editor; returns why that failed, or nothing.

    The line number is passed as each editor expects it; an unknown editor gets only the path.
    """
    command = command_for("editor")
    if command is None:
        return "There is no editor here: set $VISUAL."
    words = _at_line(os.path.basename(command[0]), path, line)
    try:
        with app.batch_update(), app.suspend():
            await _ended(await asyncio.create_subprocess_exec(*command, *words))
    except SuspendNotSupported:
        return "This terminal cannot be handed to another program."
    except OSError as error:
        return f"{command[0]} could not be used: {error.strerror}"
    return ""


def _at_line(editor: str, path: str, line: int) -> list[str]:
    if editor in _TAKE_A_LINE:
        return [f"+{line}", path]
    if editor in _TAKE_A_COLON:
        return [f"{path}:{line}"]
    return ["--goto", f"{path}:{line}"] if editor in _GO_TO else [path]


def _content(name: str) -> str:
    with open(name, encoding="utf-8", errors="replace") as file:
        return file.read()


async def browse(address: str) -> bool:
    """Open an address with the desktop's own program; False where there is no desktop."""
    opener = _opener()
    if opener is None:
        return False
    process = await asyncio.create_subprocess_exec(
        opener,
        address,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    return await _ended(process) == 0


def copy_address(widget: Widget, address: str) -> None:
    """Copy the address of a web page, and say so."""
    widget.app.copy_to_clipboard(address)  # pyright: ignore[reportUnknownMemberType]
    widget.notify("Copied.", markup=False)


async def open_address(widget: Widget, address: str) -> None:
    """Open an address in a browser on this machine; where there is none, say how to copy it."""
    if not await browse(address):
        widget.notify("There is no browser here: c copies the address.", markup=False)


async def _ended(process: asyncio.subprocess.Process) -> int:
    """Wait for a program to end; if the workbench ends first, end the program."""
    try:
        return await process.wait()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise


def _opener() -> str | None:
    if sys.platform == "darwin":
        return shutil.which("open")
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return shutil.which("xdg-open")
    return None
