"""The differences of a replayed conversation from its recording, as text and as JUnit XML."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from sam_tui.headless.findings import JUnitCase, JUnitFailure, junit_suite
from sam_tui.headless.replay.guidance import Guidance
from sam_tui.headless.replay.scenario import (
    RecordedFile,
    RecordedResult,
    RecordedStep,
    RecordedTurn,
    Scenario,
)

Subject = Literal["requests", "results", "files"]
SUBJECTS: tuple[Subject, ...] = ("requests", "results", "files")
_COMPILED = (".pyc", ".pyo")
"""Endings of compiled files, which contain the time and path of their sources."""
_MOST_LINES = 40
"""The most lines of a difference that are printed."""
_VARIES = (
    (r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \w+ \d{4}", "time"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?", "time"),
    (r"\d{4}-\d\d-\d\d", "date"),
    (r"\b\d{8}-\d{6}-[0-9a-f]{8}\b", "id"),
    (r"\b[a-z]+_[0-9a-f]{12,}\b", "id"),
    (r"\b(?<=ID: )[0-9a-f]{8,}\b", "id"),
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "id"),
    (r"\b\d+(?:\.\d+)?(?=\s?(?:ms|s|seconds?|minutes?)\b)", "number"),
    (r"(?<=\"duration\": )\d+(?:\.\d+)?|(?<=\"elapsed\": )\d+(?:\.\d+)?", "number"),
    (r"\b(?:pid|process) \d+", "process"),
    (r"\d\d:\d\d:\d\d(?:\.\d+)?", "time"),
)
"""Patterns of texts that differ in each run, each with its placeholder."""
_PATTERNS = [(re.compile(pattern), f"⟦{word}⟧") for pattern, word in _VARIES]


@dataclass(frozen=True, slots=True)
class Deviation:
    """One difference to the recording: subject, place, description, and lines of detail."""

    subject: Subject
    where: str
    words: str
    lines: tuple[str, ...] = ()


def compare(recorded: Scenario, played: Scenario, guidance: Guidance) -> list[Deviation]:
    """All differences between the recording and the replay, in order; none of compiled files."""
    deviations = list(_of_turns("", recorded.turns, played.turns, guidance))
    pairs = zip_longest(recorded.subagents, played.subagents)
    for number, (then, now) in enumerate(pairs, 1):
        before, after = (then.turns if then else []), (now.turns if now else [])
        deviations += _of_turns(f"subagent {number}, ", before, after, guidance)
    files = _of_files(recorded, played)
    return [*deviations, *(file for file in files if not file.where.endswith(_COMPILED))]


def _of_turns(
    whose: str,
    recorded: Sequence[RecordedTurn],
    played: Sequence[RecordedTurn],
    guidance: Guidance,
) -> Iterator[Deviation]:
    for number, (then, now) in enumerate(zip_longest(recorded, played), 1):
        before, after = (then.steps if then else []), (now.steps if now else [])
        for position, (step, again) in enumerate(zip_longest(before, after), 1):
            where = f"{whose}turn {number}, step {position}"
            if step is None or again is None:
                words = "was not reached" if again is None else "was not there"
                yield Deviation("requests", where, words)
                continue
            requests = guidance.compared(step.request, again.request, subagent=bool(whose))
            if requests[0] != requests[1]:
                lines = _difference(*requests)
                yield Deviation("requests", where, "the request has other parts", lines)
            yield from _of_results(where, step, again)


def _of_results(where: str, then: RecordedStep, now: RecordedStep) -> Iterator[Deviation]:
    for result, again in zip_longest(then.results, now.results):
        if result is None or again is None:
            present = result or again
            assert present is not None
            words = "has no result" if again is None else "had no result"
            yield Deviation("results", where, f"{present.operation} {words}")
        elif (lines := _result_lines(result)) != (again_lines := _result_lines(again)):
            ends = "" if result.ok == again.ok else f" {'fails' if result.ok else 'succeeds'},"
            words = f"{result.operation}{ends} has another result"
            yield Deviation("results", where, words, _difference(lines, again_lines))


def _result_lines(result: RecordedResult) -> list[str]:
    return [result.operation, *steady(result.text).splitlines(), "ok" if result.ok else "failed"]


def _of_files(recorded: Scenario, played: Scenario) -> Iterator[Deviation]:
    for path in sorted(recorded.changed.keys() | played.changed.keys()):
        then = recorded.changed.get(path, recorded.files.get(path))
        now = played.changed.get(path, played.files.get(path))
        if then is None or now is None:
            if then is not now:
                yield Deviation("files", path, "is gone" if now is None else "is there")
        elif _content(then) != _content(now) or then.kind != now.kind:
            kind = "" if then.kind == now.kind else f", and is a {now.kind}, not a {then.kind}"
            lines = _difference(_lines(then), _lines(now))
            yield Deviation("files", path, f"has other content{kind}", lines)


def _content(file: RecordedFile) -> str | bytes:
    return file.data if file.text is None else steady(file.text)


def _lines(file: RecordedFile) -> list[str]:
    return steady(file.text or "").splitlines()


def steady(text: str) -> str:
    """Return a text with words in place of the parts that differ in each run."""
    for pattern, word in _PATTERNS:
        text = pattern.sub(word, text)
    return text


def _difference(then: Sequence[str], now: Sequence[str]) -> tuple[str, ...]:
    lines = list(difflib.unified_diff(then, now, lineterm="", n=1))[2:]
    more = len(lines) - _MOST_LINES
    return (*lines[:_MOST_LINES], *((f"({more} more lines)",) if more > 0 else ()))


def as_text(name: str, deviations: Sequence[Deviation]) -> str:
    """Describe the differences for people: - is then, + is now."""
    if not deviations:
        return f"{name}: as recorded"
    lines = [f"{name}: {_counted(deviations)}"]
    for deviation in deviations:
        lines.append(f"  {deviation.where}: {deviation.words}")
        lines += [f"    {line}" for line in deviation.lines]
    return "\n".join(lines)


def _counted(deviations: Sequence[Deviation]) -> str:
    return "1 difference" if len(deviations) == 1 else f"{len(deviations)} differences"


def as_junit(played: Sequence[tuple[str, Sequence[Deviation]]]) -> str:
    """For build servers: for each recording a case of its requests, of its results and of its files."""
    cases: list[JUnitCase] = []
    for name, deviations in played:
        for subject in SUBJECTS:
            chosen = [deviation for deviation in deviations if deviation.subject == subject]
            failure = JUnitFailure("difference", _counted(chosen), as_text(name, chosen))
            cases.append(JUnitCase(name, subject, failure if chosen else None))
    return junit_suite("sam-tui replay", cases) + "\n"
