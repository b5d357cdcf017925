"""What plays mutants: it tells what a test notices from what it does not, or judges nothing."""

import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scripts import tracing
from scripts.breaks import Mutant, fatal, mutants_of
from scripts.copies import ROOT, BrokenError, Copy, Forks, Trace
from scripts.mutants import drawn, excused, prove, table
from scripts.probes import ENTRY, probes_of, with_probes
from scripts.tracing import RAN

SUBJECT = '''
"""Numbers."""
def doubled(number):
    if number is None:
        return 0
    return number + number
def endless(number):
    while number < 0:
        number += 1
    return number
'''
TESTS = """
from subject import doubled, endless
def test_doubled():
    assert doubled(2) == 4
def test_endless():
    assert endless(-1) == 0
def test_what_runs_nothing():
    pass
"""
BRANCHES = '''"""Kinds."""
from __future__ import annotations
import functools
def kind(number):
    """A word."""
    if number < 0:
        return "below"
    elif number == 0:
        return "nothing"
    @functools.cache
    def word():
        return "above"
    return word()
'''
FROZEN = """
import gc
import subject
def pytest_collection_finish():
    gc.freeze()
"""
"""As our own does: what is frozen stands in no list of objects."""


class SmallProject(Copy):
    """One module and its tests, run by this Python."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = Path(sys.executable)
        self._moment = 1_000_000_000
        self.seconds = {}
        (folder / ".trace").mkdir()
        (folder / "scripts").symlink_to(ROOT / "scripts")
        (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
        for name, text in (("subject", SUBJECT), ("test_it", TESTS), ("conftest", FROZEN)):
            (folder / f"{name}.py").write_text(text, "utf-8")


@pytest.fixture
def forks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forks]:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin,pytest_timeout")
    made = Forks(SmallProject(tmp_path), ["test_it.py"])
    yield made
    made.close()


def mutant(was: str, becomes: str, line: int = 0) -> Mutant:
    start = SUBJECT.index(was)
    line = line or SUBJECT.count("\n", 0, start) + 1
    lines = range(line, line + 1)
    return Mutant("subject.py", line, start, start + len(was), was, becomes, was, lines)


@pytest.mark.requirement("framework:assembled")
def test_a_fork_notices_what_a_test_notices_and_nothing_else(
    forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [[f"test_it.py::test_{name}" for name in ("what_runs_nothing", "doubled", "endless")]]
    dead = forks.play(mutant("number + number", "number + 3"), every)
    assert dead == "test_it.py::test_doubled"
    assert forks.play(mutant("number is None", "number == None"), every) == ""
    assert forks.play(mutant("number + number", "number * 2"), every) == ""
    assert forks.play(mutant("number + number", "(lambda: 5)()"), every) is None
    unloaded = forks.copy.play(mutant("return 0", "return 0)"), every)
    assert "SyntaxError" in unloaded
    assert (forks.copy.folder / "subject.py").read_text("utf-8") == SUBJECT
    by_line = {one.line: one for one in fatal("subject.py", SUBJECT)}
    prove(forks, by_line[6], every)
    with pytest.raises(BrokenError, match=r"subject.py:5: .* must die and survived"):
        prove(forks, by_line[5], every)  # no test runs that line
    monkeypatch.setattr("scripts.copies.PATIENCE", 0.1)
    assert "did not end" in str(forks.play(mutant("number += 1", "number -= 1"), every))


@pytest.mark.requirement("framework:assembled")
@pytest.mark.parametrize("wrong", ["forks", "processes"])
@pytest.mark.parametrize("verdict", ["", "test_it.py::test_doubled"])
def test_nothing_is_judged_where_the_tool_itself_judges_wrongly(
    tmp_path: Path, wrong: str, verdict: str
) -> None:
    (tmp_path / "subject.py").write_text(SUBJECT, "utf-8")

    def right(played: Mutant, _: Iterable[Sequence[str]]) -> str:
        return "a test" if "raise" in played.becomes else ""

    def same(_: Mutant, __: Iterable[Sequence[str]]) -> str:
        return verdict

    copy = SimpleNamespace(folder=tmp_path, play=same if wrong == "processes" else right)
    tool: Any = SimpleNamespace(copy=copy, play=same if wrong == "forks" else right)
    with pytest.raises(BrokenError, match="was killed by" if verdict else "survived"):
        prove(cast("Forks", tool), fatal("subject.py", SUBJECT)[0], [["test_it.py"]])


@pytest.mark.requirement("framework:assembled")
def test_a_change_of_other_lines_draws_no_other_mutants() -> None:
    ahead = "def first(number):\n    return number - 1 if number > 1 else number * 2\n"
    before, after = (
        {(m.code, m.change) for m in drawn(mutants_of("subject.py", source), 4, 8)}
        for source in (SUBJECT, ahead + SUBJECT)
    )
    assert len(before) == 4 and after & before
    assert {pair for pair in after if pair[0] in SUBJECT} <= before
    assert before != {(m.code, m.change) for m in drawn(mutants_of("subject.py", SUBJECT), 4, 9)}


@pytest.mark.requirement("framework:assembled")
def test_what_runs_while_modules_are_imported_is_tried_on_all_tests_of_its_module(
    tmp_path: Path,
) -> None:
    first, second = (f"test_it.py::test_{name}" for name in ("one", "two"))
    (tmp_path / "tests").write_text(f"passed 1.0 {first}\npassed 2.0 {second}\n", "utf-8")
    (tmp_path / "lines").write_text(f"0,1 \n1 {first}\n2 {second}\n", "utf-8")
    places = [("subject.py", line) for line in (3, 5, ENTRY)]
    trace = Trace({"subject.py": ["test_it.py"]}, tmp_path, places)
    by_line = {line: mutant("number + number", "0", line) for line in (3, 5, 7)}
    assert [trace.loads(by_line[line]) for line in (3, 5, 7)] == [True, False, False]
    assert trace.batches(by_line[3]) == [[first, second]]
    assert trace.batches(by_line[5]) == [[first], [second]]
    assert trace.batches(by_line[7]) == []


@pytest.mark.requirement("framework:assembled")
def test_the_table_counts_each_verdict_of_each_area() -> None:
    places = ("a/b/x.py", "a/b/y.py", "a/z.py", "c.py")
    played = [Mutant(place, 1, 0, 1, "1", "2", "1") for place in places]
    verdicts = dict(zip(played, ("killed", "SURVIVED", "equivalent", "killed"), strict=True))
    head, *rows = (line.split() for line in table(verdicts, ("a/", "a/b/")).splitlines())
    assert head == ["area", "killed", "equivalent", "SURVIVED"]
    assert rows == [
        ["a/", "0", "1", "0"],
        ["a/b/", "1", "0", "1"],
        ["c.py", "1", "0", "0"],
        ["all", "2", "1", "1"],
    ]


@pytest.mark.requirement("framework:assembled")
def test_what_the_list_of_critical_modules_names_is_there() -> None:
    plan = tomllib.loads((ROOT / "scripts/mutants.toml").read_text("utf-8"))
    named = {path.partition("::")[0] for paths in plan["tests"].values() for path in paths}
    assert [path for path in sorted({*plan["tests"], *named}) if not (ROOT / path).exists()] == []
    mutants = {
        module: mutants_of(module, (ROOT / module).read_text("utf-8"))
        for module in {entry["module"] for entry in plan["equivalent"]}
    }
    gone = [e for e in plan["equivalent"] if not any(excused(m, [e]) for m in mutants[e["module"]])]
    assert gone == []


@pytest.mark.requirement("framework:assembled")
def test_what_has_probes_does_the_same_and_marks_the_lines_that_run() -> None:
    probes = probes_of(BRANCHES, range(1, 20))
    names: dict[str, Any] = {}
    exec(with_probes(BRANCHES, {probe: n for n, probe in enumerate(probes)}), names)
    reached: dict[str, set[int]] = {}
    for number in (-1, 0, 1):
        RAN.clear()
        word = names["kind"](number)
        reached[word] = {probes[n].line for n in RAN.numbers}
    assert reached == {  # no line can stand before an elif: it counts wherever its if runs
        "below": {ENTRY, 6, 7, 8},
        "nothing": {ENTRY, 6, 8, 9},
        "above": {ENTRY, 6, 8, 11, 12, 13},
    }


@pytest.mark.requirement("framework:assembled")
def test_a_trace_has_every_test_of_a_worker(
    tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    conftest: Any = next(
        plugin
        for plugin in pytestconfig.pluginmanager.get_plugins()
        if getattr(plugin, "__file__", "") == str(ROOT / "tests" / "conftest.py")
    )

    def reported(item: Any, call: Any) -> pytest.TestReport:
        return pytest.TestReport.from_item_and_call(item, call)

    hooks = pytest.PytestPluginManager()
    hooks.register(SimpleNamespace(pytest_runtest_makereport=reported))
    hooks.register(tracing)
    for name in ("LINES", "TESTS"):
        monkeypatch.setattr(tracing, name, str(tmp_path / name))
    monkeypatch.setitem(tracing.TRACES, "here", True)
    item = SimpleNamespace(
        nodeid="test_it.py::test_doubled", location=("test_it.py", 1, "test_doubled"),
        config=SimpleNamespace(workerinput={}, getoption=dict[str, bool]().get), ihook=hooks.hook,
        session=SimpleNamespace(shouldfail="", shouldstop=""), _request=True, keywords={},
        user_properties=[], _report_sections=[],
    )  # fmt: skip
    conftest.pytest_runtest_protocol(item, None)
    (row,) = tracing.read(tracing.TESTS)
    assert (row.split()[0], row.split()[2]) == ("passed", item.nodeid)
    assert len(tracing.read(tracing.LINES)) == 1
