"""The thread summary: it replaces the part of a conversation that left the context.

It accumulates: each compaction reads the previous summary and adds the messages that left since. Every
line is made of one line of a text, clipped, so that a summarised text can neither end the summary nor
add a section to it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from sam_tui.core.errors import InvalidArguments
from sam_tui.core.ids import CallId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    calls_of,
)
from sam_tui.core.prompt.tally import SUMMARY as NAME
from sam_tui.core.text.nesting import json_object
from sam_tui.core.tooling.neutralization import neutralise
from sam_tui.core.tooling.short_list import meant

MOST_REQUESTS, MOST_ANSWERS, MOST_COMMITS, MOST_FILES, MOST_DECISIONS = 8, 5, 15, 30, 3
ORIGINAL = "[original] "
TASK_LENGTH = 50
"""A request of at least so many characters states the task; a shorter one, as "yes, do it", does not."""

_LEAD = "What left the context, in short. recall_history finds the words themselves."
_TASK = "Current task: "
_UNANSWERED = "Questions without an answer"
_COMMIT = re.compile(r"^\[(?:[^\]\s]+ (?:\([^)\n]*\) )?)?([0-9a-f]{7,40})\] (\S.*)$", re.MULTILINE)
_COMMITTERS = ("terminal_operations", "build_and_version_control")
"""Tools whose results may report a commit. Other results, such as web pages, can contain fakes."""
_FILE_KEYS = frozenset({
    "filepath", "path", "newpath", "oldpath", "filename", "outputpath", "documentpath",
})  # fmt: skip
_DECIDED = re.compile(
    r"\b(decided|decision|instead of|rather than|we will use|I will use|chose)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_TAG = re.compile(rf"<(?=\s*/?\s*{NAME})", re.IGNORECASE)
_COUNT = re.compile(r"(\S+): (\d+) calls?")


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """The summary of messages that left. The first of ``requests`` is always the conversation's first."""

    task: str = ""
    requests: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    tools: Mapping[str, int] = field(default_factory=dict[str, int])
    questions: tuple[str, ...] = ()
    """Questions of the agent that the person did not answer."""


def summarise(messages: Sequence[Message]) -> ThreadSummary:
    """Summarise a stretch of conversation by rules alone: no model is asked."""
    requests = [_line(m.text) for m in messages if isinstance(m, UserMessage)]
    calls = {call.id: _meant(call) for call in calls_of(messages)}
    results = [m for m in messages if isinstance(m, ToolMessage)]
    answers = [m.text for m in messages if isinstance(m, AssistantMessage)]
    counts = Counter(_tool(call.name) for call in calls.values())
    return ThreadSummary(
        find_task(requests),
        _requests(requests),
        _last(_answers(calls.values(), results), MOST_ANSWERS),
        _last(_commits(results), MOST_COMMITS),
        _last(_files(calls.values()), MOST_FILES),
        _last(_decisions(answers), MOST_DECISIONS),
        dict(sorted(counts.items())),
        _last(_questions(calls.values(), results), MOST_ANSWERS),
    )


def merge(old: ThreadSummary, new: ThreadSummary) -> ThreadSummary:
    """One summary of two: ``new`` is of messages that left the context after those of ``old``."""
    counts = Counter(old.tools)
    counts.update(new.tools)
    return ThreadSummary(
        find_task([old.task, *new.requests]),
        _requests([*old.requests, *new.requests]),
        _last([*old.answers, *new.answers], MOST_ANSWERS),
        _last([*old.commits, *new.commits], MOST_COMMITS),
        _last([*old.files, *new.files], MOST_FILES),
        _last([*old.decisions, *new.decisions], MOST_DECISIONS),
        dict(sorted(counts.items())),
        _last(
            [q for q in old.questions if not any(a.startswith(q) for a in new.answers)]
            + list(new.questions),
            MOST_ANSWERS,
        ),
    )


def find_task(requests: Sequence[str]) -> str:
    """Return the person's present task: their last request, or the last long one if that is short."""
    tasks = [request for request in requests if request]
    if not tasks or len(tasks[-1]) >= TASK_LENGTH:
        return tasks[-1] if tasks else ""
    return next((task for task in reversed(tasks) if len(task) >= TASK_LENGTH), tasks[-1])


def with_task(summary: ThreadSummary, messages: Iterable[Message]) -> ThreadSummary:
    """The summary with the task found in all messages, also those that stay in the context."""
    requests = [_line(m.text) for m in messages if isinstance(m, UserMessage)]
    return replace(summary, task=find_task([summary.task, *requests]))


def render(summary: ThreadSummary, most: int) -> str:
    """Return the summary in at most ``most`` UTF-8 bytes (100 at least); the oldest parts go first."""
    text = ""
    for length, share in ((400, 1.0), (200, 1.0), (200, 0.5), (120, 0.3), (80, 0.15)):
        text = _text(summary, length, share)
        if len(text.encode("utf-8", "replace")) <= most:
            return text
    end = f"\n</{NAME}>"
    shortened = text.encode("utf-8", "replace")[: most - len(end)].decode("utf-8", "ignore")
    return shortened.rpartition("\n")[0] + end


