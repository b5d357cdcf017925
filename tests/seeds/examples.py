"""The calls and answers in the code blocks of the seed documents, by document and line, as facts.

Texts for people are our own words. ``<name>`` stands for what an earlier step returned, or for a place or
server of the test: nothing outside the test's folder is written, no host but loopback is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """One call. ``said`` stands in its text; ``keep`` names values of its data, by dotted path."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ok: bool = True
    said: tuple[str, ...] = ()
    keep: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Example:
    """A block that is made of calls. ``person`` answers approvals in their order, then agrees once.

    ``differs`` says in a sentence what is not as in the document.
    """

    document: str
    line: int
    steps: tuple[Step, ...]
    person: tuple[str, ...] = ()
    mode: str | None = None
    differs: str = ""

    @property
    def id(self) -> str:
        """For the name of the test."""
        return f"{self.document}:{self.line}"


def todo(number: int, status: str, **more: Any) -> dict[str, Any]:
    """An item with title and description."""
    return {
        "id": number, "title": f"Part {number}", "description": "what it needs", "status": status,
        **more,
    }  # fmt: skip


def todos(operation: str, **arguments: Any) -> Step:
    """A call of todo_operations that succeeds."""
    return Step("todo_operations", {"operation": operation, **arguments})


def terminal(operation: str, *said: str, **arguments: Any) -> Step:
    """A call of terminal_operations that succeeds."""
    return Step("terminal_operations", {"operation": operation, **arguments}, said=said)


MADE = {"operation": "create_file", "filePath": "<outside>/myconfig.txt", "content": "x"}
LEAVE = Step(
    "user_collaboration",
    {"prompt": "May the file be made?", "authorize_operation": "file_operations.create_file"},
    said=("User response: yes", "5 minutes"),
)
WRITTEN = [
    todo(1, "completed", priority="high"),
    todo(2, "in-progress", priority="critical", dependencies=[1], progress=0.6),
    todo(3, "not-started"),
]
OBJECTIVE = Step(
    "JARVIS",
    {"initial_objective": "Build a weather app"},
    keep={"session": "payload.session_id"},
    said=('"next_phase": "QUERY"', '"status": "IN_PROGRESS"'),
)
QUERIED = Step(
    "JARVIS",
    {
        "session_id": "<session>",
        "phase_completed": "QUERY",
        "payload": {"interpreted_goal": "a weather app with places"},
    },
    said=('"next_phase": "ENHANCE"', '"allowed_next_tools"'),
)
SYNTHESIS = {"synthesis_mode": "consensus", "confidence_threshold": 0.7}


def phase(name: str, payload: Mapping[str, Any], *said: str) -> Step:
    """A phase of JARVIS, completed."""
    given = {"session_id": "<session>", "phase_completed": name, "payload": payload}
    return Step("JARVIS", given, said=said)


META = "(ROLE: coder) (CONTEXT: sign_in) (PROMPT: Make tokens) (OUTPUT: production_code)"
PLANNED = (
    OBJECTIVE,
    QUERIED,
    phase("ENHANCE", {"enhanced_goal": "g"}, '"next_phase": "KNOWLEDGE"', "APISearch"),
    phase("KNOWLEDGE", {"knowledge_gathered": "k"}, '"next_phase": "PLAN"', "TodoWrite"),
    phase("PLAN", {"plan_created": True, "todos_with_metaprompts": [META]},
          '"next_phase": "EXECUTE"', "Bash", "ROLE: coder"),
)  # fmt: skip

