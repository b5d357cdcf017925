"""What can be done with the screen itself: its layout."""

from sam_tui.ui.action_tables.action import WorkbenchAction

SCREEN_ACTIONS: tuple[WorkbenchAction, ...] = (
    WorkbenchAction(
        "side",
        "Side column",
        "Show or hide todos and terminal; auto: it opens when it has something; a number: its width",
        ("f2",),
        "side",
        "auto|show|hide|PERCENT",
    ),
    WorkbenchAction(
        "side_wider", "Wider side column", "Give the side column more width", ("alt+comma",)
    ),
    WorkbenchAction(
        "side_narrower", "Narrower side column", "Give the side column less", ("alt+full_stop",)
    ),
    WorkbenchAction(
        "mouse",
        "Mouse",
        "Give the mouse to the terminal around, which then selects and scrolls itself; again, back",
        ("f9",),
        "mouse",
    ),
    WorkbenchAction("top", "To the beginning", "Scroll to the first text", ("ctrl+home",)),
    WorkbenchAction(
        "layout",
        "Layout",
        "Side by side, by turns, or the conversation alone; remembered like the side column",
        (),
        "layout",
        "auto|wide|narrow|focus",
    ),
)
