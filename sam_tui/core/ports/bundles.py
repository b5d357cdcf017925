"""Bundles that count: folders of skills, commands, agents, hooks and servers, as they were trusted."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BundleFolder:
    """One of them. ``folder`` is its real path; ``name`` stands before the names of what is in it."""

    name: str
    folder: str
    vouches: Callable[[str, bytes], bool]
    """Whether this is what a file, by its name in the folder, held when it was trusted."""
    intact: Callable[[], bool]
    """Whether the folder holds what was trusted, and nothing else."""
