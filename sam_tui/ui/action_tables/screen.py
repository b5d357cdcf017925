"""Actions on the screen's layout."""

from sam_tui.ui.action_tables.action import WorkbenchAction

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
