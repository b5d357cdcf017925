"""What a driver is told, phase by phase, word for word: nothing is left unfilled."""

from pathlib import Path

import pytest

from sam_tools.iron_manus.phases.prompts import render, role_meta_prompt
from sam_tools.iron_manus.phases.roles import ROLES
from sam_tui.core.workflow.definitions.references import ReferenceMissing
from tests.ironmanus.harness import PHASES, Harness

SNAPSHOT = Path(__file__).with_name("prompts.txt")


@pytest.mark.requirement("ironmanus:prompts")
async def test_the_prompts_are_as_they_were_agreed(harness: Harness) -> None:
    told = [await harness.begin(objective="Build a list")]
    told += [await harness.done(phase, payload) for phase, payload in PHASES]
    todos = [{"id": "1", "content": "write it", "priority": "high"}]
    plan = {"plan_created": True, "todos_with_metaprompts": todos}
    told.append(await harness.done("PLAN", plan))
    told.append(await harness.execute(False))
    shown = [
        f"== {answer['next_phase']}\n{answer['system_prompt'].partition('</role>')[2].strip()}\n"
        for answer in told
    ]
    assert "\n".join(shown) == SNAPSHOT.read_text("utf-8")


@pytest.mark.requirement("ironmanus:prompts")
def test_half_a_prompt_is_never_sent() -> None:
    assert render("a @{inputs.b} c", {"b": "@{inputs.d}"}) == "a @{inputs.d} c"
    with pytest.raises(ReferenceMissing):
        render("a @{inputs.b} c", {})


@pytest.mark.requirement("ironmanus:prompts")
def test_a_role_s_meta_prompt_names_its_frameworks_and_deliverable() -> None:
    assert role_meta_prompt(ROLES["critic"], "judge (all of) it").text() == (
        "(ROLE: critic) (CONTEXT: complexity complex; frameworks security_review,"
        " code_analysis) (PROMPT: judge \\(all of\\) it) (OUTPUT: comprehensive_assessment)"
    )
