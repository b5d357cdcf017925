"""The instructions of a runtime: loaded once there is a file of them."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sam_tui.adapters.policy import Places
    from sam_tui.assembly.leaves import Leaves
    from sam_tui.core.authorization.trust import FolderTrust
    from sam_tui.core.ports.instructions import Instructions

OfferedInstructions = Callable[[], "Instructions | None"]

FILES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md")
"""Below the workspace; the first of them below the settings folder, too."""


def offer_instructions(
    leaves: "Leaves", places: "Places", trust: "FolderTrust", clean: Callable[[str], str]
) -> OfferedInstructions:
    """What gives the instructions, or None as long as there is none to read."""
    root = leaves.workspace.root
    own = os.path.join(places.config_dir, FILES[0])
    of_folder = [os.path.join(root, name) for name in FILES]
    made: list[Instructions] = []

    def offered() -> "Instructions | None":
        if made:
            return made[0]
        trusted = trust.trusted and (any(map(os.path.lexists, of_folder)) or trust.nested())
        if not trusted and not os.path.lexists(own):
            return None
        from sam_tui.adapters.instructions import FileInstructions
        from sam_tui.adapters.instructions.files import Sources

        sources = Sources(leaves.files, trust.vouches, trust.nested, clean)
        made.append(
            FileInstructions(places.config_dir, root, sources, trusted=lambda: trust.trusted)
        )
        return made[0]

    return offered
