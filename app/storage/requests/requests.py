"""Requests with their decisions, grant and execution: one aggregate, read in one statement, saved under guard."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, bindparam, exists, func, literal, select

from app.domain.call.tool_call import call_digest
from app.domain.errors import UnsealedError
from app.storage.engine.dialect import from_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.identity.vault import hidden
from app.storage.requests.decisions import drop_decision
from app.storage.requests.known import (
    Known,
    digest_of,
    find_known,
    forget,
    kept_of,
    moved_to,
    remember,
    seals_of,
)
from app.storage.requests.request_rows import AGGREGATE, request_from_rows
from app.storage.requests.sealing import read_sealed
from app.storage.statements.one_of import each_of
from app.storage.statements.together import Rank, inserting, saving
from app.storage.tables.columns import MISREAD
from app.storage.tables.hook_tables import switches
from app.storage.tables.payment_tables import restores
from app.storage.tables.request_columns import REQUEST
from app.storage.tables.tables import audit_events, decisions, deliveries, outbox, requests
from app.storage.trail.restores import EPOCH

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import BindParameter, Subquery

    from app.domain.request.request import ConfirmationRequest, State

_RESTORED = (
    EPOCH.scalar_subquery().label("epoch"),
    select(func.max(restores.c.restored_at)).scalar_subquery().label("restored_at"),
)
_HELD = AGGREGATE.add_columns(
    # Read behind the lock, in the same statement: a claim needs no further one to know that no switch is on.
    exists().where(switches.c.org == requests.c.org, switches.c.is_on == 1).correlate(requests).label("any_switch"),
    *_RESTORED,
    select(func.max(audit_events.c.request_version))
    .where(audit_events.c.request_id == requests.c.id)
    .correlate(requests)
    .scalar_subquery()
    .label("said_version"),
)
_LOCK = Statement(
    select(requests.c.id)
    .where(requests.c.id == bindparam("request_id"), requests.c.org == bindparam("for_org"))
    .with_for_update()
)
_ONE = (requests.c.id == bindparam("request_id"), requests.c.org == bindparam("for_org"))
_IN_ORDER = (decisions.c.decided_at, decisions.c.id)
_GET = Statement(AGGREGATE.where(*_ONE).order_by(*_IN_ORDER))
_GET_HELD = Statement(_HELD.where(*_ONE).order_by(*_IN_ORDER))

_LOCK_MANY = Statement(
    select(requests.c.id).where(each_of(requests.c.id, "ids")).order_by(requests.c.id).with_for_update()
)
_GET_MANY = Statement(_HELD.where(each_of(requests.c.id, "ids")).order_by(*_IN_ORDER))
_BESIDE = Statement(
    select(
        exists().where(switches.c.org == bindparam("for_org"), switches.c.is_on == 1).label("any_switch"), *_RESTORED
    )
)
_DERIVED = Statement(
    select(requests.c.id, requests.c.org, *(requests.c[name] for name in REQUEST.derived.names)).where(
        each_of(requests.c.id, "ids")
    )
)
_ATTACHED = Statement(
    select(requests.c.id, requests.c.version, requests.c.call_id)
    .where(
        requests.c.org == bindparam("for_org"),
        requests.c.attach_key >= bindparam("base"),
        requests.c.attach_key < bindparam("beyond"),
    )
    .order_by(requests.c.created_at, requests.c.id)
)
_MOST_ALIKE = 20
_EDITED = Statement(
    select(requests.c.id, requests.c.state)
    .where(
        requests.c.org == bindparam("for_org"),
        requests.c.agent == bindparam("of_agent"),
        requests.c.session == bindparam("of_session"),
        requests.c.edited_by.is_not(None),
    )
    .order_by(requests.c.created_at.desc(), requests.c.id.desc())
    .limit(_MOST_ALIKE)
)
OPENED = inserting(requests, rank=Rank.OPEN)
"""Writes requests as they are opened: pending, or approved at once."""
_SAME = {"request_id": "id", "old_version": "version"}
_SAVE = saving(requests, rank=Rank.SAVE, named=_SAME, values=[*REQUEST.often.names, "seal"])
_SAVE_ALL = saving(requests, rank=Rank.SAVE, named=_SAME, values=[*REQUEST.saved.names, "seal", "bound_digest"])


_COUNT_MOST = 20_000  # beyond this the exact number no longer matters to anyone


_HELD_BACK = (
    # Its first card has not been due yet: it comes together with others, as one message.
    exists()
    .where(deliveries.c.request_id == requests.c.id, outbox.c.delivery_id == deliveries.c.id)
    .where(outbox.c.kind == "post", outbox.c.status == "queued")
    .where(outbox.c.attempts == 0, outbox.c.due_at > requests.c.created_at)
    .correlate(requests)
)
_ON_CARDS = and_(exists().where(deliveries.c.request_id == requests.c.id).correlate(requests), ~_HELD_BACK)


def _waiting(most: int | BindParameter[int], *, on_cards: bool) -> Subquery:
    """Select an agent's requests that wait, up to `most`."""
    ours = requests.c.org == bindparam("for_org"), requests.c.agent == bindparam("agent")
    found = select(requests.c.id).where(*ours, requests.c.state == "pending").limit(most)
    return (found.where(_ON_CARDS) if on_cards else found).subquery()


