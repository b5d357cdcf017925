"""The configuration of a runtime: its options and folders, its policy files, and trust in the folder."""

from collections.abc import Mapping

from sam_tui.adapters.policy import AppFolders, RecordedTrust, SandboxTerms, read_layers
from sam_tui.assembly.options import Options
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.authorization.trust import FolderTrust
from sam_tui.core.ports.processes.sandbox import DEFAULT_NETWORK, Network
from sam_tui.core.runtime import Runtime
from sam_tui.folders import ExtensionPlaces


class Configuration(Runtime):
    """The fixed inputs of a runtime: options, environment, folders, policy files, trust and extensions.

    Raises ``SamError`` for a workspace or a policy that cannot be used.
    """

    def __init__(self, options: Options, environ: Mapping[str, str]) -> None:
        self.options = options
        self.environ = environ
        self.workspace = workspace = Workspace.open(options.workspace, options.add_dirs)
        self.folders = AppFolders.of(environ, options.data_dir)
        self.layers = layers = read_layers(self.folders, workspace.root)
        layers.mode(options.mode)
        self.sandbox_terms = layers.sandbox(SandboxTerms(options.sandbox, options.network))
        """The confinement of commands: by options, else by the files."""
        self.network: Network = self.sandbox_terms.network or DEFAULT_NETWORK
        ignored = (*layers.project.ignored, *options.notes)
        store, state = layers.trust, layers.state
        if options.believed is not None:
            store = RecordedTrust(self.folders.config_dir, options.believed)
            state = store.state(workspace.root)
        self.trust = FolderTrust(workspace.root, store, state, ignored=ignored)
        self.extensions = ExtensionPlaces(self.folders.config_dir, self.folders.home, workspace)
        limits = layers.turn_limits(options.max_turns, options.max_tokens, options.max_cost)
        super().__init__(limits, options.topic)
