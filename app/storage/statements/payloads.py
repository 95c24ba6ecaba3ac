"""What a commit changed, packed for PostgreSQL's NOTIFY, which its sender hears, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import DecodeError
from msgspec.json import Decoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CHANNEL = "assent"
"""The name under which PostgreSQL replicas tell each other what changed."""
_NO_ORG = ""  # stands before the sender, where the pairs have their org
_PAYLOAD_LIMIT = 7_900  # bytes; PostgreSQL refuses a NOTIFY payload of 8,000
_PAIRS = Decoder(list[tuple[str, str]])


def payloads(changed: Iterable[tuple[str, str]], *, sender: str) -> list[str]:
    """Pack (org, request id) pairs into as few NOTIFY payloads as fit. Each says first who sends it."""
    packed: list[str] = []
    signed: list[Sequence[str]] = [(_NO_ORG, sender)]
    current, empty = list(signed), len(json.dumps(signed)) + 2
    size = empty
    for pair in changed:
        length = len(json.dumps(pair)) + 2
        if len(current) > 1 and size + length > _PAYLOAD_LIMIT:
            packed.append(json.dumps(current))
            current, size = list(signed), empty
        current.append(pair)
        size += length
    if len(current) > 1:
        packed.append(json.dumps(current))
    return packed


def told_by_others(payload: str, *, own: str) -> list[tuple[str, str]]:
    """Unpack what another process says that it changed; nothing, if it is what this one has said itself.

    Raises ValueError for what no gateway of this version says: whoever may connect to the database may say anything.
    """
    try:
        pairs = _PAIRS.decode(payload)
    except DecodeError as error:
        raise ValueError(str(error)) from error
    return [] if (_NO_ORG, own) in pairs else [pair for pair in pairs if pair[0] != _NO_ORG]
