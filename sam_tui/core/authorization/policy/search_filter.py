"""The files below a folder that a search may show, by the judgement of a read of each."""

from collections.abc import Callable

from sam_tui.core.accesses import LocatedAccess, Location, Read
from sam_tui.core.authorization.policy.policy import Policy

_OPERATION = "file_operations.read_file"
_FOLDER_RULES = ("read-outside", "read-above-secrets")
"""Rules that ask about reads in the folder: the search runs only if the person has said yes to them."""


def search_filter(policy: Policy, where: Location) -> Callable[[str], bool]:
    """Return a function that says of a path relative to a folder whether its content may be shown.

    Secrets, the program's own data and files that a rule asks about or denies are left out, unless a
    rule of the person opens them; reading them one by one asks or refuses as the policy says.
    """
    folder = where.real.rstrip("/") + "/"
    ruled = any(
        rule.effect != "allow" and rule.access != "write" and rule.command is None
        for rule in policy.rules.rules
    )
    owned = any(
        f"{path}/".startswith(folder) or folder.startswith(f"{path}/") for path in policy.protected
    )
    secret = policy.secrets.finder(folder, inside=where.inside) if policy.secrets else None

    def shows(path: str) -> bool:
        real = folder + path.removeprefix("./")
        if not ruled and not owned and (secret is None or not secret(real)):
            return True
        located = LocatedAccess(Read(real, "rootPath"), Location(path, real, where.root))
        judged = policy.judge(located, _OPERATION)
        return judged.outcome == "allow" or judged.rule in _FOLDER_RULES

    return shows
