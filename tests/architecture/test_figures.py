"""The figures of the source are counted as they say, held by their limits, and the limits only fall."""

from pathlib import Path

import pytest

from scripts.figures import FIGURES, PACKAGES, main, measured, modules

PLANTED = {
    "words": {"sam_tui/a.py": "told = 1\n"},
    "classes": {"sam_tui/a.py": "class Twice: ...\n", "tools/sam_tools/b.py": "class Twice: ...\n"},
    "wired": {"sam_tui/core/a.py": "def f(guard):\n    guard.clean = 1\n"},
    "folders": {f"sam_tui/hall/m{n}.py": "" for n in range(16)},
    "siblings": {"sam_tui/a.py": "import sam_tui.b\n", "sam_tui/b.py": "X = 1\n"},
    "passing": {
        "sam_tui/a.py": 'class A:\n    def f(self, x):\n        """Pass."""\n        return self.b.f(x)\n'
    },
    "complex": {"sam_tui/a.py": f"def f(a):\n    return {' and '.join('a' * 11)}\n"},
    "most_complex": {"sam_tui/a.py": "def f(a):\n" + "    if a: pass\n" * 15},
    "any": {"sam_tui/a.py": "from typing import Any\nx: Any = 1\n"},
}
"""For each figure files in which one thing counts."""
CLEAN = {
    "sam_tui/core/a.py": "class A:\n    def __init__(self):\n        self.clean = 1\n",
    "sam_tui/b.py": "class B:\n    def f(self, x):\n        return self.a.f(x, 1)\n",
    "sam_tui/c.py": "def f(a):\n    return [x for x in a if x]\n",
}


def planted(root: Path, files: dict[str, str]) -> Path:
    for package in PACKAGES:
        (root / package).mkdir(parents=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def limits(folder: Path, at: float = 0) -> Path:
    file = folder / "limits.toml"
    rows = "".join(f"{name} = {at:g} # why\n" for name in FIGURES)
    file.write_text(f"[limits]\n{rows}", encoding="utf-8")
    return file


@pytest.mark.requirement("house:figures")
@pytest.mark.parametrize("name", FIGURES)
def test_a_planted_violation_counts_and_is_above_a_limit_of_none(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = planted(tmp_path / "r", PLANTED[name])
    _, entries = measured(name, modules(root), {})
    assert len(entries) == 1
    assert main([], root, limits(tmp_path)) == 1
    assert f"{name}: " in capsys.readouterr().err
    assert measured(name, modules(root), {entries[0][:9]: "why"})[1] == []


@pytest.mark.requirement("house:figures")
def test_what_is_none_of_it_does_not_count(tmp_path: Path) -> None:
    assert main([], planted(tmp_path / "r", CLEAN), limits(tmp_path)) == 0


@pytest.mark.requirement("house:figures")
def test_limits_are_written_down_and_never_up(tmp_path: Path) -> None:
    root = planted(tmp_path / "r", PLANTED["wired"])
    file = limits(tmp_path, 5)
    assert main(["--lower"], root, file) == 0
    assert "wired = 1 # why\n" in file.read_text()
    assert "folders = 0 # why\n" in file.read_text()
    (root / "sam_tui/core/b.py").write_text("def f(a):\n    a.b = 1\n")
    assert main(["--lower"], root, file) == 1
    assert "wired = 1 # why\n" in file.read_text()
