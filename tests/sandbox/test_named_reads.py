"""What a program that the person configured reads without a question: what its words name, no more."""

from pathlib import Path

import pytest

from sam_tui.adapters.policy.readable_paths import NamedReads

pytestmark = pytest.mark.requirement("sandbox:reads-outside")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with a server's project, a lone script, and a workspace that leads outside."""
    made = tmp_path / "home"
    for name in ("server/.git", "server/.venv/bin", "server/dist", "lone", "ws", "private", "bin"):
        (made / name).mkdir(parents=True)
    (made / "python/bin").mkdir(parents=True)
    (made / "python/bin/python3").write_bytes(b"\x7fELF")
    (made / "server/.venv/bin/python").symlink_to(made / "python/bin/python3")
    (made / "server/dist/start").write_text(f"#!{made}/server/.venv/bin/python -I\n")
    (made / "bin/serve").symlink_to(made / "server/dist/start")
    for name in ("lone/run.py", "private/letter", "data.db"):
        (made / name).write_text("")
    (made / "ws/tools").symlink_to(made / "private")
    (made / "outside").symlink_to(made / "ws")
    return made


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{h}/server/dist/start", ["server/dist/start", "server", "python/bin/python3", "python"]),
        ("{h}/bin/serve", ["server/dist/start", "bin", "server", "python/bin/python3", "python"]),
        ("node ~/lone/run.py --db=$HOME/data.db", ["lone/run.py", "lone", "data.db"]),
        ("sh -c 'cd {h}/lone; node run.py'", ["lone"]),
        ("cat {h}/private/letter; true", ["private/letter", "private"]),
        ("files {h} / ~/ ..", []),
        ("node tools/letter ./tools {h}/ws/tools/letter {h}/outside/tools/letter", []),
        ("node nothing-there '{h}/lone", []),
    ],
)
def test_what_a_line_names_is_read_with_its_project_and_interpreter(
    home: Path, line: str, named: list[str]
) -> None:
    reads = NamedReads(str(home), (str(home / "ws"),))
    found = reads.of_line(line.format(h=home), str(home / "ws"))
    assert {path for path in found if path.startswith(str(home))} == {
        str(home / name) for name in named
    }
    assert not {"/", str(home), str(home.parent)} & set(found)
