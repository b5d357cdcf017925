"""Arguments that an operation does not have: noticed where a call is parsed."""

from collections.abc import Collection
from difflib import get_close_matches

from sam_tui.core.todos.item import one_line

_MOST = 8
"""Names that are listed."""
_LONGEST = 60
"""Characters of a name."""


class UnknownArguments:
    """Collects the names while the arguments of one call are read, those of nested objects included.

    ``routing`` are names that mean something to whoever chose the operation.
    """

    def __init__(self, routing: Collection[str] = ()) -> None:
        self._routing = routing
        self._names: dict[str, str] = {}

    def add(self, name: object, names: Collection[str]) -> None:
        """Note a name that is none of the ``names`` ones."""
        if name in self._routing:
            return
        written = one_line(str(name))
        shortened = written if len(written) <= _LONGEST else written[: _LONGEST - 1] + "…"
        if shortened not in self._names:
            close = get_close_matches(shortened, names, n=1) if len(self._names) < _MOST else []
            self._names[shortened] = close[0] if close else ""

    @property
    def words(self) -> tuple[str, ...]:
        """Each as it is shown, with the argument that may have been meant."""
        listed = [
            f"`{name}` (did you mean `{close}`?)" if close else f"`{name}`"
            for name, close in self._names.items()
        ]
        more = len(listed) - _MOST
        return (*listed[:_MOST], *((f"{more} more",) if more > 0 else ()))
