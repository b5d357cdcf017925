"""A question to the person, and its answers, as data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sam_tui.core.display import Diff
from sam_tui.core.ids import CallId, ConversationId, InquiryId
from sam_tui.core.text.invisible import foreign_letters

_MOST_LETTERS = 5
"""Foreign letters that a question names for one target."""

ApprovalChoice = Literal["once", "timed", "deny", "scope", "rehearse", "amend"]
"""``scope`` takes one of the ``choices`` of the request, named by ``Approval.scope``; ``rehearse`` the
one of that id, where it is among them. ``amend`` allows nothing: what the person left of the draft, in
``Approval.amended``, is asked about anew."""

ScopeSpan = Literal["once", "minutes", "session", "project", "user"]
"""How long a permission lasts; ``project`` and ``user`` are written to the person's policy file."""


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call of the past, by what it touched, in words. ``refused`` says that the person did."""

    target: str
    made_at: float
    refused: bool = False


@dataclass(frozen=True, slots=True)
class ScopeChoice:
    """One way to say yes, and how many past calls it would have covered.

    ``words`` say exactly what is allowed and how long. ``covered`` of ``considered`` past calls of
    this operation in this workspace would have needed no question; ``refused`` is how many of them
    the person had refused, ``past`` the last of all of them, newest first. ``seconds`` is how
    long it lasts where that is counted. ``label`` is a word for a button; empty takes the ``id``.
    """

    id: str
    words: str
    span: ScopeSpan
    targets: tuple[str, ...] = ()
    covered: int = 0
    considered: int = 0
    refused: int = 0
    seconds: float | None = None
    past: tuple[PastCall, ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A file as a call would leave it, for a person to change before they allow it."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """The question about a blocked call; only ``words`` come from the model.

    ``targets`` are the resolved paths, commands or keys in question; ``why`` says which rule asks;
    ``preview`` shows the change. ``timed_scope`` is what "5 minutes" would cover, in words; empty
    when only "once" is offered. ``asker`` names the subagent that asks, or is empty. ``choices`` are
    all scopes on offer, the narrowest first; "once" and "timed" mean the same as before them. ``words``
    are the agent's, where it asks for a permission: shown apart, and no ground for any decision.
    """

    operation: str
    summary: str
    targets: tuple[str, ...]
    why: str
    cwd: str
    preview: tuple[Diff, ...] = ()
    timed_scope: str = ""
    seconds: float = 300.0
    asker: str = ""
    choices: tuple[ScopeChoice, ...] = ()
    words: str = ""
    rule: str = ""
    """The rule that has it asked, by the name that ``guard explain`` gives it."""
    trace: tuple[str, ...] = ()
    """Which stage of the guard asks, and which had nothing to say, in words; empty where none asks."""
    draft: Draft | None = None
    """What would be written, where the person can change it."""
    remark: str = ""
    """A comment of the person, who changed what is proposed: it is added to their answer."""
    destructive: bool = False
    """Whether a server calls the tool in question destructive: nothing but its whole name allows it."""
    revision: str = ""
    """The digest of what a server says of its tool now, if that changed since it was allowed. A yes that
    was written before the change cannot name it, and does not count."""
    kind: Literal["approval"] = "approval"

    @property
    def letters(self) -> tuple[str, ...]:
        """Letters of another script in its targets that look Latin, each in words."""
        return tuple(
            words for target in self.targets for words in foreign_letters(target)[:_MOST_LETTERS]
        )

    @property
    def difference(self) -> str:
        """The diffs of all files as one text, for clients that draw no diffs."""
        return "\n".join(
            f"{diff.heading} (+{diff.added} -{diff.removed})\n{diff.unified}"
            for diff in self.preview
        )

    def redacted(self, redact: Callable[[str], str]) -> "ApprovalRequest":
        """The question as it is shown: ``redact`` puts placeholders for secrets into its texts."""
        return replace(
            self,
            summary=redact(self.summary),
            targets=tuple(map(redact, self.targets)),
            why=redact(self.why),
            timed_scope=redact(self.timed_scope),
            words=redact(self.words),
            trace=tuple(map(redact, self.trace)),
            draft=replace(self.draft, text=redact(self.draft.text)) if self.draft else None,
            preview=tuple(
                replace(d, path=redact(d.path), unified=redact(d.unified)) for d in self.preview
            ),
            choices=tuple(
                replace(c, words=redact(c.words), targets=tuple(map(redact, c.targets)))
                for c in self.choices
            ),
        )


@dataclass(frozen=True, slots=True)
class Question:
    """What the agent asks by ``user_collaboration``. An answer to it never grants anything.

    ``choices`` are all answers that will do, unless it is ``free``. ``operation`` is what the agent asks
    leave for, where nothing of it was refused so far: each such call is still asked about by itself.
    """

    prompt: str
    context: str = ""
    choices: tuple[str, ...] = ()
    operation: str = ""
    several: bool = False
    """Whether an answer may name more than one of the choices."""
    free: bool = False
    """Whether words that are none of the choices will do as well."""
    page: str = ""
    """A web page that it is about, which front ends can open or copy; the context names it, too."""
    kind: Literal["question"] = "question"

    @property
    def offered(self) -> str:
        """The choices as a sentence; empty where there are none."""
        if not self.choices:
            return ""
        how = "one or more of" if self.several else "one of"
        other = ", or other words" if self.free else ""
        return f"Answer with {how}: {', '.join(self.choices)}{other}."

    def reply(self, text: str) -> str:
        """The answer that a typed text means, several choices on a line each; empty for an invalid
        text."""
        if whole := chosen(text, self.choices):
            return whole
        apart = text.split("\n") if "\n" in text else text.split(",")
        named = [chosen(part, self.choices) for part in apart if part.strip()]
        if self.several and named and all(named):
            return "\n".join(dict.fromkeys(named))
        return text.strip() if self.free else ""


def chosen(text: str, choices: Sequence[str]) -> str:
    """The choice that a text names, or an empty text; without choices the text itself, trimmed.

    Case and the space around words do not matter, and a space will do for a colon.
    """
    text = text.strip()
    if not choices or text in choices:
        return text
    named = [choice for choice in choices if _folded(choice) == _folded(text)]
    return named[0] if len(named) == 1 else ""


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace(":", " ").split())


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question that waits for exactly one answer."""

    id: InquiryId
    conversation: ConversationId
    call: CallId
    request: ApprovalRequest | Question
    before: int = 0
    """Calls of the same message on which the person has decided already."""
    coming: "tuple[Inquiry, ...]" = ()
    """What later calls of the same message would ask as things stand. None of it waits, but it can be
    answered ahead while this is open."""


def alike(inquiries: Sequence[Inquiry]) -> list[Inquiry]:
    """The first inquiry and all others of its kind: approvals of the same tool and operation, which one yes
    can allow."""
    kinds = [_kind(entry.request) for entry in inquiries]
    pairs = zip(inquiries, kinds, strict=True)
    return [entry for entry, kind in pairs if kind and kind == kinds[0]]


def _kind(request: ApprovalRequest | Question) -> str:
    if not isinstance(request, ApprovalRequest):
        return ""
    if request.revision:
        return ""
    once = not request.choices or any(choice.id == "once" for choice in request.choices)
    return request.operation if once else ""


@dataclass(frozen=True, slots=True)
class Approval:
    """The answer to an ``ApprovalRequest``; ``comment`` reaches the model beside either answer.

    ``scope`` is the id of one of the request's ``choices`` where ``choice`` is ``scope``.
    """

    choice: ApprovalChoice
    comment: str = ""
    scope: str = ""
    amended: str = ""
    """The whole text that the person left of the request's draft."""
    kind: Literal["approval"] = "approval"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a ``Question``."""

    text: str
    kind: Literal["reply"] = "reply"


Answer = Approval | Reply
