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
    WorkbenchAction(
        "side_question",
        "Side question",
        "Ask beside the conversation, also while a turn runs: the same context, no call, nothing kept",
        (),
        "btw",
        "QUESTION",
    ),
    WorkbenchAction(
        "goal",
        "Goal",
        "Go on turn after turn until a command passes; without one, leave the goal",
        (),
        "goal",
        "COMMAND",
    ),
)
"""Copies, side questions, goals."""
