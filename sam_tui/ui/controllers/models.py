"""Which model answers."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import App

from sam_tui.core.errors import ModelAuthError, SamError
from sam_tui.ui.controllers.conversations import Conversations
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.screens.chat import ChatScreen
from sam_tui.ui.screens.dialogs import Choice, Picker
from sam_tui.ui.screens.forms import HostQuestion, KeyForm

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

    def __init__(
        self,
        app: App[None],
        screen: ChatScreen,
        conversations: Conversations,
        patience: Patience,
    ) -> None:
        self._app = app
        self._patience = patience
        self._mending = asyncio.Lock()
        self._offer: ModelOffer | None = None
        """The one in use, once it was chosen here."""
        self._screen = screen
        self._conversations = conversations
        self._runtime: Runtime | None = None
        self._asking = False
        self.chosen: Callable[[], None] = lambda: None
        """Called after a choice: prompts may have waited for it."""

    def begin(self, runtime: "Runtime") -> None:
        """From here on there is a catalogue."""
        self._runtime = runtime
        runtime.engine.mending.ask = self._mend
        self._screen.status.standing.model = runtime.model.name if runtime.model else ""

    def choose(self, name: str = "") -> None:
        """Use the model of this name, such as ``openai/gpt-4o``; without one let the person pick."""
        runtime = self._runtime
        if runtime is None or self._asking:
            return
        if name:
            self._consider(runtime, _named(name))
            return
        self._asking = True
        offers: list[ModelOffer] = []

        async def load() -> Sequence[Choice]:
            offers.extend(await runtime.catalog.offers(runtime.model))
            return [Choice(offer.label, offer.source) for offer in offers]

        def picked(index: int | None) -> None:
            self._asking = False
            if index is not None:
                self._consider(runtime, offers[index])
            elif runtime.model is None:
                self._screen.transcript.add_notice("info", _NONE_CHOSEN)

        self._app.push_screen(Picker("choose a model", load, empty=_NONE_FOUND, hint=_HINT), picked)

    def _consider(self, runtime: "Runtime", offer: "ModelOffer") -> None:
        """Use a model; where requests would go to another host, the person is asked first."""
        if offer.in_use:
            return
        try:
            host = runtime.catalog.host(offer)
        except SamError as error:
            self._screen.transcript.add_error(error)
            return
        before = runtime.model.host if runtime.model is not None else ""
        if not before or not host or before == host:
            self._use(runtime, offer)
            return

        def answered(switches: bool | None) -> None:
            if switches:
                self._use(runtime, offer)
            else:
                self._screen.transcript.add_notice("info", f"The model stays at {before}.")

        self._app.push_screen(HostQuestion(before, host, offer.model, self._patience), answered)

    def _use(self, runtime: "Runtime", offer: "ModelOffer", key: str = "") -> None:
        try:
            model = runtime.catalog.open(offer, key=key)
        except ModelAuthError as error:
            missing, host = error, runtime.catalog.host(offer)

            def typed(key: str | None) -> None:
                if key:
                    self._use(runtime, offer, key)
                else:
                    self._screen.transcript.add_error(missing)

            self._app.push_screen(KeyForm(host, missing.explain()), typed)
            return
        except SamError as error:
            self._screen.transcript.add_error(error)
            return
        self._offer = offer
        self._switch(runtime, model, key)
        self.chosen()

    def _switch(self, runtime: "Runtime", model: "Model", key: str) -> None:
        before = runtime.model
        if key:
            runtime.executor.shield.learn({"api-key": key})
        runtime.use_model(model)
        session = self._conversations.session
        if session is not None:
            session.model = model
        self._screen.status.standing.model = model.name
        self._screen.status.show()
        if before is not None:
            self._app.run_worker(self._close(before), name="close model")

    async def _mend(self, model: "Model", error: ModelAuthError) -> "Model | None":
        """Ask for another key while the turn waits, and go on with it; None where there is none."""
        runtime = self._runtime
        if runtime is None or not model.host:
            return None
        async with self._mending:
            if runtime.model is not model and runtime.model is not None:
                return runtime.model if runtime.model.name == model.name else None
            while key := await self._typed(KeyForm(model.host, error.explain())):
                offer = self._offer
                if offer is None or offer.model != model.name:
                    offer = _named(model.name)
                try:
                    mended = runtime.catalog.open(offer, key=key)
                except ModelAuthError as fault:
                    error = fault
                    continue
                self._switch(runtime, mended, key)
                return mended
        return None

    async def _typed(self, form: KeyForm) -> str:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def typed(key: str | None) -> None:
            if not answer.done():
                answer.set_result(key or "")

        self._app.push_screen(form, typed)
        try:
            return await answer
        finally:
            if form.is_current:
                form.dismiss("")

    async def _close(self, model: "Model") -> None:
        await model.close()


def _named(name: str) -> "ModelOffer":
    # Imported here: the port brings what no first frame needs.
    from sam_tui.core.ports.model import ModelOffer as Named

    return Named(name, name, "")
