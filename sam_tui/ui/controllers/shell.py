"""The person's own shell: opened when it is first seen, opened again when it ended."""

from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.core.errors import SamError
from sam_tui.ui.screens.chat import ChatScreen

if TYPE_CHECKING:
    from sam_tui.core.runtime import Runtime

_LEAST = 2


class Shell:
    """Opens sessions that belong to no conversation."""

    def __init__(self, app: App[None], screen: ChatScreen) -> None:
        self._app = app
        self._screen = screen
        self._runtime: Runtime | None = None
        self._refused = False

    def begin(self, runtime: "Runtime") -> None:
        """From here on there are terminals."""
        self._runtime = runtime
        self.want()

    def want(self) -> None:
        """Open one if the tab is on show and none runs."""
        if self._runtime is None or self._refused:
            return
        panel = self._screen.terminals
        room = self._screen.side_shown and panel.shell.size.height >= _LEAST
        if room and panel.shown == "shell" and panel.shell.session is None:
            self._app.run_worker(
                self._open(self._runtime), name="shell", group="shell", exclusive=True
            )

    def restart(self) -> None:
        """The old one ended: take another."""
        if self._runtime is not None:
            self._app.run_worker(
                self._open(self._runtime), name="shell", group="shell", exclusive=True
            )

    async def _open(self, runtime: "Runtime") -> None:
        # The ports come with the runtime, after the first frame.
        from sam_tui.core.ports.terminals import SessionSpec

        view = self._screen.terminals.shell
        old = view.session
        spec = SessionSpec(
            conversation=None,
            cwd=runtime.workspace.root,
            columns=max(_LEAST, view.size.width),
            rows=max(_LEAST, view.size.height),
        )
        try:
            session, _ = await runtime.terminals.open(spec)
        except SamError as error:
            self._refused = True
            self._screen.transcript.add_notice("error", f"{error.title}\n{error.explain()}")
            return
        view.attach(session)
        if old is not None:
            await runtime.terminals.close(old.id)
