"""Roles of plans on the command line: which of them workers take, and whose steps are handed out."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def roles_of(text: str) -> tuple[str, ...]:
    """Roles that are separated by commas, each once."""
    return tuple(dict.fromkeys(role for part in text.split(",") if (role := part.strip())))


def _split(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...]:
    return roles_of(text or "")


def hand_out_option(command: F) -> F:
    """Takes ``--hand-out`` as a tuple of roles."""
    about = "Roles, separated by commas, whose steps run in “sam-tui worker”."
    return click.option("--hand-out", metavar="ROLES", callback=_split, help=about)(command)
