"""The built archives, made once per worker, and an environment with the wheel installed in it."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = (
    "LICENSE", "Makefile", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "constraints.txt",
    "pyproject.toml", ".gitignore", "sam_tui", "tools", "reminders", "scripts",
    "tests/conftest.py", "tests/install", "docs/features.md",  # a part: each file is compressed
)  # fmt: skip


@dataclass(frozen=True)
class Built:
    """A source tree and the archives built from it."""

    tree: Path
    wheel: Path
    sdist: Path


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel: its Python and the command."""

    python: Path
    command: Path


def run(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run to the end and return what it printed; a failure shows both streams."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.args}\n{done.stdout}\n{done.stderr}"
    return done


def build(tree: Path, *targets: str) -> Path:
    """Build these archives in a tree; the folder they are in."""
    words = (word for target in targets for word in ("--target", target))
    run(sys.executable, "-m", "hatchling", "build", *words, cwd=tree)
    return tree / "dist"


@pytest.fixture(scope="package")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The archives of a copy, so that nothing is written to the checkout."""
    tree = tmp_path_factory.mktemp("checkout")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, tree / name, ignore=shutil.ignore_patterns("__pycache__", ".*cache")
            )
        elif source.exists():
            (tree / name).parent.mkdir(exist_ok=True)
            shutil.copy(source, tree / name)
    # What a used checkout holds beside the sources; none of it may be packed.
    (tree / ".venv" / "lib").mkdir(parents=True)
    (tree / ".venv" / "lib" / "secret.py").touch()
    (tree / "sam_tui" / "__pycache__").mkdir()
    (tree / "sam_tui" / "__pycache__" / "stale.cpython-311.pyc").touch()
    archives = build(tree, "sdist", "wheel")
    (wheel,), (sdist,) = archives.glob("*.whl"), archives.glob("*.tar.gz")
    return Built(tree, wheel, sdist)


@pytest.fixture(scope="package")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel installed by pip; its dependencies come from this run's own environment."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    options = ("--quiet", "--no-deps", "--no-index", "--no-compile")  # Python compiles what runs
    run(*pip, "install", *options, built.wheel, cwd=folder)
    (packages,) = (folder / "lib").glob("python3.*/site-packages")
    dependencies = folder / "dependencies"
    dependencies.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        # All but the .pth of the editable install: the checkout must not be what is found.
        if entry.suffix != ".pth" and not entry.name.startswith(("sam_", "__pycache__")):
            (dependencies / entry.name).symlink_to(entry)
    (packages / "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
    return Installed(python, folder / "bin" / "sam-tui")
