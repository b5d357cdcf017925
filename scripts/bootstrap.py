"""Makes .venv with every pinned dependency and the project in it; does nothing when it is current.

Runs on the standard library of any Python from 3.8 on, so that an old one gets a sentence instead
of a traceback. Prefers uv where it is installed; otherwise venv and pip, both part of Python.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from typing import NoReturn, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
VENV = os.path.join(ROOT, ".venv")
VENV_PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "sam-tui.stamp")
CONSTRAINTS = os.path.join(ROOT, "constraints.txt")
PACKAGES = ("sam_tui", "tools", "reminders")
INPUTS = ("pyproject.toml", "constraints.txt", "scripts/bootstrap.py")

OLDEST = (3, 11)
NAMES = ("python3.11", "python3.12", "python3.13", "python3.14", "python3", "python")
PROBE = "import sys; print(*sys.version_info[:3]); print(sys.executable)"
HAS_VENV = "import venv, ensurepip"

Version = Tuple[int, ...]


OFFLINE = (
    "name resolution",
    "name or service not known",
    "nodename nor servname",
    "dns error",
    "network is unreachable",
    "no route to host",
    "connection refused",
    "failed to establish a new connection",
    "error sending request",
    "network connectivity is disabled",
)
"""How pip, uv and the C library say that nothing can be reached."""


def main() -> None:
    """Bring .venv up to date, or say what is missing and end with 1."""
    if is_current():
        return
    if sys.platform == "win32":
        stop("Windows is not supported. Inside WSL this works as on Linux.")
    with open(__file__, "rb") as own:
        import fcntl

        # Two makes at once would install over each other.
        fcntl.flock(own, fcntl.LOCK_EX)
        if not is_current():
            build()


def is_current() -> bool:
    """Whether .venv was made from exactly these inputs at this place, and still has a Python."""
    try:
        with open(STAMP, encoding="utf-8") as file:
            return file.read() == fingerprint() and os.access(VENV_PYTHON, os.X_OK)
    except OSError:
        return False


def fingerprint() -> str:
    """A digest of the inputs and of the place: a moved checkout has wrong paths in its .venv."""
    digest = hashlib.sha256(ROOT.encode("utf-8", "surrogateescape"))
    for name in INPUTS:
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    return digest.hexdigest() + "\n"


def build() -> None:
    """Make the environment and install into it: with uv, and where that fails with pip."""
    if os.path.exists(STAMP):
        os.remove(STAMP)
    uv = shutil.which("uv")
    python, seen = find_python()
    if python is None and uv is None:
        stop(
            "sam-tui needs Python {}.{} or newer. Found: {}.".format(*OLDEST, listed(seen)),
            "Install one, or install uv (which brings its own Python), and run make again.",
            "A Python that is not on PATH is named with: make PYTHON=/path/to/python3.11",
        )
    if uv is not None and install_with_uv(uv, python):
        pass
    elif python is not None:
        install_with_pip(python)
    else:
        stop("uv could not set up .venv, and there is no Python to do it without uv.")
    # Else the first start would, on one core; a folder that cannot be written to is no reason to stop.
    attempt([VENV_PYTHON, "-I", "-m", "compileall", "-q", "-j", "0", *PACKAGES])
    with open(STAMP, "w", encoding="utf-8") as file:
        file.write(fingerprint())
    say("ready.")


def find_python() -> tuple[str | None, list[str]]:
    """The interpreter to use, or None; and what was looked at, as ``3.9.2 (/usr/bin/python3)``."""
    named = os.environ.get("PYTHON", "")
    candidates = [shutil.which(named) or named] if named else []
    candidates.append(sys.executable)
    candidates.extend(shutil.which(name) or "" for name in NAMES)
    seen: list[str] = []
    for candidate in filter(None, candidates):
        version, path = probe(candidate)
        text = "{} ({})".format(".".join(map(str, version)) or "not a Python", path)
        if text not in seen:
            seen.append(text)
        if version >= OLDEST:
            return path, seen
    return None, seen


def probe(candidate: str) -> tuple[Version, str]:
    """Version and real path of an interpreter; an empty version when it does not run."""
    try:
        done = subprocess.run(
            [candidate, "-I", "-c", PROBE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
        version, path = done.stdout.splitlines()
        return tuple(int(part) for part in version.split()), path
    except (OSError, ValueError, subprocess.CalledProcessError):
        return (), candidate


def listed(seen: list[str]) -> str:
    """What was found, for a sentence."""
    return ", ".join(seen) if seen else "none"


def install_with_uv(uv: str, python: str | None) -> bool:
    """Set everything up through uv; False when it could not, which leaves the way with pip."""
    wanted = python or ">={}.{}".format(*OLDEST)
    say(f"setting up .venv with uv and Python {wanted}")
    steps: list[list[str]] = []
    if not keeps():
        steps.append([uv, "venv", "--quiet", "--clear", "--python", wanted, VENV])
    into = [uv, "pip", "install", "--quiet", "--python", VENV_PYTHON, "--no-deps"]
    steps.append([*into, "--compile-bytecode", "--require-hashes", "-r", CONSTRAINTS])
    steps.append([*into, "--no-build-isolation", "--editable", ROOT])
    for step in steps:
        if attempt(step):
            say("uv failed at: " + " ".join(step[1:4]) + "; trying venv and pip")
            return False
    return True


def install_with_pip(python: str) -> None:
    """Set everything up with what comes with Python."""
    say(f"setting up .venv with pip and {python} (about a minute the first time)")
    bundled = succeeds([python, "-I", "-c", HAS_VENV])
    outer_pip = succeeds([python, "-I", "-m", "pip", "--version"])
    if not bundled and not outer_pip:
        stop(
            f"{python} can make no virtual environment: its venv or ensurepip module is missing.",
            "On Debian and Ubuntu: apt install python3-venv. Elsewhere: install pip or uv.",
        )
    if not keeps() or not succeeds([VENV_PYTHON, "-I", "-m", "pip", "--version"]):
        run([python, "-I", "-m", "venv", "--clear", *([] if bundled else ["--without-pip"]), VENV])
    pip = [VENV_PYTHON, "-I", "-m", "pip"]
    if not bundled:
        pip = [python, "-I", "-m", "pip", "--python", VENV_PYTHON]
    install = [*pip, "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    run([*install, "--require-hashes", "-r", CONSTRAINTS])
    run([*install, "--no-build-isolation", "--editable", ROOT])


def keeps() -> bool:
    """Whether the .venv that stands there can be installed into as it is."""
    version, _ = probe(VENV_PYTHON)
    config = os.path.join(VENV, "pyvenv.cfg")
    moved = os.path.join(VENV, "bin", "sam-tui")
    try:
        with open(moved, encoding="utf-8") as script:
            in_place = VENV in script.readline() + script.readline()
    except (OSError, UnicodeDecodeError):
        in_place = False
    return version >= OLDEST and os.path.exists(config) and in_place


def environment() -> dict[str, str]:
    """This process's environment without what would lead an installer elsewhere."""
    kept = dict(os.environ)
    for name in ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "VIRTUAL_ENV"):
        kept.pop(name, None)
    return kept


