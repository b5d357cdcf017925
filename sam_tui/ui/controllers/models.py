"""Which model answers."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.core.errors import SamError
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.screens.dialogs import Choice, Picker

if TYPE_CHECKING:
    from sam_tui.core.ports.model import Model, ModelOffer
    from sam_tui.core.runtime import Runtime

_NONE_FOUND = (
    "No model was found. Set a provider's key in the environment (such as OPENAI_API_KEY or "
    "ANTHROPIC_API_KEY), or start a local server such as Ollama, and open this again with /model."
)


class Models:
    """Offers what the catalogue found, and switches to what is chosen."""

    def __init__(self, app: App[None], screen: ChatScreen, conversations: Conversations) -> None:
        self._app = app
        self._screen = screen
        self._conversations = conversations
        self._runtime: Runtime | None = None
        self._asking = False
        self.chosen: Callable[[], None] = lambda: None
        """Called after a choice: prompts may have waited for it."""

    def begin(self, runtime: "Runtime") -> None:
        """From here on there is a catalogue."""
        self._runtime = runtime
        self._screen.status.standing.model = runtime.model.name if runtime.model else ""

    def choose(self) -> None:
        """Let the person pick."""
        runtime = self._runtime
        if runtime is None or self._asking:
            return
        self._asking = True
        found: list[ModelOffer] = []

        async def load() -> Sequence[Choice]:
            found.extend(await runtime.catalog.offers())
            return [Choice(offer.label, offer.source) for offer in found]

        def picked(index: int | None) -> None:
            self._asking = False
            if index is not None:
                self._use(runtime, found[index])
            elif runtime.model is None:
                self._screen.transcript.add_notice(
                    "info", "No model is chosen yet: /model offers some."
                )

        self._app.push_screen(Picker("choose a model", load, empty=_NONE_FOUND), picked)

    def _use(self, runtime: "Runtime", offer: "ModelOffer") -> None:
        try:
            model = runtime.catalog.open(offer)
        except SamError as error:
            self._screen.transcript.add_notice("error", f"{error.title}\n{error.explain()}")
            return
        before = runtime.model
        runtime.use_model(model)
        session = self._conversations.session
        if session is not None:
            session.model = model
        self._screen.status.standing.model = model.name
        self._screen.status.show()
        if before is not None:
            self._app.run_worker(self._close(before), name="close model")
        self.chosen()

    async def _close(self, model: "Model") -> None:
        await model.close()