def _count(*, on_cards: bool) -> Statement:
    return Statement(select(func.count().label("pending")).select_from(_waiting(_COUNT_MOST, on_cards=on_cards)))


def _holds(*, on_cards: bool) -> Statement:
    bounds = [("most", "enough", False), ("most_cards", "enough_cards", True)][: 2 if on_cards else 1]
    held = (
        bindparam(most) >= select(func.count()).select_from(_waiting(bindparam(enough), on_cards=of)).scalar_subquery()
        for most, enough, of in bounds
    )
    return Statement(select(literal(1).label("holds")).where(*held))


_COUNT_PENDING = {on_cards: _count(on_cards=on_cards) for on_cards in (False, True)}
_PENDING_HOLDS = {on_cards: _holds(on_cards=on_cards) for on_cards in (False, True)}


def insert_request(tx: Tx, request: ConfirmationRequest) -> None:
    """Write a new request."""
    columns = REQUEST.inserted(request)
    moved = moved_to(request, columns)
    sealed = seals_of(tx, request, moved, asked=digest_of(request.id, request.call.org, columns))
    kept = _hidden(tx, request, columns)
    traceparent = tx.traced.parent if tx.traced is not None else None
    tx.gather(OPENED, **kept, **sealed._asdict(), traceparent=traceparent)
    if sealed.seal is not None and sealed.bound_digest is not None:
        row = kept_of(kept, sealed.bound_digest)
        remember(tx, request.id, Known(row, sealed.bound_digest, None, (sealed.seal, moved), request, traceparent))


def find_request(tx: Tx, request_id: str) -> ConfirmationRequest | None:
    """Read a request as it stands. Raises UnsealedError for rows that cannot be read: no gateway wrote them."""
    rows = tx.all(_GET, request_id=request_id, for_org=tx.org)
    try:
        return request_from_rows(tx, rows) if rows else None
    except MISREAD:
        raise UnsealedError(f"the rows of {request_id} cannot be read: `assent audit verify` names them") from None


def is_unread(tx: Tx, request: ConfirmationRequest) -> bool:
    """Say whether values of a request that this unit has read could not be decrypted."""
    rows = {request.id, request.execution.id if request.execution else None}
    return any(row_id in rows for row_id, _ in tx.unread)


def list_rows_of(tx: Tx, ids: Sequence[str]) -> dict[str, list[Row]]:
    """Read the rows of requests as they stand, by id: what `request_from_rows` makes a request of."""
    by_id: dict[str, list[Row]] = {}
    for row in tx.all(_GET_MANY, ids=ids):
        if row["org"] == tx.org:
            by_id.setdefault(row["id"], []).append(row)
    return by_id


