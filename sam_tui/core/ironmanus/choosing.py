"""Which role fits an objective: an explicit choice, a model's choice, or words scored with reasons."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sam_tui.core.ironmanus.roles import ROLES, UI_TERMS, no_role, role_named
from sam_tui.core.workflow.extraction import first_object

_FALLBACK = "researcher"
_WORD = re.compile(r"[a-z0-9]+")
_EXPLICIT = re.compile(r"\(\s*ROLE:\s*([^()]{1,60}?)\s*\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """A role, who chose it, and why; ``scores`` of the roles that had any."""

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
    """What a model chose, from the first JSON object of its answer; else what is wrong with it."""
    choice: dict[str, Any] | None = first_object(answer)
    if choice is None:
        return "there is no JSON object with selected_role in it"
    name, why = choice.get("selected_role"), choice.get("reasoning")
    return named_choice(name if isinstance(name, str) else "", why if isinstance(why, str) else "")


def named_choice(name: str, why: str = "") -> RoleChoice | str:
    """A role that a model named; else what is wrong with it."""
    if not name.strip():
        return "selected_role is missing"
    role = role_named(name)
    if role is None:
        return no_role(name)
    reason = " ".join(why.split())[:300] or "no reason given"
    return RoleChoice(role.name, "model", (f"the model chose {role.name}: {reason}",))


def _scored(objective: str, reasons: list[str]) -> RoleChoice:
    words = _WORD.findall(objective.lower())
    spoken = f" {' '.join(words)} "
    interface = [term for term, _ in UI_TERMS if _says(spoken, term)]
    scores: dict[str, int] = {}
    evidence: dict[str, list[str]] = {}
    for role in ROLES.values():
        if role.needs_ui and not interface:
            continue
        hits = [(term, weight) for term, weight in role.terms if _says(spoken, term)]
        if hits:
            scores[role.name] = sum(w for _, w in hits) + (1 if role.needs_ui else 0)
            evidence[role.name] = [f"{term} (+{weight})" for term, weight in hits]
    if not scores:
        reasons.append(f"no word of the objective speaks for a role: {_FALLBACK}")
        return RoleChoice(_FALLBACK, "words", tuple(reasons))
    # Of equals the more special one, then the first in the roles' order.
    best = max(scores, key=lambda name: (scores[name], ROLES[name].needs_ui))
    if ROLES[best].needs_ui:
        reasons.append(f"about a user interface: {', '.join(interface)}")
    reasons.append(f"{best} scores {scores[best]}: {', '.join(evidence[best])}")
    others = sorted((n for n in scores if n != best), key=lambda n: -scores[n])
    if others:
        reasons.append("behind it: " + ", ".join(f"{n} {scores[n]}" for n in others))
    return RoleChoice(best, "words", tuple(reasons), scores)


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
