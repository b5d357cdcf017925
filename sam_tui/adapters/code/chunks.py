"""Files cut into passages of about sixty lines, each with the names it defines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LEAST, _USUAL, _MOST = 40, 60, 70
_LONGEST_LINE = 1000
_MOST_CHUNKS = 400
_LONGEST_DEFINITION = 300

_DEFINITION = re.compile(
    r"""^\s*(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|pub
        (?:\([^)]*\))?|unsafe|extern|inline|virtual|override|open|sealed|data|partial|const|readonly
        |declare)\s+)*
        (?:def|class|func|function\*?|fn|struct|enum|trait|interface|type|module|mod|impl|macro_rules!
        |namespace|protocol|extension|object|record|union|typedef\s+struct|macro|package|sub|proc)
        \s+(?:\([^)]*\)\s*)?([^\W\d]\w*)""",
    re.VERBOSE,
)
_ASSIGNED = re.compile(
    r"^(?:export\s+)?(?:(?:const|let|var|val)\s+)?([A-Z][A-Z0-9_]{2,}|[^\W\d]\w*(?=\s*=\s*(?:async\s*)?"
    r"(?:\([^)]*\)|\w+)\s*=>))\s*(?::[^=]+)?="
)
_TYPED = re.compile(
    r"^\s*(?:(?:public|private|protected|static|final|virtual|inline|extern|const|unsigned|override"
    r"|abstract|synchronized) +)*[A-Za-z_][\w:<>,\[\]*& ]*?[ *&]([A-Za-z_]\w*)\s*\("
)
_HEADING = re.compile(r"^#{1,4} +(.+)$")
_NO_FUNCTION = frozenset((
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "else",
    "do",
    "try",
    "with",
    "match",
))


@dataclass(frozen=True, slots=True)
class SourceChunk:
    """Lines ``first`` to ``last`` of a file (from 1, both included)."""

    first: int
    last: int
    text: str
    symbols: tuple[str, ...]


def cut(text: str, *, headed: bool = False) -> Iterator[SourceChunk]:
    """The passages of a text in order; ``headed`` takes headings for names, as in Markdown.

    Very long lines are shortened, very long files end early.
    """
    lines = [line[:_LONGEST_LINE] for line in text.split("\n")]
    if lines and not lines[-1]:
        lines.pop()
    begin = 0
    for _ in range(_MOST_CHUNKS):
        if begin >= len(lines):
            return
        end = _boundary(lines, begin)
        part = lines[begin:end]
        if any(line.strip() for line in part):
            yield SourceChunk(begin + 1, end, "\n".join(part), _symbols(part, headed=headed))
        begin = end


def _boundary(lines: Sequence[str], begin: int) -> int:
    """Return where to cut: before the least indented line after an empty one, near sixty lines on."""
    if len(lines) - begin <= _MOST:
        return len(lines)
    best, cost = begin + _USUAL, 1000.0
    for at in range(begin + _LEAST, begin + _MOST + 1):
        line = lines[at]
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        price = indent + abs(at - begin - _USUAL) / 10 + (0 if not lines[at - 1].strip() else 4)
        if price < cost:
            best, cost = at, price
    return best


def _symbols(lines: Sequence[str], *, headed: bool) -> tuple[str, ...]:
    patterns = (_HEADING,) if headed else (_DEFINITION, _ASSIGNED)
    names: dict[str, None] = {}
    for line in lines:
        if len(line) > _LONGEST_DEFINITION:
            continue
        match = next(filter(None, (pattern.match(line) for pattern in patterns)), None)
        if match is None and not headed and line.rstrip().endswith("{"):
            match = _TYPED.match(line)
        if match is not None and match[1] not in _NO_FUNCTION:
            names[match[1].strip()] = None
    return tuple(names)
