"""The folders of this program, its settings and data, and of a person's and a project's extensions."""

import os
from typing import TYPE_CHECKING

from sam_tui.core.errors import ConfigurationError

if TYPE_CHECKING:
    from sam_tui.core.authorization.paths.containment import Workspace
    from sam_tui.core.authorization.trust import FolderTrust

IMPORT_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder that this program is imported from, for processes that start without a search path."""


INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
"""Names of instruction files. In a folder of the workspace the first that exists is used, in the settings
folder only the first name."""
FURTHER_INSTRUCTIONS = ".github/copilot-instructions.md"
SKILLS, PROJECT_SKILLS = "skills", (".agents/skills", ".sam/skills")
"""Folders of skills, below the settings folder and below the workspace."""
HOOKS, PROJECT_HOOKS = "hooks.json", ".sam/hooks.json"
BUNDLES, PROJECT_BUNDLES = "bundles.json", ".sam/bundles.json"
"""Files that list bundles, below the settings folder and below the workspace."""
PROJECT_DEFINITIONS = (".sam", ".claude")
"""Folders below the workspace that contain folders of commands, agents and rules."""


def data_folder() -> str:
    """This system's place for data. Raises ``ConfigurationError`` where there is no home folder."""
    return _folder("user_data_dir")


def settings_folder() -> str:
    """This system's place for settings. Raises ``ConfigurationError`` where there is no home folder."""
    return _folder("user_config_dir")


def _folder(kind: str) -> str:
    import platformdirs

    try:
        return getattr(platformdirs, kind)("sam-tui", appauthor=False)
    except RuntimeError as error:
        raise ConfigurationError(
            f"There is no home folder: HOME is not set, and the system has none for user {os.getuid()}.",
            hint="Set HOME, or name both folders: SAM_TUI_DATA_DIR and SAM_TUI_CONFIG_DIR.",
        ) from error


class ExtensionPlaces:
    """The places of a person's and a project's skills, hooks, bundles, instructions and definitions.

    Whether something is there takes a look at the disk and loads no module.
    """

    def __init__(self, config_dir: str, home: str, workspace: "Workspace") -> None:
        self._config_dir = config_dir
        self._workspace = workspace
        self._personal = (config_dir, os.path.join(home, ".claude"))

    @property
    def has_bundles(self) -> bool:
        """Whether the person ever added a bundle."""
        return os.path.lexists(self.settings_path(BUNDLES))

    @property
    def has_skills(self) -> bool:
        """Whether there are folders for skills: in the settings folder, the workspace, or a bundle."""
        folders = (self.settings_path(SKILLS), *self._below(PROJECT_SKILLS))
        return any(map(os.path.isdir, folders)) or self.has_bundles

    @property
    def has_hooks(self) -> bool:
        """Whether a file that may configure hooks exists."""
        files = (self.settings_path(HOOKS), *self._below((PROJECT_HOOKS,)))
        return any(map(os.path.lexists, files)) or self.has_bundles

    def has_instructions(self, trust: "FolderTrust") -> bool:
        """Whether there is an instruction file that may be read."""
        project = self._below((*INSTRUCTION_FILES, FURTHER_INSTRUCTIONS))
        if trust.trusted and (any(map(os.path.lexists, project)) or trust.nested()):
            return True
        personal = self.settings_path(INSTRUCTION_FILES[0])
        return os.path.lexists(personal) or self.has_definitions("rules")

    def settings_path(self, name: str) -> str:
        """A path below the settings folder."""
        return os.path.join(self._config_dir, name)

    @property
    def own_definitions(self) -> tuple[str, ...]:
        """The person's folders of commands, agents and rules: ours, and Claude Code's."""
        return tuple(filter(self._outside, self._personal))

    def has_definitions(self, kind: str) -> bool:
        """Whether there is a folder in which definitions of a kind may lie."""
        # Existence first: it takes one call, and whether a folder is the person's own one for each part.
        personal = (f for f in self._personal if os.path.isdir(os.path.join(f, kind)))
        project = (os.path.join(f, kind) for f in self._below(PROJECT_DEFINITIONS))
        return any(map(self._outside, personal)) or any(map(os.path.isdir, project))

    def _below(self, names: tuple[str, ...]) -> list[str]:
        return [os.path.join(self._workspace.root, name) for name in names]

    def _outside(self, path: str) -> bool:
        return self._workspace.locate(path).root is None
