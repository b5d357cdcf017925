"""What a worker of pytest-xdist says of a test that passed: one message instead of three.

Each message is taken apart by Python on the other side, and wakes the process that hands out the tests.
"""

import json
from typing import Any

import pytest

_TOGETHER = "together"
_LAST = "runtest_protocol_complete"


class Messages:
    """Keeps what is said of a test that passed until its end is told."""

    def __init__(self, interactor: Any) -> None:
        self._channel = interactor.channel
        self._waiting: list[tuple[str, dict[str, Any]]] = []

    def send(self, name: str, **values: Any) -> None:
        """In place of ``sendevent`` of a worker."""
        event = (name, values)
        if name == "logfinish" or (name == "testreport" and values["data"]["outcome"] == "passed"):
            self._waiting.append(event)
            return
        events = [*self._waiting, event]
        self._waiting.clear()
        if name == _LAST:
            self._channel.send((_TOGETHER, json.dumps(events)))
            return
        for each in events:
            self._channel.send(each)


def send_together(config: pytest.Config) -> None:
    """Have this worker send its messages so."""
    for plugin in config.pluginmanager.get_plugins():
        if hasattr(plugin, "sendevent"):
            plugin.sendevent = Messages(plugin).send


def take_apart(node: Any) -> None:
    """Have the messages of this worker be what they were, where tests are handed out."""
    process = node.process_from_remote

    def process_each(message: Any) -> None:
        if isinstance(message, tuple) and message[0] == _TOGETHER:
            for event in json.loads(message[1]):  # pyright: ignore[reportUnknownArgumentType]
                process(event)
        else:
            process(message)

    node.process_from_remote = process_each
