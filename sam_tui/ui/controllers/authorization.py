"""Trust, grants, mode and audit: trusted folders, the questions asked, and the decisions made."""

import asyncio
import math
from functools import partial
from typing import TYPE_CHECKING

from sam_tui.core.errors import SamError
from sam_tui.ui.actions import MODES
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.plain import one_line, visible_line
from sam_tui.ui.screens.dialogs import Choice

if TYPE_CHECKING:
    from sam_tui.core.authorization.grants.grants import Grant
    from sam_tui.core.authorization.policy.policy import PermissionMode
    from sam_tui.core.ports.policy import Inspection

_NAMED = 4
CHECKED_SEALS = 500
"""How many of the newest decisions have their seals checked when the program starts."""
_TRUST_WORDS = {
    "trusted": "is trusted as it is now",
    "untrusted": "is no longer trusted",
    "changed": "changed while it was shown, so it is not trusted: /trust shows it again",
}
"""The words of a notice, by the state of trust after the person's choice."""
_NOTHING_GRANTED = "There are no temporary grants. For permanent ones: sam-tui guard grants."
_TAKES_BACK = "Enter revokes a grant; for permanent ones: sam-tui guard grants"
_ROUND: tuple["PermissionMode", ...] = ("ask", "ask-all", "accept-edits", "plan")


