"""Roles of plans on the command line: which of them workers take, and whose steps are handed out."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sam_tui.core.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def _split(_context: click.Context, option: click.Parameter, text: str | None) -> tuple[str, ...]:
    roles = dict.fromkeys(role for part in (text or "").split(",") if (role := part.strip()))
    if text is not None and not roles:
        # A script fills it from a variable, and without one a worker would take whole tasks.
        raise UsageError(f"{option.opts[0]} names no role.", hint="Leave it out, or name some.")
    return tuple(roles)


def roles_option(name: str, about: str, default: str | None = None) -> Callable[[F], F]:
    """An option that takes roles, separated by commas, as a tuple of each once."""
    return click.option(name, metavar="ROLES", default=default, callback=_split, help=about)


def hand_out_option(command: F) -> F:
    """Takes ``--hand-out`` as a tuple of roles."""
    about = "Roles, separated by commas, whose steps run in “sam-tui worker”."
    return roles_option("--hand-out", about)(command)
