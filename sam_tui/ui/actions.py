"""The table of all actions, from which key bindings, help, palette and slash commands are made."""

from collections.abc import Sequence

from sam_tui.ui.action_tables.action import WorkbenchAction as WorkbenchAction
from sam_tui.ui.action_tables.keymap import Keymap
from sam_tui.ui.action_tables.tables import CONVERSATION_ACTIONS, SCREEN_ACTIONS, TERMINAL_ACTIONS

MODES = {
    "ask": "the guard asks about what no rule allows",
    "plan": "nothing is changed, and only commands that read run",
    "ask-all": "the guard asks about edits, and about commands that do more than read",
    "accept-edits": "edits inside the workspace need no question",
    "auto": "nobody is asked: what would be asked is refused",
}
"""The arguments of /mode, each with its meaning."""

ACTIONS: tuple[WorkbenchAction, ...] = (
    WorkbenchAction(
        "send",
        "Send",
        "Send the prompt; while a turn runs it joins at the next step",
        ("enter",),
        local=True,
    ),
    WorkbenchAction(
        "send_later",
        "Send later",
        "While a turn runs: queue the prompt for the end of the turn",
        ("tab", "alt+enter"),
        local=True,
    ),
    WorkbenchAction(
        "newline",
        "New line",
        "Begin a new line in the prompt",
        ("shift+enter", "alt+enter", "ctrl+j"),
        local=True,
    ),
    WorkbenchAction(
        "history",
        "History",
        "At the first or last line: earlier or later prompts; a queued prompt comes back for "
        "editing",
        ("up", "down"),
        local=True,
    ),
    WorkbenchAction(
        "open_paste",
        "Open a paste",
        "On a paste such as [pasted 500 lines] (or click it): put its lines into the prompt",
        ("enter",),
        local=True,
    ),
    WorkbenchAction(
        "complete",
        "Complete",
        "Complete a slash command, its arguments, or a file name after @",
        ("tab",),
        local=True,
    ),
    WorkbenchAction(
        "round", "Go round", "Move from the prompt to todos and transcript", ("tab",), local=True
    ),
    WorkbenchAction(
        "edit_prompt",
        "Write in the editor",
        "Edit the prompt in $VISUAL or $EDITOR",
        ("ctrl+g",),
    ),
    WorkbenchAction("help", "Help", "Show this help (also ? in an empty prompt)", ("f1",), "help"),
    WorkbenchAction(
        "cancel", "Cancel", "Cancel the running turn; queued prompts come back", ("escape",)
    ),
    WorkbenchAction(
        "interrupt",
        "Interrupt",
        "Copy the selection, else deny the question, cancel the turn, clear the prompt; twice "
        "to quit",
        ("ctrl+c",),
    ),
    WorkbenchAction(
        "background",
        "To the background",
        "Move the command that the agent waits for to the background; the agent continues",
        ("ctrl+b",),
        "background",
    ),
    WorkbenchAction(
        "jobs",
        "Background commands",
        "Read, end or bring back commands in the background",
        (),
        "jobs",
    ),
    WorkbenchAction("new", "New conversation", "Begin a new conversation", ("ctrl+n",), "new"),
    WorkbenchAction(
        "resume",
        "Resume",
        "Continue an earlier conversation of this workspace",
        ("ctrl+o",),
        "resume",
        "TITLE",
    ),
    WorkbenchAction(
        "search_prompts",
        "Search prompts",
        "Find an earlier prompt of any conversation and folder, and use it again",
        ("ctrl+r",),
        "history",
    ),
    *CONVERSATION_ACTIONS,
    WorkbenchAction(
        "take_over",
        "Take over",
        "Take over a conversation that another program writes; that program is notified",
        (),
        "takeover",
    ),
    WorkbenchAction(
        "model", "Model", "Choose the model, or use the named one", (), "model", "NAME"
    ),
    WorkbenchAction(
        "next_mode",
        "Next mode",
        "Switch to the next of ask, ask-all, accept-edits and plan, and show what it means",
        ("shift+tab",),
    ),
    WorkbenchAction(
        "mode",
        "Permission mode",
        "Choose the permission mode",
        (),
        "mode",
        "|".join(MODES),
    ),
    WorkbenchAction(
        "trust", "Trust", "Review what this folder would load, and trust it", (), "trust"
    ),
    WorkbenchAction(
        "grants", "Grants", "List what is allowed temporarily, and revoke it", (), "grants"
    ),
    WorkbenchAction("audit", "Audit", "Browse all decisions about calls", (), "audit"),
    WorkbenchAction(
        "servers", "MCP servers", "Show the MCP servers with their state and tools", (), "mcp"
    ),
    WorkbenchAction("undo", "Undo a change", "Undo a file change of this conversation", (), "undo"),
    WorkbenchAction(
        "context",
        "Context",
        "What the next request contains, and what leaves it first",
        (),
        "context",
    ),
    WorkbenchAction(
        "compact",
        "Compact",
        "Summarise old messages after a preview, with instructions what to keep; can be "
        "undone there",
        (),
        "compact",
        "INSTRUCTIONS",
    ),
    WorkbenchAction(
        "xray", "X-ray", "Look at a model call: the request part by part, times, cost", (), "xray"
    ),
    WorkbenchAction(
        "reminders",
        "Reminders",
        "The reminders to the model, when they come and how long they are: read, mute or pin one",
        (),
        "reminders",
    ),
    WorkbenchAction(
        "pin",
        "Pin",
        "Keep a text of yours in the context, whatever else leaves it",
        (),
        "pin",
        "TEXT",
    ),
    WorkbenchAction(
        "review",
        "Review the changes",
        "All changes by tools and commands in this conversation: accept or undo hunks, "
        "comment on lines",
        ("alt+v",),
        "review",
    ),
    WorkbenchAction(
        "rewind",
        "Rewind",
        "Return to before a message: conversation, files or both (also Esc twice in an empty "
        "prompt)",
        (),
        "rewind",
    ),
    WorkbenchAction(
        "agents", "Subagents", "Open a subagent's transcript, or cancel one", (), "agents"
    ),
    WorkbenchAction("prompts", "Mini prompts", "Turn a mini prompt on or off here", (), "prompts"),
    WorkbenchAction(
        "topic", "Topic", "Share memory with the conversations of a topic", (), "topic", "NAME"
    ),
    WorkbenchAction(
        "memories", "Memories", "Read or delete what the agent remembers here", (), "memories"
    ),
    WorkbenchAction(
        "workflow",
        "Workflows",
        "Runs of workflows: begin, watch, pause, continue",
        (),
        "workflow",
        "NAME",
    ),
    WorkbenchAction(
        "planned_task",
        "Plan a task",
        "Make a plan for a task; see, change and approve it among the runs",
        (),
        "plan",
        "TASK",
    ),
    WorkbenchAction(
        "fleets", "Fleets", "The fleets with progress and questions; cancel, retry", (), "fleet"
    ),
    WorkbenchAction(
        "runs_plan",
        "Change a plan",
        "In the runs: open its plan in your editor",
        ("v",),
        local=True,
    ),
    WorkbenchAction(
        "runs_go", "Drive a run", "In the runs: let the agent continue it", ("g",), local=True
    ),
    WorkbenchAction("runs_new", "New run", "In the runs: begin a workflow", ("n",), local=True),
    WorkbenchAction(
        "runs_verbs",
        "Steer a run",
        "In the runs: pause, resume, retry, abandon (twice), open its transcript",
        ("p", "r", "t", "x", "o"),
        local=True,
    ),
    WorkbenchAction(
        "copy_block",
        "Copy block",
        "In the transcript: copy the selected block; Enter opens or closes it (large tables too)",
        ("alt+c",),
        local=True,
    ),
    WorkbenchAction(
        "edit_block",
        "Open the block",
        "In the transcript: open the block's file at its line in $EDITOR, or save its text",
        ("alt+e",),
        local=True,
    ),
    WorkbenchAction("clear", "Clear", "Clear the view; the conversation continues", (), "clear"),
    WorkbenchAction("copy", "Copy answer", "Copy the last answer", ("alt+y",), "copy"),
    *SCREEN_ACTIONS,
    WorkbenchAction("todos", "Todos", "Show or hide the todo list", ("f3",), "todos"),
    WorkbenchAction("edit_todos", "Edit todos", "Go to the todo list, and back", ("ctrl+t",)),
    WorkbenchAction(
        "todo_select", "Select todo", "In the todo list: select", ("up", "down"), local=True
    ),
    WorkbenchAction(
        "todo_cycle",
        "Next status",
        "In the todo list: begin, complete, or reopen",
        ("space",),
        local=True,
    ),
    WorkbenchAction(
        "todo_retitle", "Retitle", "In the todo list: edit the title", ("e",), local=True
    ),
    WorkbenchAction("todo_add", "Add todo", "In the todo list: add one", ("a",), local=True),
    WorkbenchAction(
        "todo_remove",
        "Remove todo",
        "In the todo list: remove; twice for completed ones",
        ("d",),
        local=True,
    ),
    WorkbenchAction(
        "todo_move", "Move todo", "In the todo list: move down and up", ("J", "K"), local=True
    ),
    WorkbenchAction(
        "terminal",
        "Terminal",
        "Go to the terminal; there, twice to go back",
        ("ctrl+right_square_bracket",),
        "terminal",
    ),
    *TERMINAL_ACTIONS,
    WorkbenchAction(
        "search",
        "Find in the transcript",
        "Find words, ↑ and ↓ for the next match; folded blocks open; Esc stays at the match",
        ("ctrl+f",),
        "find",
        "WORDS",
    ),
    WorkbenchAction("page_up", "Page up", "Scroll the transcript up", ("pageup",)),
    WorkbenchAction("page_down", "Page down", "Scroll the transcript down", ("pagedown",)),
    WorkbenchAction("bottom", "To the end", "Scroll to the end and follow new text", ("ctrl+end",)),
    WorkbenchAction(
        "theme", "Theme", "Choose the theme, or use the named one", (), "theme", "NAME"
    ),
    WorkbenchAction(
        "settings",
        "Settings",
        "See all settings and their origin, and change them",
        (),
        "settings",
    ),
    WorkbenchAction(
        "key",
        "Key of a provider",
        "Store the key of a provider for later runs",
        (),
        "key",
        "PROVIDER",
    ),
    WorkbenchAction("tour", "Tour", "Show the parts of the screen in a few steps", (), "tour"),
    WorkbenchAction("redraw", "Draw anew", "Draw the whole screen again", ("ctrl+l",)),
    WorkbenchAction("palette", "Commands", "Search all commands", ("ctrl+p",)),
    WorkbenchAction(
        "suspend",
        "Suspend",
        "Stop the program and return to the shell, where fg brings it back; Ctrl+_ undoes typing",
        ("ctrl+z",),
    ),
    WorkbenchAction("quit", "Quit", "End the program", ("ctrl+q",), "quit"),
)

