"""The standard streams of this process, any of which the caller may have closed, and results on them."""

import codecs
import io
import json
import os
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, TextIO

import click

from sam_tui.core.errors import UsageError
from sam_tui.core.text import charsets
from sam_tui.headless.output import terminal_safe


def secure_streams() -> None:
    """Put /dev/null where a standard descriptor is closed.

    Otherwise the next file opened takes its number, and a stray write to "standard error" lands in
    the database. A closed standard error becomes silence; closed input and output stay None.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        _fit(stream)


def _fit(stream: TextIO) -> None:
    """Write to a terminal in the encoding of its locale, and ASCII for what an encoding cannot hold."""
    if not isinstance(stream, io.TextIOWrapper):
        return
    encoding = (stream.isatty() and charsets.of_terminal(os.environ)) or stream.encoding
    if charsets.holds_marks(encoding):
        return
    if codecs.lookup(encoding).name == "ascii":
        encoding = charsets.ASCII
    stream.reconfigure(encoding=encoding, errors=charsets.AS_TEXT)


def require_output() -> None:
    """Raise ``UsageError`` when there is no standard output to write a result to."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise UsageError(
            "Standard output is closed, so nobody could read the result.",
            hint="Redirect it: >result.txt, or >/dev/null.",
        )


@contextmanager
def contract_output() -> Generator[TextIO, None, None]:
    """Standard output for the contract alone; what else is printed meanwhile goes to standard error.

    Libraries print; nothing of theirs may stand between two lines of JSON. Raises ``UsageError``
    when standard output is closed.
    """
    require_output()
    sys.stdout.flush()
    copy = os.dup(1)
    os.dup2(2, 1)
    encoding, errors = sys.stdout.encoding, sys.stdout.errors
    try:
        with open(copy, "w", encoding=encoding, errors=errors, closefd=False) as out:
            yield out
    finally:
        sys.stdout.flush()
        os.dup2(copy, 1)
        os.close(copy)


def input_descriptor() -> int | None:
    """The descriptor of standard input, or None if it is closed."""
    return None if sys.stdin is None else 0  # pyright: ignore[reportUnnecessaryComparison]


def protocol_streams() -> tuple[int, int]:
    """Two descriptors for the protocol alone: other reads and prints no longer touch them."""
    read = input_descriptor()
    source = os.dup(read) if read is not None else os.open(os.devnull, 0)
    sys.stdout.flush()
    sink = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink


def print_json(value: Any) -> int:
    """Print a value as JSON, dataclasses as objects; returns the exit code 0."""
    click.echo(json.dumps(value, indent=2, default=asdict))
    return 0


def print_lines(lines: Iterable[str]) -> int:
    """Print lines that may contain text from outside; returns the exit code 0."""
    for line in lines:
        click.echo(terminal_safe(line))
    return 0


def print_list(rows: Sequence[Any], lines: Iterable[str], *, as_json: bool, none: str) -> int:
    """Print ``rows`` as a JSON list, or ``lines``; ``none`` says that there are no rows. Returns 0."""
    if as_json:
        return print_json(rows)
    if not rows:
        click.echo(none, err=True)
    return print_lines(lines)
