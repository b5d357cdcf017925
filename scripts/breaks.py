"""The mutants of a module: every place where one small change makes another program of it."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr, ast.Mod: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
UNOBSERVED = ("logger", "warnings")
"""Calls of these are not dropped: nothing that a test should read depends on them."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the place in characters, what stands there, and what takes its place."""

    module: str
    line: int
    start: int
    end: int
    was: str
    becomes: str
    code: str
    """The line it stands in, without indentation."""
    lines: range = range(0)
    """The lines of its statement, without a body; none where it runs while the module is imported."""

    @property
    def name(self) -> str:
        """For the table, and to be named in ``mutants.toml``."""
        return f"{self.module}:{self.line}: {self.change}"

    @property
    def change(self) -> str:
        """The words that differ, on one line, with one word before and behind them."""
        was, becomes = _words(self.was), _words(self.becomes)
        same = _common(was, becomes)
        most = min(len(was), len(becomes)) - same
        behind = _common(was[::-1][:most], becomes[::-1][:most])
        first = max(same - 1, 0)
        kept = max(behind - 1, 0)
        return " -> ".join(" ".join(words[first : len(words) - kept]) for words in (was, becomes))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many of the first words are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _words(text: str) -> list[str]:
    try:
        return ast.unparse(ast.parse(text, mode="eval")).split()
    except SyntaxError:
        return text.split()


class Breaker(ast.NodeVisitor):
    """Collects the mutants of one module. Types, docstrings and texts are left alone."""

    def __init__(self, module: str, source: str) -> None:
        self.module = module
        self.source = source
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.mutants: list[Mutant] = []
        self.statement = range(0)
        self.in_function = False

    def visit(self, node: ast.AST) -> None:
        """Remember in which statement a node stands."""
        before = self.statement
        if isinstance(node, ast.stmt) and self.in_function:
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            self.statement = range(node.lineno, max(last, node.lineno) + 1)
        super().visit(node)
        self.statement = before

    def add(self, node: ast.expr | ast.stmt, becomes: str) -> None:
        """One more; ``becomes`` takes the place of the whole node."""
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno or 0, node.end_col_offset or 0)
        code = self.lines[node.lineno - 1].strip()
        was = self.source[start:end]
        self.mutants.append(
            Mutant(self.module, node.lineno, start, end, was, becomes, code, self.statement)
        )

    def _offset(self, line: int, column: int) -> int:
        """The parser counts columns in bytes of UTF-8."""
        head = self.lines[line - 1].encode()[:column]
        return self.starts[line - 1] + len(head.decode())

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            op = COMPARED[type(node.ops[0])]()
            self.add(node, _text(ast.Compare(node.left, [op], node.comparators)))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self.add(node, _text(ast.BoolOp(op, node.values)))
        for value in node.values:
            self.add(node, _text(ast.BoolOp(node.op, [v for v in node.values if v is not value])))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.add(node, _text(node.operand))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        op = CALCULATED.get(type(node.op))
        texts = isinstance(node.left, ast.Constant | ast.JoinedStr) and isinstance(
            getattr(node.left, "value", ""), str
        )
        if op is not None and not texts:
            self.add(node, _text(ast.BinOp(node.left, op(), node.right)))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.add(node, str(not node.value))
        elif isinstance(node.value, int):
            self.add(node, str(node.value + 1))

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.add(node.test, f"(not {_text(node.test)})")
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.add(node.test, f"(not {_text(node.test)})")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self.add(node, "return None")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(value, ast.Call) and not ast.unparse(value.func).startswith(UNOBSERVED):
            self.add(node, "pass")
        if not isinstance(value, ast.Constant):
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.targets[0], ast.Attribute | ast.Subscript):
            self.add(node, "pass")
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add(node, "pass")
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            if keyword.arg is not None:
                rest = [k for k in node.keywords if k is not keyword]
                self.add(node, ast.unparse(ast.Call(node.func, node.args, rest)))
        self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) > 1:
            for element in node.elts:
                rest = [e for e in node.elts if e is not element]
                self.add(node, ast.unparse(_display(node, rest)))
        super().generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """What several things are asked of is a type with its parts."""
        if not isinstance(node.slice, ast.Tuple):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Text; and before Python 3.12 its parts have no places."""

    def visit_arg(self, node: ast.arg) -> None:
        """Types."""

    def visit_For(self, node: ast.For) -> None:
        """Its target is no display."""
        for part in (node.iter, *node.body, *node.orelse):
            self.visit(part)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for part in (node.iter, *node.ifs):
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Without its decorators: that an instance is frozen is for the type checker."""
        for part in node.body:
            self.visit(part)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        defaults = [d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None]
        for part in defaults:
            self.visit(part)
        outside, self.in_function = self.in_function, True
        for part in node.body:
            self.visit(part)
        self.in_function = outside

    visit_AsyncFunctionDef = visit_FunctionDef


def _display(node: ast.List | ast.Tuple | ast.Set, elements: list[ast.expr]) -> ast.expr:
    if isinstance(node, ast.Set):
        return ast.Set(elements)
    return type(node)(elements, ast.Load())


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Every mutant of a module that differs from it, each once, in the order of its lines."""
    breaker = Breaker(module, source)
    breaker.visit(ast.parse(source))
    distinct: dict[tuple[int, int, str], Mutant] = {}
    for mutant in breaker.mutants:
        tree = _tree(mutant.becomes)
        if tree != _tree(mutant.was):
            distinct.setdefault((mutant.start, mutant.end, tree), mutant)
    return sorted(distinct.values(), key=lambda m: (m.start, m.becomes))


def fatal(module: str, source: str) -> list[Mutant]:
    """Mutants that no test can miss: one for every function's ``return`` on one line, which raises."""
    breaker = Breaker(module, source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Return) and node.lineno == node.end_lineno:
            breaker.statement = range(node.lineno, node.lineno + 1)
            breaker.add(node, 'raise AssertionError("a mutant that must die")')
    return breaker.mutants


def unchanged(mutant: Mutant, source: str) -> Mutant:
    """A mutant of the same lines that changes nothing: an empty line at the end of the module."""
    return replace(mutant, start=len(source), end=len(source), was="", becomes="\n")


def _tree(text: str) -> str:
    """What an expression or a statement means, whatever its spaces and parentheses are."""
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:  # over several lines, in parentheses that are not part of it
        return ast.dump(ast.parse(f"({text})"))


def broken(source: str, mutant: Mutant) -> str:
    """The source of a module with one change."""
    return source[: mutant.start] + mutant.becomes + source[mutant.end :]