class Authorization:
    """Opens both dialogs, changes the mode, and warns if the folder is not trusted, or no longer."""

    def __init__(self, context: Context, patience: Patience) -> None:
        self._context = context
        self._runtime = context.runtime
        self._standing = context.screen.status.standing
        self._patience = patience
        self._state = ""
        """The state of the folder's trust that was last shown."""

    def announce(self) -> None:
        """Tell about untrusted files, show trust and mode, and check the end of the log."""
        trust = self._runtime.trust
        changed = trust.state == "changed"
        names = trust.changes() if changed else tuple(item.name for item in trust.believed())
        if names and not trust.trusted:
            self._context.notice(_untrusted_notice(names, changed=changed), "warning")
        for what in trust.ignored:
            self._context.notice(f"Ignored in this folder's own files: {what}", "warning")
        self._standing.mode = self._runtime.mode
        self._show_trust()
        self._context.app.run_worker(self._check_log(), name="seals", group="seals")

    async def _check_log(self) -> None:
        """Report if the seals of the last decisions do not match. /audit checks all of them."""
        try:
            first_broken = self._runtime.decisions.first_broken
            broken = await asyncio.to_thread(first_broken, last=CHECKED_SEALS)
        except SamError as error:
            notice, words = error.explain(), "log unreadable"
        else:
            if broken is None:
                return
            notice = f"The audit log was changed: entry {broken} does not match the one before it."
            words = "log broken: /audit"
        self._context.notice(f"{notice} /audit shows it.", "warning")
        self._standing.audit = words
        self._context.screen.status.show()

    # ---- trust

    def ask_again(self) -> None:
        """Open the trust dialog at once if trusted files have changed."""
        if self._runtime.trust.state == "changed" and self._context.screen.is_active:
            self.trust()

    def look(self) -> None:
        """Compare the folder with its trusted state, before and after each turn; show a difference."""
        if self._runtime.trust.look() != self._state:
            self._show_trust()  # the change itself is reported elsewhere

    def trust(self) -> None:
        """Show the folder's files that need trust, and let the person decide."""
        from sam_tui.ui.screens.trust import TrustScreen

        self.look()
        screen = TrustScreen(self._runtime.trust, self._patience)

        def decided(choice: str | None) -> None:
            self._decided(choice, screen.shown)

        self._context.app.push_screen(screen, decided)

    def _decided(self, choice: str | None, shown: "Inspection") -> None:
        trust = self._runtime.trust
        if not choice:
            return
        try:
            if choice == "trust":
                trust.trust(shown)
            else:
                trust.revoke()
        except SamError as error:
            self._context.notice(error.explain(), "error")
        else:
            self._context.notice(f"{trust.folder} {_TRUST_WORDS[trust.state]}.")
        self._show_trust()

    def _show_trust(self) -> None:
        trust = self._runtime.trust
        self._state = trust.state
        words = {"trusted": "", "changed": "changed: /trust"}.get(trust.state, "")
        if trust.state == "untrusted" and trust.believed():
            words = "untrusted: /trust"
        self._standing.trust = words
        self._context.screen.status.show()

    # ---- audit

    def audit(self) -> None:
        """Browse the log of decisions, first those of this folder."""
        from sam_tui.core.ports.policy import DecisionFilter
        from sam_tui.ui.screens.audit import AuditScreen

        this_folder = DecisionFilter(workspace=self._runtime.workspace.root)
        self._context.app.push_screen(AuditScreen(self._runtime.decisions, this_folder))

    # ---- grants

    def grants(self) -> None:
        """Let the person withdraw temporary permissions, in any conversation of the window."""
        granted = self._runtime.guard.grants
        options = [
            (
                Choice(
                    f"{grant.operation}  {visible_line(grant.target)}",
                    _until(granted.remaining(grant)),
                    grant.conversation,
                ),
                partial(self._take_back, grant),
            )
            for grant in granted.current()
        ]
        self._context.pick("temporary grants", options, empty=_NOTHING_GRANTED, hint=_TAKES_BACK)

    def _take_back(self, grant: "Grant") -> None:
        revoked = self._runtime.guard.grants.revoke(grant.id)
        words = "is revoked" if revoked else "had already expired"
        self._context.notice(f"{grant.operation} {words}: {visible_line(grant.target)}")

    # ---- mode

    def mode(self, argument: str) -> None:
        """Use the mode of this name; without one let the person pick."""
        name = argument.lower()
        modes = self._runtime.guard.policy.modes
        allowed: list[PermissionMode] = [mode for mode in modes if mode in MODES]
        if name in allowed:
            self._use_mode(name)
            return
        if name in MODES:
            words = f"The administrator of this machine does not allow the mode {name}."
            self._context.notice(words, "warning")
        options = [(Choice(mode, MODES[mode]), partial(self._use_mode, mode)) for mode in allowed]
        self._context.pick("permission mode", options)

    def next_mode(self) -> None:
        """Change to the next mode in which the person is asked."""
        policy = self._runtime.guard.policy
        at = _ROUND.index(policy.mode) if policy.mode in _ROUND else -1
        following = (*_ROUND[at + 1 :], *_ROUND[: at + 1])
        offered: list[PermissionMode] = [mode for mode in following if mode in policy.modes]
        self._use_mode(offered[0] if offered else policy.mode)

    def _use_mode(self, mode: "PermissionMode") -> None:
        if mode == "plan" != self._runtime.mode and (writers := self._writers()):
            words = "Programs that started before plan mode can still write to the workspace"
            self._context.notice(f"{words}: {writers}.", "warning")
        self._runtime.guard.use_mode(mode)
        self._standing.mode = mode
        self._context.screen.status.flash(f"{mode}: {MODES[mode]}")

    def _writers(self) -> str:
        """Return the names of running background work that may write to the workspace."""
        servers = [
            f"MCP server {one_line(report.name, 40)}"
            for report in self._runtime.servers.reports()
            if report.kind == "stdio" and report.standing in ("starting", "ready")
        ]
        return ", ".join([*servers, *filter(None, [self._standing.beside])])


def _until(seconds: float) -> str:
    """Return how long a grant lasts, from the seconds that remain."""
    if math.isinf(seconds):
        return "until its conversation ends"
    return f"for {math.ceil(seconds / 60)} min"


def _untrusted_notice(names: tuple[str, ...], *, changed: bool) -> str:
    listing = ", ".join(one_line(name, 60) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    notice = (
        "These files changed since you trusted the folder, so they are no longer trusted: "
        f"{listing}{more}."
        if changed
        else f"This folder is not trusted, so its files are not used: {listing}{more}."
    )
    return f"{notice} /trust shows them and asks."
