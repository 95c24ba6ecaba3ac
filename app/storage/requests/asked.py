"""What a request asks, made of its row once: nearly no change touches it, and each unit about the request needs it.

What was made is known again by all that the row says there: every column is compared as it is kept, its ciphertexts and
its digest with it. A row that anybody changed is another one, and is read and judged anew.
"""

from __future__ import annotations

import hashlib
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from app.storage.identity.vault import show
from app.storage.tables.request_columns import EXECUTION, REQUEST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.storage.engine.transaction import Row, Tx

YOUNGER_ASKED: Final[dict[str, str | int | None]] = {
    "sub_agent": None,
    "alone": 0,
    "cc": "[]",
    "host_event": None,
    "evidence": "[]",
    "requester_proof": None,
}
"""Columns of what is asked that are younger than seals, with what says nothing: sealed where they say something else,
so that what was sealed before they were there holds."""
ASKS: Final = [
    column.name
    for column in REQUEST.kept
    if not (column.often or column.derived or column.key or column.name in YOUNGER_ASKED)
]
_asks: Callable[[Any], tuple[object, ...]] = itemgetter(*ASKS)
_kept: Callable[[Any], tuple[object, ...]] = itemgetter(*REQUEST.lasting, "bound_digest")

_MOST: Final = 512
_LONGEST: Final = 16_384
"""Characters of arguments: longer ones are read each time, so that what is remembered stays within some megabytes."""


class Asked(NamedTuple):
    """What is remembered of a row: how it is kept, what it says, and the digest of that."""

    kept: tuple[object, ...]
    fields: Mapping[str, object]
    digest: str


def read_asked(tx: Tx, row: Row) -> Asked:
    """Return what a request's row asks. What else is encrypted in the row is decrypted in place."""
    memory = tx.vault.shown if tx.vault is not None else {}
    kept, known = _kept(row), cast("Asked | None", memory.get(row["id"]))
    if known is not None and known.kept == kept:
        show(tx, row, ((EXECUTION.hidden, "execution_"),))
        return known
    show(tx, row, ((REQUEST.hidden, ""), (EXECUTION.hidden, "execution_")))
    found = Asked(kept, REQUEST.read_lasting(row), digest_of(row["id"], row["org"], row))
    if tx.vault is not None and row["unread"] is None and len(row["arguments"]) <= _LONGEST:
        while len(memory) >= _MOST:
            memory.pop(next(iter(memory), None), None)
        memory[row["id"]] = found
    return found


def digest_of(request_id: str, org: str, columns: Mapping[str, object]) -> str:
    """Return the digest of what a request asks, of its columns as they read when nothing is encrypted."""
    # `ascii` writes texts, whole numbers and None in one way on every version of Python, and at the speed of C.
    younger = [(name, columns[name]) for name, nothing in YOUNGER_ASKED.items() if columns[name] != nothing]
    return hashlib.sha256(ascii((request_id, org, *_asks(columns), *younger)).encode()).hexdigest()
