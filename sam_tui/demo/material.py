"""Unpacks the demo into a scratch folder, so that nothing of the person's is touched."""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

TASK = "Counting treats 'The' and 'the' as two words. Find out why, fix it, and show that it holds."

_SAMPLE = ("README.md", "tally.py", "test_tally.py")


@dataclass(frozen=True, slots=True)
class Material:
    """The folders of the unpacked demo. ``outside`` is the agent's target outside of the workspace."""

    workspace: Path
    script: Path
    data: Path
    outside: Path


def unpack(scratch: Path) -> Material:
    """Lay out the sample project and the script below ``scratch``, an existing empty folder."""
    workspace = scratch / "tally"
    workspace.mkdir()
    package = resources.files("sam_tui.demo")
    for name in _SAMPLE:
        text = package.joinpath("sample", name).read_text(encoding="utf-8")
        (workspace / name).write_text(text, encoding="utf-8")
    script = scratch / "script.json"
    script.write_text(package.joinpath("script.json").read_text(encoding="utf-8"), encoding="utf-8")
    return Material(workspace, script, scratch / "data", scratch / "report.md")
