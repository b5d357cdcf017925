"""The seed documents' own calls, made one after another in an assembled runtime, and over MCP."""

import json
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, cast

import pytest

from sam_tui.core.agent.budget import Budget
from sam_tui.core.ids import ConversationId
from sam_tui.core.inquiry import Answer, Approval, ApprovalChoice, ApprovalRequest, Inquiry, Reply
from tests.fakes import openai_server as openai
from tests.fakes.web_server import WebServer, answered
from tests.framework.bench import Bench, Person
from tests.mcp.conftest import Place
from tests.seeds.examples import ELSEWHERE, EXAMPLES, Example, Step

BLOCKS = {"000": 5, "001": 20, "003": 6, "004": 62}
"""Code blocks of each document."""
ROLES = ["planner", "coder", "critic", "researcher", "analyzer", "synthesizer", "ui_architect",
         "ui_implementer", "ui_refiner"]  # fmt: skip
PHASES = ["QUERY", "ENHANCE", "KNOWLEDGE", "PLAN", "EXECUTE", "VERIFY"]
MODES = ["consensus", "weighted", "hierarchical", "conflict_resolution"]
SCHEMAS: Mapping[tuple[int, str], tuple[Mapping[str, list[str] | None], list[str]]] = {
    (17, "JARVIS"): ({"session_id": None, "phase_completed": PHASES, "initial_objective": None,
                      "payload": None}, []),
    (94, "MultiAPIFetch"): ({"api_endpoints": None, "headers": None, "max_concurrent": None,
                             "timeout_ms": None}, ["api_endpoints"]),
    (146, "APISearch"): ({"objective": None, "user_role": ROLES, "category_filter": None,
                          "max_results": None}, ["objective", "user_role"]),
    (195, "KnowledgeSynthesize"): ({"api_responses": None, "synthesis_mode": MODES,
                                    "confidence_threshold": None, "objective_context": None},
                                   ["api_responses", "synthesis_mode"]),
    (239, "APIValidator"): ({"api_endpoint": None, "auto_correct": None}, ["api_endpoint"]),
}  # fmt: skip
"""Tool definitions of seed 001: properties with their choices, and those that are required."""
ENTRY = {"name", "category", "keywords", "auth_type", "https", "reliability_score"}
ORDER = [
    "think", "user_collaboration", "run_subagent", "increase_max_iterations", "list_system_prompts",
    "list_mini_prompts", "memory_operations", "read_tool_result", "recall_history", "web_operations",
    "document_operations", "file_operations", "terminal_operations", "build_and_version_control",
]  # fmt: skip


class Seated(Person):
    """Answers approvals in an example's order, then once; agrees to questions."""

    def __init__(self, says: tuple[str, ...]) -> None:
        super().__init__()
        self._says = list(says)

    def __call__(self, inquiry: Inquiry) -> Answer | None:
        if not isinstance(inquiry.request, ApprovalRequest):
            return Reply("yes")
        return Approval(cast("ApprovalChoice", self._says.pop(0) if self._says else "once"))


