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

_HINT = (
    "Keys are read from the environment when sam-tui starts, such as OPENAI_API_KEY or "
    "ANTHROPIC_API_KEY; a local server such as Ollama is found while it runs. "
    "/model provider/name takes any other."
)
_NONE_FOUND = f"No model was found. {_HINT}"
_NONE_CHOSEN = "No model is chosen yet: /model offers some, /model provider/name takes any."


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

    def choose(self, name: str = "") -> None:
        """Use the model of this name, such as ``openai/gpt-4o``; without one let the person pick."""
        runtime = self._runtime
        if runtime is None or self._asking:
            return
        if name:
            self._use(runtime, _named(name))
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
                self._screen.transcript.add_notice("info", _NONE_CHOSEN)

        self._app.push_screen(Picker("choose a model", load, empty=_NONE_FOUND, hint=_HINT), picked)

    def _use(self, runtime: "Runtime", offer: "ModelOffer") -> None:
        try:
            model = runtime.catalog.open(offer)
        except SamError as error:
            self._screen.transcript.add_error(error)
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


def _named(name: str) -> "ModelOffer":
    # Imported here: the port brings what no first frame needs.
    from sam_tui.core.ports.model import ModelOffer as Named

    return Named(name, name, "")