EXAMPLES = (
    Example("000", 34, PLANNED,
            differs="The lists name the tools of both seeds."),
    Example("000", 58, PLANNED),
    Example("001", 52, (OBJECTIVE,)),
    Example("001", 63, (OBJECTIVE, QUERIED),
            differs="A session is begun first: an id that nobody was given is refused, not made."),
    Example("001", 78, (OBJECTIVE, QUERIED)),
    Example("001", 126, (Step("MultiAPIFetch", {
        "api_endpoints": ["<site>/one", "<site>/two"], "max_concurrent": 2, "timeout_ms": 10000},
        said=("first", "second")),)),
    Example("001", 178, (Step("APISearch", {
        "objective": "Analyze cryptocurrency market trends", "user_role": "analyzer", "max_results": 3},
        said=("CoinGecko",)),)),
    Example("001", 343, PLANNED),
    Example("001", 413, (Step("APISearch", {"objective": "x"}, ok=False, said=("user_role",)),),
            differs="The text begins with ERROR and says what to send instead."),
    Example("001", 450, (
        OBJECTIVE, QUERIED, phase("ENHANCE", {"enhanced_goal": "g"}),
        Step("APISearch", {"objective": "Weather data APIs", "user_role": "coder"},
             keep={"first": "apis.0.name"})),
        differs="ENHANCE is completed before the search, which the seed's own phases allow in KNOWLEDGE."),
    Example("001", 479, (
        Step("MultiAPIFetch", {"api_endpoints": ["<site>/one", "<site>/two"], "max_concurrent": 2},
             keep={"responses": "responses"}),
        Step("KnowledgeSynthesize", {"api_responses": "<responses>", **SYNTHESIS}, said=("<site>/one",)),
    )),
    Example("004", 352, (Step("think", {
        "tool": "think", "thoughts": "look first", "requested_tools": ["file_operations", "grep_search"]},
        said=("look first", "TOOL_REQUEST: file_operations, grep_search")),)),
    Example("004", 372, (Step("user_collaboration", {
        "tool": "user_collaboration", "prompt": "Rename 500 files?",
        "authorize_operation": "file_operations.rename_file"}, said=("User response: yes",)),),
        differs="Nothing is granted ahead: each rename outside the workspace is asked when it is called."),
    Example("004", 393, (Step("todo_operations", {
        "tool": "todo_operations", "operation": "write",
        "todoList": [todo(1, "in-progress"), todo(2, "not-started")]}, said=("#1", "#2")),)),
    Example("004", 440, (todos("write", todoList=[todo(7, "completed")]), Step("todo_operations", {
        "tool": "todo_operations", "operation": "add", "newTodos": [
            {"title": "New", "description": "a"}, {"title": "Another", "description": "b"}]},
        said=("#8", "#9", "1 completed")))),
    Example("004", 498, (
        Step("file_operations", {**MADE, "filePath": "<folder>/test.txt"}),
        Step("file_operations", MADE, ok=False, said=("outside the workspace",))), ("deny",)),
    Example("004", 507, (Step("file_operations", {
        "tool": "file_operations", "operation": "create_file", "filePath": "src/NewClass.swift",
        "content": "import Foundation\n\nclass NewClass {\n}"}),)),
    Example("004", 543, (
        terminal("create_session"),
        terminal("send_input", "seeds-42", session_id="<conversation>", input="echo seeds-$((40+2))\r\n"),
        terminal("send_input", session_id="<conversation>", input="echo jo", timeout=1),
        terminal("send_input", "joined", session_id="<conversation>", input="ined\r\n")),
        differs="A call names the session, by its own id or by its conversation's."),
    Example("004", 592, (Step("todo_operations", {"operation": "write", "todoList": [
        todo(1, "in-progress", priority="high", dependencies=[2, 3], canRunParallel=False, progress=0.65,
             blockedReason=None), todo(2, "completed"), todo(3, "completed")]}),)),
    Example("004", 640, (Step("run_subagent", {
        "tool": "run_subagent", "task": "Review", "instructions": "briefly", "maxIterations": 15,
        "model": "openai/other", "temperature": "0.7", "enableTerminalAccess": False,
        "enableWorkflowMode": False, "sharedTopicId": "<conversation>"},
        said=("SUBAGENT TASK: Review", "Duration:")),),
        differs="The model is one of the test's own server."),
    Example("004", 687, (Step("build_and_version_control", {
        "tool": "build_and_version_control", "operation": "git_commit", "message": "feat: Sign in",
        "files": ["src/auth.swift", "tests/auth_tests.swift"]}, said=('"filesStaged": 2',)),)),
    Example("004", 903, (
        Step("file_operations.create_file", {"filePath": "src/file.txt", "content": "x"}),
        Step("file_operations", MADE, ok=False)), ("deny",)),
    Example("004", 915, (Step("file_operations", {**MADE, "filePath": "<folder>-other/x.txt"}, ok=False),),
            ("deny",)),
    Example("004", 927, (Step("file_operations", MADE, ok=False), Step("user_collaboration", {
        **LEAVE.arguments}, said=("one call only",)), Step("file_operations", MADE)), ("deny", "once")),
    Example("004", 945, (Step("file_operations", MADE), Step("user_collaboration", {
        "prompt": "Rename all?", "authorize_operation": "file_operations.rename_file"},
        said=("Auto-approved: Rename all?",))), mode="bypass",
        differs="The mode is the person's flag --permission-mode bypass; what is protected stays so."),
    Example("004", 955, (Step("file_operations", MADE, ok=False), LEAVE, Step("file_operations", MADE)),
            ("deny", "timed")),
    Example("004", 1029, (terminal("create_session"), terminal("get_output", session_id="<conversation>"),
                          terminal("get_history", session_id="<conversation>"),
                          terminal("close_session", "closed", session_id="<conversation>"))),
    Example("004", 1043, (
        terminal("create_session", "created"), terminal("create_session", "existing"),
        Step("file_operations.create_file", {"filePath": "sub/x.txt", "content": "x"}),
        terminal("create_session", "restarted", working_directory="sub"))),
    Example("004", 1335, (Step("todo_operations", {"operation": "write", "todoList": [
        todo(3, "not-started", dependencies=[4]), todo(4, "not-started", dependencies=[3]),
        todo(5, "not-started", dependencies=[10]), todo(7, "blocked")]}, ok=False,
        said=("10", "cycle", "blockedReason")),)),
    Example("004", 1347, (todos("write", todoList=WRITTEN), Step(
        "todo_operations", {"tool": "todo_operations", "operation": "read"},
        said=("2. Part 2", "1/3 completed")))),
    Example("004", 1357, (Step("todo_operations", {
        "tool": "todo_operations", "operation": "write", "todoList": WRITTEN[:2]},
        said=("1 completed",)),)),
    Example("004", 1383, (todos("write", todoList=WRITTEN), Step("todo_operations", {
        "tool": "todo_operations", "operation": "update", "todoUpdates": [
            {"id": 2, "status": "completed", "progress": 1.0}, {"id": 3, "status": "in-progress"}]},
        said=("2/3 completed", "In progress: #3")))),
    Example("004", 1398, (todos("write", todoList=WRITTEN), Step("todo_operations", {
        "operation": "write", "todoList": [todo(2, "in-progress"), todo(3, "not-started")]},
        ok=False, said=("Part 1", "ompleted")))),
    Example("004", 1484, (Step("file_operations.read_file", {}, ok=False,
                               said=("`filePath` is missing",)),)),
    Example("004", 1495, (Step("file_operations", MADE, ok=False, said=(
        "file_operations.create_file", "outside the workspace")),), ("deny",)),
    Example("004", 1520, (Step("file_operations", MADE, ok=False), LEAVE, Step("file_operations", MADE)),
            ("deny", "timed"),
            differs="The first call asks by itself: here it is refused, and leave is given when asked."),
    Example("004", 1570, (
        Step("terminal_operations", {"operation": "create_session", "conversation_id": "<conversation>",
                                     "working_directory": "<folder>"}, said=("session_id", "tty_name")),
        terminal("send_input", "added 342", "end_index", session_id="<conversation>",
                 input="echo added $((300+42))\r\n"),
        terminal("send_input", "built", session_id="<conversation>", input="echo bu''ilt\r\n"),
        terminal("get_history", "added 342", "built", session_id="<conversation>")),
        differs="The session has an id of its own beside the conversation's; commands that need no network"
                " stand for the seed's."),
    Example("004", 1621, (
        todos("read"),
        todos("write", todoList=[todo(1, "not-started", priority="high"),
                                 todo(2, "not-started", priority="critical", dependencies=[1])]),
        Step("todo_operations", {"operation": "update", "todoUpdates": [
            {"id": 1, "status": "completed", "progress": 1.0},
            {"id": 2, "status": "in-progress", "progress": 0.3}]},
            said=("1/2 completed", "In progress: #2")))),
    Example("004", 1681, (Step("run_subagent", {
        "task": "Look up", "instructions": "Compare.\nRecommend.", "maxIterations": 20,
        "model": "openai/other", "temperature": "0.7", "enableTerminalAccess": False},
        said=("SUBAGENT TASK: Look up", "Duration:")),),
        differs="The summary is the model's own words, with no headings put around them."),
    Example("004", 1815, (
        terminal("create_session", conversation_id="<conversation>"),
        terminal("send_input", session_id="<conversation>", input="echo te''st\r\n"),
        terminal("get_output", "test", session_id="<conversation>"),
        terminal("close_session", session_id="<conversation>"))),
    Example("004", 1834, (Step("todo_operations", {"operation": "write", "todoList": [
        todo(1, "not-started", dependencies=[2]), todo(2, "not-started", dependencies=[1])]}, ok=False,
        said=("cycle",)),)),
)  # fmt: skip
"""Blocks made of calls, in the documents' order."""

