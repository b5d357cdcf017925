"""What every benchmark here prints, and how it is judged: figures, each with its bound.

A time is judged as a ratio to a neighbour: something known that was measured in the same moment on the
same machine. Bytes, megabytes and counts are judged as they are. A figure that has a bound and could not be
measured missed it.
"""

import argparse
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

BUILD = Path(__file__).resolve().parents[1] / "build"
DIGITS = {"s": 3, "ms": 2, "us": 1, "MB": 0, "% CPU": 2, "MB/s": 0, "ms/MB": 1}


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement. ``neighbour`` is a value in the same unit, ``beside`` what it was measured of.

    ``most`` bounds the ratio to the neighbour where there is one, else the value; it is the least that
    it may be where ``least``. ``target`` bounds the value whatever the neighbour.
    """

    name: str
    value: float | None
    unit: str = ""
    most: float | None = None
    neighbour: float | None = None
    beside: str = ""
    least: bool = False
    target: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times the neighbour's value it is; None where either was not measured."""
        return self.value / self.neighbour if self.value is not None and self.neighbour else None

    @property
    def met(self) -> bool:
        """Whether every bound is kept. What has a bound and was not measured is missed."""
        judged = self.ratio if self.beside else self.value
        bounds = ((judged, self.most), (self.value, self.target))
        return all(bound is None or self._keeps(value, bound) for value, bound in bounds)

    def _keeps(self, value: float | None, bound: float) -> bool:
        if value is None:
            return False
        return value >= bound if self.least else value <= bound

    @property
    def row(self) -> str:
        """Its line of the table."""
        value = "not measured"
        if self.value is not None:
            value = f"{self.value:,.{DIGITS.get(self.unit, 0)}f} {self.unit}".rstrip()
        sign = ">=" if self.least else "<="
        bound = f"{sign} {self.most:g}" if self.most is not None else ""
        beside = ""
        if self.beside:
            ratio = "?" if self.ratio is None else f"{self.ratio:.2f}"
            beside, bound = f"{ratio} x {self.beside}", f"{bound} x" if bound else ""
        if self.target is not None:
            bound = f"{bound} and {sign} {self.target:g} {self.unit}".removeprefix(" and ")
        mark = "" if self.met else "  MISSED"
        return f"{self.name:46} {value:>14}  {bound:>22}  {beside}{mark}".rstrip()


def options(description: str) -> argparse.ArgumentParser:
    """A parser with what all benchmarks take."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures are written")
    parser.add_argument("--strict", action="store_true", help="end with 1 when a bound is missed")
    return parser


def judged(name: str, figures: Sequence[Figure], given: argparse.Namespace) -> int:
    """Print and write the figures; 1 where a bound is missed and that counts, else 0."""
    where = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }
    print("  ".join(f"{key} {value}" for key, value in where.items()))
    print("\n".join(figure.row for figure in figures))
    file: Path = given.json or BUILD / f"bench-{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = [asdict(figure) | {"ratio": figure.ratio, "met": figure.met} for figure in figures]
    file.write_text(json.dumps({"machine": where, "figures": rows}, indent=1) + "\n", "utf-8")
    return int(given.strict and not all(figure.met for figure in figures))
