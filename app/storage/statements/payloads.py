"""What a commit changed, packed for PostgreSQL's NOTIFY."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CHANNEL = "assent"
"""The name under which PostgreSQL replicas tell each other what changed."""
_PAYLOAD_LIMIT = 7_900  # bytes; PostgreSQL refuses a NOTIFY payload of 8,000


def payloads(changed: Iterable[tuple[str, str]]) -> list[str]:
    """Pack (org, request id) pairs into as few NOTIFY payloads as fit."""
    packed: list[str] = []
    current: list[Sequence[str]] = []
    size = 2
    for pair in changed:
        length = len(json.dumps(pair)) + 2
        if current and size + length > _PAYLOAD_LIMIT:
            packed.append(json.dumps(current))
            current, size = [], 2
        current.append(pair)
        size += length
    if current:
        packed.append(json.dumps(current))
    return packed
