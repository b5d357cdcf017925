"""What left a conversation, as chunks for the archive that recall_history searches."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from sam_tui.core.ids import ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolMessage,
    UserMessage,
)
from sam_tui.core.ports.memory import ArchivedChunk

_CHUNK_MESSAGES, _CHUNK_CHARACTERS = 40, 24_000
_LONG_WORD = re.compile(r"[^\W\d_]{5,}")
_PLAIN_WORDS = frozenset(
    re.findall(
        r"\w+",
        "about after again also because been before being between both cannot could doing each every"
        " false first found going have here into just like make more most need none only other"
        " please shall should since some such than that their them then there these they thing this"
        " those through true under until using very want were what when where which while will with"
        " without would your result results error",
    )
)


def chunks(
    conversation: ConversationId, dropped: Sequence[Message], moments: Sequence[float], *, last: int
) -> list[ArchivedChunk]:
    """What left, as chunks for the archive, numbered from ``last`` + 1.

    ``moments`` says when each message was stored, in seconds since the epoch. Reminders are left
    out: the workbench wrote them. Calls become lines of their answer.
    """
    spoken = [
        (role, text, at)
        for message, at in zip(dropped, moments, strict=True)
        for role, text in _spoken(message)
    ]
    archived: list[ArchivedChunk] = []
    for group in _groups(spoken):
        pairs = tuple((role, text) for role, text, _ in group)
        archived.append(
            ArchivedChunk(
                conversation,
                last + len(archived) + 1,
                min(at for _, _, at in group),
                max(at for _, _, at in group),
                _first_words(pairs),
                _topics(pairs),
                pairs,
            )
        )
    return archived


def _spoken(message: Message) -> Iterator[tuple[str, str]]:
    match message:
        case UserMessage(text=text):
            yield "user", text
        case AssistantMessage():
            calls = [f"[called {call.name} {call.arguments}]" for call in message.calls]
            yield "assistant", "\n".join([*([message.text] if message.text else []), *calls])
        case ToolMessage(name=name, text=text):
            yield f"tool {name}", text
        case ReminderMessage():
            pass


def _groups(
    spoken: Sequence[tuple[str, str, float]],
) -> Iterator[list[tuple[str, str, float]]]:
    """Chunks of a readable size, in order; one text is never divided."""
    group: list[tuple[str, str, float]] = []
    size = 0
    for item in spoken:
        full = len(group) >= _CHUNK_MESSAGES or size + len(item[1]) > _CHUNK_CHARACTERS
        # A chunk best begins with what the person said.
        if group and (full or (item[0] == "user" and len(group) >= _CHUNK_MESSAGES // 2)):
            yield group
            group, size = [], 0
        group.append(item)
        size += len(item[1])
    if group:
        yield group


def _first_words(pairs: Sequence[tuple[str, str]]) -> str:
    opening = next((text for role, text in pairs if role in ("user", "assistant") and text), "")
    line = " ".join((opening or pairs[0][1]).split())
    return line if len(line) <= 200 else line[:199] + "…"


def _topics(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The five most frequent words of more than four letters that say something."""
    counted: Counter[str] = Counter()
    for role, text in pairs:
        if not role.startswith("tool"):
            counted.update(word.lower() for word in _LONG_WORD.findall(text))
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple([word for word, _ in ranked if word not in _PLAIN_WORDS][:5])
