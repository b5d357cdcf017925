"""What can be done beside the conversation on show."""

from sam_tui.ui.action_tables.action import WorkbenchAction

CONVERSATION_ACTIONS: tuple[WorkbenchAction, ...] = (
    WorkbenchAction(
        "conversation",
        "Conversation tab",
        "Show the next conversation of this window, or the one named; a click on its name does, too",
        (),
        "conversation",
        "new|close|NUMBER",
    ),
    WorkbenchAction(
        "conversation_new",
        "New conversation tab",
        "Begin another conversation in a tab of its own; turns of the others go on",
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
        "Show the conversation of this window before",
        ("shift+f12",),
    ),
    WorkbenchAction("fork", "Fork", "Go on in a copy of this conversation", (), "fork"),
    WorkbenchAction(
        "fork_block",
        "Fork here",
        "In the transcript: a copy that ends at the block that Tab marks; a prompt comes back for editing",
        ("alt+f",),
        local=True,
    ),
    WorkbenchAction(
        "export_block",
        "Export the block",
        "In the transcript: write the block that Tab marks to a file, secrets masked; Alt+C copies it",
        ("alt+s",),
        local=True,
    ),
    WorkbenchAction(
        "export_conversation",
        "Export",
        "Write this conversation to a new file, secrets masked: Markdown, or JSON or HTML by its ending",
        (),
        "export",
        "FILE",
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
"""Tabs, copies, side questions, goals."""
