"""Checkpoints of the workspace: snapshots in a private store of git objects, and their restoration."""

from sam_tui.adapters.checkpoints.store import CheckpointLimits, GitCheckpoints

__all__ = ["CheckpointLimits", "GitCheckpoints"]
