"""Those who are told when something happened in a session."""

from collections.abc import Callable


class Watchers:
    """Callables that are called in turn. The same one given twice is two watchers."""

    def __init__(self) -> None:
        self._watchers: list[_Watcher] = []

    def add(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Tell ``changed`` from now on; returns how to stop."""
        watcher = _Watcher(changed)
        self._watchers.append(watcher)

        def stop() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return stop

    def notify(self) -> None:
        """Something happened."""
        for watcher in tuple(self._watchers):
            watcher.changed()


class _Watcher:
    """One registration of a callable."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.changed = changed
