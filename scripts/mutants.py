"""Breaks the critical modules in one place at a time and says which breaks no test notices.

``python -m scripts.mutants [--all] [--sample N] [--seed N] [--only TEXT] [--list] [--rows]``.
``mutants.toml`` says which modules count, which tests cover each, and which mutants change nothing that can
be observed. A seeded sample of all mutants is played, each in a copy of the project: this one is never
written to. Ends with 1 below 92 of 100 killed, and with 2 where the tests fail before anything was changed,
or where one mutant that must die lives, or one that changes nothing dies: both are played first. ``--all``
draws from every module that is written by hand, and plays one area of ``mutants.toml`` after the other.
``--rows`` plays the breaks of ``tests/workflow/rows.toml`` instead, of which each must be noticed by the
test that it names.
"""

import argparse
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from scripts.breaks import Mutant, fatal, mutants_of, unchanged
from scripts.copies import ROOT, BrokenError, Copy, Forks, Trace, files_of, outermost

ROWS = ROOT / "tests" / "workflow" / "rows.toml"
VERDICTS = ("killed", "equivalent", "SURVIVED")
LEAST = 0.92
"""The share of mutants, without those that are equivalent, that tests must kill."""


def all_mutants(modules: Sequence[str]) -> Iterator[Mutant]:
    """Of every module."""
    for module in modules:
        yield from mutants_of(module, (ROOT / module).read_text("utf-8"))


def drawn(mutants: Sequence[Mutant], number: int, seed: int) -> list[Mutant]:
    """So many of them, in the order of the modules. The lot of a mutant depends on the seed and its own
    line alone: a change of other lines draws no other sample, and two commits can be compared."""
    seen: Counter[tuple[str, str, str]] = Counter()
    lots: dict[Mutant, bytes] = {}
    for mutant in mutants:
        place = (mutant.module, mutant.code, mutant.change)
        lots[mutant] = sha256(repr((seed, *place, seen[place])).encode()).digest()
        seen[place] += 1
    sample = sorted(mutants, key=lots.__getitem__)[:number]
    return sorted(sample, key=lambda m: (m.module, m.start))


def excused(mutant: Mutant, equivalent: Sequence[dict[str, str]]) -> str:
    """Why no test can tell a mutant from the original, where that is known."""
    for entry in equivalent:
        same = entry["module"] == mutant.module and entry["line"] == mutant.code
        if same and entry.get("change", mutant.change) == mutant.change:
            return entry["why"]
    return ""


def ended(_: int, __: object) -> None:
    """End in order, so that the copy is removed and its tests are ended."""
    sys.exit(143)


def main() -> int:
    """Play the sample, print the table, and judge."""
    parser = argparse.ArgumentParser(description="Break the critical modules, one place at a time.")
    parser.add_argument("--sample", type=int, default=60, help="how many to play; 0 for all")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--only", default="", help="modules, or rows, whose name contains this")
    parser.add_argument("--all", action="store_true", help="every module, area after area")
    parser.add_argument("--list", action="store_true", help="name the sample and play nothing")
    parser.add_argument("--rows", action="store_true", help="play the rows of the specification")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, ended)
    try:
        return chosen(options)
    except BrokenError as error:
        print(f"{error}\nmutants: nothing was judged", file=sys.stderr)
        return 2


def chosen(options: argparse.Namespace) -> int:
    """Play what the command line asks for, in a copy that is removed afterwards."""
    if options.rows:
        with tempfile.TemporaryDirectory(prefix="sam-tui-mutants-") as folder:
            return rows_played(Copy(Path(folder)), options.only)
    plan: dict[str, Any] = tomllib.loads(
        Path(__file__).with_name("mutants.toml").read_text("utf-8")
    )
    modules: dict[str, list[str]] = modules_of(plan["areas"]) if options.all else plan["tests"]
    modules = {name: tests for name, tests in modules.items() if options.only in name}
    sample = list(all_mutants(list(modules)))
    total = len(sample)
    if options.sample and options.sample < total:
        sample = drawn(sample, options.sample, options.seed)
    print(f"{len(sample)} of {total} mutants of {len(modules)} modules, seed {options.seed}")
    if options.list:
        print("\n".join(mutant.name for mutant in sample))
        return 0
    equivalent = plan.get("equivalent", [])
    parts = [sample]
    if options.all:
        areas = {tuple(tests): None for tests in plan["areas"].values()}
        of_areas = ([m for m in sample if tuple(modules[m.module]) == area] for area in areas)
        parts = [part for part in of_areas if part]
    with tempfile.TemporaryDirectory(prefix="sam-tui-mutants-") as folder:
        copy = Copy(Path(folder))
        verdicts: dict[Mutant, str] = {}
        for part in parts:
            verdicts |= played(copy, part, modules, equivalent, aside=options.all)
    print(table(verdicts, plan["areas"]))
    killed, same = (list(verdicts.values()).count(verdict) for verdict in VERDICTS[:2])
    counted = len(sample) - same
    share = killed / counted if counted else 1.0
    print(f"{killed} of {counted} killed ({share:.0%}, at least {LEAST:.0%}), {same} equivalent")
    return int(share < LEAST)


def modules_of(areas: dict[str, list[str]]) -> dict[str, list[str]]:
    """The tests of every module, those of the narrowest area that it lies in; none of what is generated.

    Raises ``KeyError`` for a module of no area.
    """
    files = [f for top in ("sam_tui", "tools", "reminders") for f in (ROOT / top).rglob("*.py")]
    names = sorted(str(file.relative_to(ROOT)) for file in files)
    tests = {name: areas[area_of(name, areas)] for name in names}
    return {name: paths for name, paths in tests.items() if paths}


