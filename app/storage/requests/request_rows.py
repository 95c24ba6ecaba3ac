"""A request with its decisions, grant and execution as one SELECT, and back as one value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from app.storage.engine.transaction import Statement
from app.storage.identity.vault import show
from app.storage.requests.known import Known, digest_of, find_known, kept_of, moved_of, remember
from app.storage.tables.columns import MISREAD
from app.storage.tables.request_columns import DECISION, EXECUTION, GRANT, REQUEST
from app.storage.tables.tables import decisions, executions, grants, requests
from app.telemetry.tracing import Met

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.request.request import ConfirmationRequest, Execution
    from app.storage.engine.transaction import Row, Tx


def read_known(tx: Tx, rows: Sequence[Row]) -> Known:
    """Return what is known of a request's rows, or what they ask. What else is encrypted is decrypted in place."""
    row = rows[0]  # the others repeat it
    kept, known = kept_of(row, row["bound_digest"]), find_known(tx, row["id"])
    if known is None or known.kept != kept:
        known = None
    elif known.moved == (row["seal"], moved_of(rows)):
        row["unread"] = None  # nothing of it is encrypted but what was read before
        return known
    if known is not None and known.fields is not None:
        show(tx, row, ((EXECUTION.hidden, "execution_"),))
        return known._replace(moved=None, request=None)
    show(tx, row, ((REQUEST.hidden, ""), (EXECUTION.hidden, "execution_")))
    digest = digest_of(row["id"], row["org"], row)
    found = Known(kept, digest, REQUEST.read_lasting(row), trace=row["traceparent"])
    if row["unread"] is None:
        remember(tx, row["id"], found)
    return found


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


def list_readable(tx: Tx, found: Mapping[str, Sequence[Row]], ids: Sequence[str]) -> list[ConfirmationRequest]:
    """Build those of the requests that are found, in the order of `ids`. One that no gateway wrote fails no list.

    It is left out, the alarm is raised, and `assent audit verify` names it.
    """
    read = (_if_readable(tx, each, found[each]) for each in ids if each in found)
    return [request for request in read if request is not None]


def _if_readable(tx: Tx, request_id: str, rows: Sequence[Row]) -> ConfirmationRequest | None:
    try:
        return request_from_rows(tx, rows)
    except MISREAD:
        if tx.vault is not None:
            tx.vault.alarm(tx.org, request_id)
        return None


def request_from_rows(tx: Tx, rows: Sequence[Row]) -> ConfirmationRequest:
    """Build the aggregate of its rows; what is encrypted in them is decrypted in place first."""
    row = rows[0]
    known: Known = row.get("known") or read_known(tx, rows)
    row["known"] = known
    request = known.request or REQUEST.read(
        row,
        known.fields,
        decisions=tuple([DECISION.read(each) for each in rows if each["decision_id"]]),
        grant=GRANT.read(row) if row["grant_id"] else None,
        execution=_read_execution(row) if row["execution_id"] else None,
    )
    if tx.traced is not None:
        call = request.call
        tx.traced.met[request.id] = Met(request.id, call.tool, call.agent, call.call_id, row["traceparent"])
    return request


def _read_execution(row: Row) -> Execution:
    """Build it; no seal covers what was reported, and what is no text there cannot be shown. Raises ValueError."""
    why = EXECUTION.why_unlike(row)
    if why is not None:
        raise ValueError(why)
    return EXECUTION.read(row)
