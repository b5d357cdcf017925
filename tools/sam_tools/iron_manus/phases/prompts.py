"""Prompts for a session's driver and for delegated agents, with every reference filled in.

A reference without a value raises ``ReferenceMissing``, so that no incomplete prompt is sent.
"""

import json
from collections.abc import Mapping, Sequence

from sam_tools.iron_manus.phases.meta_prompt import MetaPrompt
from sam_tools.iron_manus.phases.roles import ROLES, Role
from sam_tools.iron_manus.phases.sessions import PHASES, ManusSession
from sam_tui.core.workflow.definitions.references import fill_text

_OPENING = "Session @{inputs.session_id}, phase @{inputs.phase} (@{inputs.number} of 6)."
_ROLE = """\
<role name="@{inputs.name}">
@{inputs.methodology}

Focus: @{inputs.focus}. Usual deliverable: @{inputs.output}. Complexity: @{inputs.level}.
Frameworks: @{inputs.frameworks}. Before it counts as done: @{inputs.rules}.
Authority: @{inputs.authority}.
</role>"""
_GUIDES = {
    "QUERY": """\
The role is @{inputs.role}: @{inputs.role_reasons}.
If another of these fits better, hand in selected_role with your goal: @{inputs.roles}.""",
    "ENHANCE": "What was asked for, word for word: @{inputs.objective}",
    "KNOWLEDGE": """\
Research from sources that you choose for this goal, and name each with how sure it is. Work that
several agents can do side by side is handed over by files in @{inputs.folder}:
@{inputs.files}
What synthesized_knowledge.md holds there is taken when knowledge_gathered is left out.""",
    "PLAN": """\
A todo that an agent of its own should do is written as
(ROLE: one of the roles) (CONTEXT: domain) (PROMPT: what to do) (OUTPUT: what to deliver), such as
@{inputs.example}.
Parentheses within are balanced, or written \\( and \\). Its agent is started when the todo's turn
comes. Todos of priority high, and delegated ones, need evidence.""",
    "EXECUTE": """\
Todo @{inputs.index} of @{inputs.total} (priority @{inputs.priority}). Effectiveness so far:
@{inputs.effectiveness} (@{inputs.grade}), derived from evidence.
@{inputs.delegation}@{inputs.critical}One todo at a time; hand in each by itself.""",
    "VERIFY": """\
What the store counted: @{inputs.percent} % of @{inputs.total} todos are completed.
@{inputs.todos}
All critical todos and @{inputs.threshold} % of all must be; what is handed in as passed changes
none of that. Below 50 % the plan is made anew, below 80 % EXECUTE goes on, else the last todo is
done again. @{inputs.rollbacks} such returns are left.""",
}
_EXAMPLES: dict[str, dict[str, object]] = {
    "QUERY": {"interpreted_goal": "..."},
    "ENHANCE": {"enhanced_goal": "..."},
    "KNOWLEDGE": {
        "knowledge_gathered": "...",
        "sources": [{"source": "url or file", "confidence": 0.8}],
    },
    "PLAN": {
        "plan_created": True,
        "todos_with_metaprompts": [{"id": "1", "content": "...", "priority": "high"}],
    },
    "EXECUTE": {"execution_success": True, "summary": "...", "evidence": {"files": ["path"]}},
    "VERIFY": {"verification_passed": True, "reason": "..."},
}
_STEPS = (
    "Say in one sentence what the task asks for and what it leaves alone.",
    "Read what you were given, the files named below included.",
    "Choose the approach that your frameworks suggest, and name what could go wrong.",
    "Do the work in small steps, with the tools that are allowed.",
    "Check each result where it can be checked: run it, read it back, compare it.",
    "Hold the whole against the rules of your role.",
    "Write down what is open, uncertain or left out.",
    "Answer with the deliverable itself, and what bears it out.",
)
_ERRAND = """\
You carry out one task of session @{inputs.session_id} on your own: nobody sees your work but by your
answer and your files.

@{inputs.role_block}

Context: @{inputs.context}
The whole it is a part of: @{inputs.objective}

Task: @{inputs.prompt}

Deliver: @{inputs.output}

How:
@{inputs.steps}

Files that others left for you: @{inputs.files}
Your hand-off is @{inputs.path}: your answer is kept there, unless you write that file yourself."""


def render(template: str, values: Mapping[str, object]) -> str:
    """A template with its references filled in. Raises ``ReferenceMissing``."""
    return fill_text(template, {"inputs": values})


def role_block(role: Role, methodology: str) -> str:
    """A role's part of the prompt: its methodology, deliverable, rules and authority."""
    return render(
        _ROLE,
        {
            "name": role.name,
            "methodology": methodology.strip(),
            "focus": role.focus,
            "output": role.output,
            "level": role.level,
            "frameworks": ", ".join(role.frameworks),
            "rules": ", ".join(role.rules),
            "authority": role.authority,
        },
    )


def phase_prompt(session: ManusSession, methodology: str, facts: Mapping[str, object]) -> str:
    """The prompt for a session's driver in its phase; ``facts`` are values of the guide."""
    phase = session.phase
    assert session.ticket is not None
    head = {"session_id": session.id, "phase": phase, "number": PHASES.index(phase) + 1}
    call = {"session_id": session.id, "phase_completed": phase, "payload": _EXAMPLES[phase]}
    return "\n\n".join([
        render(_OPENING, head),
        role_block(ROLES[session.role], methodology),
        session.ticket.instructions,
        render(_GUIDES[phase], facts),
        f"When it is done: JARVIS {json.dumps(call, ensure_ascii=False)}",
    ])


def errand_prompt(
    meta: MetaPrompt, session: ManusSession, methodology: str, path: str, files: Sequence[str]
) -> str:
    """The prompt for the agent of a delegated todo."""
    goal = session.output("enhance").get("enhanced_goal") or session.objective
    values = {
        "session_id": session.id,
        "role_block": role_block(ROLES[meta.role], methodology),
        "context": meta.context or "none given",
        "objective": goal,
        "prompt": meta.prompt,
        "output": meta.output,
        "steps": "\n".join(f"{number}. {step}" for number, step in enumerate(_STEPS, start=1)),
        "files": ", ".join(files) or "none",
        "path": path,
    }
    return render(_ERRAND, values)


def role_meta_prompt(role: Role, task: str) -> MetaPrompt:
    """A meta-prompt for a role: its frameworks and level as context, its usual deliverable."""
    context = f"complexity {role.level}; frameworks {', '.join(role.frameworks)}"
    return MetaPrompt(role.name, task, context, role.output)
