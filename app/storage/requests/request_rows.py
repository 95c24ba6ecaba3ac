"""A request with its decisions, grant and execution as one SELECT, and back as one value.

What a request asks is made of its row once: nearly no change touches it, and each unit about the request needs it. It
is known again by all that the row says there: every column is compared as it is kept, its ciphertexts and its digest
with it. A row that anybody changed is another one, and is read and judged anew.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from sqlalchemy import bindparam, select

from app.storage.engine.transaction import Statement
from app.storage.identity.vault import show
from app.storage.tables.request_columns import DECISION, EXECUTION, GRANT, REQUEST
from app.storage.tables.tables import decisions, executions, grants, requests
from app.telemetry.tracing import Met

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from app.domain.request.request import ConfirmationRequest
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
"""Characters of a row: longer ones are read each time, so that what is remembered stays within some megabytes."""


class Asked(NamedTuple):
    """What is remembered of a row: how it is kept, what it says, and the digest of that."""

    kept: tuple[object, ...]
    fields: Row
    digest: str


def read_asked(tx: Tx, row: Row) -> Asked:
    """Return what a request's row asks. What else is encrypted in the row is decrypted in place."""
    memory = tx.vault.shown if tx.vault is not None else OrderedDict[str, object]()
    kept, known = _kept(row), cast("Asked | None", memory.get(row["id"]))
    if known is not None and known.kept == kept:
        show(tx, row, ((EXECUTION.hidden, "execution_"),))
        return known
    show(tx, row, ((REQUEST.hidden, ""), (EXECUTION.hidden, "execution_")))
    found = Asked(kept, REQUEST.read_lasting(row), digest_of(row["id"], row["org"], row))
    if row["unread"] is None and sum(len(each) for each in kept if isinstance(each, str)) <= _LONGEST:
        memory[row["id"]] = found
        if len(memory) > _MOST:
            memory.popitem(last=False)
    return found


def digest_of(request_id: str, org: str, columns: Mapping[str, object]) -> str:
    """Return the digest of what a request asks, of its columns as they read when nothing is encrypted."""
    # `ascii` writes texts, whole numbers and None in one way on every version of Python, and at the speed of C.
    younger = [(name, columns[name]) for name, nothing in YOUNGER_ASKED.items() if columns[name] != nothing]
    return hashlib.sha256(ascii((request_id, org, *_asks(columns), *younger)).encode()).hexdigest()


AGGREGATE = (
    select(
        *REQUEST.selected(requests),
        requests.c.bound_digest,
        requests.c.seal,
        requests.c.traceparent,
        *GRANT.selected(grants),
        *EXECUTION.selected(executions),
        *DECISION.selected(decisions),
    )
    .select_from(requests)
    .outerjoin(grants, grants.c.request_id == requests.c.id)
    .outerjoin(executions, executions.c.request_id == requests.c.id)
    .outerjoin(decisions, decisions.c.request_id == requests.c.id)
)
"""One row a decision, everything else repeated."""

_TRACE = Statement(
    select(requests.c.traceparent).where(requests.c.org == bindparam("for_org"), requests.c.id == bindparam("of_id"))
)


def find_trace(tx: Tx, request_id: str | None) -> str | None:
    """Return the `traceparent` under which a request was submitted; None: it was not traced, or is gone."""
    row = tx.one(_TRACE, for_org=tx.org, of_id=request_id)
    return row["traceparent"] if row else None


def request_from_rows(tx: Tx, rows: Sequence[Row]) -> ConfirmationRequest:
    """Build the aggregate of its rows; what is encrypted in them is decrypted in place first."""
    row = rows[0]  # the others repeat it
    asked: Asked = row.get("asked") or read_asked(tx, row)
    row["asked"] = asked
    request = REQUEST.read(
        row,
        asked.fields,
        decisions=tuple([DECISION.read(each) for each in rows if each["decision_id"]]),
        grant=GRANT.read(row) if row["grant_id"] else None,
        execution=EXECUTION.read(row) if row["execution_id"] else None,
    )
    if tx.traced is not None:
        call = request.call
        tx.traced.met[request.id] = Met(request.id, call.tool, call.agent, call.call_id, row["traceparent"])
    return request
