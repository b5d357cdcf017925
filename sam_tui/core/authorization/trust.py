"""Whether the folder one works in is believed: looked at again whenever it may have changed."""

from collections.abc import Callable

from sam_tui.core.ports.policy import Believed, Inspection, TrustState, TrustStore
from sam_tui.core.text.plain import gist

_NAMED = 4
"""How many changes are named; further ones are counted."""


class FolderTrust:
    """The trust in one folder; ``state`` is its state at the first read of its files.

    Files count as they were when they were trusted: a change to its policy or instruction files
    ends the trust at the next look, and only the person gives it again.
    """

    def __init__(
        self, folder: str, store: TrustStore, state: TrustState, *, ignored: tuple[str, ...] = ()
    ) -> None:
        self.folder = folder
        self.ignored = ignored
        """The parts of the folder's policy that could not be used when the program started, in words."""
        self._store = store
        self._state: TrustState = state
        self._changed: Callable[[TrustState], None] | None = None

    def watch(self, changed: Callable[[TrustState], None]) -> None:
        """Tell ``changed`` of every new standing before anybody else sees it."""
        self._changed = changed

    @property
    def state(self) -> TrustState:
        """The standing at the last look."""
        return self._state

    @property
    def trusted(self) -> bool:
        """Whether the person trusts the folder in its state of the last look."""
        return self._state == "trusted"

    def look(self) -> TrustState:
        """Check the folder again; a file that changed since it was trusted is no longer trusted."""
        self._turn_to(self._store.state(self.folder))
        return self._state

    def believed(self, *, deep: bool = False) -> tuple[Believed, ...]:
        """Return what trust covers: policy, hooks, skills, servers, instructions, prompts.

        ``deep`` looks for instructions in the folders below, too.
        """
        return self._store.believed(self.folder, deep=deep)

    def inspect(self) -> Inspection:
        """The present files and digests of the folder and its subfolders, to review before ``trust``."""
        return self._store.inspect(self.folder)

    def vouches(self, name: str, data: bytes) -> bool:
        """Whether the folder is trusted, and the file of that name then had this content.

        Other content is a change, which ends the trust.
        """
        if not self.trusted:
            return False
        same = self._store.vouches(self.folder, name, data)
        if not same:
            self.look()
        return same

    def nested(self) -> tuple[str, ...]:
        """The instruction files in folders below that are trusted together with this folder."""
        return self._store.nested(self.folder) if self.trusted else ()

    def changes(self) -> tuple[str, ...]:
        """The changes since the folder was trusted, in words."""
        return self._store.changes(self.folder)

    def withdrawal(self) -> str:
        """The notice that the trust ended because of changes, with the first of them."""
        changes = self.changes()
        listed = ", ".join(gist(change, 60) for change in changes[:_NAMED])
        more = f" and {len(changes) - _NAMED} more" if len(changes) > _NAMED else ""
        return (
            "These files changed since you trusted the folder, so they are no longer "
            f"trusted: {listed}{more}."
        )

    def trust(self, shown: Inspection | None = None) -> None:
        """Trust the folder as it is now, or as it was inspected: later changes count as changes.

        Raises ``ConfigurationError`` if the trust cannot be stored, or the folder not be read.
        """
        self._store.trust(self.folder, shown)
        self.look()

    def revoke(self) -> None:
        """Trust it no longer. Raises ``ConfigurationError`` when that cannot be kept."""
        self._store.revoke(self.folder)
        self.look()

    def _turn_to(self, state: TrustState) -> None:
        if state == self._state:
            return
        self._state = state
        if self._changed is not None:
            self._changed(state)
