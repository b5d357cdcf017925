"""Where a container refuses what the sandbox needs, the program says so, and commands still run."""

import errno
import json
import os
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.adapters.terminal.sandbox.ability import Ability, ability
from sam_tui.adapters.terminal.sandbox.kernel.call_numbers import machine
from tests.fakes.mounts import run_over
from tests.fakes.preloaded import SCRIPT

pytestmark = pytest.mark.skipif(
    ability().host is None, reason="takes away what a kernel with live approvals has"
)

REFUSING = """
    import json, os, struct, sys
    from sam_tui.adapters.terminal.sandbox.kernel.entry import install
    numbers, error, *words = json.loads(sys.argv[1])
    steps = [(0x20, 0, 0, 0)]
    for number in numbers:
        steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error)]
    steps.append((0x06, 0, 0, 0x7FFF0000))
    if numbers:
        install(b"".join(struct.pack("=HBBI", *step) for step in steps), 0)
    sys.argv[1:] = words
    from sam_tui.__main__ import main
    sys.exit(main())
"""
CALLS = {"pidfd_open": 434, "landlock_create_ruleset": 444, "landlock_restrict_self": 446}
HIDDEN = "mount -t tmpfs none /proc 2>/dev/null"


def refused(calls: list[str], error: int, words: list[str]) -> "subprocess.CompletedProcess[str]":
    """Run the program where the kernel refuses some calls."""
    known = machine()
    assert known is not None
    numbers = [CALLS.get(name) or known.calls[name] for name in calls]
    given = json.dumps([numbers, error, *words])
    return subprocess.run(
        [*SCRIPT, textwrap.dedent(REFUSING), given],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def judged(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """What the doctor says of the sandbox."""
    return next(c for c in json.loads(done.stdout) if c["name"] == "kernel sandbox")


@pytest.mark.requirement("sandbox:proven")
def test_the_first_command_is_held_by_what_the_kernel_offers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where it is not, every test of live approvals is skipped: this one alone notices."""
    proven: set[Ability] = set()
    monkeypatch.setattr("sam_tui.adapters.terminal.confinement.sandbox._PROVEN", proven)
    with closing(Sandbox()) as box:
        assert box.expected.kind == "live"
        assert box.confinement == box.expected and proven == {ability()}


@pytest.mark.requirement("sandbox:proven")
@pytest.mark.parametrize(
    ("calls", "error", "state", "words"),
    [
        (["seccomp"], errno.ENOSYS, "note", "the kernel refuses a supervisor (Function not impl"),
        (["seccomp"], errno.EPERM, "note", "the kernel refuses a supervisor (Operation not per"),
        (["pidfd_open"], errno.EPERM, "note", "pidfd_open is refused (Operation not permitted)"),
        (["pidfd_getfd"], errno.ENOSYS, "note", "pidfd_getfd is refused (Function not"),
        (["process_vm_readv"], errno.EPERM, "note", "process_vm_readv is refused"),
        (["landlock_create_ruleset"], errno.ENOSYS, "missing", "offers no Landlock"),
        (["landlock_restrict_self"], errno.EPERM, "missing", "could not confine a command"),
    ],
)
def test_what_a_container_refuses_is_said_and_commands_run_all_the_same(
    workspace: Path, calls: list[str], error: int, state: str, words: str
) -> None:
    data = str(workspace.parent / "data")
    place = ["-C", str(workspace), "--data-dir", data]
    sandbox = judged(refused(calls, error, ["doctor", "--json", *place]))
    assert (sandbox["state"], words in sandbox["detail"] + sandbox["advice"]) == (state, True), (
        sandbox
    )
    given = json.dumps({"command": "echo in > in; (sleep 0; echo x > ../out); true"})
    call = ["tools", "call", "run_command", given, *place]
    if state == "missing":
        call += ["--permission-mode", "bypass"]
    done = refused(calls, error, call)
    assert '"success":true' in done.stdout, done
    assert (workspace / "in").read_text() == "in\n"
    assert "not implemented" not in done.stdout + done.stderr
    assert (workspace.parent / "out").exists() == (state == "missing")


@pytest.mark.requirement("sandbox:proven")
@pytest.mark.skipif(os.geteuid() != 0, reason="hides /proc")
def test_without_proc_commands_run_held_or_the_doctor_says_why_not(workspace: Path) -> None:
    place = ["-C", str(workspace), "--data-dir", str(workspace.parent / "data")]
    anew = [sys.executable, "-m", "sam_tui", "doctor", "--json", *place]
    hidden = ["unshare", "--mount", "sh", "-c", f'{HIDDEN} && exec "$@"', "sh", *anew]
    doctor = subprocess.run(hidden, capture_output=True, text=True, timeout=120, check=False)
    sandbox = judged(doctor)
    assert (sandbox["state"], "/proc is hidden" in sandbox["detail"]) == ("note", True), sandbox
    given = json.dumps({"command": "echo in > in; (sleep 0; echo x > ../out); true"})
    done = run_over(HIDDEN, "tools", "call", "run_command", given, *place)
    assert '"success":true' in done.stdout, done
    assert (workspace / "in").read_text() == "in\n"
    assert not (workspace.parent / "out").exists()


@pytest.mark.requirement("cli:doctor-marks")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a folder read-only")
def test_a_read_only_home_is_the_fault_of_the_data_folder_alone(
    workspace: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    done = run_over(
        f'mount --bind "{home}" "{home}" && mount -o remount,ro,bind "{home}"',
        *("doctor", "--json", "-C", str(workspace)),
        environ={"HOME": str(home)} | {name: "" for name in os.environ if name.startswith("XDG_")},
    )
    states = {check["name"]: check["state"] for check in json.loads(done.stdout)}
    assert {name for name, state in states.items() if state == "missing"} == {
        "data folder",
        "settings",
    }, done.stdout
    assert states["kernel sandbox"] == "ok"