BY_SLASH = {action.slash: action for action in ACTIONS if action.slash}
FOCUSING = (
    "terminal", "zoom", "look_back", "take", "tab_new", "edit_todos",
    "conversation_new", "conversation_next", "conversation_previous",
)  # fmt: skip
"""Actions that move the focus to the terminal, the todo list or another conversation."""


def palette_actions() -> list[WorkbenchAction]:
    """The actions of the command palette."""
    left_out = ("palette", "cancel", "interrupt")
    return [a for a in ACTIONS if a.listed and not a.local and a.name not in left_out]


_NAMES = {
    "right_square_bracket": "]",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "escape": "Esc",
    "enter": "Enter",
    "up": "↑",
    "down": "↓",
}


def spelled(key: str) -> str:
    """A key as people write it: ``ctrl+right_square_bracket`` is ``Ctrl+]``; a letter is itself."""
    if len(key) == 1:
        return key
    return "+".join(_NAMES.get(part, part.capitalize()) for part in key.split("+"))


_shown: list[Keymap] = []


def use_keys(keys: Keymap) -> None:
    """Show these keys for the actions from now on."""
    _shown[:] = [keys]


def keys_of(action: WorkbenchAction) -> str:
    """The keys of an action, as people write them."""
    keys = _shown[0].keys.get(action.name, action.keys) if _shown else action.keys
    return spelled_all(keys)


def spelled_all(keys: Sequence[str]) -> str:
    """Several keys, with a slash between."""
    return " / ".join(spelled(key) for key in keys)
