"""Source that writes down which of its statements run: a line is added before each that is asked about."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

ENTRY = 0
"""In place of a line: some function of the module ran."""
_IMPORT = "from scripts.tracing import RAN as __ran__"


@dataclass(frozen=True, slots=True)
class Probe:
    """A place in the source, and the line that is written down when it is reached."""

    before: int
    """The line of the source that it stands before."""
    indentation: int
    line: int


def probes_of(source: str, lines: Collection[int]) -> list[Probe]:
    """A probe for each statement in functions that begins on one of these lines, and one for each function.

    ``elif`` begins no line that another could stand before: it is reached when its ``if`` is.
    """
    tree = ast.parse(source)
    texts = source.split("\n")
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    probes: dict[Probe, None] = {}
    for function in functions:
        for statement in _body(function)[:1]:
            if not _is_behind(statement, texts):
                probes[Probe(statement.lineno, statement.col_offset, ENTRY)] = None
        for statement, place in _statements(function.body, texts):
            if statement.lineno in lines:
                probes[Probe(_first(place), place.col_offset, statement.lineno)] = None
    return list(probes)


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """The statements of a function without its docstring and without definitions, which have decorators."""
    skipped = 1 if ast.get_docstring(function, clean=False) is not None else 0
    return [s for s in function.body[skipped:] if not getattr(s, "decorator_list", ())]


def _is_behind(statement: ast.stmt, texts: list[str]) -> bool:
    """Whether a statement stands behind something else on its line."""
    return texts[statement.lineno - 1][: statement.col_offset].strip() != ""


def _statements(
    body: list[ast.stmt], texts: list[str], place: ast.stmt | None = None
) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """Every statement below, and the one before which a line can stand for it."""
    for statement in body:
        able = place or statement
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if is_text or _is_behind(able, texts):
            continue
        yield statement, able
        for part in ast.iter_child_nodes(statement):
            if isinstance(part, ast.ExceptHandler | ast.match_case):
                yield from _statements(part.body, texts)
        for name in ("body", "orelse", "finalbody"):
            below: list[ast.stmt] = getattr(statement, name, [])
            chained = name == "orelse" and _is_elif(below, texts)
            yield from _statements(below, texts, able if chained else None)


def _is_elif(below: list[ast.stmt], texts: list[str]) -> bool:
    return bool(below) and texts[below[0].lineno - 1].lstrip().startswith("elif ")


def _first(statement: ast.stmt) -> int:
    """The first line of a statement, of its decorators where it has some."""
    decorators = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def with_probes(source: str, numbers: Mapping[Probe, int]) -> str:
    """The source with its probes, each of which sets the byte of its number."""
    ahead: dict[int, list[str]] = {_begins(source): [_IMPORT]}
    for probe, number in numbers.items():
        mark = f"{' ' * probe.indentation}__ran__[{number}] = 1"
        ahead.setdefault(probe.before, []).append(mark)
    rows = enumerate(source.split("\n"), 1)
    return "\n".join(text for n, row in rows for text in (*ahead.get(n, ()), row))


def _begins(source: str) -> int:
    """The line of the first statement behind the docstring and what is imported of the future."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Expr) or getattr(statement, "module", "") == "__future__":
            continue
        return _first(statement)
    return 1
