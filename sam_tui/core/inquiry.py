"""A question to the person, and its answers, as data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sam_tui.core.display import Diff
from sam_tui.core.ids import CallId, ConversationId, InquiryId
from sam_tui.core.text.invisible import foreign_letters

_MOST_LETTERS = 5
"""How many foreign letters are named for one target."""

ApprovalChoice = Literal["once", "timed", "deny", "scope", "rehearse", "amend"]
"""``scope`` takes the one of the request's ``choices`` that ``Approval.scope`` names, and ``rehearse`` the
one with that id, if there is one. ``amend`` allows nothing: the text in ``Approval.amended`` replaces
the draft and is asked about again."""

ScopeSpan = Literal["once", "minutes", "session", "project", "user"]
"""How long a grant lasts; ``project`` and ``user`` become rules in the person's policy file."""


@dataclass(frozen=True, slots=True)
class PastCall:
    """A past call, by its targets in words. ``refused`` says that the person refused it."""

    target: str
    made_at: float
    refused: bool = False


@dataclass(frozen=True, slots=True)
class ScopeChoice:
    """One way to say yes, and how many past calls it would have covered.

    ``words`` say exactly what is allowed and how long. ``covered`` of ``considered`` past calls of this
    operation in this workspace would have needed no question; ``refused`` is how many of them the
    person had refused, ``past`` the last of all of them, newest first. ``seconds`` is its duration, if
    limited. ``label`` is a word for a button; if empty, the ``id`` is used.
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
    """The rule that asks, as ``guard explain`` names it."""
    trace: tuple[str, ...] = ()
    """The stage of the guard that asks, and the stages before it, in words; empty if no stage asks."""
    draft: Draft | None = None
    """The content that would be written; None if the person cannot change it."""
    remark: str = ""
    """The person's comment when they changed the content; their answer has it unless they write another."""
    destructive: bool = False
    """Whether a server declares the tool destructive: only a rule with its whole name allows it."""
    revision: str = ""
    """The digest of the tool as its server describes it now, if that changed since it was allowed. An
    answer from before the change cannot contain it and is not accepted."""
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
        """Return the question with placeholders for secrets in its texts, made by ``redact``."""
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
    """A question of the agent, by ``user_collaboration``. An answer to it never grants anything.

    ``choices`` are all valid answers, unless it is ``free``. ``operation`` is the one that the agent
    wants permitted, if none of its calls was refused so far: each such call still raises its own
    question.
    """

    prompt: str
    context: str = ""
    choices: tuple[str, ...] = ()
    operation: str = ""
    several: bool = False
    """Whether an answer may contain several of the choices."""
    free: bool = False
    """Whether an answer may be another text than the choices."""
    page: str = ""
    """A web page that the question is about, for front ends to open or copy; ``context`` names it too."""
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
    """How many calls of the same message the person has decided already."""
    coming: "tuple[Inquiry, ...]" = ()
    """The inquiries that later calls of the same message would make as things stand. Nothing waits for
    them, but they can be answered while this one is open."""


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
    """The answer to an ``ApprovalRequest``; ``comment`` reaches the model with either answer.

    ``scope`` is the id of one of the request's ``choices`` if ``choice`` is ``scope``.
    """

    choice: ApprovalChoice
    comment: str = ""
    scope: str = ""
    amended: str = ""
    """The whole content as the person changed it, for ``amend``."""
    kind: Literal["approval"] = "approval"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a ``Question``."""

    text: str
    kind: Literal["reply"] = "reply"


Answer = Approval | Reply
