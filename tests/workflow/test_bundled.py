"""The workflows that come with the program: each is sound, and each runs to its end."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sam_tools.terminal_operations import TerminalOperations, TerminalParts
from sam_tools.workers import calculator
from sam_tools.workers.arguments import WebSearchArguments
from sam_tui.adapters.llm.scripted import ScriptedModel
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.sessions.sessions import PtyTerminals
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiries import Inquiries
from sam_tui.core.inquiry import Approval, ApprovalRequest, Inquiry, Reply
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult
from sam_tui.core.tooling.executor import CallSurroundings, Executor
from sam_tui.core.tooling.registry import Registry
from sam_tui.core.workflow.drivers.run import RunContext
from sam_tui.core.workflow.drivers.runner import Runner
from sam_tui.core.workflow.service import Workflows
from sam_tui.core.workflow.views import ExecutionView
from tests.fakes.engine_kit import open_engine, open_kit
from tests.fakes.programs import found
from tests.workflow.bench import NO_OTHER_MODELS, Bench

Play = dict[str, Any]
ROLES = {
    "planner", "coder", "critic", "researcher", "analyzer", "synthesizer", "ui_architect",
    "ui_implementer", "ui_refiner", "slide_generator",
}  # fmt: skip


def on(step: str, said: str | Play, *commands: str) -> list[Play]:
    """What the model plays in the conversation of a step: commands, then the answer."""
    when = {"user": f"step {step},"}
    run = [
        {"name": "terminal_operations", "arguments": {"operation": "run_command", "command": c}}
        for c in commands
    ]
    text = said if isinstance(said, str) else json.dumps(said)
    return [*({"when": when, "calls": [call]} for call in run), {"when": when, "text": text}]


def thought(id_: str) -> Play:
    """A sub-task of the model itself."""
    return {"stepId": id_, "assigned_agent_role": "Orchestrator", "tool_name": "LLMStepExecutor",
            "sub_task_input": {"prompt": id_}, "narrative_step": f"think {id_}"}  # fmt: skip


RUNS: dict[str, tuple[Play, list[Play]]] = {
    "phased": (
        {"objective": "a list", "role": "coder"},
        [
            *on("query", {"interpreted_goal": "a list of things"}),
            *on("enhance", {"enhanced_goal": "a sorted list"}),
            *on("knowledge", {"knowledge_gathered": "things.txt says what"}),
            *on("plan", {"tasks": [{"title": "sort", "priority": "high"}, {"title": "print"}]}),
            *on("execute", {"summary": "done", "success": True}),
            *on("verify", {"verification_passed": True}),
        ],
    ),
    "security-audit": (
        {},
        [
            *on("survey", {"summary": "one service", "entry_points": ["http"]}),
            *on("input", "nothing"),
            *on("access", "nothing"),
            *on("secrets", "a key in the repository"),
            *on("supply", "nothing"),
            *on(
                "report",
                {
                    "summary": "one finding",
                    "artifacts": [{"type": "report", "name": "report.md", "content": "# Report"}],
                    "suggested_findings": [
                        {"title": "Key", "content": "k", "severity": "high", "category": "security"}
                    ],
                },
            ),
        ],
    ),
    "implement-feature": (
        {"feature": "greet", "test_command": "test -f done"},
        [
            *on("design", {"summary": "a function", "behaviours": ["it greets"]}),
            *on("tests", "written", "test -f done"),
            *on("build", "built", "touch done", "test -f done"),
            *on("review", {"summary": "good", "must_change": []}),
        ],
    ),
    "fix-bug": (
        {"bug": "it crashes", "test_command": "test -f done"},
        [
            *on("diagnose", {"summary": "s", "cause": "c", "reproduction": "r"}, "true"),
            *on("test", "written", "test -f done"),
            *on("fix", "fixed", "touch done"),
            *on("verify", {"summary": "s", "fixed": True}),
        ],
    ),
    "review-changes": (
        {},
        [
            *on("correctness", "fine"),
            *on("safety", "fine"),
            *on("tests", "fine"),
            *on("clarity", "fine"),
            *on("judge", {"summary": "s", "verdict": "approve", "must_change": []}),
        ],
    ),
    "write-docs": (
        {"subject": "the list"},
        [
            *on("read", "read"),
            *on("outline", {"summary": "s", "parts": [{"title": "Use", "file": "USE.md"}]}),
            *on("write", "written"),
            *on("check", {"summary": "s", "wrong": []}),
        ],
    ),
    "plan-and-do": (
        {"objective": "both"},
        [
            *on(
                "plan",
                {
                    "summary": "two and a join",
                    "steps": [
                        {"id": "a", "persona": "coder", "tools": ["read"], "prompt": "a"},
                        {"id": "b", "persona": "coder", "tools": ["edit"], "prompt": "b"},
                        {"id": "c", "needs": ["a", "b"], "tools": [], "prompt": "@{outputs.a.summary}"},
                    ],
                },
            ),
            *on("plan/a", "A"),
            *on("plan/b", "B"),
            *on("plan/c", "C"),
            *on("answer", "both done"),
        ],
    ),
    "plan": (
        {"task": "two thoughts"},
        [
            *on("plan", f"```json\n{json.dumps([[thought('a'), thought('b')]])}\n```"),
            *on("plan/a", "A"),
            *on("plan/b", "B"),
            *on("answer", "A and B"),
        ],
    ),
    "calculate": ({"expression": "5*3"}, []),
    "weather": ({"place": "Rome"}, on("answer", "It is sunny, says https://e.example.")),
    "synthesize": ({"task": "sum up", "material": "{}"}, on("answer", "nothing")),
}  # fmt: skip


def answer(inquiry: Inquiry) -> Approval | Reply:
    """A person who agrees to everything."""
    return Approval("once") if isinstance(inquiry.request, ApprovalRequest) else Reply("yes")


async def _search(arguments: WebSearchArguments, _: ToolContext) -> ToolResult:
    return ToolResult(f"https://e.example on {arguments.query}")


def search_tool() -> Tool:
    """A search that has one result for everything."""
    search = Operation("WebSearchTool", "search", WebSearchArguments, _search, lambda a: a.query)
    return Tool("WebSearchTool", "Searches.", (search,), consolidated=False)


def repository(folder: Path) -> None:
    """A repository with one commit and one change."""
    git = [found("git"), "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e@localhost"]
    (folder / "f.txt").write_text("one\n", "utf-8")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    (folder / "f.txt").write_text("two\n", "utf-8")


async def run_bundled(
    bench: Bench, folder: Path, name: str, params: Play, plays: Sequence[Play]
) -> ExecutionView:
    """Start a bundled workflow and drive it with the scripted model and a real terminal tool."""
    kit = open_kit(folder)
    inquiries = Inquiries(kit.bus, bench.clock, attended=False, responder=answer)
    sandbox = Sandbox()
    tool = TerminalOperations(
        TerminalParts(ShellCommands(sandbox), PtyTerminals(sandbox), kit.bus.publish)
    )
    guard = Guard(kit.guard.workspace, kit.guard.policy, kit.guard.grants, inquiries)
    registry = Registry([tool.tool(), calculator(), search_tool()])
    kit.executor = Executor(
        registry,
        CallSurroundings(guard, kit.storage.results, kit.storage.decisions, kit.bus, bench.clock),
    )
    workflows: Workflows = bench.workflows
    crew = RunContext(
        open_engine(kit), kit.storage.conversations, inquiries, ScriptedModel(plays),
        NO_OTHER_MODELS, ConversationId(""),
    )  # fmt: skip
    execution = workflows.start(name, params).execution_id
    repository(folder / "ws")
    try:
        return await Runner(workflows, crew, kit.bus).run(execution)
    finally:
        sandbox.close()
        kit.storage.close()


@pytest.fixture
def bundled(tmp_path: Path) -> Bench:
    """A bench with the package's own definitions."""
    return Bench(tmp_path, package=True)


