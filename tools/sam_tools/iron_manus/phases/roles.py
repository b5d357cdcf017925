"""The ten roles of seed 000: the product of each, how it is checked, and which fits an objective.

How a role works (its methodology) is the persona of the same name, so that a person who writes a
persona of their own changes the role as well.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from sam_tui.core.workflow.execution.output import first_object

Level = Literal["multi-step", "complex"]


@dataclass(frozen=True, slots=True)
class Role:
    """A role. ``output`` is its usual deliverable, ``authority`` the decisions that it may take.

    ``terms`` are words and phrases of an objective that speak for it, with their weight;
    ``needs_ui`` lets them count only where the objective is about a user interface. ``categories``
    are those of the API list that it prefers.
    """

    name: str
    purpose: str
    output: str
    focus: str
    level: Level
    frameworks: tuple[str, ...]
    rules: tuple[str, ...]
    authority: str
    handoff: str
    terms: tuple[tuple[str, int], ...]
    categories: tuple[str, ...]
    needs_ui: bool = False


UI_TERMS: tuple[tuple[str, int], ...] = (
    ("ui", 1), ("ux", 1), ("user interface", 1), ("frontend", 1), ("front end", 1), ("css", 1),
    ("component", 1), ("design system", 1), ("layout", 1), ("widget", 1), ("web page", 1),
)  # fmt: skip
"""Terms of objectives about a user interface, each with its weight."""

_ROLES = (
    Role(
        "planner", "breaks work down and orders it", "strategic_architecture",
        "systematic_planning", "complex", ("systems_thinking", "dependency_analysis"),
        ("has_objectives", "has_timeline", "has_dependencies"), "STRATEGIZE_AND_COORDINATE",
        "agent_planner_output.md",
        (("plan", 3), ("strategy", 3), ("roadmap", 3), ("milestone", 2), ("schedule", 2),
         ("prioritize", 2), ("prioritise", 2), ("architecture", 2), ("architect", 2),
         ("estimate", 2), ("design", 1), ("organize", 1)),
        ("project", "management", "calendar", "productivity"),
    ),
    Role(
        "coder", "makes changes to code, with tests", "implementation_with_tests",
        "modular_development", "multi-step", ("TDD", "modular_architecture"),
        ("has_tests", "follows_conventions", "error_handling"), "IMPLEMENT_AND_VALIDATE",
        "technical_specs.md",
        (("implement", 3), ("develop", 3), ("program", 2), ("code", 2), ("build", 2),
         ("refactor", 3), ("fix", 2), ("debug", 3), ("bug", 2), ("script", 2), ("port", 1),
         ("create", 1), ("write", 1), ("unit test", 1), ("function", 1)),
        ("development", "documentation", "programming", "testing"),
    ),
    Role(
        "critic", "finds what is wrong before others do", "comprehensive_assessment",
        "security_quality_assurance", "complex", ("security_review", "code_analysis"),
        ("security_check", "performance_review", "compliance"), "EVALUATE_AND_REFINE",
        "expert_review.md",
        (("review", 4), ("audit", 4), ("critique", 4), ("vulnerability", 3), ("assess", 3),
         ("security", 2), ("validate", 2), ("inspect", 2), ("verify", 2)),
        ("security", "testing", "validation", "quality"),
    ),
    Role(
        "researcher", "finds things out from sources that can be named", "comprehensive_research",
        "parallel_information_synthesis", "multi-step", ("systematic_research", "parallel_validation"),
        ("source_validation", "data_accuracy", "completeness"), "INVESTIGATE_AND_SYNTHESIZE",
        "primary_research.md",
        (("research", 4), ("investigate", 3), ("survey", 3), ("find out", 2), ("look up", 3),
         ("find", 2), ("explore", 2), ("fact", 1), ("source", 1), ("learn", 1)),
        ("books", "calendar", "science", "education", "news", "reference", "academic"),
    ),
    Role(
        "analyzer", "reads data and says how sure the reading is", "analytical_insights",
        "multi_dimensional_analysis", "complex", ("statistical_analysis", "pattern_recognition"),
        ("data_validation", "pattern_verification", "statistical_significance"),
        "ANALYZE_AND_REPORT", "analysis_data.md",
        (("analyze", 4), ("analyse", 4), ("analysis", 4), ("statistic", 3), ("statistical", 3),
         ("metric", 3), ("correlate", 3), ("correlation", 3), ("trend", 2), ("measure", 2),
         ("benchmark", 2), ("dataset", 2), ("data", 1), ("pattern", 1), ("report", 1)),
        ("data", "finance", "cryptocurrency", "business", "statistics", "market", "analytics"),
    ),
    Role(
        "synthesizer", "joins parts into one thing that holds", "integrated_solution",
        "component_integration", "complex", ("system_integration", "optimization_framework"),
        ("integration_testing", "performance_validation", "quality_synthesis"),
        "INTEGRATE_AND_OPTIMIZE", "synthesized_knowledge.md",
        (("integrate", 4), ("integration", 3), ("combine", 4), ("synthesize", 4), ("merge", 3),
         ("consolidate", 3), ("unify", 3), ("reconcile", 3), ("optimize", 3), ("optimise", 3)),
        ("data", "integration", "workflow", "automation"),
    ),
    Role(
        "ui_architect", "designs how a user interface is put together", "component_architecture",
        "ui_system_design", "complex", ("V0", "component_hierarchy", "design_systems"),
        ("has_component_structure", "follows_design_system", "accessibility_compliant"),
        "DESIGN_AND_ARCHITECT", "agent_ui_architect_output.md",
        (("design system", 4), ("architect", 3), ("architecture", 3), ("design", 3),
         ("layout", 2), ("hierarchy", 2), ("user flow", 3), ("wireframe", 3)),
        ("art", "design", "color", "inspiration", "fonts"), needs_ui=True,
    ),
    Role(
        "ui_implementer", "builds the parts of a user interface", "working_components",
        "concurrent_ui_implementation", "multi-step", ("React", "Shadcn/UI", "concurrent_execution"),
        ("renders_correctly", "responsive_design", "proper_props"), "IMPLEMENT_AND_RENDER",
        "agent_ui_implementer_output.md",
        (("implement", 3), ("component", 3), ("build", 2), ("render", 2), ("code", 1),
         ("responsive", 1)),
        ("design", "color", "fonts", "components"), needs_ui=True,
    ),
    Role(
        "ui_refiner", "makes a user interface better in small steps", "polished_ui",
        "ui_polish_optimization", "multi-step", ("ui_refinement", "micro_interactions", "accessibility"),
        ("visual_polish", "interaction_feedback", "cross_browser_compatible"), "REFINE_AND_POLISH",
        "agent_ui_refiner_output.md",
        (("refine", 4), ("polish", 4), ("micro interaction", 3), ("accessibility", 3),
         ("animation", 2), ("style", 2), ("usability", 3)),
        ("design", "color", "accessibility"), needs_ui=True,
    ),
    Role(
        "slide_generator", "turns content into slides", "presentation_template",
        "unified_slide_generation_with_templates", "complex",
        ("template_system", "content_generation", "visual_design", "narrative_flow"),
        ("template_compliance", "content_quality", "visual_clarity", "audience_alignment"),
        "GENERATE_AND_IMPLEMENT", "agent_slide_generator_output.md",
        (("slide", 4), ("presentation", 4), ("slide deck", 4), ("pitch deck", 4),
         ("powerpoint", 4), ("keynote", 3), ("slideshow", 4)),
        ("design", "art", "visual"),
    ),
)  # fmt: skip

ROLES: dict[str, Role] = {role.name: role for role in _ROLES}
"""The roles by name, in the seed's order."""