def list_derived(tx: Tx, ids: Sequence[str]) -> dict[str, Row]:
    """Return by what requests are listed, counted and found: written with a row, and not read back with it."""
    return {row.pop("id"): row for row in tx.all(_DERIVED, ids=ids) if row.pop("org") == tx.org}


def lock_request(tx: Tx, request_id: str) -> tuple[ConfirmationRequest, datetime] | None:
    """Lock a request, *then* read the clock and the request: the order that makes a late approval impossible.

    (A deadline compared in the statement that waits for the lock lets an approval through after the deadline.)
    """
    rows, now = _locked_rows(tx, request_id)
    request = read_sealed(tx, rows) if rows else None
    return (request, now) if request else None


class Held(NamedTuple):
    """A locked request, and what else a claim must know: read with it, not before."""

    request: ConfirmationRequest
    now: datetime
    any_switch: bool  # whether any switch (a pause, read-only) is on in its org
    epoch: int  # how many restores of the database were declared
    restored_at: datetime | None  # when the last of them was


def lock_to_claim(tx: Tx, request_id: str) -> Held | None:
    """Lock a request as `lock_request` does, and read what else a claim must know in the same statement."""
    rows, now = _locked_rows(tx, request_id)
    if not rows:
        return None
    beside: Row = rows[0]
    if (shared := beside.get("beside")) is not None:  # it was not read: what is others', too, is, once for a batch
        if tx.org not in shared:
            shared[tx.org] = tx.one(_BESIDE, for_org=tx.org)
        beside = shared[tx.org]
    request = read_sealed(tx, rows)
    if request is None:
        return None
    restored = beside["restored_at"]
    return Held(
        request=request,
        now=now,
        any_switch=bool(beside["any_switch"]),
        epoch=beside["epoch"],
        restored_at=None if restored is None else from_us(restored),
    )


def _locked_rows(tx: Tx, request_id: str) -> tuple[list[Row], datetime]:
    taken = tx.take_locked(request_id)
    if taken is not None:
        return taken
    if (own := own_rows(tx, [request_id])) and own[request_id][0]["org"] == tx.org:
        return own[request_id], tx.lock_now()
    if tx.locks_rows:
        tx.write(_LOCK, request_id=request_id, for_org=tx.org)
    return tx.all_now(_GET_HELD, request_id=request_id, for_org=tx.org)


def lock_many(tx: Tx, ids: Sequence[str]) -> tuple[dict[str, list[Row]], datetime]:
    """Lock requests in the order of their ids, *then* read the clock and their rows: one round trip for a batch."""
    if tx.locks_rows:
        tx.write(_LOCK_MANY, ids=ids)
    by_id = own_rows(tx, ids)
    unknown = [each for each in ids if each not in by_id] if by_id else ids
    if not unknown:
        return by_id, tx.lock_now()
    rows, now = tx.all_now(_GET_MANY, ids=unknown)
    for row in rows:
        by_id.setdefault(row["id"], []).append(row)
    return by_id, now


def own_rows(tx: Tx, ids: Sequence[str]) -> dict[str, list[Row]]:
    """Return the rows of those requests that are as this lane left them, which need not be read."""
    shared: dict[str, Row] = {}
    return {each: [{**row, "beside": shared}] for each in ids if (row := find_own(tx, each)) is not None}


def find_own(tx: Tx, request_id: str) -> Row | None:
    """Return a request's row that is as this lane left it, as far as whoever locked it looks at any: with what it says.

    Only what is remembered still: with a key of its values that is destroyed, all of that is forgotten.
    """
    known = None if request_id in tx.leaves else tx.own.get(request_id)  # what was touched since is read
    if not isinstance(known, Known) or tx.vault is None or known is not tx.vault.shown.get(request_id):
        return None
    if known.moved is None or known.request is None:
        return None
    return {
        "id": request_id,
        "org": known.request.call.org,
        "bound_digest": known.digest,
        "seal": known.moved[0],
        "known": known,
        "unread": None,
        "said_version": known.request.version,
        "traceparent": known.trace,
    }


