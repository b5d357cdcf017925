"""scripts/bootstrap.py on machines that lack something; what an installer would do is only recorded."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.interpreter import INTERPRETER

ROOT = Path(__file__).parents[2]
RECORDER = """#!/bin/sh
'''exec' {python} -I "$0" "$@" # in a script's first line a path can hold no space
' '''
import os, sys
arguments = sys.argv[1:]
if "-c" in arguments and "version_info" in arguments[-1]:
    print("{version}"); print({path!r}); sys.exit(0)
if "-c" in arguments:
    sys.exit({no_venv})
if arguments[-1] == "--version":
    sys.exit({no_pip})
with open({log!r}, "a") as log:
    log.write(" ".join([os.path.basename({path!r}), *arguments]) + "\\n")
sys.exit({failing})
"""


class Machine:
    """A checkout and a PATH that holds only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        self.path = folder / "bin"
        self.log = folder / "log"
        self.path.mkdir()
        (self.checkout / "scripts").mkdir(parents=True)
        for name in ("scripts/bootstrap.py", "constraints.txt", "pyproject.toml", "Makefile"):
            shutil.copy(ROOT / name, self.checkout / name)

    def put(
        self,
        name: str,
        version: str = "",
        *,
        venv: bool = True,
        pip: bool = True,
        works: bool = True,
    ) -> None:
        """Place a program that answers as a Python of that version would, and records the rest."""
        place = self.path / name
        text = RECORDER.format(
            python=INTERPRETER,
            version=version.replace(".", " "),
            path=str(place),
            no_venv=int(not venv),
            no_pip=int(not pip),
            log=str(self.log),
            failing=int(not works),
        )
        place.write_text(text, encoding="utf-8")
        place.chmod(0o755)

    def bootstrap(self, *, named: str = "") -> subprocess.CompletedProcess[str]:
        """Run the script, which does not learn what interpreter it runs on."""
        script = self.checkout / "scripts" / "bootstrap.py"
        shim = (
            "import sys, runpy; sys.executable = ''; "
            f"runpy.run_path({str(script)!r}, run_name='__main__')"
        )
        return subprocess.run(
            [sys.executable, "-I", "-c", shim],
            env={"PATH": str(self.path), "PYTHON": named, "HOME": os.environ["HOME"]},
            capture_output=True,
            text=True,
            check=False,
        )

    def steps(self) -> list[str]:
        """What was asked of the recorded programs, with the checkout's path taken out."""
        text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        return text.replace(str(self.checkout), "").splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.requirement("house:bootstrap-explains")
def test_old_pythons_are_listed_with_what_to_do(machine: Machine) -> None:
    machine.put("python3", "3.9.2")
    machine.put("python3.11", "3.10.1")
    done = machine.bootstrap()
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert f"3.9.2 ({machine.path}/python3)" in done.stderr
    assert "install uv" in done.stderr
    assert machine.steps() == []


@pytest.mark.requirement("house:bootstrap-explains")
def test_no_python_at_all_is_said(machine: Machine) -> None:
    assert "Found: none." in machine.bootstrap().stderr


@pytest.mark.requirement("house:bootstrap-explains")
def test_a_python_without_venv_and_pip_names_the_package_to_install(machine: Machine) -> None:
    machine.put("python3", "3.11.2", venv=False, pip=False)
    done = machine.bootstrap()
    assert done.returncode == 1
    assert "venv or ensurepip module is missing" in done.stderr
    assert "apt install python3-venv" in done.stderr


@pytest.mark.requirement("house:bootstrap-explains")
def test_a_failed_step_is_shown_and_leaves_no_stamp(machine: Machine) -> None:
    machine.put("python3", "3.11.2", works=False)
    done = machine.bootstrap()
    assert done.returncode == 1
    assert "this step failed with 1" in done.stderr
    assert not (machine.checkout / ".venv" / "sam-tui.stamp").exists()


