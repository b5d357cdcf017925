"""The hooks of a runtime: loaded once there is a file that has some."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sam_tui.adapters.policy import Places
    from sam_tui.assembly.leaves import Leaves
    from sam_tui.core.authorization.guard import Guard
    from sam_tui.core.authorization.trust import FolderTrust
    from sam_tui.core.tooling.execute import Executor, OfferedHooks
    from sam_tui.core.tooling.hooking import Hooking

FILES = ("hooks.json", ".sam/hooks.json")
"""Below the settings folder, and below the workspace."""


def offer_hooks(
    leaves: "Leaves", places: "Places", guard: "Guard", trust: "FolderTrust", executor: "Executor"
) -> "OfferedHooks":
    """What gives the hooks, or None as long as there is no file. Two looks at the disk a call.

    The first time raises ``ConfigurationError`` for a file that counts and cannot be used.
    """
    user = os.path.join(places.config_dir, FILES[0])
    project = os.path.join(leaves.workspace.root, FILES[1])
    made: list[Hooking] = []

    def offered() -> "Hooking | None":
        if made:
            return made[0]
        if not os.path.lexists(user) and not os.path.lexists(project):
            return None
        from sam_tui.adapters.hooks import FileHooks
        from sam_tui.core.tooling.hooking import Hooking

        hooks = FileHooks(
            places.config_dir,
            leaves.workspace.root,
            files=leaves.files,
            commands=lambda: leaves.commands,
            trusts=lambda: trust.look() == "trusted",
            vouches=trust.vouches,
        )
        made.append(Hooking(hooks, guard, leaves.storage.decisions, leaves.bus, executor.shield))
        return made[0]

    return offered
