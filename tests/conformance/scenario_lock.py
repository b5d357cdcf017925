"""``scenario_lock.py LOCK URL``: runs ``client.py`` when no other client of the suite runs.

The suite begins all scenarios at once, and an assertion of five minutes would end meanwhile: the scenarios
in ``AT_ONCE`` do not wait.
"""

import fcntl
import os
import sys
from pathlib import Path

AT_ONCE = ("auth/wif-jwt-bearer",)
CLIENT = Path(__file__).with_name("client.py")


def main(lock: str, url: str) -> None:
    """Become the client; it holds the lock until it ends."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT)
    if os.environ.get("MCP_CONFORMANCE_SCENARIO") not in AT_ONCE:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.set_inheritable(descriptor, True)
    os.execv(sys.executable, [sys.executable, str(CLIENT), url])


if __name__ == "__main__":
    main(*sys.argv[1:])
