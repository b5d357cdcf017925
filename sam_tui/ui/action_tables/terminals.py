"""Actions on terminals."""

from sam_tui.ui.action_tables.action import WorkbenchAction

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
"""What can be done with terminals from outside of them."""
