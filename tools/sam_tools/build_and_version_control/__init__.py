"""Tasks that run, and the changes of a git repository (seed 004, build_and_version_control)."""

from sam_tools.build_and_version_control.tool import BuildAndVersionControl

__all__ = ["BuildAndVersionControl"]
