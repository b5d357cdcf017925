"""Choosing a model: facts about each, favourites first, and the default of a folder."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from textual.binding import Binding

from sam_tui.ui.screens.dialogs import Choice, Picker

if TYPE_CHECKING:
    from sam_tui.core.ports.model import ModelFacts

_HINT = (
    "/key stores the key of a provider; OPENAI_API_KEY and similar variables work too, and a "
    "running local server such as Ollama is detected. /model provider/name accepts any other."
)


class ModelPicker(Picker):
    """The models at hand. ``favour`` and ``prefer`` take the marked one's index and renew the choices."""

    BINDINGS = [  # noqa: RUF012
        Binding("ctrl+s", "favour", "Favourite", show=False, priority=True),
        Binding("ctrl+d", "prefer", "Default here", show=False, priority=True),
    ]

    def __init__(
        self,
        load: Callable[[], Awaitable[Sequence[Choice]]],
        favour: Callable[[int], Sequence[Choice]],
        prefer: Callable[[int], Sequence[Choice]],
    ) -> None:
        super().__init__(
            "choose a model", load, empty=f"No model was found. {_HINT}", hint=_HINT,
            keys="Ctrl+S favourite · Ctrl+D default here · Esc closes",
        )  # fmt: skip
        self._favour = favour
        self._prefer = prefer

    def action_favour(self) -> None:
        """Make the marked one a favourite, or no longer."""
        self._change(self._favour)

    def action_prefer(self) -> None:
        """Begin with the marked one in this folder from now on, or no longer."""
        self._change(self._prefer)

    def _change(self, change: Callable[[int], Sequence[Choice]]) -> None:
        if (marked := self.marked) is not None:
            self.renew(change(marked))


def known_for(facts: "ModelFacts") -> str:
    """The known facts about a model, in a few words; empty if there are none."""
    parts: list[str] = []
    if facts.context_tokens is not None:
        parts.append(f"{_short(facts.context_tokens)} tokens")
    parts += [word for word, can in (("images", facts.images), ("tools", facts.tools)) if can]
    if facts.tools is False:
        parts.append("no tools")
    if facts.price is not None:
        parts.append(f"${facts.price.input:g} in, ${facts.price.output:g} out per M")
    return " · ".join(parts)


def cost_of_switch(tokens: int, facts: "ModelFacts") -> str:
    """Return what a conversation of so many tokens costs with another model; empty before it begins."""
    if not tokens:
        return ""
    window = facts.context_tokens
    if window is not None and tokens > window:
        return (
            f"This conversation has about {tokens:,} tokens, and this model takes {window:,}:"
            " /compact makes it shorter."
        )
    money = f", ${tokens * facts.price.input / 1_000_000:.2g}" if facts.price is not None else ""
    return (
        f"Another model reads this whole conversation again, about {tokens:,} tokens{money}, "
        "without a cache."
    )


def _short(tokens: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.3g}{letter}"
    return str(tokens)