def list_attached(tx: Tx, base: str) -> list[tuple[tuple[str, int], str | None]]:
    """List the requests on which the same calls of the same session stand, oldest first.

    Each has its id and version, and its call's id.
    """
    beyond = f"{base}g"  # behind every hexadecimal digit, in every collation
    found = tx.all(_ATTACHED, for_org=tx.org, base=base, beyond=beyond)
    return [((row["id"], row["version"]), row["call_id"]) for row in found]


def save_request(tx: Tx, before: ConfirmationRequest, after: ConfirmationRequest, *, whole: bool = False) -> None:
    """Write the next version, if the row is still at the last one; else the unit runs again and decides anew.

    What differs is written, whatever it is (`whole`: all of it); ValueError if it is another request. Votes that were
    withdrawn go with it; the trail keeps them.
    """
    if (before.id, before.call.org) != (after.id, after.call.org):
        raise ValueError("a request keeps its id and its org")
    more = whole or REQUEST.apart(before, after)  # nearly every change moves the state alone
    statement, written = (_SAVE_ALL, REQUEST.saved) if more else (_SAVE, REQUEST.often)
    columns = written(after)
    known = find_known(tx, before.id)
    if known is not None and known.request is not before:
        known = None
    moved = moved_to(after, columns, known)
    sealed = seals_of(tx, after, moved, asked=digest_of(after.id, after.call.org, columns) if more else None)
    if more:
        kept = {**_hidden(tx, after, columns), **sealed._asdict()}
        forget(tx, before.id)
    else:
        kept = {**columns, "seal": sealed.seal}
        if known is not None and sealed.seal is not None:
            remember(tx, after.id, known._replace(moved=(sealed.seal, moved), request=after))
        else:
            forget(tx, before.id)
    tx.gather(statement, request_id=before.id, old_version=before.version, **kept)
    if before.decisions:
        still = {decision.person for decision in after.decisions}
        for person in sorted({decision.person for decision in before.decisions} - still):
            drop_decision(tx, after.id, person)


def _hidden(tx: Tx, request: ConfirmationRequest, columns: Mapping[str, object]) -> Mapping[str, object]:
    return hidden(tx, columns, REQUEST.hidden, request_id=request.id, row_id=request.id)


def count_pending(tx: Tx, agent: str, *, on_cards: bool) -> int:
    """Return how many of an agent's requests wait for a decision; `on_cards`: of those whose cards are out, or due."""
    row = tx.one(_COUNT_PENDING[on_cards], for_org=tx.org, agent=agent)
    return int(row["pending"]) if row else 0


def hold_pending(tx: Tx, agent: str, *, most: int, most_cards: int | None) -> None:
    """Let this unit's commit stand only if, when it is its turn, `count_pending` says no more than these."""
    bounds = {"most": most, "enough": most + 1}
    if most_cards is not None:
        bounds |= {"most_cards": most_cards, "enough_cards": most_cards + 1}
    tx.hold(_PENDING_HOLDS[most_cards is not None], for_org=tx.org, agent=agent, **bounds)


def find_edited(tx: Tx, agent: str, session: str, of_digest: str, *, states: Collection[State]) -> str | None:
    """Return the id of a session's newest request in one of `states` that was changed to the call of this digest.

    Its own digest still names what the agent asked.
    """
    for row in tx.all(_EDITED, for_org=tx.org, of_agent=agent, of_session=session):
        if row["state"] not in {state.value for state in states}:
            continue
        request = find_request(tx, row["id"])
        if request is not None and call_digest(request.call) == of_digest:
            return request.id
    return None
