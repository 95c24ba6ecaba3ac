"""The seal of a request: what was asked, what people decided and what became of it are authenticated, not only stored.

Two MACs under a key of ASSENT_SECRET. `bound_seal` covers the columns that say what is asked: arguments, digest,
stages, deadline, what an approval takes. `seal` covers that seal, the version, how the request was settled, every
decision, the grant and the execution. So nothing of a request can be changed, left out, put in or taken from another
one by whoever has the database alone; and not set back either, for the trail has had the later version.

A row from before there were seals is sealed when a gateway first starts (`usecases/upkeep/seal_standing.py`). From then
on one without a seal is refused, unless nothing can come of it any more.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import structlog

from app.domain.errors import AssentError, NotFoundError, UnsealedError
from app.domain.identity.seals import BadTokenError
from app.domain.lifecycle.restored import is_open
from app.domain.trail.audit import Kind, Record
from app.storage.engine.dialect import to_us
from app.storage.requests.request_rows import request_from_rows
from app.storage.tables.request_columns import DECISION, REQUEST
from app.storage.trail.audit_chain import was_said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Row, Tx

log = structlog.get_logger(__name__)

ROW = "row"
"""The purpose that the key of these seals is derived for."""

_BOUND = tuple(column.name for column in REQUEST.kept if not (column.often or column.derived or column.key))
_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def seals_of(tx: Tx, request: ConfirmationRequest, written: Mapping[str, object] | None) -> dict[str, str | None]:
    """Return the seals of a request as it is to be written; `written` are its columns, None if what it asks stays.

    Without a key (a tool beside the database) it has none, and is refused wherever something could come of it.
    """
    if tx.seals is None:
        return {"bound_seal": None, "seal": None} if written is not None else {"seal": None}
    if written is not None:
        tx.bound[request.id] = _sealed(tx, _bound(request.id, request.call.org, written))
    bound = tx.bound.get(request.id)
    seal = _sealed(tx, _state(request, bound)) if bound is not None else None
    return {"bound_seal": bound, "seal": seal} if written is not None else {"seal": seal}


def is_bound_before(tx: Tx, request_id: str) -> bool:
    """Say whether what a request asks was sealed with a secret that is being rotated out."""
    bound = tx.bound.get(request_id)
    return tx.seals is not None and bound is not None and not bound.startswith(f"s1.{tx.seals.key_ids[0]}.")


def read_sealed(tx: Tx, rows: Sequence[Row]) -> ConfirmationRequest | None:
    """Make the request of locked rows; None, with an event and an alarm, if they are not what a gateway wrote.

    `why_missing` says then what a caller is told.
    """
    row = rows[0]
    tx.bound[row["id"]] = row["bound_seal"]
    try:
        request = request_from_rows(rows)
        why = None if tx.seals is None else _fault(tx, row, request)
    except (ValueError, KeyError, TypeError, ArithmeticError, AssentError):
        request, why = None, "it cannot be read"
    if why is None:
        return request
    tx.refused.add(row["id"])
    if not was_said(tx, row["id"], Kind.FORGED):  # it is said once, however often it is tried
        tx.append(Record(kind=Kind.FORGED, actor="system", facts={"why": why}), request_id=row["id"])
    log.critical("request.forged", org=tx.org, request=row["id"], why=why)
    return None


def why_missing(tx: Tx, request_id: str) -> AssentError:
    """Say why a request could not be locked: it is not there, or its rows are not what a gateway wrote."""
    return UnsealedError() if request_id in tx.refused else NotFoundError()


def _fault(tx: Tx, row: Row, request: ConfirmationRequest) -> str | None:
    bound, seal = row["bound_seal"], row["seal"]
    if seal is None or bound is None:
        return "it has no seal" if is_open(request) else None
    if row["said_version"] is not None and row["said_version"] > request.version:
        return "it was set back: the trail has a later version of it"
    try:
        _verify(tx, _bound(request.id, request.call.org, row), bound)
        _verify(tx, _state(request, bound), seal)
    except BadTokenError as error:
        return str(error)
    return None


def _bound(request_id: str, org: str, columns: Mapping[str, object]) -> str:
    return _text([request_id, org, *[columns[name] for name in _BOUND]])


def _state(request: ConfirmationRequest, bound: str | None) -> str:
    settlement, grant, execution = request.settlement, request.grant, request.execution
    ended = execution.settled_at if execution else None
    return _text(
        [
            request.id,
            bound,
            request.version,
            request.status.value,
            request.revoked_why,
            [to_us(settlement.at), settlement.by, settlement.reason, settlement.via] if settlement else None,
            [grant.id, grant.status.value, to_us(grant.not_after)] if grant else None,
            [
                execution.id,
                execution.claim_id,
                execution.status.value,
                to_us(execution.started_at),
                to_us(execution.lease_until),
                to_us(ended) if ended else None,
                execution.result,
                execution.error,
            ]
            if execution
            else None,
            sorted([list(DECISION.inserted(decision).values()) for decision in request.decisions], key=_id_first),
        ]
    )


def _id_first(columns: list[object]) -> str:
    return str(columns)


def _sealed(tx: Tx, text: str) -> str:
    assert tx.seals is not None  # noqa: S101 - whoever calls has looked
    key_id, mac = tx.seals.seal(ROW, text)
    return f"s1.{key_id}.{mac}"


def _verify(tx: Tx, text: str, sealed: str) -> None:
    """Raise BadTokenError unless it is the seal of this text."""
    parts = sealed.split(".")
    if len(parts) != 3 or parts[0] != "s1" or tx.seals is None:
        raise BadTokenError("its seal is none of a gateway's")
    try:
        tx.seals.verify_text(ROW, text, key_id=parts[1], mac=parts[2])
    except BadTokenError:
        raise BadTokenError("its seal does not match what it says, or was made with another secret") from None