def parse(text: str) -> ThreadSummary:
    """Read back a text of ``render``; unknown lines are ignored."""
    task, section = "", ""
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith(_TASK):
            task = line.removeprefix(_TASK)
        elif line.startswith("- "):
            sections.setdefault(section, []).append(line[2:])
        else:
            section = line.rstrip(":")
    counts = [_COUNT.fullmatch(line) for line in sections.get("Tool usage", ())]
    requests = sections.get("User requests", ())
    return ThreadSummary(
        task,
        tuple(
            request if index else request.removeprefix(ORIGINAL)
            for index, request in enumerate(requests)
        ),
        tuple(sections.get("Answers of the user", ())),
        tuple(sections.get("Git commits", ())),
        tuple(sections.get("Files", ())),
        tuple(sections.get("Decisions", ())),
        {match[1]: int(match[2]) for match in counts if match},
        tuple(sections.get(_UNANSWERED, ())),
    )


def summary_of(messages: Iterable[Message]) -> ThreadSummary | None:
    """The thread summaries among the messages as one, or None."""
    summaries = [
        parse(m.text) for m in messages if isinstance(m, ReminderMessage) and m.name == NAME
    ]
    return reduce(merge, summaries) if summaries else None


def _text(summary: ThreadSummary, length: int, share: float) -> str:
    def few(items: Sequence[str], most: int) -> list[str]:
        return [_clip(item, length) for item in items[-max(1, round(most * share)) :]]

    original = [ORIGINAL + _clip(request, length) for request in summary.requests[:1]]
    requests = original + few(summary.requests[1:], MOST_REQUESTS - 1)
    counts = sorted(summary.tools.items(), key=lambda item: (-item[1], item[0]))
    usage = [
        f"{name}: {count} {'call' if count == 1 else 'calls'}"
        for name, count in counts[: max(3, round(20 * share))]
    ]
    lines = [f"<{NAME}>", _LEAD]
    if summary.task:
        lines.append(_TASK + _clip(summary.task, length))
    for heading, items in (
        (_UNANSWERED, few(summary.questions, MOST_ANSWERS * 10)),
        ("User requests", requests),
        ("Answers of the user", few(summary.answers, MOST_ANSWERS)),
        ("Git commits", few(summary.commits, MOST_COMMITS)),
        ("Files", few(summary.files, MOST_FILES)),
        ("Decisions", few(summary.decisions, MOST_DECISIONS)),
        ("Tool usage", usage),
    ):
        if items:
            lines += [f"{heading}:", *(f"- {item}" for item in items)]
    return "\n".join([*lines, f"</{NAME}>"])


def _requests(requests: Sequence[str]) -> tuple[str, ...]:
    """The first request and the latest ones, up to the limit."""
    nonempty = [request for request in requests if request]
    return tuple(nonempty[:1] + nonempty[1:][-(MOST_REQUESTS - 1) :])


def _meant(call: ToolCall) -> ToolCall:
    """The call that ``call_tool`` passed on, where it can be read."""
    try:
        return meant(call)
    except InvalidArguments:
        return call


def _answers(calls: Iterable[ToolCall], results: Iterable[ToolMessage]) -> list[str]:
    texts = {result.call_id: result.text for result in results if result.ok}
    return [
        f"{prompt} -> {_clip(_line(texts[call]), 240)}"
        for call, prompt in _prompts(calls)
        if call in texts
    ]


def _questions(calls: Iterable[ToolCall], results: Iterable[ToolMessage]) -> list[str]:
    refused = {result.call_id for result in results if not result.ok}
    return [prompt for call, prompt in _prompts(calls) if call in refused]


def _prompts(calls: Iterable[ToolCall]) -> Iterator[tuple[CallId, str]]:
    """The questions of the agent to the person."""
    for call in calls:
        prompt = _arguments(call).get("prompt")
        if _tool(call.name) == "user_collaboration" and isinstance(prompt, str):
            yield call.id, _clip(_line(prompt), 150)


def _commits(results: Iterable[ToolMessage]) -> list[str]:
    return [
        f"{match[1]}: {_line(match[2])}"
        for result in results
        if _tool(result.operation or result.name) in _COMMITTERS
        for match in _COMMIT.finditer(result.text)
    ]


def _files(calls: Iterable[ToolCall]) -> list[str]:
    return [
        _line(value)
        for call in calls
        for key, value in _arguments(call).items()
        if key.replace("_", "").lower() in _FILE_KEYS and isinstance(value, str) and value.strip()
    ]


def _decisions(texts: Iterable[str]) -> list[str]:
    return [
        _line(sentence)
        for text in texts
        for sentence in _SENTENCE.split(text)
        if len(sentence) > 20 and _DECIDED.search(sentence)
    ]


def _arguments(call: ToolCall) -> Mapping[str, object]:
    return json_object(call.arguments) or {}


def _tool(name: str) -> str:
    """The name of a tool as one word, without its operation."""
    return _clip(_line(name.partition(".")[0]).replace(" ", "_"), 64)


def _last(items: Sequence[str], most: int) -> tuple[str, ...]:
    """The last ones, each once, where it was named last."""
    distinct = list(dict.fromkeys(reversed([item for item in items if item])))
    return tuple(reversed(distinct[:most]))


def _line(text: str) -> str:
    """The text on one line, cut, and without anything that reads as one of our tags."""
    return _clip(_TAG.sub("‹", neutralise(" ".join(text.split()))), 400)


def _clip(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
