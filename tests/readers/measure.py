"""What one text costs: this thread's time, and how it grows when the text doubles."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.readers.readers import read

if TYPE_CHECKING:
    from tests.readers.worst import Shape

LARGEST = 1_000_000  # characters: as many as a body may have bytes
MOST_SECONDS = 3.0
"""Of one thread's own time, where one second is promised: the machines of tests are slow, and others work on them."""
SIZES = (2_000, 6_000, 12_000, 18_000, 32_000, 250_000, LARGEST)


def seconds(name: str, text: str) -> float:
    """Return how long a reader works on a text."""
    started = time.thread_time()
    read(name, text)
    return time.thread_time() - started


def too_long(name: str, shape: Shape) -> str | None:
    """Say at which size the shape is too much for the reader; None: at no size."""
    for size in SIZES:
        for text in {shape.of(size), shape.nested(size)}:
            took = seconds(name, text)
            if took > MOST_SECONDS:
                return f"{name}: {took:.1f} s for {len(text)} characters of {shape}"
    return None
