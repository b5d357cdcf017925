"""What can be done beside the conversation on show."""

from sam_tui.ui.action_tables.action import WorkbenchAction

CONVERSATION_ACTIONS: tuple[WorkbenchAction, ...] = (
    WorkbenchAction("fork", "Fork", "Go on in a copy of this conversation", (), "fork"),
    WorkbenchAction(
        "fork_block",
        "Fork here",
        "In the transcript: a copy that ends at the block that Tab marks; a prompt comes back for editing",
        ("alt+f",),
        local=True,
    ),
)
"""Copies, side questions, goals."""
