"""Figures of the source, each held by a limit that only falls: ``python -m scripts.figures``.

The limits, and what is not counted with the reason, stand in ``scripts/figures.toml``. A figure above its
limit fails. ``--lower`` writes the limits down to what is measured and never up; ``--show NAME`` lists
what a figure counts.
"""

import argparse
import ast
import re
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("sam_tui", "tools/sam_tools", "reminders/sam_reminders")
SAMPLE = "sam_tui/demo/sample"
"""A project to work on, not a part of this one."""
LIMITS = Path(__file__).with_suffix(".toml")
EMPTY_WORDS = frozenset({
    "found", "told", "said", "kept", "asked", "given", "known", "wanted", "held", "shown", "heard", "made",
    "gone", "begun", "taken", "tell", "hear", "heed", "way", "deed", "deeds", "rest", "here", "there",
    "own", "each", "one", "place", "places",
})  # fmt: skip
"""As names they say nothing about what they stand for."""
COMPLEX, MOST_COMPLEX = 10, 15
"""Branches of a function above which it counts."""
ROOMY = 15
"""Modules of a folder above which it counts."""
SMALL = 120
"""Lines below which a module with one importer beside it counts."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Module:
    """One file: ``path`` below the root, ``name`` as it is imported."""

    path: str
    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """What it says."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """How long it is."""
        return self.text.count("\n")

    @property
    def folder(self) -> str:
        """Where it lies."""
        return self.path.rpartition("/")[0]

    @property
    def is_package(self) -> bool:
        """Whether it opens a folder."""
        return self.path.endswith("/__init__.py")


Figure = Callable[[list[Module]], Iterator[str]]
"""Yields one entry for each thing that counts, as ``where: what``."""


def modules(root: Path) -> list[Module]:
    """Every module of the packages, in a fixed order."""
    files = sorted(file for package in PACKAGES for file in (root / package).rglob("*.py"))
    return [_module(root, file) for file in files if not file.is_relative_to(root / SAMPLE)]


def _module(root: Path, file: Path) -> Module:
    path = file.relative_to(root).as_posix()
    name = re.sub(r"^(tools|reminders)/", "", path.removesuffix(".py")).replace("/", ".")
    return Module(path, name.removesuffix(".__init__"), file.read_text(encoding="utf-8"))


def words(source: list[Module]) -> Iterator[str]:
    """Names that say nothing."""
    for module in source:
        for token in tokenize.generate_tokens(iter(module.text.splitlines(True)).__next__):
            if token.type == tokenize.NAME and token.string in EMPTY_WORDS:
                yield f"{module.path}:{token.start[0]}: {token.string}"


def classes(source: list[Module]) -> Iterator[str]:
    """Public classes that share their name with another."""
    where: defaultdict[str, list[str]] = defaultdict(list)
    for module in source:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and node.name[0] != "_":
                where[node.name].append(module.path)
    yield from (f"{', '.join(at)}: {name}" for name, at in sorted(where.items()) if len(at) > 1)


def wired(source: list[Module]) -> Iterator[str]:
    """Attributes that core and assembly set from outside of their object."""
    for module in source:
        if not module.path.startswith(("sam_tui/core/", "sam_tui/assembly/")):
            continue
        for node in ast.walk(module.tree):
            for target in node.targets if isinstance(node, ast.Assign) else ():
                match target:
                    case ast.Attribute(value=ast.Name(id="self" | "cls")):
                        pass
                    case ast.Attribute():
                        yield f"{module.path}:{target.lineno}: {ast.unparse(target)}"
                    case _:
                        pass


def folders(source: list[Module]) -> Iterator[str]:
    """Folders with too many modules."""
    counts = Counter(module.folder for module in source if not module.is_package)
    yield from (f"{folder}: {n}" for folder, n in sorted(counts.items()) if n > ROOMY)


def siblings(source: list[Module]) -> Iterator[str]:
    """Small modules that one other alone imports, which lies beside them."""
    by_name = {module.name: module for module in source}
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for module in source:
        for name in _imported(module, by_name):
            importers[name].add(module.name)
    for module in source:
        if module.is_package or module.lines >= SMALL or len(importers[module.name]) != 1:
            continue
        (importer,) = importers[module.name]
        if by_name[importer].folder == module.folder:
            yield f"{module.path}: {importer}"


def _imported(module: Module, by_name: Mapping[str, Module]) -> Iterator[str]:
    for node in ast.walk(module.tree):
        match node:
            case ast.ImportFrom(module=str(origin), names=names):
                for name in names:
                    below = f"{origin}.{name.name}"
                    yield below if below in by_name else origin
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case _:
                pass


def passing(source: list[Module]) -> Iterator[str]:
    """Methods that hand their own arguments on to a method of one of their fields, and do no more."""
    for module in source:
        for function in _functions(module):
            if _passes_on(function):
                yield f"{module.path}:{function.lineno}: {function.name}"


def _passes_on(function: FunctionNode) -> bool:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    match body:
        case [ast.Return(value=ast.expr() as value) | ast.Expr(value=value)]:
            call = value.value if isinstance(value, ast.Await) else value
        case _:
            return False
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")))):
            passed = Counter(map(ast.unparse, [*call.args, *(k.value for k in call.keywords)]))
        case _:
            return False
    return passed == Counter(a.arg for a in (*function.args.args[1:], *function.args.kwonlyargs))


def complex_functions(source: list[Module]) -> Iterator[str]:
    """Functions with many branches."""
    yield from _above(source, COMPLEX)


def most_complex(source: list[Module]) -> Iterator[str]:
    """Functions with far too many branches."""
    yield from _above(source, MOST_COMPLEX)


def _above(source: list[Module], limit: int) -> Iterator[str]:
    for module in source:
        for function in _functions(module):
            if (height := branches(function)) > limit:
                yield f"{module.path}:{function.lineno}: {function.name} ({height})"


def branches(function: FunctionNode) -> int:
    """1, and 1 for each branch, loop, handler, case, comprehension, and further operand of and, or.

    Functions and classes within count for themselves.
    """
    return 1 + sum(_weight(node) for node in _own_nodes(function))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield child
            yield from _own_nodes(child)


def _weight(node: ast.AST) -> int:
    match node:
        case ast.BoolOp(values=values):
            return len(values) - 1
        case ast.comprehension(ifs=ifs):
            return 1 + len(ifs)
        case ast.If() | ast.IfExp() | ast.For() | ast.AsyncFor() | ast.While() | ast.Assert():
            return 1
        case ast.ExceptHandler() | ast.match_case():
            return 1
        case _:
            return 0


def any_types(source: list[Module]) -> Iterator[str]:
    """Uses of ``Any``."""
    for module in source:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name) and node.id == "Any":
                yield f"{module.path}:{node.lineno}: Any"


def _functions(module: Module) -> Iterator[FunctionNode]:
    yield from (node for node in ast.walk(module.tree) if isinstance(node, FUNCTIONS))


FIGURES: dict[str, Figure] = {
    "words": words,
    "classes": classes,
    "wired": wired,
    "folders": folders,
    "siblings": siblings,
    "passing": passing,
    "complex": complex_functions,
    "most_complex": most_complex,
    "any": any_types,
}
PER_THOUSAND = frozenset({"words", "complex", "any"})
"""Figures that are told for 1,000 lines; the others are numbers."""


def measured(
    name: str, source: list[Module], exceptions: Mapping[str, str]
) -> tuple[float, list[str]]:
    """A figure, and the entries that it counts: all that begin with none of the exceptions."""
    left_out = tuple(exceptions)
    entries = [
        entry for entry in FIGURES[name](source) if not entry.startswith(left_out or ("\0",))
    ]
    if name not in PER_THOUSAND:
        return len(entries), entries
    thousands = max(1, sum(module.lines for module in source)) / 1000
    return round(len(entries) / thousands, 2), entries


def main(arguments: list[str] | None = None, root: Path = ROOT, limits: Path = LIMITS) -> int:
    """Measure all and compare; 1 where a figure is above its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lower", action="store_true", help="write lower limits down")
    parser.add_argument("--show", metavar="NAME", choices=sorted(FIGURES), help="list what counts")
    options = parser.parse_args(arguments)
    settings = tomllib.loads(limits.read_text(encoding="utf-8"))
    source = modules(root)
    if options.show:
        print(*measured(options.show, source, settings.get(options.show, {}))[1], sep="\n")
        return 0
    above, lower = 0, dict[str, float]()
    for name in FIGURES:
        figure, _ = measured(name, source, settings.get(name, {}))
        limit = settings["limits"][name]
        if figure > limit:
            above += 1
            print(
                f"{name}: {figure:g} is above {limit:g} (--show {name} lists them)", file=sys.stderr
            )
        elif figure < limit:
            lower[name] = figure
    if options.lower:
        limits.write_text(_lowered(limits.read_text(encoding="utf-8"), lower), encoding="utf-8")
    return 1 if above else 0


def _lowered(text: str, lower: Mapping[str, float]) -> str:
    for name, figure in lower.items():
        text = re.sub(rf"(?m)^{name} = [\d.]+", f"{name} = {figure:g}", text, count=1)
    return text


if __name__ == "__main__":
    sys.exit(main())
