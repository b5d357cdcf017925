"""Whom the person believes, and what was decided in their name: trust of the folder, and the audit."""

import asyncio
from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.core.errors import SamError
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.chat import ChatScreen

if TYPE_CHECKING:
    from sam_tui.core.ports.policy import Inspection
    from sam_tui.core.runtime import Runtime

_NAMED = 4
_DECIDED = {
    "trusted": "is trusted as it is now",
    "untrusted": "is no longer trusted",
    "changed": "changed while it was shown, so it is not believed: /trust shows it again",
}
"""What a choice came to."""
LOOKED_AT = 500
"""Decisions at the end of the log whose seals are checked at the start."""


class Oversight:
    """Opens both dialogs, and tells when the folder is not believed, or is so no longer."""

    def __init__(self, app: App[None], screen: ChatScreen, patience: Patience) -> None:
        self._app = app
        self._screen = screen
        self._patience = patience
        self._runtime: Runtime | None = None
        self._shown = ""
        """How the folder stood when its standing was shown last."""

    def begin(self, runtime: "Runtime") -> None:
        """From here on there is something to oversee: what is not believed is said at once."""
        self._runtime = runtime
        trust = runtime.trust
        changed = trust.state == "changed"
        names = trust.changes() if changed else tuple(item.name for item in trust.believed())
        if names and not trust.trusted:
            self._tell_of(names)
        for what in trust.ignored:
            notice = f"Ignored in the policy of this folder: {what}"
            self._screen.transcript.add_notice("warning", notice)
        self._stand()
        self._app.run_worker(self._look_at_log(runtime), name="seals", group="seals")

    async def _look_at_log(self, runtime: "Runtime") -> None:
        """Whether the last decisions are as they were written. All of them are checked in /audit."""
        try:
            broken = await asyncio.to_thread(runtime.decisions.first_broken, last=LOOKED_AT)
        except SamError as error:
            notice, words = error.explain(), "log unreadable"
        else:
            if broken is None:
                return
            notice = (
                f"The log of decisions was changed: entry {broken} does not fit the one before it."
            )
            words = "log broken: /audit"
        self._screen.transcript.add_notice("warning", f"{notice} /audit shows it.")
        self._screen.status.standing.audit = words
        self._screen.status.show()

    def ask_again(self) -> None:
        """What was trusted changed since: ask as the first thing."""
        runtime = self._runtime
        if runtime is not None and runtime.trust.state == "changed" and self._screen.is_active:
            self.trust()

    def look(self) -> None:
        """Whether what is believed is still as it was trusted; before and after each turn."""
        runtime = self._runtime
        if runtime is None:
            return
        if runtime.trust.look() != self._shown:
            self._stand()  # that it changed is said by whoever noticed first

    def trust(self) -> None:
        """Show what the folder wants believed, and let the person decide."""
        from sam_tui.ui.screens.trust import TrustScreen

        if self._runtime is not None:
            self.look()
            screen = TrustScreen(self._runtime.trust, self._patience)
            self._app.push_screen(screen, lambda choice: self._decided(choice, screen.shown))

    def audit(self) -> None:
        """Browse the decisions, those of this folder first."""
        from sam_tui.core.ports.policy import DecisionFilter
        from sam_tui.ui.screens.audit import AuditScreen

        runtime = self._runtime
        if runtime is not None:
            filter_ = DecisionFilter(workspace=runtime.workspace.root)
            self._app.push_screen(AuditScreen(runtime.decisions, filter_))

    def _decided(self, choice: str | None, shown: "Inspection") -> None:
        runtime = self._runtime
        if runtime is None or not choice:
            return
        try:
            if choice == "trust":
                runtime.trust.trust(shown)
            else:
                runtime.trust.revoke()
        except SamError as error:
            self._screen.transcript.add_notice("error", error.explain())
        else:
            state = _DECIDED[runtime.trust.state]
            self._screen.transcript.add_notice("info", f"{runtime.trust.folder} {state}.")
        self._stand()

    def _tell_of(self, names: tuple[str, ...]) -> None:
        assert self._runtime is not None
        changed = self._runtime.trust.state == "changed"
        listing = ", ".join(one_line(name, 60) for name in names[:_NAMED])
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        notice = (
            f"What you trusted here changed, so it is not believed any more: {listing}{more}."
            if changed
            else f"This folder is not trusted, so what it brings is not believed: {listing}{more}."
        )
        self._screen.transcript.add_notice("warning", f"{notice} /trust shows them and asks.")

    def _stand(self) -> None:
        assert self._runtime is not None
        trust = self._runtime.trust
        self._shown = trust.state
        words = {"trusted": "", "changed": "changed: /trust"}.get(trust.state, "")
        if trust.state == "untrusted" and trust.believed():
            words = "untrusted: /trust"
        self._screen.status.standing.trust = words
        self._screen.status.show()
