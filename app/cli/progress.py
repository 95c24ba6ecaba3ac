"""What a long command says on standard error of how far it is, for whoever waits."""

from __future__ import annotations

import time

import typer

_EVERY = 2.0


class Progress:
    """Says every other second how far it is; nothing where a command is done before that."""

    def __init__(self) -> None:
        """Begin to wait."""
        self._last = time.monotonic()

    def __call__(self, done: int, what: str) -> None:
        """Hear how far it is: ``12,000 events verified``."""
        if time.monotonic() - self._last >= _EVERY:
            self._last = time.monotonic()
            typer.echo(f"{done:,} {what} …", err=True)
