"""What files bring to a runtime, hooks and instructions: loaded once there is one of them."""

import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from sam_tui.core.errors import ConfigurationError

if TYPE_CHECKING:
    from sam_tui.adapters.policy import AppFolders
    from sam_tui.assembly.leaves import Leaves
    from sam_tui.core.authorization.guard import Guard
    from sam_tui.core.authorization.trust import FolderTrust
    from sam_tui.core.inquiry import Inquiry
    from sam_tui.core.ports.prompts import Instructions
    from sam_tui.core.tooling.executor import Executor, OfferedHooks
    from sam_tui.core.tooling.hooks import Hooking

Telling = Coroutine[Any, Any, None]
OfferedInstructions = Callable[[], "Instructions | None"]

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md")
"""Below the workspace; the first of them below the settings folder, too."""
HOOK_FILES = ("hooks.json", ".sam/hooks.json")
"""Below the settings folder, and below the workspace."""


def offer_hooks(
    leaves: "Leaves",
    folders: "AppFolders",
    guard: "Guard",
    trust: "FolderTrust",
    executor: "Executor",
) -> "OfferedHooks":
    """What gives the hooks, or None as long as there is no file. Two looks at the disk a call.

    The first time raises ``ConfigurationError`` for a file that counts and cannot be used.
    """
    user = os.path.join(folders.config_dir, HOOK_FILES[0])
    project = os.path.join(leaves.workspace.root, HOOK_FILES[1])
    hooking: list[Hooking] = []

    def offered() -> "Hooking | None":
        if hooking:
            return hooking[0]
        if not os.path.lexists(user) and not os.path.lexists(project):
            return None
        from sam_tui.adapters.hooks import FileHooks
        from sam_tui.adapters.policy.readable_paths import NamedReads
        from sam_tui.core.tooling.hooks import Hooking

        hooks = FileHooks(
            folders.config_dir,
            leaves.workspace.root,
            files=leaves.files,
            commands=lambda: leaves.commands,
            trusts=lambda: trust.look() == "trusted",
            vouches=trust.vouches,
        )
        named = NamedReads(folders.home, leaves.workspace.roots)
        hooks.reads = lambda line: named.of_line(line, leaves.workspace.root)
        beyond = leaves.workspace.locate(user).root is None
        log, shield = leaves.storage.decisions, executor.shield
        hooking.append(Hooking(hooks, guard, log, leaves.bus, shield, own_yes=beyond))
        return hooking[0]

    return offered


def tell_of_questions(offered: "OfferedHooks") -> "Callable[[Inquiry], Telling | None]":
    """What runs while a question waits: hooks that want to know of it."""

    def beside(inquiry: "Inquiry") -> "Telling | None":
        try:
            hooking = offered()
        except ConfigurationError:
            return None  # the next call says it
        return hooking.beside(inquiry) if hooking is not None else None

    return beside


def offer_instructions(
    leaves: "Leaves", folders: "AppFolders", trust: "FolderTrust"
) -> OfferedInstructions:
    """What gives the instructions, or None as long as there is none to read."""
    root = leaves.workspace.root
    personal = os.path.join(folders.config_dir, INSTRUCTION_FILES[0])
    of_folder = [os.path.join(root, name) for name in INSTRUCTION_FILES]
    instructions: list[Instructions] = []

    def offered() -> "Instructions | None":
        if instructions:
            return instructions[0]
        trusted = trust.trusted and (any(map(os.path.lexists, of_folder)) or trust.nested())
        if not trusted and not os.path.lexists(personal):
            return None
        from sam_tui.adapters.instructions import FileInstructions
        from sam_tui.adapters.instructions.files import Sources

        sources = Sources(leaves.files, trust.vouches, trust.nested, leaves.clean)
        instructions.append(
            FileInstructions(folders.config_dir, root, sources, trusted=lambda: trust.trusted)
        )
        return instructions[0]

    return offered