@pytest.mark.requirement("workflow:bundled")
def test_every_bundled_definition_and_persona_is_sound(bundled: Bench) -> None:
    assert bundled.workflows.catalog.lint() == ()
    names = {view.name for view in bundled.workflows.catalog.views()}
    assert names == set(RUNS)
    assert set(bundled.workflows.catalog.personas()) >= ROLES
    for name, (params, _) in RUNS.items():
        assert bundled.workflows.start(name, params).state == "running"


@pytest.mark.requirement("workflow:bundled")
@pytest.mark.parametrize("name", sorted(RUNS))
async def test_every_bundled_workflow_runs_to_its_end(
    bundled: Bench, tmp_path: Path, name: str
) -> None:
    params, plays = RUNS[name]
    view = await run_bundled(bundled, tmp_path / "kit", name, params, plays)
    steps = bundled.workflows.records.steps(view.id)
    assert (view.state, view.reason) == ("completed", ""), [(s.id, s.error) for s in steps]
    assert {step.status for step in steps} == {"completed"}
    assert all(
        step.persona for step in steps if step.kind in ("agent", "plan", "llm") and not step.parent
    )


@pytest.mark.requirement("workflow:seen-to-fail")
@pytest.mark.parametrize(("name", "step"), [("fix-bug", "test"), ("implement-feature", "tests")])
@pytest.mark.parametrize("command", ["", "false", "true; test -d ."])
async def test_no_change_begins_before_the_test_was_seen_to_fail(
    bundled: Bench, tmp_path: Path, name: str, step: str, command: str
) -> None:
    params, plays = RUNS[name]
    test = next(i for i, play in enumerate(plays) if play["when"]["user"] == f"step {step},")
    wrong = on(step, "it failed, honestly", *([command] if command else []))
    params = params | {"test_command": "test -d ."}
    view = await run_bundled(
        bundled, tmp_path / "kit", name, params, [*plays[:test], *wrong, *wrong]
    )
    assert (view.state, "seen to fail" in view.reason) == ("failed", True)
    assert view.current == ()


@pytest.mark.requirement("workflow:bundled")
def test_looking_steps_of_bundled_workflows_can_change_nothing(bundled: Bench) -> None:
    for name in ("security-audit", "review-changes"):
        for step in bundled.workflows.catalog.view(name).definition.steps:
            assert step.kind == "tool" or step.tools == ("read",)
