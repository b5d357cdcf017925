"""Every benchmark can fail: a bound that is missed, or was not measured, ends ``--strict`` with 1."""

import argparse
import ast
from pathlib import Path

import pytest

from bench.all import BENCHES
from bench.figures import Figure, judged

pytestmark = pytest.mark.requirement("house:benches")
FOLDER = Path(__file__).resolve().parents[2] / "bench"


@pytest.mark.parametrize(
    ("figure", "met"),
    [
        (Figure("a count", 5, "MB", 5), True),
        (Figure("a count", 6, "MB", 5), False),
        (Figure("not measured", None, "MB", 5), False),
        (Figure("not bound", None, "MB"), True),
        (Figure("beside", 28.0, "ms", 1.4, 20.0, "bare"), True),
        (Figure("beside", 29.0, "ms", 1.4, 20.0, "bare"), False),
        (Figure("without its neighbour", 1.0, "ms", 1.4, None, "bare"), False),
        (Figure("fast enough", 60.0, "MB/s", 0.5, 100.0, "bare", least=True), True),
        (Figure("too slow", 40.0, "MB/s", 0.5, 100.0, "bare", least=True), False),
        (Figure("both", 60.0, "MB", 1.5, 50.0, "small", target=55.0), False),
        (Figure("both", 60.0, "MB", 1.1, 50.0, "small", target=65.0), False),
        (Figure("both", 60.0, "MB", 1.5, 50.0, "small", target=65.0), True),
    ],
)
def test_a_figure_is_met_when_every_bound_was_measured_and_kept(
    figure: Figure, tmp_path: Path, *, met: bool
) -> None:
    assert figure.met is met
    assert ("MISSED" in figure.row) is not met
    for strict in (True, False):
        given = argparse.Namespace(json=tmp_path / "figures.json", strict=strict)
        assert judged("x", [figure], given) == int(strict and not met)
    assert f'"met": {str(met).lower()}' in (tmp_path / "figures.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BENCHES)
def test_each_benchmark_ends_with_what_its_figures_come_to(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    (main,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "main")
    assert ast.unparse(main.body[-1]).startswith(f"return judged('{name}', ")
    assert "sys.exit(main())" in ast.unparse(tree.body[-1])
