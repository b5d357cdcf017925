"""The question whether to trust a folder, with the files it would load and their changes."""

from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from sam_tui.ui.key_guard import KeyGuard, Patience
from sam_tui.ui.plain import visible, visible_line
from sam_tui.ui.screens import STYLES
from sam_tui.ui.widgets.key_frame import KeyFrame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sam_tui.core.authorization.trust import FolderTrust
    from sam_tui.core.ports.policy import Believed

_SCROLLS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}
_STATES = {
    "trusted": ("is trusted as it is now.", "$success"),
    "untrusted": ("is not trusted.", "$warning"),
    "changed": ("changed since you trusted it, so it is no longer trusted.", "$warning"),
}
_UNTRUSTED_MEANS = (
    "Until you trust it, its policy only tightens, the other files below are not used, and "
    "the guard asks about reads outside."
)


class TrustScreen(ModalScreen[str]):
    """Shows the trust state of a folder. The result is ``trust``, ``revoke`` or empty.

    Enter chooses nothing, and keys of the first moment are ignored.
    """

    CSS_PATH = STYLES

    def __init__(self, trust: "FolderTrust", patience: Patience) -> None:
        super().__init__()
        self._trust = trust
        self.shown = trust.inspect()
        """The state that the person sees and decides about."""
        self._guard = KeyGuard(patience)
        self._body = VerticalScroll(can_focus=False)

    def compose(self) -> ComposeResult:
        """Compose the folder and its state, the changes, and the files that trust covers."""
        with KeyFrame() as frame:
            frame.border_title = Content("trust this folder?")
            keys = "R ends trust" if self._trust.trusted else "T trusts it as shown"
            frame.say_keys(f"{keys} · ↑↓ scroll · Esc closes")
            with self._body:
                yield Static(trust_content(self._trust, self.shown.believed), markup=False)

    def on_mount(self) -> None:
        """Ignore keys of the first moment, which the person meant for something else."""
        self._guard.rearm()
        self.call_after_refresh(self._guard.rearm)

    def on_key(self, event: events.Key) -> None:
        """T or R decides, Esc leaves it, arrows scroll; nothing else means anything."""
        event.stop()
        event.prevent_default()
        if event.key in _SCROLLS:
            self._body.scroll_relative(y=_SCROLLS[event.key], animate=False)
        elif event.key in ("escape", "ctrl+c", "ctrl+q"):
            self.dismiss("")
        elif self._guard.hears():
            choice = "revoke" if self._trust.trusted else "trust"
            if event.key.lower() == choice[0]:
                self.dismiss(choice)
            else:
                self._guard.rearm()


def trust_content(trust: "FolderTrust", believed: "Sequence[Believed]") -> Content:
    """The trust state of a folder in words, and the files that trust would load."""
    words, tone = _STATES[trust.state]
    parts = [Content.assemble((visible_line(trust.folder), "bold"), " ", (words, tone))]
    changes = trust.changes()
    if changes:
        parts.append(Content("\n".join(visible_line(change) for change in changes)).stylize("bold"))
    if not trust.trusted:
        parts.append(Content(_UNTRUSTED_MEANS).stylize("$text-muted"))
    if not believed:
        parts.append(Content("It has no files that need trust.").stylize("$text-muted"))
    for item in believed:
        head = Content.assemble(
            (visible_line(item.name), "$accent"),
            (f"  {item.meaning}, {item.size} bytes", "$text-muted"),
        )
        text = visible(item.text).expandtabs(4)
        parts.append(Content("\n").join([head, Content(text)]) if text else head)
    return Content("\n\n").join(parts)
