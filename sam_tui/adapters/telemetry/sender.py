"""Sends batches to a collector, as OTLP over HTTP in JSON, from a thread of its own."""

import json
import logging
import queue
import threading
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from sam_tui.core.errors import ConfigurationError

logger = logging.getLogger(__name__)

MOST_WAITING = 64
"""Batches; what comes on top is dropped, so that a slow collector holds nothing up."""
SECONDS = 5.0
"""How long a collector may take for one, and all that waits at the end."""
_Batch = tuple[str, bytes]


class OtlpSender:
    """Batches on their way to one collector. Raises ``ConfigurationError`` for an address that is none.

    ``headers`` are as ``OTEL_EXPORTER_OTLP_HEADERS`` has them: ``name=value,name=value``.
    """

    def __init__(self, endpoint: str, headers: str = "") -> None:
        parts = urlsplit(endpoint.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname:
            hint = "Such as http://127.0.0.1:4318."
            raise ConfigurationError(f"{endpoint!r} is no address of a collector.", hint=hint)
        self._secure, self._host = parts.scheme == "https", parts.hostname
        self._port, self._folder = parts.port, parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json", **_headers(headers)}
        self._batches: queue.Queue[_Batch | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def send(self, path: Literal["/v1/traces", "/v1/metrics"], body: dict[str, Any]) -> None:
        """Hand one over; never waits."""
        data = json.dumps(body, separators=(",", ":")).encode()
        try:
            self._batches.put_nowait((f"{self._folder}{path}", data))
        except queue.Full:
            logger.warning("telemetry: the collector is too slow, a batch was dropped")

    def close(self) -> None:
        """Wait, not for long, until what was handed over is sent."""
        try:
            self._batches.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(SECONDS)

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            try:
                self._post(*batch)
            except (OSError, ValueError) as error:
                logger.warning("telemetry: %s cannot be reached: %s", self._host, error)

    def _post(self, path: str, data: bytes) -> None:
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        kind = HTTPSConnection if self._secure else HTTPConnection
        connection = kind(self._host, self._port, timeout=SECONDS)
        try:
            connection.request("POST", path, data, self._headers)
            status = connection.getresponse().status
        except HTTPException as error:
            raise ValueError(f"it answers no HTTP: {error}") from None
        finally:
            connection.close()
        if status >= 300:
            logger.warning("telemetry: the collector answered %s to %s", status, path)


def _headers(text: str) -> Mapping[str, str]:
    pairs = (entry.partition("=") for entry in text.split(",") if "=" in entry)
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs}
