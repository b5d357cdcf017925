"""The pictures of the README: each scene has its own, and the README shows some of them.

Costs nothing to speak of: no session is played. ``make screenshots`` draws them anew.
"""

import ast
import re
from pathlib import Path

import pytest

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
