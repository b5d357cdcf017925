"""Actions beside the displayed conversation."""

from sam_tui.ui.action_tables.action import WorkbenchAction

CONVERSATION_ACTIONS: tuple[WorkbenchAction, ...] = (
    WorkbenchAction(
        "conversation",
        "Conversation tab",
        "Show the next conversation of this window, or a chosen one; you can also click its name",
        (),
        "conversation",
        "new|close|NUMBER",
    ),
    WorkbenchAction(
        "conversation_new",
        "New conversation tab",
        "Begin another conversation in its own tab; turns in other tabs continue",
        ("alt+n",),
    ),
    WorkbenchAction(
        "conversation_next",
        "Next conversation tab",
        "Show the next conversation of this window",
        ("f12",),
    ),
    WorkbenchAction(
        "conversation_previous",
        "Previous conversation tab",
        "Show the previous conversation of this window",
        ("shift+f12",),
    ),
    WorkbenchAction("fork", "Fork", "Continue in a copy of this conversation", (), "fork"),
    WorkbenchAction(
        "fork_block",
        "Fork here",
        "In the transcript: copy the conversation up to the selected block; a prompt comes "
        "back for editing",
        ("alt+f",),
        local=True,
    ),
    WorkbenchAction(
        "export_block",
        "Export the block",
        "In the transcript: write the selected block to a file, secrets masked; Alt+C copies it",
        ("alt+s",),
        local=True,
    ),
    WorkbenchAction(
        "export_conversation",
        "Export",
        "Write this conversation to a new file, secrets masked: Markdown, JSON or HTML by its "
        "extension",
        (),
        "export",
        "FILE",
    ),
    WorkbenchAction(
        "side_question",
        "Side question",
        "Ask beside the conversation, also while a turn runs: same context, no calls, nothing "
        "is stored",
        (),
        "btw",
        "QUESTION",
    ),
    WorkbenchAction(
        "goal",
        "Goal",
        "Run turn after turn until a command passes; without a command, end the goal",
        (),
        "goal",
        "COMMAND",
    ),
)
"""Tabs, copies, side questions, goals."""
