"""What each access comes to before anyone is asked: allow, ask or deny, and by which rule.

Order: protected locations, mode, containment, grants. The kernel sandbox decides for commands.
"""

import os
from dataclasses import dataclass
from typing import Literal

from sam_tui.core.accesses import Fetch, LocatedAccess, Location, Read, Run, Type, Write
from sam_tui.core.verdict import DecidedBy

PermissionMode = Literal["ask", "accept-edits", "plan", "auto", "bypass"]
"""ask: what the rules do not allow is asked. accept-edits: the same; edits inside the workspace never
ask in either. plan: nothing is changed and no command runs. auto: what would be asked is refused.
bypass: everything is allowed and commands run without the sandbox."""

_SECRET_FOLDERS = (
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".config/gh",
    ".netrc",
    ".password-store",
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one access comes to. ``target`` is what a grant for it would name."""

    outcome: Literal["allow", "ask", "deny"]
    by: DecidedBy
    rule: str
    reason: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one runtime. ``sandboxed`` says whether the kernel confines commands."""

    mode: PermissionMode
    sandboxed: bool
    protected: tuple[str, ...]
    """Real paths nobody but the person reads or writes: secrets, and the program's own data."""

    def judge(self, located: LocatedAccess) -> Judgement:
        """Decide one access; grants are not known here."""
        if self.mode == "bypass":
            return Judgement("allow", "mode", "mode:bypass", "the mode allows everything")
        match located.access:
            case Read() | Write() if located.location is not None:
                return self._judge_path(located.access, located.location)
            case Run(command=command):
                return self._judge_command(command)
            case Type(keys=keys):
                return self._judge_keys(keys)
            case Fetch(url=url):
                # Which addresses may be reached is decided after resolution, where it is used.
                return Judgement("allow", "rule", "public-web", "only public addresses", url)
            case _:
                return Judgement("deny", "rule", "unlocated", "the path could not be resolved")

    def _judge_path(self, access: Read | Write, where: Location) -> Judgement:
        for secret in self.protected:
            if where.real == secret or where.real.startswith(secret + "/"):
                return Judgement("deny", "rule", f"protected:{secret}", f"{secret} is protected")
        writes = isinstance(access, Write)
        if writes and self.mode == "plan":
            return _refused_by_plan("changing files")
        if where.inside:
            return Judgement(
                "allow", "rule", "inside-workspace", "inside the workspace", where.real
            )
        rule = "write-outside" if writes else "read-outside"
        return Judgement("ask", "rule", rule, f"{where.real} is outside the workspace", where.real)

    def _judge_command(self, command: str) -> Judgement:
        if self.mode == "plan":
            return _refused_by_plan("running commands")
        target = f"$ {command}"
        if self.sandboxed:
            return Judgement("allow", "rule", "sandboxed", "runs in the kernel sandbox", target)
        reason = "no kernel sandbox here, so every command is asked"
        return Judgement("ask", "rule", "unsandboxed", reason, target)

    def _judge_keys(self, keys: str) -> Judgement:
        if self.mode == "plan":
            return _refused_by_plan("typing into a terminal")
        target = f"keys {keys!r}"
        if self.sandboxed:
            return Judgement("allow", "rule", "agent-session", "its terminal is sandboxed", target)
        reason = "no kernel sandbox here, so what is typed into a terminal is asked"
        return Judgement("ask", "rule", "unsandboxed", reason, target)


def protected_paths(home: str, data_dir: str) -> tuple[str, ...]:
    """Real paths of the usual secrets below ``home``, and of the program's own data."""
    paths = [os.path.join(home, name) for name in _SECRET_FOLDERS] if home else []
    return tuple(os.path.realpath(p) for p in [*paths, *([data_dir] if data_dir else [])])


def _refused_by_plan(what: str) -> Judgement:
    return Judgement("deny", "mode", "mode:plan", f"plan mode: {what} is off")
