"""Keeps the head of an output stream, however much comes."""

from __future__ import annotations

import codecs


class Head:
    """The first `size` bytes of what it is fed; it counts the rest."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept = bytearray()
        self.cut = 0
        """Bytes that were left out."""

    def feed(self, chunk: bytes) -> None:
        """Take what came."""
        room = self._size - len(self._kept)
        self._kept += chunk[:room]
        self.cut += max(0, len(chunk) - room)

    def feed_text(self, chunk: str) -> None:
        """Take text, as its UTF-8."""
        self.feed(chunk.encode("utf-8", "replace"))

    def text(self) -> str:
        """What was kept; bytes that are no UTF-8 become U+FFFD, and a character that the cut split is left out."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return decoder.decode(bytes(self._kept), final=not self.cut)
