"""How long what is over is kept: the file's `retention`. What it does not name is kept for ever."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct


class Retention(Struct, frozen=True, kw_only=True):
    """Spans behind the end of a request, or of an errand; None: it is kept."""

    requests: timedelta | None = None  # with all that hangs on them: votes, grants, outcomes, cards, errands
    deliveries: timedelta | None = None  # cards of requests that are over
    outbox: timedelta | None = None  # errands that are done, or were given up
    trail: timedelta | None = None  # what `assent audit cut` cuts unless it is told otherwise
    deduplication: timedelta = timedelta(hours=24)  # how long a caller's idempotency key stands for its request
