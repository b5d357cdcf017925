"""Roles and who gets which: whole words with reasons, explicit choices, a model's choice."""

import json

import pytest

from sam_tools.iron_manus.phases.roles import (
    ROLES,
    RoleChoice,
    choose_role,
    model_choice,
    role_named,
)
from tests.ironmanus.harness import Harness


@pytest.mark.requirement("ironmanus:roles")
def test_there_are_ten_roles_each_with_all_that_the_seed_gives_it() -> None:
    assert list(ROLES) == [
        "planner", "coder", "critic", "researcher", "analyzer", "synthesizer", "ui_architect",
        "ui_implementer", "ui_refiner", "slide_generator",
    ]  # fmt: skip
    for role in ROLES.values():
        assert all((role.purpose, role.output, role.focus, role.authority, role.frameworks))
        assert len(role.rules) >= 3
    assert len({role.handoff for role in ROLES.values()}) == 10
    assert role_named("UI-Architect") is ROLES["ui_architect"]


@pytest.mark.requirement("ironmanus:roles")
def test_every_role_has_a_methodology_that_a_person_can_replace(harness: Harness) -> None:
    personas = harness.workflows.catalog.personas()
    assert all(len(personas[role].splitlines()) >= 5 for role in ROLES)


@pytest.mark.requirement("ironmanus:role-choice")
@pytest.mark.parametrize(
    ("objective", "role"),
    [
        ("Build a React dashboard with authentication", "coder"),
        ("plan the roadmap", "planner"),
        ("Review the code for security issues", "critic"),
        ("analyze data trends", "analyzer"),
        ("optimize the database", "synthesizer"),
        ("metrics report", "analyzer"),
        ("combine two systems", "synthesizer"),
        ("find facts about bees", "researcher"),
        ("implement a template engine", "coder"),
        ("UI component library", "ui_implementer"),
        ("polish ui animations", "ui_refiner"),
        ("design system for UI", "ui_architect"),
        ("(ROLE: analyzer) (PROMPT: anything)", "analyzer"),
        ("(ROLE: wizard) (PROMPT: merge branches)", "synthesizer"),
        ("Make a pitch deck", "slide_generator"),
        ("represent the democracy", "researcher"),
        ("", "researcher"),
    ],
)
def test_words_choose_the_role(objective: str, role: str) -> None:
    choice = choose_role(objective)
    assert choice.role == role
    assert choice.reasons


@pytest.mark.requirement("ironmanus:role-choice")
def test_only_whole_words_count_and_the_reasons_name_them() -> None:
    assert choose_role("rebuild the guitar").scores == {}
    choice = choose_role("Reviewing and auditing the plans")
    assert choice.scores == {"critic": 8, "planner": 3}
    assert choice.reasons[0] == "critic scores 8: review (+4), audit (+4)"
    assert "planner 3" in choice.reasons[1]


@pytest.mark.requirement("ironmanus:role-choice")
def test_an_explicit_choice_wins_and_one_that_does_not_exist_is_told_with_its_neighbours() -> None:
    assert choose_role("analyze it", "critic") == RoleChoice(
        "critic", "person", ("critic was chosen for the session",)
    )
    assert "nearest: planner" in choose_role("x", "planer").reasons[0]


@pytest.mark.requirement("ironmanus:role-choice")
def test_a_model_s_choice_is_checked_against_the_roles() -> None:
    fenced = '```json\n{"selected_role": "critic", "reasoning": "it is a review"}\n```'
    choice = model_choice(fenced)
    assert isinstance(choice, RoleChoice)
    assert (choice.role, choice.reasons) == ("critic", ("the model chose critic: it is a review",))
    assert (
        model_choice(json.dumps({"selected_role": "codr"})) == "'codr' is no role (nearest: coder)"
    )
    assert "selected_role" in str(model_choice("I think critic"))


@pytest.mark.requirement("ironmanus:role-choice")
async def test_a_person_the_words_or_the_model_choose_the_role_of_a_session(
    harness: Harness,
) -> None:
    begun = await harness.jarvis(initial_objective="analyze it", payload={"role": "critic"})
    assert begun["payload"]["detected_role"] == "critic"
    refused = await harness.refused("d", initial_objective="analyze it", payload={"role": "wizard"})
    assert refused["code"] == "role_unknown"
    answer = await harness.begin("m", "analyze it")
    assert answer["payload"]["role_reasons"] == ["analyzer scores 4: analyze (+4)"]
    chosen = '{"selected_role": "planner", "reasoning": "steps first"}'
    goal = {"interpreted_goal": "g", "claude_response": chosen}
    answer = await harness.done("QUERY", goal, "m")
    assert answer["payload"]["detected_role"] == "planner"
    assert answer["payload"]["role_reasons"] == ["the model chose planner: steps first"]
    await harness.begin("n", "analyze it")
    goal = {"interpreted_goal": "g", "claude_response": "the wizard, of course"}
    answer = await harness.done("QUERY", goal, "n")
    assert answer["payload"]["detected_role"] == "analyzer"
    assert "was not taken" in answer["payload"]["warnings"][0]
