"""The choice of the model for the conversation."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from sam_tui.core.agent.budget import unpriced
from sam_tui.core.agent.tokens import total
from sam_tui.core.errors import ModelAuthError, SamError
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.current_conversation import CurrentConversation
from sam_tui.ui.key_guard import Patience
from sam_tui.ui.messages import ActionAsked, Signal
from sam_tui.ui.preferences import ModelWishes, Preferences
from sam_tui.ui.screens.dialogs import Choice
from sam_tui.ui.screens.forms import HostQuestion, KeyForm
from sam_tui.ui.screens.models import ModelPicker, cost_of_switch, known_for

if TYPE_CHECKING:
    from sam_tui.core.ports.model import Model, ModelOffer

_NONE_CHOSEN = "No model is chosen yet: /model lists some, /model provider/name accepts any."


class ModelChoice:
    """Lists the catalogue's models, and switches to the chosen one."""

    def __init__(
        self,
        context: Context,
        current: CurrentConversation,
        patience: Patience,
        preferences: Preferences,
    ) -> None:
        self._context = context
        self._preferences = preferences
        self._runtime = context.runtime
        self._screen = context.screen
        self._current = current
        self._patience = patience
        self._mending = asyncio.Lock()
        self._offer: ModelOffer | None = None
        """The model that the person chose in this workbench."""
        self._asking = False
        self.chosen = Signal()
        """Sent after the person chose a model."""
        self._runtime.engine.mending.ask = self._mend
        model = self._runtime.model
        self._screen.status.standing.model = model.name if model is not None else ""

    def announce(self) -> None:
        """Warn that a money limit has no effect because the model's price is unknown."""
        runtime = self._runtime
        if warning := unpriced(runtime.limits, runtime.model, runtime.catalog):
            self._context.notice(warning, "warning")

    def choose(self, name: str = "") -> None:
        """Use the model of this name, such as ``openai/gpt-4o``; without one let the person pick."""
        runtime = self._runtime
        if self._asking:
            return
        if name:
            self._consider(_named(name))
            return
        self._asking = True
        offers: list[ModelOffer] = []

        async def load() -> Sequence[Choice]:
            favourites = ModelWishes.read(self._preferences).favourites
            at_hand = await runtime.catalog.offers(runtime.model)
            offers.extend(sorted(at_hand, key=lambda offer: offer.model not in favourites))
            if all(offer.model.startswith("scripted") for offer in offers):
                offers.insert(
                    0, _named("", "Type the key of a provider", "no model was found here")
                )
            return self._choices(offers)

        def change(index: int, *, favour: bool) -> Sequence[Choice]:
            wishes, offer = ModelWishes.read(self._preferences), offers[index]
            if favour:
                wishes.favour(offer.model)
            else:
                wishes.prefer(runtime.workspace.root, offer.model, offer.api_base)
            if offer.model:
                self._context.attempt(lambda: wishes.write(self._preferences))
            return self._choices(offers)

        def picked(index: int | None) -> None:
            self._asking = False
            if index is not None and not offers[index].model:
                self._context.app.post_message(ActionAsked("key"))
            elif index is not None:
                self._consider(offers[index])
            elif runtime.model is None:
                self._screen.transcript.add_notice("info", _NONE_CHOSEN)

        picker = ModelPicker(load, partial(change, favour=True), partial(change, favour=False))
        self._context.app.push_screen(picker, picked)

    def _choices(self, offers: "Sequence[ModelOffer]") -> list[Choice]:
        """Return the offers as lines: abilities, price, and whether it is a favourite or the default."""
        wishes = ModelWishes.read(self._preferences)
        first = wishes.folders.get(self._runtime.workspace.root)
        choices: list[Choice] = []
        for offer in offers:
            begins = "begins here" if first == (offer.model, offer.api_base) else ""
            details = (begins, known_for(offer.facts), offer.source)
            label = f"{'★ ' if offer.model in wishes.favourites else ''}{offer.label}"
            note = "" if offer.in_use else self._cost(offer)
            choices.append(Choice(label, " · ".join(d for d in details if d), note))
        return choices

    def _cost(self, offer: "ModelOffer") -> str:
        """Return what switching to a model costs this conversation; empty before the first message."""
        session = self._current.session
        tokens = total(session.messages) if session is not None and session.messages else 0
        return cost_of_switch(tokens, offer.facts)

    def _consider(self, offer: "ModelOffer") -> None:
        """Use a model; where requests would go to another host, the person is asked first."""
        if offer.in_use:
            return
        if cost := self._cost(offer):
            self._context.notice(cost)
        try:
            host = self._runtime.catalog.host(offer)
        except SamError as error:
            self._screen.transcript.add_error(error)
            return
        model = self._runtime.model
        before = model.host if model is not None else ""
        if not before or not host or before == host:
            self._use(offer)
            return

        def answered(switches: bool | None) -> None:
            if switches:
                self._use(offer)
            else:
                self._screen.transcript.add_notice("info", f"The model stays at {before}.")

        self._context.app.push_screen(
            HostQuestion(before, host, offer.model, self._patience), answered
        )

    def _use(self, offer: "ModelOffer", key: str = "") -> None:
        try:
            model = self._runtime.catalog.open(offer, key=key)
        except ModelAuthError as error:
            missing, host = error, self._runtime.catalog.host(offer)

            variable = self._runtime.catalog.key_variable(offer)
            form = KeyForm(host, missing.explain(), keeps=bool(variable))

            def typed(key: str | None) -> None:
                if key:
                    self._use(offer, key)
                    self._keep(variable if form.keeps else "", key)
                else:
                    self._screen.transcript.add_error(missing)

            self._context.app.push_screen(form, typed)
            return
        except SamError as error:
            self._screen.transcript.add_error(error)
            return
        self._offer = offer
        self._switch(model, key)
        self.chosen.send()

    def _keep(self, variable: str, key: str) -> None:
        """Store the key for later runs, if it is a provider's."""
        store = self._context.settings.keys
        if variable and store is not None:
            self._context.attempt(
                lambda: self._context.notice(f"The key is stored {store.save(variable, key)}.")
            )

    def _switch(self, model: "Model", key: str) -> None:
        before = self._runtime.model
        if key:
            self._runtime.executor.shield.learn({"api-key": key})
        self._runtime.use_model(model)
        for tab in self._current.tabs:
            if tab.session is not None:
                tab.session.model = model
        self._screen.status.standing.model = model.name
        self._screen.status.show()
        if before is not None:
            self._context.app.run_worker(before.close(), name="close model")

    async def _mend(self, model: "Model", error: ModelAuthError) -> "Model | None":
        """Ask for another key while the turn waits; None if the person enters none."""
        runtime = self._runtime
        if not model.host:
            return None
        async with self._mending:
            if runtime.model is not model and runtime.model is not None:
                return runtime.model if runtime.model.name == model.name else None
            offer = self._offer
            if offer is None or offer.model != model.name:
                offer = _named(model.name)
            variable = runtime.catalog.key_variable(offer)
            form = KeyForm(model.host, error.explain(), keeps=bool(variable))
            while key := await self._typed(form):
                try:
                    mended = runtime.catalog.open(offer, key=key)
                except ModelAuthError as fault:
                    form = KeyForm(model.host, fault.explain(), keeps=bool(variable))
                    continue
                self._keep(variable if form.keeps else "", key)
                self._switch(mended, key)
                return mended
        return None

    async def _typed(self, form: KeyForm) -> str:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def typed(key: str | None) -> None:
            if not answer.done():
                answer.set_result(key or "")

        self._context.app.push_screen(form, typed)
        try:
            return await answer
        finally:
            if form.is_current:
                form.dismiss("")


def _named(name: str, label: str = "", source: str = "") -> "ModelOffer":
    # Imported here: the port brings what no first frame needs.
    from sam_tui.core.ports.model import ModelOffer as Named

    return Named(label or name, name, source)
