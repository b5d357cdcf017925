"""Where a runtime keeps its workflows, and finds its skills."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from sam_tui.core.workflow.lazy import DATABASE, WorkflowPlaces

if TYPE_CHECKING:
    from sam_tui.adapters.policy import AppFolders


def skill_folders(config_dir: str, root: str) -> tuple[str, ...]:
    """Where skills lie: in the settings folder, and in the workspace."""
    below = (".agents/skills", ".sam/skills")
    return (f"{config_dir}/skills", *(f"{root}/{name}" for name in below))


def workflow_places(
    folders: "AppFolders", root: str, vouches: Callable[[str, bytes], bool]
) -> WorkflowPlaces:
    """The store and the definitions, not looked at and their adapter not loaded before they are used."""

    def adapter():
        from sam_tui.adapters import workflows

        return workflows

    return WorkflowPlaces(
        lambda: adapter().open_workflows(folders.data_dir),
        lambda: adapter().DefinitionFiles(folders.config_dir, root, vouches=vouches),
        lambda: os.path.exists(os.path.join(folders.data_dir, DATABASE)),
    )
