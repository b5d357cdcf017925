"""Where a runtime works: its options, its folders, and the files of a person and a project."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from sam_tui.adapters.policy import AppFolders, Layers, RecordedTrust, SandboxTerms, read_layers
from sam_tui.assembly.options import Options
from sam_tui.core.agent.budget import DEFAULT_STEPS, MOST_STEPS, Limits
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.trust import FolderTrust
from sam_tui.core.errors import ConfigurationError, UsageError
from sam_tui.core.workflow.lazy import DATABASE, WorkflowPlaces

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md")
"""Below the workspace; the first of them below the settings folder, too."""
PROJECT_DEFINITIONS = (".sam", ".claude")
"""Below the workspace: folders of commands, agents and rules."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The fixed inputs of a runtime: options, environment, workspace, folders, policy files and trust."""

    options: Options
    environ: Mapping[str, str]
    workspace: Workspace
    folders: AppFolders
    layers: Layers
    trust: FolderTrust

    @classmethod
    def of(cls, options: Options, environ: Mapping[str, str]) -> "Configuration":
        """Opened and read. Raises ``SamError`` for a workspace or a policy that cannot be used."""
        workspace = Workspace.open(options.workspace, options.add_dirs)
        folders = AppFolders.of(environ, options.data_dir)
        layers = read_layers(folders, workspace.root)
        layers.mode(options.mode)
        layers.sandbox(SandboxTerms(options.sandbox, options.network))
        ignored = (*layers.project.ignored, *options.notes)
        trust = FolderTrust(workspace.root, layers.trust, layers.state, ignored=ignored)
        if options.believed is not None:
            store = RecordedTrust(folders.config_dir, options.believed)
            trust = FolderTrust(workspace.root, store, store.state(workspace.root), ignored=ignored)
        return cls(options, environ, workspace, folders, layers, trust)

    @property
    def sandbox_terms(self) -> SandboxTerms:
        """How commands are held: as flags say, else the files."""
        return self.layers.sandbox(SandboxTerms(self.options.sandbox, self.options.network))

    @property
    def turn_limits(self) -> Limits:
        """What a turn may spend: as flags say, else the files. What a person set the model cannot raise,
        and what the administrator set no flag."""
        options, limits = self.options, self.layers.limits
        turns = options.max_turns or limits.max_turns
        if turns and self.layers.system.limits.max_turns:
            turns = min(turns, self.layers.system.limits.max_turns)
        raised = MOST_STEPS if limits.raise_to is None else limits.raise_to
        return Limits(
            turns or DEFAULT_STEPS,
            options.max_tokens,
            options.max_cost,
            0 if turns else min(raised, MOST_STEPS),
        )

    @property
    def has_skills(self) -> bool:
        """Whether there are folders for skills: in the settings folder, the workspace, or a bundle."""
        root, config = self.workspace.root, self.folders.config_dir
        names = (f"{config}/skills", f"{root}/.agents/skills", f"{root}/.sam/skills")
        return any(map(os.path.isdir, names)) or self.has_bundles

    @property
    def has_bundles(self) -> bool:
        """Whether the person ever added a bundle."""
        return os.path.lexists(os.path.join(self.folders.config_dir, "bundles.json"))

    def pinned_bundles(self) -> frozenset[str]:
        """The digests of the bundles that this folder names; none where it is not trusted."""
        from sam_tui.adapters.bundles.store import project_bundles

        try:
            return frozenset(bundle.digest for bundle in project_bundles(self.trust))
        except (ConfigurationError, UsageError):
            return frozenset()

    @property
    def own_definitions(self) -> tuple[str, ...]:
        """The person's folders of commands, agents and rules: ours, and Claude Code's."""
        folders = (self.folders.config_dir, os.path.join(self.folders.home, ".claude"))
        return tuple(path for path in folders if self.workspace.locate(path).root is None)

    def definition_folders(self, kind: str) -> list[str]:
        """Every folder in which definitions of a kind may lie."""
        below = [os.path.join(self.workspace.root, name) for name in PROJECT_DEFINITIONS]
        return [os.path.join(folder, kind) for folder in (*self.own_definitions, *below)]

    @property
    def has_hooks(self) -> bool:
        """Whether a file that may configure hooks exists."""
        user = os.path.join(self.folders.config_dir, "hooks.json")
        project = f"{self.workspace.root}/.sam/hooks.json"
        return os.path.lexists(user) or os.path.lexists(project) or self.has_bundles

    @property
    def has_instructions(self) -> bool:
        """Whether there is an instruction file that may be read."""
        root = self.workspace.root
        below = [os.path.join(root, name) for name in INSTRUCTION_FILES]
        if self.trust.trusted and (any(map(os.path.lexists, below)) or self.trust.nested()):
            return True
        personal = os.path.join(self.folders.config_dir, INSTRUCTION_FILES[0])
        return os.path.lexists(personal) or any(
            map(os.path.isdir, self.definition_folders("rules"))
        )

    @property
    def workflows(self) -> WorkflowPlaces:
        """The store and the definitions; their adapter is loaded when they are used."""
        folders, root, vouches = self.folders, self.workspace.root, self.trust.vouches

        def adapter():
            from sam_tui.adapters import workflows

            return workflows

        return WorkflowPlaces(
            lambda: adapter().open_workflows(folders.data_dir),
            lambda: adapter().DefinitionFiles(folders.config_dir, root, vouches=vouches),
            lambda: os.path.exists(os.path.join(folders.data_dir, DATABASE)),
        )
