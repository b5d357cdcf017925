"""What a run was refused: told by the supervisor, or read from what it printed where nobody watched."""

import re

from sam_tui.adapters.terminal.holding import Holding
from sam_tui.core.ports.processes.sandbox import OutsideAccess

_MOST = 20
_PRINTED = re.compile(
    r"(?P<before>[^\n]*?)[:\]] ?(?:\[Errno (?:13|30|1)\] )?"
    r"(?:Permission denied|Read-only file system|Operation not permitted)(?:: (?P<after>[^\n]*))?"
)
_QUOTED = re.compile(r"['\"‘`](/[^'\"’\n]+)['\"’]")
_BARE = re.compile(r"(?:^|[\s:])(/[^\s:'\"]+)")
_DELETES = re.compile(r"\b(?:remove|unlink|rmdir|delete)\b")
_METADATA = re.compile(r"\b(?:mode|permissions|ownership|owner|timestamp|times|touch|attribute)\b")
_RENAMES = re.compile(r"\b(?:move|rename)\b")


def refusals(holding: Holding, output: str, code: int | None) -> tuple[OutsideAccess, ...]:
    """Each refused access once. What is only read from output has no process, and may be wrong."""
    if holding.supervised or not code:
        return tuple(holding.handle.refused)
    return printed_refusals(output)


def printed_refusals(output: str) -> tuple[OutsideAccess, ...]:
    """The accesses that messages such as ``sh: /etc/x: Permission denied`` speak of."""
    refusals: dict[OutsideAccess, None] = {}
    for match in _PRINTED.finditer(output):
        line = match["before"] or ""
        after = match["after"] or ""
        paths = _QUOTED.findall(after) or _QUOTED.findall(line) or _BARE.findall(line)
        paths = paths or _BARE.findall(after)
        if paths:
            refusals[_access(line, paths)] = None
        if len(refusals) >= _MOST:
            break
    return tuple(refusals)


def _access(line: str, paths: list[str]) -> OutsideAccess:
    if _RENAMES.search(line) and len(paths) > 1:
        return OutsideAccess("rename", paths[0], to=paths[1])
    if _DELETES.search(line):
        return OutsideAccess("delete", paths[0])
    if _METADATA.search(line):
        return OutsideAccess("metadata", paths[0])
    return OutsideAccess("write", paths[-1])
