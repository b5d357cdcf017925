"""Prints the results of commands: JSON for programs, lines for people."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import click

from sam_tui.headless.output import terminal_safe


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
