"""Records what ``git apply`` and ``patch`` of this machine make of every scenario.

``python -m tests.files.patches.record`` writes ``corpus.json``; with ``--check`` it says instead
which records differ, and ends with 1 where any does.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tests.files.patches.made_cases import MADE
from tests.files.patches.trees import Entry, Scenario, Tree
from tests.files.patches.written_cases import WRITTEN

CORPUS = Path(__file__).with_name("corpus.json")
_DAY = 1_700_000_000
_PLAIN = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
    "TZ": "UTC",
}


@dataclass(frozen=True)
class Case:
    """A recorded case. ``git`` and ``patch`` are the trees that they left, None where they refused."""

    name: str
    on: Tree
    text: str
    strip: int
    git: Tree | None
    patch: Tree | None
    refuse: str

    @property
    def expected(self) -> Tree | None:
        """The tree that must come of it; None where it must be refused. Git comes first."""
        if self.refuse:
            return None
        return self.patch if self.git is None else self.git


def corpus() -> list[Case]:
    """The recorded cases."""
    rows = cast("list[dict[str, Any]]", json.loads(CORPUS.read_text(encoding="utf-8")))
    trees = ("on", "git", "patch")
    return [Case(**{k: _tree(v) if k in trees else v for k, v in row.items()}) for row in rows]


def _tree(stored: dict[str, Any] | None) -> Any:
    if stored is None:
        return None
    return {k: v if isinstance(v, str) else (v[0], v[1]) for k, v in stored.items()}


def write(root: Path, tree: Tree, *, day: int = _DAY) -> None:
    """Put a tree on disk, with dates of the past."""
    root.mkdir(exist_ok=True, parents=True)
    for path, entry in tree.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        kind, content = entry if isinstance(entry, tuple) else ("text", entry)
        if kind == "link":
            file.symlink_to(content)
            continue
        file.write_bytes(bytes.fromhex(content) if kind == "bytes" else content.encode())
        file.chmod(0o755 if kind == "exec" else 0o644)
        os.utime(file, (day, day))


def read(root: Path) -> Tree:
    """The files and links below a folder; those of git itself are left out."""
    tree: dict[str, Entry] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*files, *(n for n in folders if os.path.islink(f"{folder}/{n}"))]:
            path = os.path.join(folder, name)
            tree[os.path.relpath(path, root)] = _entry(path)
    return dict(sorted(tree.items()))


def _entry(path: str) -> Entry:
    if os.path.islink(path):
        return "link", os.readlink(path)
    data = Path(path).read_bytes()
    if b"\0" in data:
        return "bytes", data.hex()
    return ("exec", data.decode()) if os.access(path, os.X_OK) else data.decode()


def _run(command: Sequence[str], cwd: Path, text: str = "") -> tuple[int, str]:
    environment = {**os.environ, **_PLAIN, "GIT_CEILING_DIRECTORIES": str(cwd.parent)}
    done = subprocess.run(
        command, cwd=cwd, env=environment, input=text.encode(), capture_output=True, check=False
    )
    return done.returncode, done.stdout.decode()


def _text(scenario: Scenario, folder: Path) -> str:
    """The patch itself, made where it is not written down."""
    if scenario.text:
        return scenario.text
    assert scenario.before is not None
    assert scenario.after is not None
    tool, *options = scenario.command
    if tool == "diff":
        write(folder / "a", scenario.before)
        write(folder / "b", scenario.after, day=_DAY + 60)
        return _run(["diff", *options, "a", "b"], folder)[1]
    work = folder / "work"
    write(work, scenario.before)
    _run(["git", "init", "-q"], work)
    _run(["git", "add", "-A", "-f"], work)
    first = _run(["git", "write-tree"], work)[1].strip()
    for child in work.iterdir():
        if child.name != ".git":
            shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()
    write(work, scenario.after, day=_DAY + 60)
    _run(["git", "add", "-A", "-f"], work)
    second = _run(["git", "write-tree"], work)[1].strip()
    return _run(["git", "diff", "-p", *options, first, second], work)[1]


def by_git(on: Tree, text: str, folder: Path, *, strip: int) -> Tree | None:
    """What ``git apply`` makes of it; None where it refuses."""
    write(folder, on)
    code, _ = _run(["git", "apply", f"-p{strip}", "-"], folder, text)
    return read(folder) if code == 0 else None


def _by_patch(on: Tree, text: str, folder: Path, *, strip: int) -> Tree | None:
    write(folder, on)
    command = ["patch", f"-p{strip}", "-N", "-s", "-r-", "--no-backup-if-mismatch"]
    code, _ = _run(command, folder, text)
    return read(folder) if code == 0 else None


def recorded(scenario: Scenario, folder: Path) -> Case:
    """One scenario, made and tried in an empty folder."""
    text, on, strip = _text(scenario, folder / "made"), scenario.on, scenario.strip
    git = by_git(on, text, folder / "git" / "ws", strip=strip)
    patch = _by_patch(on, text, folder / "patch" / "ws", strip=strip)
    return Case(scenario.name, on, text, strip, git, patch, scenario.refuse)


def main(check: bool) -> int:
    """Write the corpus, or compare it; returns the exit code."""
    cases: list[Case] = []
    for scenario in [*MADE, *WRITTEN]:
        with tempfile.TemporaryDirectory() as folder:
            cases.append(recorded(scenario, Path(folder)))
    names = [case.name for case in cases]
    if doubled := {name for name in names if names.count(name) > 1}:
        print("doubled:", doubled)
        return 1
    if check:
        known = {case.name: case for case in corpus()}
        differing = [case.name for case in cases if known.get(case.name) != case]
        print("\n".join(differing) or f"{len(cases)} cases, all as recorded")
        return int(bool(differing))
    rows = [json.dumps(case.__dict__, ensure_ascii=False) for case in cases]
    CORPUS.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    for what in ("git", "patch", "expected"):
        print(what, sum(getattr(case, what) is not None for case in cases), "of", len(cases))
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