def area_of(module: str, areas: Iterable[str]) -> str:
    """The narrowest area that a module lies in; itself where there is none."""
    return max((area for area in areas if module.startswith(area)), key=len, default=module)


def table(verdicts: Mapping[Mutant, str], areas: Iterable[str]) -> str:
    """How many of each area were killed, are equivalent, and survived, and the same of all."""
    names = {mutant: area_of(mutant.module, areas) for mutant in verdicts}
    counts = Counter((names[mutant], verdict) for mutant, verdict in verdicts.items())
    rows = [(area, *(counts[area, v] for v in VERDICTS)) for area in sorted({*names.values()})]
    rows.append(("all", *(sum(column) for column in zip(*(row[1:] for row in rows), strict=True))))
    width = max(len(row[0]) for row in rows)
    head = f"{'area':{width}}" + "".join(f"{verdict:>12}" for verdict in VERDICTS)
    return "\n".join([
        head,
        *(f"{area:{width}}" + "".join(f"{n:12}" for n in numbers) for area, *numbers in rows),
    ])


def rows_played(copy: Copy, only: str) -> int:
    """Break what each row names and run its test, before and after. 0 where each notices, else 1."""
    rows = [row for row in tomllib.loads(ROWS.read_text("utf-8"))["row"] if only in row["name"]]
    tests = sorted({row["test"] for row in rows})
    copy.choose(tests)
    code, said = copy.run(files_of(tests), None, "-x")
    if code:
        raise BrokenError(said)
    alive = 0
    with closing(Forks(copy, files_of(tests))) as forks:
        prove(forks, row_broken(rows[0]), [[rows[0]["test"]]])
        for row in rows:
            mutant = row_broken(row)
            dead = forks.play(mutant, [[row["test"]]]) or copy.play(mutant, [[row["test"]]])
            alive += not dead
            print(f"{'killed' if dead else 'SURVIVED':10} {row['name']}", flush=True)
    print(f"{len(rows) - alive} of {len(rows)} rows are held by their test")
    return int(alive > 0)


def row_broken(row: dict[str, str]) -> Mutant:
    """What a row says is to be broken."""
    source = (ROOT / row["module"]).read_text("utf-8")
    start = source.index(row["was"])
    line = source.count("\n", 0, start) + 1
    end = start + len(row["was"])
    return Mutant(row["module"], line, start, end, row["was"], row["becomes"], "")


def prove(forks: Forks, dying: Mutant, batches: Sequence[Sequence[str]]) -> None:
    """Play a mutant that must die and one that changes nothing, in forks and in new processes.

    Raises ``BrokenError`` where either is judged wrongly: then no other verdict would mean anything.
    """
    source = (forks.copy.folder / dying.module).read_text("utf-8")
    for play in (forks.play, forks.copy.play):
        if play(dying, batches) == "":
            raise BrokenError(f"{dying.name} must die and survived")
        if test := play(unchanged(dying, source), batches[:1]):
            raise BrokenError(f"{dying.module} as it is, written anew, was killed by {test}")


def asked(sample: Sequence[Mutant]) -> dict[str, set[int]]:
    """The lines of the modules of a sample that a trace is about: those of its mutants, and of what must
    be noticed."""
    lines: dict[str, set[int]] = {}
    for mutant in sample:
        if mutant.module not in lines:
            source = (ROOT / mutant.module).read_text("utf-8")
            lines[mutant.module] = {sure.line for sure in fatal(mutant.module, source)}
        lines[mutant.module].update(mutant.lines)
    return lines


def surest(modules: Sequence[str], trace: Trace) -> Mutant:
    """What most tests must fail with."""
    able = [m for name in modules for m in fatal(name, (ROOT / name).read_text("utf-8"))]
    return max(able, key=lambda m: len(trace.tests.get((m.module, m.line), ())))


def killer(mutant: Mutant, trace: Trace, forks: Forks) -> str:
    """The test that fails with a mutant, in a fork where it can be brought into one."""
    batches = trace.batches(mutant)
    dead = None if trace.loads(mutant) else forks.play(mutant, batches)
    return forks.copy.play(mutant, batches) if dead is None else dead


def played(
    copy: Copy,
    sample: Sequence[Mutant],
    modules: dict[str, list[str]],
    equivalent: Sequence[dict[str, str]],
    *,
    aside: bool = False,
) -> dict[Mutant, str]:
    """Play each, print what became of it, and give these verdicts.

    ``aside``: tests that fail before anything is changed judge nothing; else that is an error.
    """
    used = {mutant.module: modules[mutant.module] for mutant in sample}
    begun = time.monotonic()
    trace = copy.trace(used, asked(sample), aside=aside)
    print(f"{len(trace.seconds)} tests traced in {time.monotonic() - begun:.0f} s", flush=True)
    print("".join(f"fails unchanged: {test}\n" for test in trace.failed if aside), end="")
    dying = surest([*used], trace)
    verdicts: dict[Mutant, str] = {}
    with closing(Forks(copy, outermost(used))) as forks:
        if not aside or trace.batches(dying):
            prove(forks, dying, trace.batches(dying))
        for mutant in sample:
            begun = time.monotonic()
            why = excused(mutant, equivalent)
            test = "" if why else killer(mutant, trace, forks)
            verdict = verdicts[mutant] = "killed" if test else "equivalent" if why else "SURVIVED"
            print(f"{verdict:10} {time.monotonic() - begun:5.0f} s  {mutant.name}", flush=True)
            if test:
                print(f"{'':20}{test}", flush=True)
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
