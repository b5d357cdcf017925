"""The eight phases: each transition of the seed, its tools, and what is refused on the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sam_tui.core.workflow.gate import GROUPS, allows
from sam_tui.core.workflow.views import WorkflowRefused
from tests.workflow.bench import Bench, code_of, opened

PAYLOADS: list[tuple[str, dict[str, Any]]] = [
    ("query", {"interpreted_goal": "g"}),
    ("enhance", {"enhanced_goal": "g and more"}),
    ("knowledge", {"knowledge_gathered": "k"}),
    ("plan", {"tasks": [{"title": "one", "priority": "high"}, {"title": "two"}]}),
    ("execute", {"summary": "one", "success": True}),
    ("execute", {"summary": "two", "success": True}),
    ("verify", {"verification_passed": True}),
]
TOOLS: dict[str, tuple[list[str], list[str]]] = {
    "query": ([], ["Read", "Bash", "Edit", "TodoWrite", "WebSearch"]),
    "enhance": ([], ["Read", "Bash", "Edit", "TodoWrite", "WebSearch"]),
    "knowledge": (["Task", "WebSearch", "WebFetch", "APITaskAgent", "PythonComputationalTool"], ["Edit"]),
    "plan": (["TodoWrite"], ["Edit", "Bash", "WebSearch"]),
    "execute": (["TodoRead", "TodoWrite", "Task", "Bash", "Read", "Write", "Edit", "Browser"], []),
    "verify": (["Read", "PythonComputationalTool"], ["Edit", "Write", "WebSearch"]),
}  # fmt: skip
"""What the seed's table gives each phase, and what it keeps from it, by the seed's names."""


@pytest.fixture
def phased(tmp_path: Path) -> Iterator[Bench]:
    """A bench with the package's own definitions."""
    bench = Bench(tmp_path, package=True)
    yield bench
    bench.close()


@pytest.mark.requirement("workflow:phased")
@pytest.mark.parametrize("upto", range(1, len(PAYLOADS) + 1))
def test_each_phase_leads_to_the_next_one(phased: Bench, upto: int) -> None:
    done = phased.workflows.start("phased", {"objective": "x"})
    for step, payload in PAYLOADS[:upto]:
        assert opened(done) == [step]
        done = phased.workflows.advance(done.opened[0].token, payload)
    following = [step for step, _ in PAYLOADS[upto : upto + 1]]
    assert opened(done) == following
    assert done.state == ("running" if following else "completed")


@pytest.mark.requirement("workflow:phased")
@pytest.mark.parametrize("step", [step for step, _ in PAYLOADS if step != "execute"])
def test_a_phase_without_its_payload_is_refused_and_nothing_moves(phased: Bench, step: str) -> None:
    done = phased.workflows.start("phased", {"objective": "x"})
    for name, payload in PAYLOADS:
        if name == step:
            break
        done = phased.workflows.advance(done.opened[0].token, payload)
    before = phased.types(done.execution_id).count("step_completed")
    with pytest.raises(WorkflowRefused) as refused:
        phased.workflows.advance(done.opened[0].token, {"summary": "no payload"})
    assert code_of(refused) == "output_invalid"
    assert phased.types(done.execution_id).count("step_completed") == before


@pytest.mark.requirement("workflow:phased")
@pytest.mark.parametrize("step", sorted(TOOLS))
def test_each_phase_has_the_tools_of_the_seed(phased: Bench, step: str) -> None:
    definition = phased.workflows.catalog.view("phased").definition.step(step)
    assert definition is not None
    given, kept = TOOLS[step]
    for name in given:
        assert any(allows(definition.tools, key) for key in GROUPS[name]), name
    for name in kept:
        assert not any(allows(definition.tools, key) for key in GROUPS[name]), name
    assert allows(definition.tools, "workflow.advance")


@pytest.mark.requirement("workflow:phased")
def test_prompts_carry_what_earlier_phases_found_and_no_template_marks(phased: Bench) -> None:
    done = phased.workflows.start("phased", {"objective": "the {{#if}} thing", "role": "coder"})
    seen: list[str] = []
    for _, payload in PAYLOADS:
        ticket = done.opened[0]
        seen.append(ticket.instructions)
        assert ticket.persona_text
        assert "@{" not in ticket.instructions
        assert "[object" not in ticket.instructions
        done = phased.workflows.advance(ticket.token, payload)
    assert "the {{#if}} thing" in seen[0]
    assert "g and more" in seen[3]
    assert "Do this task, and only this, towards “g and more”: one" in seen[4]
