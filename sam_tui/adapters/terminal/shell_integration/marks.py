"""Shell integration: start files that make a shell mark its prompts, commands and exit codes.

The shell reads the person's own files, which stay unchanged. Only private marks with a secret of
the session count, so that no program's output can forge them; nobody else gets to see them.
"""

import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sam_tui.core.local_files.temporary_folders import SHELL, Scratch

_OSC = b"\x1b]7717;"
SET_ASIDE = b"\x1b[7717~"
"""A key that no keyboard has. On it, the shell reports the line being edited and empties it."""
_LONGEST_MARK = 128
_LONGEST_PAYLOAD = 64 * 1024
_SNIPPETS = Path(__file__).parent
_ARGUMENTS = re.compile(rb"([BCDLS.]);([0-9]{0,3})")


@dataclass(frozen=True, slots=True)
class Mark:
    """``B``: the prompt ends. ``C``: command ``text`` starts. ``D``: it has ended, in folder ``text``.

    ``S``: ``text`` was moved out of the line being edited; code 1 means that the line is empty now.
    ``L``: marks were lost here, in output that nobody stored.

    ``code`` is the exit code that came with a ``D``.
    """

    kind: str
    code: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Integration:
    """The start of one shell. ``scratch`` holds its start files, removable once the shell has read them."""

    argv: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict[str, str])
    nonce: str = ""
    scratch: Scratch | None = None

    @property
    def folder(self) -> str:
        """The folder of the start files; empty without them."""
        return self.scratch.path if self.scratch else ""

    def discard(self) -> None:
        """Remove the start files with the secret in them; safe to call again."""
        if self.scratch:
            self.scratch.remove()


def integrate(shell: str) -> Integration:
    """Return how to start a shell with its integration, or without if it has none or cannot be written."""
    name = os.path.basename(shell)
    if name not in ("bash", "zsh", "fish"):
        return Integration((shell,))
    nonce = secrets.token_hex(16)
    snippet = (_SNIPPETS / f"integration.{name}").read_text(encoding="utf-8")
    snippet = snippet.replace("@NONCE@", nonce)
    try:
        scratch = Scratch(SHELL)
        file = Path(scratch.path, ".zshenv" if name == "zsh" else "init")
        file.write_text(snippet, encoding="utf-8")
    except OSError:
        return Integration((shell,))
    if name == "bash":
        return Integration((shell, "--rcfile", str(file)), {}, nonce, scratch)
    if name == "fish":
        return Integration((shell, "-C", f"source '{file}'"), {}, nonce, scratch)
    environment = {"ZDOTDIR": scratch.path}
    if (configured := os.environ.get("ZDOTDIR")) is not None:
        environment["SAM_TUI_ZDOTDIR"] = configured
    return Integration((shell,), environment, nonce, scratch)


def lost_mark(nonce: str) -> bytes:
    """The mark for omitted output, with the shell's marks in it."""
    return _OSC + nonce.encode() + b";L;\a" if nonce else b""


class MarkStream:
    """Removes a session's marks from its output, even if a mark comes in several pieces."""

    def __init__(self, nonce: str) -> None:
        self._opening = _OSC + nonce.encode() + b";" if nonce else b""
        self._held = b""
        self._open: tuple[str, int] | None = None
        self._payload = b""

    def split(self, data: bytes) -> Iterator[bytes | Mark]:
        """The output without marks, and the marks, in order. An incomplete mark waits for its rest."""
        if not self._opening:
            yield data
            return
        data, self._held = self._held + data, b""
        while data:
            at = data.find(self._opening)
            if at < 0:
                data, self._held = _cut(data, self._opening)
                yield from self._text(data)
                return
            yield from self._text(data[:at])
            finish = data.find(b"\a", at, at + _LONGEST_MARK)
            if finish < 0 and len(data) - at < _LONGEST_MARK:
                self._held = data[at:]
                return
            inside = data[at + len(self._opening) : max(finish, 0)]
            data = data[finish + 1 :] if finish >= 0 else data[at + len(self._opening) :]
            if (match := _ARGUMENTS.fullmatch(inside)) is not None:
                yield from self._mark(match[1].decode(), int(match[2] or 0))

    def remainder(self) -> bytes:
        """Return the bytes that were held back, once nothing more will come."""
        buffered, self._held = self._held, b""
        return buffered

    def _text(self, data: bytes) -> Iterator[bytes | Mark]:
        if self._open is None:
            if data:
                yield data
            return
        self._payload += data
        if len(self._payload) > _LONGEST_PAYLOAD:
            # No mark is that long: its end was lost, but the output must not be.
            yield from self._mark(".", 0)

    def _mark(self, kind: str, code: int) -> Iterator[Mark]:
        if kind in "BL":
            yield Mark(kind)
        elif kind != ".":
            self._open, self._payload = (kind, code), b""
        elif self._open is not None:
            # The terminal turns line ends into pairs on the way.
            text = self._payload.replace(b"\r\n", b"\n").decode(errors="replace")
            kind, code = self._open
            self._open = None
            yield Mark(kind, code, text)


def _cut(data: bytes, opening: bytes) -> tuple[bytes, bytes]:
    """Return data, and the end of it that may be the start of an opening."""
    at = data.rfind(b"\x1b", max(0, len(data) - len(opening)))
    if at >= 0 and opening.startswith(data[at:]):
        return data[:at], data[at:]
    return data, b""
