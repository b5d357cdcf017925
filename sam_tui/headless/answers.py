"""Who answers when nobody is there: a file of patterns and replies, the first match first.

The file is a JSON list of ``{"match": regex, "reply": "approve" | "deny" | text}``. The pattern is
searched in what the inquiry says: operation, summary and targets of an approval, prompt and context
of a question. What no entry matches is left unanswered, which denies it. ``"scope"`` beside an approval
names one of the question's choices: ``timed``, ``session``, ``project``, ``user`` or another on offer.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sam_tui.core.errors import ConfigurationError
from sam_tui.core.inquiries import Responder
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Question, Reply

REFUSAL = "No. Go on without it."
_FORM = 'Each entry is {"match": "a regular expression", "reply": "approve", "deny" or a text}.'
_WIDER = ("timed", "session", "project", "user")
"""Scopes that hold a single approval in them: where one is not on offer, that is what is given."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the file."""

    match: re.Pattern[str]
    reply: str
    scope: str = ""

    def fits(self, texts: Sequence[str]) -> bool:
        """Whether it is for an inquiry. Only what all targets match is approved: none rides along."""
        found = (self.match.search(text) is not None for text in texts)
        return all(found) if self.reply == "approve" else any(found)

    def answer(self, inquiry: Inquiry) -> Answer:
        """The reply in the form that this kind of inquiry takes."""
        if isinstance(inquiry.request, ApprovalRequest):
            if self.reply == "approve":
                return self._approval(inquiry.request)
            return Approval("deny", "" if self.reply == "deny" else self.reply)
        return Reply({"approve": "yes", "deny": REFUSAL}.get(self.reply, self.reply))

    def _approval(self, request: ApprovalRequest) -> Approval:
        offered = {choice.id for choice in request.choices}
        if self.scope in ("", "once") or (self.scope in _WIDER and self.scope not in offered):
            return Approval("once")
        if self.scope in offered:
            return Approval("scope", scope=self.scope)
        return Approval("deny", f"The answers name the scope {self.scope}, which is not offered.")


def read_answers(path: str) -> Responder:
    """The responder that a file describes. Raises ``ConfigurationError`` naming the wrong entry."""
    entries = _parse(path, _load(path))

    def respond(inquiry: Inquiry) -> Answer | None:
        texts = inquiry_texts(inquiry)
        return next((entry.answer(inquiry) for entry in entries if entry.fits(texts)), None)

    return respond


def approve_all(inquiry: Inquiry) -> Answer | None:
    """The responder that approves every call, once each, and no question but for leave to call."""
    if isinstance(inquiry.request, Question):
        return Reply("yes") if inquiry.request.operation else None
    return Approval("once")


def inquiry_texts(inquiry: Inquiry) -> list[str]:
    """What patterns are searched in, one thing a line; for an approval a text for each target.

    What the agent wrote beside an approval is none of it.
    """
    match inquiry.request:
        case ApprovalRequest(operation=operation, summary=summary, targets=targets):
            return ["\n".join([operation, summary, target]) for target in targets or ("",)]
        case Question(prompt=prompt, context=context):
            return ["\n".join(part for part in (prompt, context) if part)]


def _load(path: str) -> list[Any]:
    try:
        value = json.loads(Path(path).expanduser().read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"{path} could not be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not valid JSON: {error}.", hint=_FORM) from error
    if not isinstance(value, list):
        raise ConfigurationError(f"{path} must hold a JSON list.", hint=_FORM)
    return cast("list[Any]", value)


def _parse(path: str, raw: list[Any]) -> list[Entry]:
    return [_entry(f"{path}, entry {number}", item) for number, item in enumerate(raw, 1)]


def _entry(where: str, raw: Any) -> Entry:
    if not isinstance(raw, dict):
        raise ConfigurationError(f"{where} is not an object.", hint=_FORM)
    fields = cast("dict[str, Any]", raw)
    for name in ("match", "reply"):
        if not isinstance(fields.get(name), str):
            raise ConfigurationError(f"{where}: “{name}” must be a text.", hint=_FORM)
    unknown = sorted(set(fields) - {"match", "reply", "scope"})
    if unknown:
        raise ConfigurationError(f"{where}: “{unknown[0]}” means nothing here.", hint=_FORM)
    if not fields["reply"].strip():
        raise ConfigurationError(f"{where}: “reply” is empty.", hint=_FORM)
    scope = fields.get("scope", "")
    if not isinstance(scope, str) or (scope and fields["reply"] != "approve"):
        raise ConfigurationError(f"{where}: “scope” is a text beside “approve”.", hint=_FORM)
    try:
        return Entry(re.compile(fields["match"]), fields["reply"], scope)
    except re.error as error:
        raise ConfigurationError(
            f"{where}: “match” is not a regular expression: {error}.", hint=_FORM
        ) from error
