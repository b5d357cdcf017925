"""The assembled runtime over a prepared workspace, called as an agent calls it; no model is needed."""

import itertools
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sam_tui.core.agent.session import Session
from sam_tui.core.bus import Subscription
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Reply
from sam_tui.core.messages import ToolCall
from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.executor import Executed
from tests.fakes.programs import found

LISTED: Mapping[str, tuple[str, ...]] = {
    "think": (),
    "user_collaboration": (),
    "run_subagent": (),
    "increase_max_iterations": (),
    "list_system_prompts": (),
    "list_mini_prompts": (),
    "memory_operations": (
        *("search_memory", "store_memory", "list_collections"),
        *("store", "retrieve", "search_kv", "list_keys", "delete_key"),
        *("add_discovery", "add_solution", "add_pattern", "ltm_stats", "prune_ltm"),
        "manage_todos",
    ),
    "todo_operations": ("read", "write", "update", "add"),
    "read_tool_result": (),
    "recall_history": (),
    "web_operations": ("research", "retrieve", "web_search", "serpapi", "scrape", "fetch"),
    "document_operations": ("document_import", "document_create", "get_doc_info"),
    "file_operations": (
        *("read_file", "list_dir", "get_errors", "get_search_results", "file_search"),
        *("grep_search", "semantic_search", "list_usages", "search_index", "create_file"),
        *("replace_string", "multi_replace_string", "insert_edit", "rename_file"),
        *("delete_file", "apply_patch"),
    ),
    "terminal_operations": (
        *("run_command", "get_terminal_output", "get_terminal_buffer", "get_last_command"),
        *("get_terminal_selection", "create_directory", "create_session", "send_input"),
        *("get_output", "get_history", "close_session"),
    ),
    "build_and_version_control": (
        *("create_and_run_task", "run_task", "get_task_output", "git_commit"),
        "get_changed_files",
    ),
    "image_generation": ("generate",),
    "workflow": (
        "start",
        "status",
        "advance",
        "plan",
        "replan",
        "pause",
        "resume",
        "abandon",
        "retry",
        "artifact",
        "finding",
    ),
}
"""The tools and operations of spec/sam.md 1, in the seed's order; ours after them."""

FILES: Mapping[str, str] = {
    "root_files/README.md": "# Read me\nTESTMARKER_README\n",
    "root_files/sample.txt": "first line\nTESTMARKER_SAMPLE second line\nthird line\nfourth line\n",
    "root_files/data.json": '{"marker": "TESTMARKER_JSON"}\n',
    "subdir1/script.py": (
        '"""TESTMARKER_PYTHON"""\n\n\ndef hello_world():\n    return "hello"\n\n\n'
        'def calculate_sum(a, b):\n    return a + b\n\n\nprint(f"Result: {calculate_sum(10, 20)}")\n'
    ),
    "subdir1/config.ini": "[main]\nmarker = TESTMARKER_CONFIG\n",
    "subdir2/nested/deep.txt": "TESTMARKER_NESTED\n",
    "data/test.csv": "name,value\nTESTMARKER_CSV,1\n",
}
"""The workspace of spec/sam.md 10.2."""


@dataclass
class Person:
    """Who is asked: agrees once to each approval while ``agrees``, and replies to each question."""

    agrees: bool = True
    reply: str | None = "yes"
    asked: list[Inquiry] = field(default_factory=list[Inquiry])

    def __call__(self, inquiry: Inquiry) -> Answer | None:
        """The answer to an inquiry; None leaves it open."""
        self.asked.append(inquiry)
        if isinstance(inquiry.request, ApprovalRequest):
            return Approval("once" if self.agrees else "deny")
        return None if self.reply is None else Reply(self.reply)

    @property
    def approvals(self) -> list[ApprovalRequest]:
        """The approvals that were asked for, in order."""
        return [i.request for i in self.asked if isinstance(i.request, ApprovalRequest)]


@dataclass
class Bench:
    """One conversation of a runtime."""

    runtime: Runtime
    folder: Path
    person: Person
    session: Session
    events: Subscription
    _ids: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def conversation(self) -> ConversationId:
        """Whose calls these are."""
        return self.session.conversation

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        conversation: ConversationId | None = None,
        /,
        **more: Any,
    ) -> Executed:
        """One call, under a fresh id."""
        text = json.dumps({**(arguments or {}), **more})
        call = ToolCall(CallId(f"call_{next(self._ids)}"), name, text)
        return await self.runtime.executor.execute(call, conversation or self.conversation)

    async def good(
        self, name: str, arguments: Mapping[str, Any] | None = None, /, **more: Any
    ) -> str:
        """The text of a call that must succeed."""
        executed = await self.call(name, arguments, **more)
        assert executed.finished.ok, executed.finished.text
        return executed.finished.text

    async def data(
        self, name: str, arguments: Mapping[str, Any] | None = None, /, **more: Any
    ) -> Mapping[str, Any]:
        """The data of a call that must succeed."""
        executed = await self.call(name, arguments, **more)
        assert executed.finished.ok, executed.finished.text
        return executed.data

    async def bad(
        self, name: str, arguments: Mapping[str, Any] | None = None, /, **more: Any
    ) -> str:
        """The text of a call that must fail."""
        executed = await self.call(name, arguments, **more)
        assert not executed.finished.ok, executed.finished.text
        return executed.finished.text

    def path(self, name: str) -> str:
        """A file of the workspace, absolute."""
        return str(self.folder / name)

    def text(self, name: str) -> str:
        """What a file of the workspace holds."""
        return (self.folder / name).read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> Path:
        """A file of the workspace, made or replaced."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def introduce(self) -> None:
        """Tell git who the person is, in their own settings."""
        settings = (
            "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
        )
        (Path.home() / ".gitconfig").write_text(settings, encoding="utf-8")

    def repository(self) -> None:
        """Make the workspace a repository with one commit of all that is there."""
        self.introduce()
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
            subprocess.run([found("git"), *arguments], cwd=self.folder, check=True)

    def schema(self, tool: str) -> dict[str, Any]:
        """A tool as it is advertised."""
        found = [s["function"] for s in self.runtime.registry.schemas]
        return next(schema for schema in found if schema["name"] == tool)

    def operations(self, tool: str) -> list[str]:
        """The operations a tool advertises."""
        return list(self.schema(tool)["parameters"]["properties"]["operation"]["enum"])
