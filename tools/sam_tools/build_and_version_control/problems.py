"""Problem matchers: the errors and warnings that compilers print, found by the names VS Code uses.

Patterns are our own. A pattern from a project's file could stall the program, so it is not tried.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST_PROBLEMS = 200
_LONGEST_LINE = 2000


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding. ``line`` and ``column`` count from 1; 0 where the tool named none."""

    file: str
    line: int
    column: int
    severity: str
    message: str


@dataclass(frozen=True, slots=True)
class _Matcher:
    """A pattern for the line of a problem, and one for an earlier line that completes it."""

    pattern: re.Pattern[str]
    before: re.Pattern[str] | None = None
    heading: bool = False
    """Whether the earlier line completes all lines up to the next earlier line, not only one."""


_COLON = r"(?P<file>[^\s:][^:]*):(?P<line>\d+)(?::(?P<column>\d+))?:\s*"
_PAREN = r"\s*(?P<file>[^\s(][^(]*)\((?P<line>\d+),(?P<column>\d+)\):?\s*(?:-\s*)?"
_GRADED = r"(?P<severity>fatal error|error|warning|info|note)\b:?\s*(?P<message>.+)"


def _line(pattern: str) -> _Matcher:
    return _Matcher(re.compile(pattern))


_TSC = _Matcher(
    re.compile(rf"(?:{_PAREN}|(?P<file2>[^\s:][^:]*):(?P<line2>\d+):(?P<column2>\d+) - ){_GRADED}")
)
_MATCHERS = {
    "$gcc": _line(_COLON + _GRADED),
    "$tsc": _TSC,
    "$tsc-watch": _TSC,
    "$mscompile": _line(_PAREN + _GRADED),
    "$go": _line(r"(?:vet: )?" + _COLON + r"(?P<message>.+)"),
    "$eslint-compact": _line(
        r"(?P<file>.+?): line (?P<line>\d+), col (?P<column>\d+), (?P<severity>Error|Warning)"
        r"(?: -)? (?P<message>.+)"
    ),
    "$eslint-stylish": _Matcher(
        re.compile(
            r"\s+(?P<line>\d+):(?P<column>\d+)\s+(?P<severity>error|warning|info)\s+(?P<message>.+)"
        ),
        re.compile(r"(?P<file>[^\s].*)"),
        heading=True,
    ),
    "$rustc": _Matcher(
        re.compile(r"\s*--> (?P<file>[^:]+):(?P<line>\d+):(?P<column>\d+)"),
        re.compile(r"(?P<severity>error|warning)(?:\[\w+\])?: (?P<message>.+)"),
    ),
    "$python": _Matcher(
        re.compile(r"(?!\s)(?P<message>\w[\w.]*(?:Error|Exception|Exit|Interrupt)\b.*)"),
        re.compile(r'\s+File "(?P<file>[^"]+)", line (?P<line>\d+).*'),
        heading=True,
    ),
}
_MATCHERS["$gcc-compile"] = _MATCHERS["$gcc"]
KNOWN = tuple(sorted(_MATCHERS))


def has_matcher(name: str) -> bool:
    """Whether a matcher of this name exists."""
    return name.lower() in _MATCHERS


def find_problems(output: str, names: Sequence[str]) -> tuple[Problem, ...]:
    """Return what the named matchers find in an output, in its order, each once, at most 200."""
    matchers = [_MATCHERS[name.lower()] for name in names if has_matcher(name)]
    rows = [row[:_LONGEST_LINE] for row in output.split("\n")] if matchers else []
    problems: dict[Problem, None] = {}
    for matcher in matchers:
        for problem in _matched(rows, matcher):
            problems.setdefault(problem)
            if len(problems) == MOST_PROBLEMS:
                return tuple(problems)
    return tuple(problems)


def tally(problems: Sequence[Problem]) -> str:
    """``2 errors, 1 warning``; nothing without problems."""
    counts: dict[str, int] = {}
    for problem in problems:
        counts[problem.severity] = counts.get(problem.severity, 0) + 1
    return ", ".join(f"{n} {kind}{'s' if n > 1 else ''}" for kind, n in sorted(counts.items()))


def _matched(rows: Sequence[str], matcher: _Matcher) -> list[Problem]:
    problems: list[Problem] = []
    before: dict[str, str] = {}
    for row in rows:
        match = matcher.pattern.fullmatch(row)
        if match and (matcher.before is None or before):
            problems.append(_problem({**before, **_named(match)}))
            before = before if matcher.heading else {}
        elif matcher.before is not None and (head := matcher.before.fullmatch(row)):
            before = _named(head)
    return problems


def _named(match: re.Match[str]) -> dict[str, str]:
    return {name.rstrip("2"): text for name, text in match.groupdict().items() if text}


def _problem(parts: dict[str, str]) -> Problem:
    severity = parts.get("severity", "error").lower()
    return Problem(
        parts.get("file", ""),
        int(parts.get("line", "0")[:9]),
        int(parts.get("column", "0")[:9]),
        "error" if severity == "fatal error" else severity,
        parts.get("message", "").strip(),
    )
