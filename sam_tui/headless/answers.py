"""The answers file of a run without a person: patterns and replies; the first match counts.

The file is a JSON list of ``{"match": regex, "reply": text}``. The pattern is searched in the text of
the inquiry: operation, summary and targets of an approval; prompt, context and choices of a question.
An inquiry that no entry matches stays unanswered, which denies it. A reply to an approval is a word of
``_DECISIONS``, or a sentence that refuses and says why; another single word answers questions only.
``"scope"`` beside an approval names one of the scopes on offer: ``timed``, ``session``, ``project``,
``user`` or another.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sam_tui.core.errors import ConfigurationError
from sam_tui.core.inquiries import Responder
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Question, Reply
from sam_tui.core.local_files.bounded import UnusableFile, read_named

REFUSAL = "No. Go on without it."
_FORM = 'Each entry is {"match": "a regular expression", "reply": "approve", "deny" or a text}.'
_LONGEST = 10_000_000
_DECISIONS = {"approve": True, "yes": True, "deny": False, "no": False}
_WIDER = ("timed", "session", "project", "user")
"""Scopes that include a single approval: if one is not offered, a single approval is given instead."""
_SCOPE = re.compile(rf"(?:once|rehearse|{'|'.join(_WIDER)})(?:-(?:below|sources))?")
_SCOPES = (
    f"Scopes are once, rehearse, {', '.join(_WIDER)}, and for hosts session-below, session-sources."
)


@dataclass(frozen=True, slots=True)
class AnswerEntry:
    """One line of the file."""

    match: re.Pattern[str]
    reply: str
    scope: str = ""

    @property
    def decision(self) -> bool | None:
        """Whether it approves or denies; None for any other text."""
        return _DECISIONS.get(self.reply.lower())

    @property
    def decides(self) -> bool:
        """Whether it can answer an approval: by a decision, or by a sentence that refuses."""
        return self.decision is not None or len(self.reply.split()) > 1

    def fits(self, inquiry: Inquiry) -> bool:
        """Whether it is for an inquiry. Only what all targets match is approved: none rides along."""
        if isinstance(inquiry.request, ApprovalRequest) and not self._decides(inquiry.request):
            return False
        matches = (self.match.search(text) is not None for text in inquiry_texts(inquiry))
        return all(matches) if self.decision else any(matches)

    def _decides(self, request: ApprovalRequest) -> bool:
        """Whether it can answer this approval: a yes to a change names it."""
        return self.decides and (not self.decision or request.revision in self.match.pattern)

    def answer(self, inquiry: Inquiry) -> Answer:
        """The reply in the form that this kind of inquiry takes."""
        if isinstance(inquiry.request, ApprovalRequest):
            if self.decision:
                return self._approval(inquiry.request)
            return Approval("deny", "" if self.decision is False else self.reply)
        plain = {"approve": "yes", "deny": "no"}.get(self.reply.lower(), self.reply)
        question = inquiry.request
        if question.choices:
            return Reply(question.reply(self.reply) or question.reply(plain) or self.reply)
        return Reply(REFUSAL if self.reply.lower() == "deny" else plain)

    def _approval(self, request: ApprovalRequest) -> Approval:
        offered = {choice.id for choice in request.choices}
        if self.scope in ("", "once") or (self.scope in _WIDER and self.scope not in offered):
            return Approval("once")
        if self.scope in offered:
            return Approval("scope", scope=self.scope)
        return Approval("deny", f"The answers use the scope {self.scope}, which is not offered.")


def read_answers(path: str, operations: Iterable[str] = ()) -> Responder:
    """The responder that a file describes. Raises ``ConfigurationError`` naming the wrong entry.

    ``operations`` are those that approvals may be about, as ``tool.operation``.
    """
    entries = [
        _entry(f"{path}, entry {number}", item, tuple(operations))
        for number, item in enumerate(_load(path), 1)
    ]

    def respond(inquiry: Inquiry) -> Answer | None:
        return next((entry.answer(inquiry) for entry in entries if entry.fits(inquiry)), None)

    return respond


def approve_all(inquiry: Inquiry) -> Answer | None:
    """The responder that approves every call, once each, and no question but for leave to call."""
    if isinstance(inquiry.request, Question):
        return Reply("yes") if inquiry.request.operation else None
    return Approval("once")


def inquiry_texts(inquiry: Inquiry) -> list[str]:
    """Return the texts in which patterns are searched; for an approval one for each target.

    They contain no text that the agent wrote beside an approval.
    """
    match inquiry.request:
        case ApprovalRequest(operation=operation, summary=summary) as request:
            end = [f"changed: {request.revision}"] if request.revision else []
            targets = request.targets or ("",)
            return ["\n".join([operation, summary, target, *end]) for target in targets]
        case Question(prompt=prompt, context=context, choices=choices):
            return ["\n".join(part for part in (prompt, context, ", ".join(choices)) if part)]


def _load(path: str) -> list[object]:
    from sam_tui.core.text.json_files import json_of_file

    try:
        data = read_named(os.path.expanduser(path), most=_LONGEST)
    except UnusableFile as error:
        raise ConfigurationError(f"{path} {error}.", hint=_FORM) from error
    value = json_of_file(data, path, hint=_FORM)
    if not isinstance(value, list):
        raise ConfigurationError(f"{path} must contain a JSON list.", hint=_FORM)
    return cast("list[object]", value)


def _fault(fields: Mapping[str, Any]) -> str:
    """Return the fault in the fields of an entry, in words; empty if there is none."""
    for name in ("match", "reply"):
        if not isinstance(fields.get(name), str):
            return f"“{name}” must be a text"
    unknown = sorted(set(fields) - {"match", "reply", "scope"})
    if unknown:
        return f"“{unknown[0]}” is not a key here"
    return "" if fields["reply"].strip() else "“reply” is empty"


def _fitting(pattern: re.Pattern[str], operations: Sequence[str]) -> str:
    """The first operation that is meant: more of its name than a plain word fits, for “retry” alone may
    well stand in a question."""
    named = ((name, pattern.search(name)) for name in operations)
    return next((name for name, match in named if match and "_" in match[0]), "")


def _check_scope(where: str, scope: object, entry: AnswerEntry) -> None:
    if not isinstance(scope, str) or (scope and not entry.decision):
        raise ConfigurationError(
            f"{where}: “scope” must be a text, and needs “approve”.", hint=_FORM
        )
    if scope and not _SCOPE.fullmatch(scope):
        raise ConfigurationError(f"{where}: there is no scope “{scope}”.", hint=_SCOPES)


def _entry(where: str, raw: object, operations: Sequence[str]) -> AnswerEntry:
    if not isinstance(raw, dict):
        raise ConfigurationError(f"{where} is not an object.", hint=_FORM)
    fields = cast("dict[str, Any]", raw)
    if fault := _fault(fields):
        raise ConfigurationError(f"{where}: {fault}.", hint=_FORM)
    try:
        pattern = re.compile(fields["match"])
    except re.error as error:
        raise ConfigurationError(
            f"{where}: “match” is not a regular expression: {error}.", hint=_FORM
        ) from error
    entry = AnswerEntry(pattern, fields["reply"].strip(), fields.get("scope", ""))
    _check_scope(where, fields.get("scope", ""), entry)
    fitting = _fitting(pattern, operations)
    if fitting and not entry.decides:
        raise ConfigurationError(
            f"{where}: “match” fits approvals of {fitting}, and “{entry.reply}” is neither "
            "yes nor no.",
            hint="Write “approve”, “deny” or a sentence that says why not, or match a question only.",
        )
    return entry
