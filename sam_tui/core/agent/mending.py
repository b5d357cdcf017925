"""What a turn does where a provider refuses the key: it asks who has another, and goes on."""

from collections.abc import Awaitable, Callable

from sam_tui.core.errors import ModelAuthError
from sam_tui.core.ports.model import Model

Mend = Callable[[Model, ModelAuthError], Awaitable[Model | None]]
"""The same model with another key; None where there is none."""


class Mending:
    """Whom to ask. ``ask`` is None where nobody is there: the turn ends then."""

    def __init__(self) -> None:
        self.ask: Mend | None = None

    async def mended(self, model: Model, error: ModelAuthError) -> Model:
        """The model to go on with. Raises the error where nobody has another key."""
        mended = await self.ask(model, error) if self.ask is not None else None
        if mended is None:
            raise error
        return mended
