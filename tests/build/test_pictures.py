"""The pictures of the README: each scene has its own, and the README shows some of them.

One session is played, at the smaller size, and its five pictures are compared in what a person sees;
``make screenshots ARGS=--check`` compares all, and ``make screenshots`` draws them anew.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from screenshots.comparison import differences, rows

ROOT = Path(__file__).parents[2]
TAKE = ROOT / "screenshots" / "take.py"
LEAST_SHOWN = 4


def constants() -> dict[str, tuple[str, ...]]:
    """The names of scenes, of small and of light ones, as the script has them."""
    tables: dict[str, tuple[str, ...]] = {}
    for node in ast.parse(TAKE.read_text(encoding="utf-8")).body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.Assign):
            target = node.targets[0]
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Tuple):
            firsts = [e.elts[0] if isinstance(e, ast.Tuple) else e for e in value.elts]
            tables[target.id] = tuple(
                e.value for e in firsts if isinstance(e, ast.Constant) and isinstance(e.value, str)
            )
    return tables


@pytest.mark.requirement("docs:pictures")
def test_each_scene_has_its_picture_and_the_readme_shows_four() -> None:
    tables = constants()
    scenes = tables["SCENES"]
    wanted = {
        *scenes,
        *(f"small-{n}" for n in tables["SMALL"]),
        *(f"light-{n}" for n in tables["LIGHT"]),
    }
    assert {path.stem for path in TAKE.parent.glob("*.svg")} == wanted
    assert len(scenes) >= 12
    shown = re.findall(
        r"!\[[^]]*\]\(screenshots/([\w-]+)\.svg\)", (ROOT / "README.md").read_text("utf-8")
    )
    assert len(shown) >= LEAST_SHOWN and set(shown) <= wanted


@pytest.mark.requirement("docs:pictures")
def test_a_picture_loads_nothing_from_elsewhere() -> None:
    elsewhere = re.compile(r"url\((?!#)|@import|https?://(?!www\.w3\.org/2000/svg)")
    for path in TAKE.parent.glob("*.svg"):
        assert elsewhere.search(path.read_text("utf-8")) is None, path


@pytest.mark.requirement("docs:pictures-compared")
def test_the_pictures_of_the_smaller_size_show_what_the_workbench_draws() -> None:
    names = [f"small-{name}" for name in constants()["SMALL"]]
    checked = subprocess.run(
        [sys.executable, "-m", "screenshots.take", "--check", *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def picture(name: str = "small-done") -> str:
    """A picture as it is committed."""
    return (TAKE.parent / f"{name}.svg").read_text("utf-8")


@pytest.mark.requirement("docs:pictures-compared")
@pytest.mark.parametrize(
    ("before", "after", "row"),
    [
        ("Completed:", "Cancelled:", "row 7: committed '  ✓ Completed: todo #5 ▸'"),
        ("fill: #8fbf7f", "fill: #ff0000", "is committed as fill: #8fbf7f on"),
        ('fill="#222b27"', 'fill="#2b2222"', "row 1: "),
        ("font-weight: bold", "", "font-weight: bold"),
    ],
)
def test_another_word_colour_ground_or_weight_is_told_with_its_row(
    before: str, after: str, row: str
) -> None:
    committed = picture()
    changed = committed.replace(before, after)
    assert changed != committed
    faults = differences(committed, changed)
    assert faults and row in faults[0], faults


@pytest.mark.requirement("docs:pictures-compared")
def test_names_within_a_picture_and_durations_are_no_difference() -> None:
    committed = picture("small-terminal")
    (number,) = set(re.findall(r"terminal-(\d+)-", committed))
    changed = committed.replace(f"terminal-{number}", "terminal-7")
    changed = re.sub(r"in&#160;0\.\d+s(?:&#160;)*", "in&#160;12.345s", changed)
    assert "12.345s" in changed
    assert differences(committed, changed) == []
    slow = picture().replace(
        "Completed:&#160;todo&#160;#5", "Completed:&#160;todo&#160;#5&#160;&#160;0.2s"
    )
    assert slow != picture()
    assert differences(picture(), slow) == differences(slow, picture()) == []


@pytest.mark.requirement("docs:pictures-compared")
def test_every_picture_is_read_as_rows_of_text() -> None:
    for path in TAKE.parent.glob("*.svg"):
        height = 24 if path.stem.startswith("small-") else 40
        seen = rows(path.read_text("utf-8"))
        assert len(seen) == height, path
        assert sum(bool("".join(text for text, _ in row).strip()) for row in seen) > height / 2
