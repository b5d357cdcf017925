"""Skills as folders with a SKILL.md: the person's, and the workspace's."""

from sam_tui.adapters.skills.folders import FileSkills

__all__ = ["FileSkills"]