@pytest.mark.requirement("house:bootstrap-explains")
def test_a_fit_python_is_preferred_over_the_first_one(machine: Machine) -> None:
    machine.put("python3", "3.9.2")
    machine.put("python3.12", "3.12.4", works=False)
    machine.bootstrap()
    assert machine.steps() == ["python3.12 -I -m venv --clear /.venv"]


@pytest.mark.requirement("house:bootstrap-explains")
def test_the_named_python_goes_first(machine: Machine) -> None:
    machine.put("python3.11", "3.11.2", works=False)
    machine.put("mine", "3.13.0", works=False)
    machine.bootstrap(named="mine")
    assert machine.steps() == ["mine -I -m venv --clear /.venv"]


@pytest.mark.requirement("house:bootstrap-explains")
def test_where_uv_fails_pip_takes_over(machine: Machine) -> None:
    machine.put("uv", works=False)
    machine.put("python3", "3.11.2", works=False)
    done = machine.bootstrap()
    assert [step.split()[0] for step in machine.steps()] == ["uv", "python3"]
    assert "uv failed at: venv" in done.stderr


@pytest.mark.requirement("house:bootstrap-explains")
@pytest.mark.parametrize("name", ["uv", "python3"])
def test_without_a_network_that_is_said_and_nothing_else_is_tried(
    machine: Machine, name: str
) -> None:
    machine.put("python3", "3.11.2")
    machine.put(name, "3.11.2", works=False)
    place = machine.path / name
    program = place.with_name(f"{name}-really")
    place.rename(program)
    words = "error: Temporary failure in name resolution"
    place.write_text(f"#!/bin/sh\n'{program}' \"$@\" || {{ c=$?; echo '{words}' >&2; exit $c; }}\n")
    place.chmod(0o755)
    done = machine.bootstrap()
    assert done.returncode == 1
    assert words in done.stderr
    assert "there is no network here" in done.stderr
    assert "trying venv and pip" not in done.stderr


@pytest.mark.requirement("house:bootstrap-explains")
def test_uv_alone_brings_its_own_python(machine: Machine) -> None:
    machine.put("uv")
    machine.bootstrap()
    assert machine.steps() == [
        "uv venv --quiet --clear --python >=3.11 /.venv",
        "uv pip install --quiet --python /.venv/bin/python --no-deps --compile-bytecode"
        " --require-hashes -r /constraints.txt",
        "uv pip install --quiet --python /.venv/bin/python --no-deps --no-build-isolation --editable ",
    ]


@pytest.mark.requirement("house:bootstrap-explains")
def test_make_finds_the_only_python_or_asks_uv_for_one(machine: Machine, tmp_path: Path) -> None:
    def make() -> "subprocess.CompletedProcess[str]":
        command = [str(shutil.which("make")), "-s", "venv"]
        environment = {"PATH": str(machine.path), "HOME": str(tmp_path)}
        return subprocess.run(
            command, cwd=machine.checkout, env=environment, capture_output=True, text=True
        )

    machine.path.joinpath("sh").symlink_to("/bin/sh")
    assert "needs Python 3.11 or newer, or uv" in make().stderr
    machine.put("uv")
    make()
    assert machine.steps() == [
        "uv run --quiet --no-project --python >=3.11 python -I scripts/bootstrap.py"
    ]
    machine.log.unlink()
    machine.path.joinpath("python3.14").symlink_to(sys.executable)
    make()
    assert machine.steps()[0].startswith("uv venv --quiet --clear --python /")


@pytest.mark.requirement("house:bootstrap-current")
def test_a_current_environment_is_left_alone(machine: Machine) -> None:
    machine.put("uv")
    python = machine.checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    assert machine.bootstrap().returncode == 0
    first = machine.steps()
    assert machine.bootstrap().stderr == ""
    assert machine.steps() == first
    with (machine.checkout / "constraints.txt").open("a", encoding="utf-8") as locked:
        locked.write("# changed\n")
    assert machine.bootstrap().returncode == 0
    assert len(machine.steps()) > len(first)
