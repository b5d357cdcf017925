"""A program that is killed at any statement loses no write that was acknowledged. About 0.8 s of CPU.

``python -m bench.conversations`` kills 500.
"""

import json
import subprocess
from pathlib import Path

import pytest

from tests.fakes.preloaded import RUN, SCRIPT


@pytest.mark.requirement("sessions:killed")
def test_a_kill_loses_no_write_of_a_conversation_and_leaves_none_half_there(
    tmp_path: Path,
) -> None:
    program = str(Path(__file__).with_name("killing.py"))
    command = [*SCRIPT, RUN, program, str(tmp_path), "12", "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"kills": 12, "lost": 0, "torn": 0, "broken": 0}
