"""Mounts in and around a workspace, made in a mount namespace of the test's own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from tests.fakes.preloaded import SCRIPT

Call = Callable[[str, dict[str, object]], bool]

_MOUNT = 'mount --make-rprivate / && mount --bind "$1" "$2" && mount --bind "$3" "$4"'
_AMONG_MOUNTS = f"""
import ctypes, os, subprocess, sys
user, group = os.geteuid(), os.getegid()
assert ctypes.CDLL(None).unshare(0x20000 | (0x10000000 if user else 0)) == 0
maps = {{"setgroups": "deny", "uid_map": f"0 {{user}} 1", "gid_map": f"0 {{group}} 1"}} if user else {{}}
for name, text in maps.items():
    with open(f"/proc/self/{{name}}", "w") as file:
        file.write(text)
subprocess.run(["sh", "-c", {_MOUNT!r}, "sh", *sys.argv[1:5]], check=True)
del sys.argv[1:5]
from sam_tui.__main__ import main
sys.exit(main())
"""
"""The program in a mount namespace of its own, as ``unshare --mount`` makes it; root is itself there."""


def _possible() -> bool:
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    if Sandbox().confinement.kind != "live":
        return False
    tried = subprocess.run(
        [*_namespace(), "sh", "-c", "mount --bind /usr /usr"], capture_output=True, check=False
    )
    return tried.returncode == 0


def _namespace() -> list[str]:
    return (
        ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    )


@pytest.fixture(autouse=True, scope="module")
def mounting() -> None:
    """Skip all where no mounts can be made."""
    if not _possible():
        pytest.skip("mounts cannot be made here")


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """A workspace with a foreign folder mounted inside, and a part of it mounted outside."""
    made = {name: tmp_path / name for name in ("workspace", "outside", "data", "home")}
    for place in made.values():
        place.mkdir()
    for place in (made["workspace"] / "inner", made["workspace"] / "sub", made["outside"] / "view"):
        place.mkdir()
    return made


@pytest.fixture
def call(places: dict[str, Path]) -> Call:
    """Whether an operation was carried out, by the program itself among those mounts."""
    workspace, outside = places["workspace"], places["outside"]

    def calling(operation: str, arguments: dict[str, object]) -> bool:
        mounts = [places["data"], workspace / "inner", workspace / "sub", outside / "view"]
        called = ["tools", "call", "-C", str(workspace), operation, json.dumps(arguments)]
        done = subprocess.run(
            [*SCRIPT, _AMONG_MOUNTS, *map(str, mounts), *called],
            env={**os.environ, "HOME": str(places["home"]), "XDG_DATA_HOME": str(places["home"])},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert "Traceback" not in done.stderr
        return done.returncode == 0

    return calling


@pytest.mark.requirement("guard:mounts")
def test_what_is_mounted_in_the_workspace_belongs_to_it(
    places: dict[str, Path], call: Call
) -> None:
    assert call("file_operations.create_file", {"filePath": "inner/made", "content": "x"})
    assert (places["data"] / "made").read_text() == "x"
    assert call("terminal_operations.run_command", {"command": "echo y > inner/typed"})
    assert (places["data"] / "typed").read_text() == "y\n"


@pytest.mark.requirement("guard:mounts")
def test_a_part_of_the_workspace_mounted_elsewhere_is_outside_there(
    places: dict[str, Path], call: Call
) -> None:
    view = f"{places['outside']}/view"
    assert not call("file_operations.create_file", {"filePath": f"{view}/made", "content": "x"})
    assert not call("terminal_operations.run_command", {"command": f"echo y > {view}/typed"})
    assert os.listdir(places["workspace"] / "sub") == []


@pytest.mark.requirement("guard:mounts")
@pytest.mark.parametrize(
    "command",
    [
        "umount inner",
        "umount -l {outside}/view",
        "mount --bind {outside} sub && touch sub/made",
        "mount -o remount,bind,rw inner",
        "unshare --mount --map-root-user sh -c 'mount --bind {outside} sub; touch sub/made'",
    ],
)
def test_no_command_changes_what_is_mounted(
    places: dict[str, Path], call: Call, command: str
) -> None:
    written = command.format(outside=places["outside"])
    assert not call("terminal_operations.run_command", {"command": f"sh -c {written!r}"})
    assert os.listdir(places["outside"]) == ["view"]
