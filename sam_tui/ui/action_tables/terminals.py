"""What can be done with terminals."""

from sam_tui.ui.action_tables.action import WorkbenchAction

TERMINAL_ACTIONS: tuple[WorkbenchAction, ...] = (
    WorkbenchAction(
        "shell_command",
        "Run in your shell",
        "Run in the shell beside; the output is offered for the next prompt",
        typed="!command",
    ),
    WorkbenchAction(
        "tab",
        "Next terminal",
        "Show the next terminal tab, or the one named; Alt+1 to Alt+9 or a click go there",
        ("f4",),
        "tab",
        "new|close|rename NAME|NUMBER",
    ),
    WorkbenchAction(
        "tab_previous", "Previous terminal", "Show the terminal tab before", ("shift+f4",)
    ),
    WorkbenchAction(
        "tab_new", "New terminal", "Open another shell in a tab of its own", ("alt+t",)
    ),
    WorkbenchAction("tab_close", "Close terminal", "End this shell and close its tab", ("alt+w",)),
    WorkbenchAction("tab_rename", "Rename terminal", "Give this terminal tab a name"),
    WorkbenchAction(
        "end_command",
        "End the command",
        "End what runs in the terminal on show, not its shell: INT, a second later TERM, then KILL",
        (),
        "end",
    ),
    WorkbenchAction(
        "watch_only",
        "Watch only",
        "Let nobody type in the agent's terminal; again, the agent",
        ("f7",),
        "watch",
    ),
    WorkbenchAction(
        "take",
        "Take or hand back",
        "Type in the agent's terminal yourself; again, hand it back, and the agent learns what changed",
        ("f8",),
        "take",
    ),
    WorkbenchAction(
        "zoom", "Zoom the terminal", "Give it the whole width, and back", ("f6",), "zoom"
    ),
    WorkbenchAction(
        "look_back",
        "Look back in the terminal",
        "Move, mark, find and copy in all the terminal keeps; Esc returns to its program",
        ("f5",),
        "look",
    ),
    WorkbenchAction(
        "output_send",
        "Send output to the prompt",
        "Put what is marked in the terminal, or its last command with output, into the prompt",
        ("alt+o",),
        "output",
    ),
    WorkbenchAction(
        "record",
        "Record the terminal",
        "Record the terminal on show to an asciicast file, or end the recording",
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
        "output_pager", "Output in the pager", "Read the terminal in $PAGER", (), "pager"
    ),
    WorkbenchAction(
        "output_editor", "Output in the editor", "Open the terminal in $EDITOR", (), "editor"
    ),
    *(
        WorkbenchAction(
            f"tab_{n}", f"Terminal {n}", f"Show terminal tab {n}", (f"alt+{n}",), listed=False
        )
        for n in range(1, 10)
    ),
)
"""What can be done with terminals from outside of them."""
