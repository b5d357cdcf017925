"""The reports to the model about memories, notes and knowledge."""

from collections.abc import Callable, Mapping, Sequence

from sam_tui.core.ports.memory import (
    UNKNOWN,
    Learnt,
    LearntHit,
    LearntKind,
    Memory,
    MemoryHit,
    Origin,
)
from sam_tui.core.text.plain import without_sequences
from sam_tui.core.todos.item import one_line

HEADINGS: Mapping[LearntKind, str] = {
    "discovery": "Discoveries",
    "solution": "Solutions",
    "pattern": "Patterns",
}
_TOP = 5
Whose = Callable[[Origin], str]
"""Says in words whose entry it is; empty for the conversation's own."""


def search_report(
    query: str,
    threshold: float,
    hits: Sequence[MemoryHit],
    learnt: Sequence[LearntHit],
    *,
    whose: Whose,
) -> str:
    """The memories, numbered, best first; then long-term knowledge that matches as well."""
    if not hits and not learnt:
        return (
            f"No memories found for {_quoted(query)} at a relevance of at least {threshold:.0%}."
            " Other words or a lower similarity_threshold may find more."
        )
    lines = [
        f"Found {_count(len(hits), 'memory', 'memories')} (relevance at least {threshold:.0%}):"
    ]
    for number, hit in enumerate(hits, start=1):
        draft = hit.memory.draft
        lines += ["", f"{number}. [{draft.type}] {quoted(draft.content, whose(draft.origin))}"]
        about = [f"Relevance: {hit.relevance:.0%}", f"ID: {hit.memory.id}"]
        if draft.tags:
            about.append(f"Tags: {', '.join(draft.tags)}")
        if draft.context:
            about.append(f"Context: {draft.context}")
        lines.append(f"   {' | '.join(about)}")
    if learnt:
        lines += ["", "From long-term knowledge:"]
        lines += [f"- {_relevance(hit)} {_known(hit.learnt, whose)}" for hit in learnt]
    return "\n".join(lines)


def stored_report(memory: Memory, *, new: bool) -> str:
    """The id of a stored memory; no further step is needed."""
    draft = memory.draft
    if not new:
        return (
            f"This was already stored.\nID: {memory.id}\nType: {draft.type}\n"
            f"Preview: {preview(draft.content, 100)}\nNothing was added; go on with the next step."
        )
    tags = ", ".join(draft.tags) or "none"
    return (
        f"Memory stored.\nID: {memory.id}\nType: {draft.type}\nTags: {tags}\n"
        f"Preview: {preview(draft.content, 100)}\nLength: {len(draft.content)} characters\n"
        "Done: it need not be stored again."
    )


def collections_report(
    counts: Mapping[str, int], recent: int, notes: int, learnt: int, *, shared: str
) -> str:
    """The numbers of memories by kind, of notes and of entries of knowledge, as text."""
    total = sum(counts.values())
    lines = [f"Memories: {total}", f"Shared: {shared or 'no, of this conversation only'}"]
    lines += [f"- {kind}: {number}" for kind, number in counts.items()]
    lines += [f"Stored in the last 24 hours: {recent}", f"Notes: {notes}"]
    return "\n".join([*lines, f"Long-term knowledge: {learnt}"])


def quoted(text: str, whose: str) -> str:
    """A text; one of another conversation is quoted line by line below its origin."""
    return f"{whose}\n" + "\n".join(f"   > {line}" for line in text.splitlines()) if whose else text


def notes_report(
    notes: Sequence[tuple[str, str]], *, empty: str, origins: Mapping[str, Origin], whose: Whose
) -> str:
    """A line for each note: its key and its beginning."""
    if not notes:
        return empty
    lines = [
        f"- {preview(key, 200)}: {preview(content, 60)}{_aside(whose(origins.get(key, UNKNOWN)))}"
        for key, content in notes
    ]
    return "\n".join([f"{_count(len(notes), 'note')}:", *lines])


def knowledge_report(learnt: Mapping[LearntKind, Sequence[Learnt]], *, whose: Whose) -> str:
    """Return how much of each kind is known, how sure, and what is surest."""
    everything = [item for items in learnt.values() for item in items]
    if not everything:
        return "No long-term knowledge yet. add_discovery, add_solution and add_pattern add some."
    lines = [f"Long-term knowledge: {_count(len(everything), 'entry', 'entries')}"]
    for kind, items in learnt.items():
        if items:
            mean = sum(item.confidence for item in items) / len(items)
            lines += ["", f"{HEADINGS[kind]}: {len(items)}, confidence {mean:.2f} on average"]
            lines += [f"- ({item.confidence:.2f}) {_known(item, whose)}" for item in items[:_TOP]]
            if len(items) > _TOP:
                lines.append(f"- and {len(items) - _TOP} more; search_memory finds them")
    return "\n".join(lines)


def preview(text: str, length: int) -> str:
    """The beginning on one line."""
    line = one_line(without_sequences(text))
    return line if len(line) <= length else line[: length - 1] + "…"


def _relevance(hit: LearntHit) -> str:
    return f"[{hit.learnt.kind}, {hit.relevance:.0%}, confidence {hit.learnt.confidence:.2f}]"


def _aside(words: str) -> str:
    return f" ({words})" if words else ""


def _known(item: Learnt, whose: Whose) -> str:
    text = preview(item.subject, 400)
    if item.detail:
        text += f" => {preview(item.detail, 600)}"
    if item.examples:
        text += (
            f" (for example {'; '.join(preview(example, 120) for example in item.examples[:3])})"
        )
    return text + _aside(whose(item.origin))


def _quoted(text: str) -> str:
    return f"“{preview(text, 80)}”"


def _count(number: int, singular: str, many: str = "") -> str:
    return f"{number} {singular if number == 1 else many or singular + 's'}"
