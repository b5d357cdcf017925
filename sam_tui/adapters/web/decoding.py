"""A compressed body, decoded piece by piece into a bounded space."""

import zlib
from typing import Any

from sam_tui.core.errors import ToolError

OFFERED = "gzip, deflate"
"""The encodings asked for; brotli and zstd would need more libraries."""


_HEADER = 64
"""Bytes within which a compression shows whether it is what it says; names may make a header longer."""


class Decoder:
    """Bytes as sent -> bytes as meant, never more than ``most`` of either: a bomb fills that and no more,
    and what comes to nothing, as an endless header, is not read for ever.
    """

    def __init__(self, encoding: str, most: int) -> None:
        self._most = most
        self._raw_start = b""
        self._taken = 0
        self.body = bytearray()
        self.full = False
        """Whether the limit was reached with more to come."""
        match encoding.strip().lower():
            case "" | "identity":
                self._inflate: Any = None
            case "gzip" | "x-gzip" | "deflate":
                self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
            case other:
                raise ToolError(
                    f"The page came in an encoding that was not asked for: {other[:40]!a}."
                )

    def feed(self, data: bytes) -> None:
        """Take the next piece; raises ``ToolError`` where it is not what it says it is."""
        if self._inflate is None:
            self._keep(data)
            return
        self._taken += len(data)
        self.full = self.full or self._taken > self._most
        try:
            self._keep(self._expanded(self._inflate, data))
        except zlib.error:
            if self.body:
                raise ToolError("The page's compression is broken.") from None
            # Some servers mean raw deflate when they say deflate.
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            try:
                self._keep(self._expanded(self._inflate, self._raw_start + data))
            except zlib.error:
                raise ToolError("The page's compression is broken.") from None
        if not self.body and len(self._raw_start) < _HEADER:
            self._raw_start += data

    def _expanded(self, inflate: Any, data: bytes) -> bytes:
        # One byte more than there is room for tells whether something is left over.
        return inflate.decompress(data, self._most - len(self.body) + 1)

    def _keep(self, data: bytes) -> None:
        room = self._most - len(self.body)
        self.body += data[:room]
        self.full = self.full or len(data) > room
