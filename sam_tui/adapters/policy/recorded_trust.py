"""Trust in the scratch copy of a recording: only in files that instruct a model, in none that act."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass

from sam_tui.adapters.policy.trust import FileTrust
from sam_tui.core.local_files.bounded import UnusableFile, read_bounded
from sam_tui.core.ports.policy import TrustState
from sam_tui.folders import FURTHER_INSTRUCTIONS, INSTRUCTION_FILES

_BELOW = (
    *(f"{top}/{kind}/" for top in (".sam", ".claude") for kind in ("commands", "agents", "rules")),
    ".sam/skills/",
    ".agents/skills/",
)
_MOST = 1_000_000


def only_tells(name: str) -> bool:
    """Whether a file of this name only instructs a model, unlike policies, hooks, servers and bundles."""
    return (
        name == FURTHER_INSTRUCTIONS
        or name.startswith(_BELOW)
        or os.path.basename(name) in INSTRUCTION_FILES
    )


@dataclass(frozen=True, slots=True)
class RecordedTrust(FileTrust):
    """A ``TrustStore`` of one folder. ``files`` are the trusted ones, by name, with their SHA-256.

    A name of a file that does more than instruct a model is never trusted.
    """

    files: Mapping[str, str]

    def state(self, folder: str) -> TrustState:
        """Return whether every file is as it was."""
        for name, digest in self.files.items():
            try:
                data = read_bounded(os.path.join(folder, name), most=_MOST, root=folder)
            except UnusableFile:
                return "changed"
            if hashlib.sha256(data).hexdigest() != digest:
                return "changed"
        return "trusted" if self.files else "untrusted"

    def vouches(self, folder: str, name: str, data: bytes) -> bool:
        """Whether this is the content of a file that counts."""
        return only_tells(name) and self.files.get(name) == hashlib.sha256(data).hexdigest()

    def nested(self, folder: str) -> tuple[str, ...]:
        """The instruction files of folders below."""
        return tuple(n for n in self.files if "/" in n and os.path.basename(n) in INSTRUCTION_FILES)