ELSEWHERE: Mapping[tuple[str, int], str] = {
    ("000", 13): "the names of the phases; every walk through them meets those",
    ("000", 53): "the grammar of what line 58 shows",
    ("000", 97): "files of a session: ours lie in the workspace, where agents are let to write",
    ("001", 266): "the names of the phases",
    ("001", 287): "a type inside the seed's program",
    ("001", 320): "preferences of roles, which APISearch shows as reasons",
    ("001", 336): "the grammar of what line 343 shows",
    ("001", 395): "functions inside the seed's program: ours wait as the server asks",
    ("003", 9): "files of the seed's program",
    ("003", 28): "names of states, asserted with the workflow store",
    ("003", 37): "names of states, asserted with the workflow store",
    ("003", 82): "what a token holds: ours is opaque to clients, with the same ends",
    ("004", 70): "the order inside a request, asserted with the reminders",
    ("004", 91): "the wrapper of reminders, asserted with them",
    ("004", 107): "a reminder, asserted with its injector in our own words",
    ("004", 131): "a reminder, asserted with its injector in our own words",
    ("004", 151): "a reminder, asserted with its injector in our own words",
    ("004", 173): "a reminder, asserted with its injector in our own words",
    ("004", 201): "files of the seed's program",
    ("004", 276): "an interface inside the seed's program",
    ("004", 310): "an interface inside the seed's program",
    ("004", 552): "a picture of sessions and their buffers",
    ("004", 655): "an interface inside the seed's program",
    ("004", 737): "a type inside the seed's program",
    ("004", 795): "a diagram of registration",
    ("004", 842): "a diagram of what lines 498 and 955 do",
    ("004", 937): "a question inside the seed's program: `guard explain` answers it here",
    ("004", 1011): "a diagram of what line 1570 does",
    ("004", 1061): "a picture of the terminal",
    ("004", 1093): "a loop inside the seed's program",
    ("004", 1125): "events inside the seed's program: ours are the headless lines",
    ("004", 1144): "events inside the seed's program: ours are the headless lines",
    ("004", 1171): "an interface inside the seed's program",
    ("004", 1179): "an extension inside the seed's program",
    ("004", 1213): "a class inside the seed's program",
    ("004", 1250): "functions inside the seed's program",
    ("004", 1272): "a diagram of routing",
    ("004", 1304): "the fields of an item, which lines 592 and 1357 use",
    ("004", 1451): "a type inside the seed's program",
    ("004", 1504): "a pattern inside the seed's program",
    ("004", 1790): "functions inside the seed's program",
    ("004", 1804): "what line 945 does",
}
"""Blocks that are no calls, and what they are. Schemas and the order of tools have tests beside these."""
