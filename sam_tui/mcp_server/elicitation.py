"""Questions as forms: their content for the person of a client, and the meaning of the answer.

The host words every approval. Text of models and files is shown without control characters, and its
later lines are indented, so that none can pass for a line of ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import mcp_types as types

from sam_tui.core.display import Diff
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Question, Reply
from sam_tui.core.todos.item import one_line, visible_text

DENY: Final = "deny"
_LONGEST = 8000
_PREVIEW = 4000
_SHORT, _END = 300, 1000
"""The most characters of a target before the reason; the last characters that a shortened text keeps."""
_TITLED_SINCE = "2025-11-25"
"""The first protocol version in which choices have titles in ``oneOf``; earlier ones use ``enumNames``."""


@dataclass(frozen=True, slots=True)
class ElicitationForm:
    """A form elicitation: a message, and a flat JSON schema of the answer."""

    message: str
    schema: dict[str, object]


def form_of(inquiry: Inquiry, version: str) -> ElicitationForm:
    """The form that asks an inquiry, for a client of a protocol version."""
    match inquiry.request:
        case ApprovalRequest() as request:
            return _approval_form(request, version)
        case Question() as question:
            return _question_form(question, version)


def answer_of(inquiry: Inquiry, result: types.ElicitResult) -> Answer | None:
    """The person's answer; None if they did not answer a question.

    Only the id of an offered choice approves; any other reply denies."""
    accepted = result.action == "accept"
    if isinstance(inquiry.request, Question):
        reply = _text_of(result, "answer") if accepted else ""
        return Reply(reply) if reply.strip() else None
    remark, decision = _text_of(result, "comment").strip(), _text_of(result, "decision")
    offered = [choice.id for choice in inquiry.request.choices]
    if not accepted or decision not in offered:
        dismissed = "They dismissed the question." if result.action == "cancel" else ""
        return Approval("deny", remark or dismissed)
    return Approval("scope", remark, scope=decision)


def _text_of(result: types.ElicitResult, field: str) -> str:
    """Return the text in a field of the form; empty for anything but text."""
    value = (result.content or {}).get(field)
    return value if isinstance(value, str) else ""


def _approval_form(request: ApprovalRequest, version: str) -> ElicitationForm:
    lines = [f"Allow {request.operation}?", f"  what    {one_line(request.summary)}"]
    if request.asker:
        lines.append(f"  from    {one_line(request.asker)}")
    # Long texts come after the reason, so that no text of the model can push it out of view.
    long = [target for target in request.targets if len(target) > _SHORT]
    lines += [_target(target) for target in request.targets if target not in long]
    lines += [f"  letters {one_line(words)}" for words in request.letters]
    lines += [f"  why     {_shortened(one_line(request.why), _PREVIEW // 2)}"]
    lines += [f"  in      {one_line(request.cwd)}", *map(_target, long)]
    lines += [f"  agent   | {line}" for line in visible_text(request.words).splitlines()]
    lines += _preview(request.preview)
    options = [(DENY, "No"), *((c.id, f"Yes: {one_line(c.words)}") for c in request.choices)]
    schema: dict[str, object] = {
        "type": "object",
        "properties": {
            "decision": _choice("Decision", options, version),
            "comment": {
                "type": "string",
                "title": "If not: what should be done instead",
                "maxLength": 2000,
            },
        },
        "required": ["decision"],
    }
    return ElicitationForm(_cut("\n".join(lines)), schema)


def _question_form(question: Question, version: str) -> ElicitationForm:
    parts = [_indented(question.prompt), _indented(question.context)]
    answer: dict[str, object] = {"type": "string", "title": "Your answer"}
    if question.several or question.free:
        answer["description"] = one_line(question.offered)
    elif question.choices:
        answer = _choice("Your answer", [(c, one_line(c)) for c in question.choices], version)
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"answer": answer},
        "required": ["answer"],
    }
    return ElicitationForm(_cut("\n\n".join(part for part in parts if part)), schema)


def _choice(title: str, options: Sequence[tuple[str, str]], version: str) -> dict[str, object]:
    if version < _TITLED_SINCE:
        return {
            "type": "string",
            "title": title,
            "enum": [value for value, _ in options],
            "enumNames": [words for _, words in options],
        }
    titled = [{"const": value, "title": words} for value, words in options]
    return {"type": "string", "title": title, "oneOf": titled}


def _preview(diffs: Sequence[Diff]) -> list[str]:
    lines: list[str] = []
    for diff in diffs:
        lines.append(f"  change  {one_line(diff.path)} +{diff.added} -{diff.removed}")
        text = visible_text(diff.unified)
        cut = text if len(text) <= _PREVIEW else f"{text[:_PREVIEW]}\n[…]"
        lines += [f"    | {line}" for line in cut.splitlines()]
    return lines


def _target(text: str) -> str:
    return f"  target  {_indented(_shortened(text, _PREVIEW))}"


def _shortened(text: str, most: int) -> str:
    """Return a text without its middle, if it is too long: the end of a command is seen, too."""
    if len(text) <= most:
        return text
    return f"{text[: most - _END]}[… {len(text) - most:,} characters …]{text[-_END:]}"


def _indented(text: str) -> str:
    return visible_text(text).replace("\n", "\n          ")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[…]"
