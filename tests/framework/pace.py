"""Which operations may take longer than a second, and tell how far they are; why the rest may not."""

from collections.abc import Mapping

from sam_tui.core.events import ToolFinished, ToolProgressed, ToolStarted
from sam_tui.core.ids import CallId
from sam_tui.core.tooling.contract import Tool, operation_key
from tests.framework.bench import Bench

SLOW = frozenset({
    "run_subagent",
    "memory_operations.search_memory",
    "memory_operations.store_memory",
    "web_operations.research",
    "web_operations.retrieve",
    "web_operations.web_search",
    "web_operations.serpapi",
    "web_operations.scrape",
    "web_operations.fetch",
    "document_operations.document_import",
    "document_operations.document_create",
    "document_operations.get_doc_info",
    "file_operations.get_errors",
    "file_operations.file_search",
    "file_operations.grep_search",
    "file_operations.semantic_search",
    "file_operations.list_usages",
    "file_operations.search_index",
    "terminal_operations.run_command",
    "terminal_operations.get_terminal_output",
    "terminal_operations.send_input",
    "build_and_version_control.create_and_run_task",
    "build_and_version_control.run_task",
    "build_and_version_control.git_commit",
    "build_and_version_control.get_changed_files",
    "image_generation.generate",
})
"""They read a tree or a document, wait for a program, a person's machine, a model or the web."""

ONLY_WHEN_WAITING = frozenset({"terminal_operations.get_terminal_output"})
"""They tell something only where they are asked to wait; ``test_progress`` has them wait."""

_ROW = "a row of the database, or a few"
_FILE = "one file of bounded size"
_TERMINAL = "what the terminal holds in memory"
_RUN = "a workflow's own events tell"

QUICK: Mapping[str, str] = {
    "think": "nothing is done",
    "user_collaboration": "the question itself is on show while it waits",
    "increase_max_iterations": "a number",
    "list_system_prompts": "a few small files",
    "list_mini_prompts": "a few small files",
    "read_tool_result": _FILE,
    "recall_history": _ROW,
    **{f"todo_operations.{name}": _ROW for name in ("read", "write", "update", "add")},
    **{
        f"memory_operations.{name}": _ROW
        for name in (
            *("list_collections", "store", "retrieve", "search_kv", "list_keys", "delete_key"),
            *("add_discovery", "add_solution", "add_pattern", "ltm_stats", "prune_ltm"),
            "manage_todos",
        )
    },
    **{
        f"file_operations.{name}": _FILE
        for name in (
            *("read_file", "create_file", "replace_string", "multi_replace_string"),
            *("insert_edit", "rename_file", "delete_file", "apply_patch"),
        )
    },
    "file_operations.list_dir": "one folder, a page of it",
    "file_operations.get_search_results": "what the last search found, in memory",
    **{
        f"terminal_operations.{name}": _TERMINAL
        for name in (
            *("get_terminal_buffer", "get_last_command", "get_terminal_selection"),
            *("get_output", "get_history"),
        )
    },
    "build_and_version_control.get_task_output": "what the task printed so far, in memory",
    "terminal_operations.create_directory": "one folder",
    "terminal_operations.create_session": "its terminal is on show as it starts",
    "terminal_operations.close_session": "its terminal is on show as it ends",
    **{
        f"workflow.{name}": _RUN
        for name in (
            *("start", "status", "advance", "plan", "replan", "pause", "resume", "abandon"),
            *("retry", "artifact", "finding"),
        )
    },
}
"""Why no progress is needed, by operation."""


SPEAKING = SLOW - ONLY_WHEN_WAITING


def keys_of(tool: Tool) -> set[str]:
    """The names of a tool's operations."""
    return {operation_key(tool, operation) for operation in tool.operations}


def told(bench: Bench) -> set[str]:
    """The operations that told how far they were before they ended."""
    running: dict[CallId, str] = {}
    found: set[str] = set()
    for event in bench.events.drain():
        match event:
            case ToolStarted(call=call, operation=operation):
                running[call] = operation
            case ToolProgressed(call=call) if call in running:
                found.add(running[call])
            case ToolFinished(call=call):
                running.pop(call, None)
            case _:
                pass
    return found
