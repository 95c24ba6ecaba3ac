"""What a unit of work and whoever traces it tell each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Met(NamedTuple):
    """A request that a unit of work has read: what its spans say of it, and which trace it was submitted in."""

    request_id: str
    tool: str
    agent: str
    call_id: str | None
    traceparent: str | None


@dataclass(slots=True)
class Traced:
    """What a unit of work is told of the trace that it is part of, and what it tells of the requests that it reads."""

    parent: str | None = None
    """As in a `traceparent` (W3C Trace Context): a request that is opened keeps it."""
    met: dict[str, Met] = field(default_factory=dict[str, Met])
