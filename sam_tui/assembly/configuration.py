"""Where a runtime works: its options and folders, its policy files, and trust in the folder."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from sam_tui.adapters.policy import AppFolders, Layers, RecordedTrust, SandboxTerms, read_layers
from sam_tui.assembly.options import Options
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.trust import FolderTrust
from sam_tui.core.workflow.lazy import DATABASE, WorkflowPlaces
from sam_tui.folders import ExtensionPlaces


@dataclass(frozen=True, slots=True)
class Configuration:
    """The fixed inputs of a runtime: options, environment, folders, policy files, trust and extensions."""

    options: Options
    environ: Mapping[str, str]
    workspace: Workspace
    folders: AppFolders
    layers: Layers
    trust: FolderTrust
    extensions: ExtensionPlaces

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
        extensions = ExtensionPlaces(
            folders.config_dir,
            folders.home,
            workspace.root,
            lambda path: workspace.locate(path).root is None,
        )
        return cls(options, environ, workspace, folders, layers, trust, extensions)

    @property
    def sandbox_terms(self) -> SandboxTerms:
        """How commands are held: as flags say, else the files."""
        return self.layers.sandbox(SandboxTerms(self.options.sandbox, self.options.network))

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
