"""The program where it sees other mounts, as root runs it."""

import os
import subprocess
from collections.abc import Mapping

from tests.fakes.preloaded import SCRIPT

_PROGRAM = """
import ctypes, subprocess, sys
mounts, after, *sys.argv[1:] = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x20000):
    raise OSError(ctypes.get_errno(), "no namespace of mounts")
subprocess.run(["sh", "-c", f"mount --make-rprivate / && {mounts}"], check=True)
from sam_tui.__main__ import main
try:
    sys.exit(main())
finally:
    subprocess.run(["sh", "-c", after], check=True)
"""


def run_over(
    mounts: str, *words: str, environ: Mapping[str, str] | None = None, after: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run it to its end with these words, between two commands of sh that see the same mounts."""
    return subprocess.run(
        [*SCRIPT, _PROGRAM, mounts, after, *words],
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