def no_role(name: str) -> str:
    """Return that a role does not exist, with the nearest names or all of them."""
    near = difflib.get_close_matches(_plain(name), ROLES, n=3, cutoff=0.5)
    suggestion = f"nearest: {', '.join(near)}" if near else f"there are: {', '.join(ROLES)}"
    return f"{name!r} is no role ({suggestion})"


def role_named(name: str) -> Role | None:
    """The role of that name, however it is spelt (``UI-Architect`` is ``ui_architect``)."""
    return ROLES.get(_plain(name))


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


_FALLBACK = "researcher"
_WORD = re.compile(r"[a-z0-9]+")
_EXPLICIT = re.compile(r"\(\s*ROLE:\s*([^()]{1,60}?)\s*\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """A chosen role, who chose it, and why; ``scores`` of the roles that had any."""

    role: str
    by: str
    reasons: tuple[str, ...]
    scores: Mapping[str, int] = field(default_factory=dict[str, int])


def choose_role(objective: str, requested: str = "") -> RoleChoice:
    """The role for an objective.

    ``requested`` is the person's own choice and wins; then ``(ROLE: x)`` in the objective; then the
    words of the objective, whole words only. A wish for a role that does not exist is a reason.
    """
    reasons: list[str] = []
    for name, who in ((requested, "person"), (_named_in(objective), "objective")):
        if not name:
            continue
        role = role_named(name)
        if role is not None:
            source = (
                "was chosen for the session" if who == "person" else "is named in the objective"
            )
            return RoleChoice(role.name, who, (f"{role.name} {source}",))
        reasons.append(no_role(name))
    return _scored(objective, reasons)


def model_choice(answer: str) -> RoleChoice | str:
    """Return the role in a model's answer (the first JSON object of it), or the fault of the answer."""
    choice: dict[str, object] | None = first_object(answer)
    if choice is None:
        return "there is no JSON object with selected_role in it"
    name, why = choice.get("selected_role"), choice.get("reasoning")
    return named_choice(name if isinstance(name, str) else "", why if isinstance(why, str) else "")


def named_choice(name: str, why: str = "") -> RoleChoice | str:
    """Return the role of this name as a model's choice, or the fault of the name."""
    if not name.strip():
        return "selected_role is missing"
    role = role_named(name)
    if role is None:
        return no_role(name)
    reason = " ".join(why.split())[:300] or "no reason given"
    return RoleChoice(role.name, "model", (f"the model chose {role.name}: {reason}",))


def _scored(objective: str, reasons: list[str]) -> RoleChoice:
    spoken = f" {' '.join(_WORD.findall(objective.lower()))} "
    interface = _spoken(UI_TERMS, spoken)
    hits = {
        role.name: said
        for role in ROLES.values()
        if (interface or not role.needs_ui) and (said := _spoken(role.terms, spoken))
    }
    if not hits:
        reasons.append(f"no word of the objective speaks for a role: {_FALLBACK}")
        return RoleChoice(_FALLBACK, "words", tuple(reasons))
    scores = {name: sum(said.values()) + ROLES[name].needs_ui for name, said in hits.items()}
    # Of equals the more special one, then the first in the roles' order.
    best = max(scores, key=lambda name: (scores[name], ROLES[name].needs_ui))
    if ROLES[best].needs_ui:
        reasons.append(f"about a user interface: {', '.join(interface)}")
    evidence = ", ".join(f"{term} (+{weight})" for term, weight in hits[best].items())
    reasons.append(f"{best} scores {scores[best]}: {evidence}")
    others = sorted((n for n in scores if n != best), key=lambda n: -scores[n])
    if others:
        reasons.append("behind it: " + ", ".join(f"{n} {scores[n]}" for n in others))
    return RoleChoice(best, "words", tuple(reasons), scores)


def _spoken(terms: Sequence[tuple[str, int]], text: str) -> dict[str, int]:
    """The terms that a text of single-spaced words holds, with their weights."""
    return {term: weight for term, weight in terms if _says(text, term)}


def _named_in(objective: str) -> str:
    match = _EXPLICIT.search(objective)
    return match[1] if match else ""


def _says(spoken: str, term: str) -> bool:
    """Whether a text of single-spaced words holds a word or phrase, inflected or not."""
    return _pattern(term).search(spoken) is not None


@cache
def _pattern(term: str) -> re.Pattern[str]:
    *before, last = term.split()
    forms = {last, f"{last}s", f"{last}es", f"{last}ed", f"{last}d", f"{last}ing"}
    if last.endswith("e"):
        forms.add(f"{last[:-1]}ing")
    if last.endswith("y"):
        forms |= {f"{last[:-1]}ies", f"{last[:-1]}ied"}
    if len(last) > 2 and last[-1] not in "aeiouyw" and last[-2] in "aeiou":
        forms |= {f"{last}{last[-1]}ing", f"{last}{last[-1]}ed"}
    body = " ".join([*map(re.escape, before), f"(?:{'|'.join(sorted(forms))})"])
    return re.compile(f" {body} ")
