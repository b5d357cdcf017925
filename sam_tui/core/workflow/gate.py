"""The gate: which calls a step allows. ``execute`` asks it before anything else is done with a call.

An entry of an allow-list is a tool (``file_operations``), an operation (``file_operations.read_file``),
``*`` for everything, a group from ``GROUPS`` (``read``, ``edit``, ``run`` ...), or a name that other
agents use for the same thing (``Read``, ``Bash``, ``TodoWrite`` ...). Engine verbs always pass, so
that a phase can be left and a person asked.
"""

from collections.abc import Callable, Sequence
from typing import Final

from sam_tui.core.tooling.executor import Gate
from sam_tui.core.workflow.views import VERBS, Phase

UNGATED: Final = frozenset({
    "workflow", "user_collaboration", "read_tool_result", "find_tools",
    "JARVIS", "IronManusStateGraph", "HealthCheck",
})  # fmt: skip
"""Tools that can always be called: to advance, to ask, to check, and to read the rest of a result."""

STEERING: Final = frozenset({
    *(f"workflow.{verb}" for verb in ("start", "replan", *VERBS)),
    "JARVIS", "IronManusStateGraph",
})  # fmt: skip
"""Operations that an agent with a single step may not call."""

_HANDING_IN: Final = frozenset({"workflow.status", "workflow.advance", "workflow.plan"})
"""The operations that hand a step in, or take one over: ``status`` claims the first open one."""

_READ = (
    "file_operations.read_file", "file_operations.list_dir", "file_operations.get_errors",
    "file_operations.file_search", "file_operations.grep_search", "file_operations.semantic_search",
    "file_operations.list_usages", "file_operations.search_index",
    "file_operations.get_search_results", "build_and_version_control.get_changed_files",
    "document_operations.get_doc_info",
)  # fmt: skip
_EDIT = (
    "file_operations.create_file", "file_operations.replace_string",
    "file_operations.multi_replace_string", "file_operations.insert_edit",
    "file_operations.rename_file", "file_operations.delete_file", "file_operations.apply_patch",
)  # fmt: skip
_WEB_NAMES = (
    "web", "WebSearch", "WebFetch", "Browser", "APITaskAgent", "APISearch", "APIValidator",
    "MultiAPIFetch",
)  # fmt: skip
GROUPS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("read", "Read"), _READ),
    **dict.fromkeys(("edit", "Edit"), _EDIT),
    **dict.fromkeys(("run", "Bash"), ("terminal_operations", "build_and_version_control")),
    **dict.fromkeys(_WEB_NAMES, ("web_operations",)),
    **dict.fromkeys(("delegate", "Task"), ("run_subagent",)),
    **dict.fromkeys(
        ("PythonComputationalTool", "mcp__ide__executeCode"), ("terminal_operations.run_command",)
    ),
    "plan": ("todo_operations", "think"),
    "memory": ("memory_operations", "recall_history"),
    "Glob": ("file_operations.file_search", "file_operations.list_dir"),
    "Grep": ("file_operations.grep_search",),
    "Write": ("file_operations.create_file",),
    "TodoRead": ("todo_operations.read",),
    "TodoWrite": ("todo_operations",),
    "KnowledgeSynthesize": ("think",),
    "JARVIS": ("workflow",),
}
"""Names for several operations, and names that other agents have for ours (seeds 000 and 001)."""


def entries(tools: Sequence[str]) -> tuple[str, ...]:
    """An allow-list with its groups taken apart, each entry once."""
    return tuple(dict.fromkeys(e for tool in tools for e in GROUPS.get(tool, (tool,))))


def spelled(tools: Sequence[str] | None) -> str:
    """An allow-list as a model can act on it: the tools, each with the operations it may use."""
    if tools is None:
        return "any tool"
    operations: dict[str, list[str]] = {}
    for entry in entries(tools):
        tool, _, operation = entry.partition(".")
        operations.setdefault(tool, []).append(operation)
    named: list[str] = []
    for tool, names in operations.items():
        whole = "" in names or "*" in names
        scoped = f"{tool}.{names[0]}" if len(names) == 1 else f"{tool} ({', '.join(names)})"
        named.append(tool if whole else scoped)
    return ", ".join(named) or "no tool"


def allows(tools: Sequence[str] | None, key: str) -> bool:
    """Whether a list lets an operation through; ``key`` is ``tool.operation`` or ``tool``.

    A name of another agent's tool means ours, and a tool that really has this name.
    """
    if tools is None:
        return True
    tool = key.partition(".")[0]
    listed = (*tools, *entries(tools))
    return tool in UNGATED or any(entry in ("*", tool, key, f"{tool}.*") for entry in listed)


def covers(outer: Sequence[str] | None, inner: Sequence[str] | None) -> bool:
    """Whether everything that ``inner`` allows is allowed by ``outer`` too."""
    if outer is None or "*" in outer:
        return True
    if inner is None:
        return False
    return all(allows(outer, entry.removesuffix(".*")) for entry in entries(inner))


def subagent_gate(outer: Gate | None = None) -> Gate:
    """The gate of the subagents of one step's agent: none hands a step in, takes one over or steers."""

    def decide(key: str) -> str:
        if key in STEERING or key in _HANDING_IN:
            return f"{key} is not allowed in a subagent of a step. Answer with your report instead."
        return outer(key) if outer else ""

    return decide


def conversation_gate(
    phase: Callable[[], Phase | None], scope: tuple[str, str] | None = None
) -> Gate:
    """A gate that looks up the phase at every call; without one everything passes.

    ``scope`` is the execution and step that the conversation was made for: it does that step and
    nothing else. Once the step is over nothing passes, and the verbs of who runs it never do.
    """

    def decide(key: str) -> str:
        now = phase()
        if scope is not None:
            if now is None or (now.execution_id, now.step) != scope:
                over = f"{key} is not allowed: the step that this conversation worked on is over."
                return f"{over} Answer with what you have."
            if key in STEERING:
                steers = "who runs the workflow decides that. Answer with the step's output"
                return f"{key} is not allowed in phase {now.step}: {steers}."
        if key.partition(".")[0] in UNGATED or now is None:
            return ""
        if now.state == "paused":
            return (
                f"{key} is not allowed: workflow {now.workflow} is paused in phase {now.step}."
                " Resume it with workflow resume, or abandon it."
            )
        if allows(now.tools, key):
            return ""
        return (
            f"{key} is not allowed in phase {now.step}. Allowed now: {spelled(now.tools)};"
            " workflow and user_collaboration always. Finish this phase with workflow advance, or"
            " work with what is allowed."
        )

    return decide