def succeeds(command: list[str]) -> bool:
    """Whether a command ends with 0; its output is not shown."""
    try:
        quiet = subprocess.DEVNULL
        done = subprocess.run(
            command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment(), check=False
        )
    except OSError:
        return False
    return done.returncode == 0


def run(command: list[str]) -> None:
    """Run a step that must succeed; its own output says why it did not."""
    code = attempt(command)
    if code:
        stop("this step failed with {}:\n  {}".format(code, " ".join(command)))


def attempt(command: list[str]) -> int:
    """The exit code of a step, whose messages are passed on. Without a network this ends with 1."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=ROOT,
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace")
    sys.stderr.write(said)
    if done.returncode and any(sign in said.lower() for sign in OFFLINE):
        stop(
            "the packages could not be fetched: there is no network here, or it does not reach the index.",
            "Connect, or set the proxy or the index that pip or uv is to use, and run this again.",
        )
    return done.returncode


def say(text: str) -> None:
    """One line of progress, on stderr."""
    sys.stderr.write(f"sam-tui: {text}\n")
    sys.stderr.flush()


def stop(*lines: str) -> NoReturn:
    """Say what is wrong and what to do, and end with 1."""
    say("\n         ".join(lines))
    sys.exit(1)


if __name__ == "__main__":
    main()
