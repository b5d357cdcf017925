"""What ``rg --json`` prints, read as it comes, with bounded memory."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

from sam_tui.core.ports.files import GrepHit

_LONGEST_RECORD = 1 << 20
_HEAD = 4096
_SHOWN = 400
_BEFORE = 120
_PATH = re.compile(rb'"path":\{"(text|bytes)":("(?:[^"\\]|\\.)*")')
_BEGUN = re.compile(rb'"lines":\{"text":"((?:[^"\\]|\\.)*)')
_NUMBER = re.compile(rb'"\},"line_number":(\d+)')
_OVERLAP = 64


class RipgrepRecords:
    """Turns chunks of output into hits.

    A record longer than 1 MiB (a match in a minified file) is not kept: its path, its line number
    and the begin of its line are taken as it passes by.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = b""
        self._number = b""
        self.complete = False
        """Whether the closing summary came: the search began and was not cut."""

    def feed(self, chunk: bytes) -> Iterator[GrepHit]:
        """The hits that this chunk completes."""
        *lines, partial = chunk.split(b"\n")
        for line in lines:
            hit = self._pass_by(line, ends=True) if self._skipping else self._read(line)
            if hit is not None:
                yield hit
        if self._skipping:
            self._pass_by(partial, ends=False)
        else:
            self._rest += partial
            if len(self._rest) > _LONGEST_RECORD:
                self._skipping, self._number = self._rest[:_HEAD], b""
                text, self._rest = self._rest, b""
                self._pass_by(text, ends=False)

    def _read(self, line: bytes) -> GrepHit | None:
        line, self._rest = self._rest + line, b""
        if not line:
            return None
        record = json.loads(line)
        if record["type"] == "summary":
            self.complete = True
        return _hit(record["data"]) if record["type"] == "match" else None

    def _pass_by(self, piece: bytes, *, ends: bool) -> GrepHit | None:
        seen = self._rest + piece
        if not self._number and (match := _NUMBER.search(seen)):
            self._number = match[1]
        self._rest = b"" if ends else seen[-_OVERLAP:]
        if not ends:
            return None
        head, self._skipping = self._skipping, b""
        path, started = _PATH.search(head), _BEGUN.search(head)
        if path is None or not self._number:
            return None
        name = _decoded({path[1].decode(): json.loads(path[2])})
        text = json.loads(b'"' + started[1] + b'"') if started else ""
        return GrepHit(name, int(self._number), text[:_SHOWN] + "…")


def _hit(data: dict[str, Any]) -> GrepHit:
    line: bytes = _raw(data["lines"]).split(b"\n", 1)[0].rstrip(b"\r")
    matches = data["submatches"]
    start = matches[0]["start"] if matches else 0
    return GrepHit(_decoded(data["path"]), data["line_number"] or 1, _clipped(line, start))


def _clipped(line: bytes, match: int) -> str:
    """At most 400 bytes of a line around its first match."""
    if len(line) <= _SHOWN:
        return line.decode("utf-8", "replace")
    begin = 0 if match + _BEFORE < _SHOWN else match - _BEFORE
    end = begin + _SHOWN
    text = line[begin:end].decode("utf-8", "replace").strip("\ufffd")
    return f"{'…' if begin else ''}{text}{'…' if end < len(line) else ''}"


def _raw(value: dict[str, str]) -> bytes:
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _decoded(path: dict[str, str]) -> str:
    return _raw(path).decode("utf-8", "surrogateescape").removeprefix("./")
