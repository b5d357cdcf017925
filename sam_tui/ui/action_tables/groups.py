"""The headings under which help and docs list the actions."""

from collections.abc import Iterable, Iterator

from sam_tui.ui.action_tables.action import WorkbenchAction

GROUPS: dict[str, tuple[str, ...]] = {
    "Prompt": (
        "send", "send_later", "newline", "history", "complete", "round", "edit_prompt", "shell_command",
    ),
    "Turn": ("cancel", "interrupt", "background", "jobs", "next_mode", "mode"),
    "Conversation": (
        "new", "conversation", "conversation_new", "conversation_next", "conversation_previous",
        "resume", "fork", "fork_block", "take_over", "rewind", "undo", "copy", "copy_block",
        "edit_block", "export_block", "export_conversation", "clear", "agents", "topic", "memories",
        "prompts",
    ),
    "Model and context": ("model", "key", "context", "compact", "xray", "reminders", "pin"),
    "Trust": ("trust", "grants", "audit", "servers"),
    "Workflows": (
        "workflow", "planned_task", "runs_plan", "runs_go", "runs_new", "runs_verbs", "fleets",
    ),
    "Todos": (
        "todos", "edit_todos", "todo_select", "todo_cycle", "todo_retitle", "todo_add", "todo_remove",
        "todo_move",
    ),
    "Terminals": (
        "terminal", "tab", "tab_previous", "tab_new", "tab_close", "tab_rename", "end_command",
        "watch_only", "take", "zoom", "look_back", "output_send", "record", "replay", "output_pager",
        "output_editor",
    ),
    "Window": (
        "help", "palette", "side", "page_up", "page_down", "bottom", "theme", "settings", "tour",
        "suspend", "quit",
    ),
}  # fmt: skip
"""The names of actions by heading; an action without a heading is listed under the last one."""
OTHER = "More"


def grouped(
    actions: Iterable[WorkbenchAction],
) -> Iterator[tuple[str, list[WorkbenchAction]]]:
    """The listed actions under their headings, those of no heading at the end."""
    left = {action.name: action for action in actions if action.listed}
    for heading, names in GROUPS.items():
        yield heading, [left.pop(name) for name in names if name in left]
    if left:
        yield OTHER, list(left.values())