def filled(value: Any, known: Mapping[str, Any]) -> Any:
    """A value in which ``<name>`` is what is known by that name."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value).items()
        return {key: filled(inner, known) for key, inner in pairs}
    if isinstance(value, list):
        return [filled(inner, known) for inner in cast("list[Any]", value)]
    if not isinstance(value, str):
        return value
    whole = known.get(value.strip("<>")) if value.startswith("<") and value.endswith(">") else None
    if whole is not None:
        return whole
    return reduce(lambda text, name: text.replace(f"<{name}>", str(known[name])), known, value)


def at(data: Any, path: str) -> Any:
    """What lies at a dotted path."""
    found: Any = data
    for part in path.split("."):
        found = cast("list[Any]", found)[int(part)] if isinstance(found, list) else found[part]
    return found


async def walk(bench: Bench, steps: tuple[Step, ...], known: dict[str, Any]) -> None:
    """Make the calls, each with what the ones before it returned."""
    for step in steps:
        done = await bench.call(step.tool, filled(step.arguments, known))
        text = done.finished.text
        assert done.finished.ok is step.ok, text
        assert "no such argument" not in text and "ignoredArguments" not in text, text
        for said in filled(list(step.said), known):
            assert said in text, text
        known |= {name: at(done.data, path) for name, path in step.keep.items()}


def surroundings(folder: Path) -> dict[str, Any]:
    """Places that the examples name, made beside the workspace."""
    parent = folder.parent
    (parent / "outside").mkdir()
    folder.with_name(f"{folder.name}-other").mkdir()
    return {"outside": str(parent / "outside"), "folder": str(folder)}


@pytest.mark.requirement("seeds:calls")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
async def test_the_calls_of_a_block_come_to_what_the_seed_says(
    opened: Callable[..., Bench],
    online: WebServer,
    folder: Path,
    example: Example,
) -> None:
    online.routes |= {"/one": answered({"is": "first"}), "/two": answered({"is": "second"})}
    known = surroundings(folder) | {"site": online.url("").rstrip("/")}
    profile = {"profile": "iron-manus"} if example.document in ("000", "001") else {}
    async with openai.FakeServer([openai.Reply("It is done.")] * 2) as server:
        bench = opened(person=Seated(example.person), mode=example.mode, model="openai/x",
                       api_base=server.base, api_key="k", **profile)  # fmt: skip
        assert bench.runtime.model is not None
        if example.line == 687:
            bench.repository()
            bench.write("src/auth.swift", "a\n")
            bench.write("tests/auth_tests.swift", "b\n")
        known["conversation"] = bench.conversation
        running = bench.runtime.engine.budgets.running
        with running(bench.conversation, Budget(9), bench.runtime.model):
            await walk(bench, example.steps, known)
    if example.id == "001:450":
        assert known["first"] == "MET Norway API"


@pytest.mark.requirement("seeds:calls")
async def test_the_definitions_and_the_order_of_tools_are_the_seeds(
    opened: Callable[..., Bench],
) -> None:
    bench = opened(profile="iron-manus")
    for (_, name), (properties, required) in SCHEMAS.items():
        parameters = bench.schema(name)["parameters"]
        assert parameters.get("required", []) == required, name
        for field, choices in properties.items():
            told = parameters["properties"][field]
            assert set(choices or ()) <= set(told.get("enum", ())), (name, field)
    names = list(bench.runtime.registry.names)
    assert [name for name in names if name in ORDER] == ORDER
    found = await bench.data("APISearch", objective="weather", user_role="planner")
    assert set(found["apis"][0]) >= ENTRY


@pytest.mark.requirement("seeds:calls")
def test_every_block_of_the_documents_is_a_call_or_said_to_be_none() -> None:
    calls = {(example.document, example.line) for example in EXAMPLES}
    assert len(calls) == len(EXAMPLES) and not calls & set(ELSEWHERE)
    schemas = {("001", line) for line, _ in SCHEMAS} | {("001", 373), ("004", 1723)}
    others = {("003", 68), ("003", 116), ("004", 1463)}
    listed = calls | set(ELSEWHERE) | schemas | others
    counted = {document: sum(d == document for d, _ in listed) for document in BLOCKS}
    assert counted == BLOCKS


@pytest.mark.requirement("seeds:calls")
async def test_seed_003s_client_starts_an_audit_and_takes_its_next_step(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.workspace.mkdir()
    async with place.client("--profile", "midex") as client:

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            result: Any = await client.call_tool(name, arguments)
            assert not result.is_error, result.content[0].text
            return json.loads(result.content[0].text)

        begun = await call(
            "workflow.start", workflow_name="security-audit", execution_id="exec_001"
        )
        assert begun["execution_id"] == "exec_001" and begun["agent_content"]
        output = {"summary": "The ground was looked over", "artifacts": ["report_001"]}
        after = await call("workflow.next_step", token=begun["new_token"], output=output)
        assert after["agent_content"] and after["new_token"] != begun["new_token"]
        assert after["step_name"] != begun["step_name"] and after["workflow_state"] == "running"
        again: Any = await client.call_tool(
            "workflow.next_step", {"token": begun["new_token"], "output": output}
        )
        assert again.is_error


@pytest.mark.requirement("terminal:secret-input")
async def test_a_password_typed_into_a_session_by_its_conversations_name_is_kept_nowhere(
    opened: Callable[..., Bench],
) -> None:
    bench = opened()
    await bench.good("terminal_operations.create_session")
    named = {"session_id": bench.conversation}
    ask = "read -s -p 'Password: ' p; echo; echo ${#p}\r\n"
    asked = await bench.data("terminal_operations.send_input", named, input=ask)
    assert asked["state"] == "waiting for hidden input"
    done = await bench.call("terminal_operations.send_input", named, input="hunter2\r\n")
    assert "7\n" in done.data["output"] and "hunter2" not in done.finished.summary
    assert done.decision is not None and done.decision.targets
    root = bench.runtime.workspace.root
    past = bench.runtime.decisions.past(root, "terminal_operations.send_input", limit=9)
    assert past and "hunter2" not in str(past)
    other = await bench.call("terminal_operations.get_output", named, ConversationId("another"))
    assert not other.finished.ok
