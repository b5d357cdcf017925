"""Actions around the conversation, on the screen's layout and on terminals."""

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
"""Actions on tabs, copies, side questions and goals."""

SCREEN_ACTIONS: tuple[WorkbenchAction, ...] = (
    WorkbenchAction(
        "side",
        "Side column",
        "Show or hide todos and terminal; auto: show when there is something to see; a "
        "number: the width",
        ("f2",),
        "side",
        "auto|show|hide|PERCENT",
    ),
    WorkbenchAction(
        "side_wider", "Wider side column", "Make the side column wider", ("alt+comma",)
    ),
    WorkbenchAction(
        "side_narrower", "Narrower side column", "Make the side column narrower", ("alt+full_stop",)
    ),
    WorkbenchAction(
        "mouse",
        "Mouse",
        "Leave the mouse to the outer terminal, which then selects and scrolls itself; again, "
        "take it back",
        ("f9",),
        "mouse",
    ),
    WorkbenchAction("top", "To the beginning", "Scroll to the beginning", ("ctrl+home",)),
    WorkbenchAction(
        "layout",
        "Layout",
        "Side by side, one at a time, or the conversation alone; the choice is remembered",
        (),
        "layout",
        "auto|wide|narrow|focus",
    ),
)

TERMINAL_ACTIONS: tuple[WorkbenchAction, ...] = (
    WorkbenchAction(
        "shell_command",
        "Run in your shell",
        "Run a command in your shell; you can add its output to the next prompt",
        typed="!command",
    ),
    WorkbenchAction(
        "tab",
        "Next terminal",
        "Show the next terminal tab, or a chosen one; Alt+1 to Alt+9 or a click also choose",
        ("f4",),
        "tab",
        "new|close|rename NAME|NUMBER",
    ),
    WorkbenchAction(
        "tab_previous", "Previous terminal", "Show the previous terminal tab", ("shift+f4",)
    ),
    WorkbenchAction("tab_new", "New terminal", "Open another shell in its own tab", ("alt+t",)),
    WorkbenchAction("tab_close", "Close terminal", "End this shell and close its tab", ("alt+w",)),
    WorkbenchAction("tab_rename", "Rename terminal", "Rename this terminal tab"),
    WorkbenchAction(
        "end_command",
        "End the command",
        "End the program in this terminal but not its shell: INT, a second later TERM, then KILL",
        (),
        "end",
    ),
    WorkbenchAction(
        "watch_only",
        "Watch only",
        "Let nobody type in the agent's terminal; again, let the agent type",
        ("f7",),
        "watch",
    ),
    WorkbenchAction(
        "take",
        "Take or hand back",
        "Type in the agent's terminal yourself; again, hand it back, and the agent sees what "
        "changed",
        ("f8",),
        "take",
    ),
    WorkbenchAction(
        "zoom", "Zoom the terminal", "Give the terminal the whole width, and back", ("f6",), "zoom"
    ),
    WorkbenchAction(
        "look_back",
        "Look back in the terminal",
        "Scroll, mark, find and copy in the whole output; Esc returns to the program",
        ("f5",),
        "look",
    ),
    WorkbenchAction(
        "output_send",
        "Send output to the prompt",
        "Put the marked text, or the output of the last command, into the prompt",
        ("alt+o",),
        "output",
    ),
    WorkbenchAction(
        "record",
        "Record the terminal",
        "Record this terminal to an asciicast file, or stop the recording",
        ("alt+r",),
        "record",
        "FILE",
    ),
    WorkbenchAction(
        "replay",
        "Play a recording",
        "Play a recording in a tab: space pauses, arrows seek, + and - change the speed, q closes",
        (),
        "replay",
        "FILE",
    ),
    WorkbenchAction(
        "output_pager", "Output in the pager", "Read the output in $PAGER", (), "pager"
    ),
    WorkbenchAction(
        "output_editor", "Output in the editor", "Open the output in $EDITOR", (), "editor"
    ),
    *(
        WorkbenchAction(
            f"tab_{n}", f"Terminal {n}", f"Show terminal tab {n}", (f"alt+{n}",), listed=False
        )
        for n in range(1, 10)
    ),
)
"""Actions on terminals that do not need the terminal's focus."""
