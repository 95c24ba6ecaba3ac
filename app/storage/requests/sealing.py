"""The seal of a request is looked at: what was asked, what people decided and what became of it are authenticated.

`seal` is a MAC under a key of ASSENT_SECRET, over the version, how the request was settled, every decision, the grant,
the execution, and `bound_digest`: the digest of the columns that say what is asked (arguments, stages, deadline, what
an approval takes), which nearly no change touches. So nothing of a request can be changed, left out, put in or taken
from another one by whoever has the database alone; and not set back either, for the trail has had the later version.

A row from before there were seals is sealed when a gateway first starts (`usecases/upkeep/seal_standing.py`). From then
on one without a seal is refused, unless nothing can come of it any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from app.domain.errors import LackingSecretError, NotFoundError, UnsealedError
from app.domain.identity.seals import BadTokenError
from app.domain.lifecycle.against_trail import request_faults
from app.domain.lifecycle.replayed import replay
from app.domain.lifecycle.restored import is_open
from app.domain.trail.audit import Kind, Record
from app.storage.exhibits.exhibits import exhibits_fault
from app.storage.identity.lacking_secrets import lacking_secret
from app.storage.identity.vault import DESTROYED
from app.storage.requests.known import ROW, moved_of, remember, sealed_text
from app.storage.requests.request_rows import request_from_rows
from app.storage.tables.columns import MISREAD
from app.storage.trail.audit_chain import list_of_request, was_said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.errors import AssentError
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Row, Tx
    from app.storage.requests.known import Known, Moved

log = structlog.get_logger(__name__)

LACKS = "it is sealed with the secret"
_PUT_BACK = "which ASSENT_SECRET does not have: put it back behind the new one, or `assent reseal`"
_OTHER = "what it asks is not what was asked"


def read_sealed(tx: Tx, rows: Sequence[Row]) -> ConfirmationRequest | None:
    """Make the request of locked rows; None, with an event and an alarm, if they are not what a gateway wrote.

    None as well, without either, where the secret lacks here that they are sealed with, and they are what the trail
    says of them: whether they were forged all the same is for whoever has it to say. `why_missing` says then what a
    caller is told.
    """
    row = rows[0]
    tx.bound[row["id"]] = row["bound_digest"]
    try:
        request = request_from_rows(tx, rows)
        why = None if tx.seals is None else row["unread"] or _fault(tx, rows, request)
        if why is not None and why != DESTROYED and (key_id := lacking_secret(tx, row)) is not None:
            why = _open_fault(row, request) or _unlike_trail(tx, row, request)
            if why is None:
                return _refuse_lacking(tx, row["id"], key_id)
    except MISREAD:
        request, why = None, "it cannot be read"
    if why is None:
        return request
    if row.get("unread") == DESTROYED:  # on an operator's word, as the trail says
        tx.refused[row["id"]] = UnsealedError()
        return None
    if row["id"] not in tx.refused and not was_said(
        tx, row["id"], Kind.FORGED
    ):  # it is said once, however often it is tried
        tx.append(Record(kind=Kind.FORGED, actor="system", facts={"why": why}), request_id=row["id"])
    tx.refused[row["id"]] = UnsealedError()
    log.critical("request.forged", org=tx.org, request=row["id"], why=why)
    return None


def why_missing(tx: Tx, request_id: str) -> AssentError:
    """Say why a request could not be locked: it is not there, is not what a gateway wrote, or its secret lacks here."""
    return tx.refused.get(request_id) or NotFoundError()


def _refuse_lacking(tx: Tx, request_id: str, key_id: str) -> None:
    if request_id not in tx.refused:  # loud is what watches over all of them, and says how many they are
        log.warning("request.lacks_secret", org=tx.org, request=request_id, secret=key_id)
    tx.refused[request_id] = LackingSecretError.of_request(key_id)


def is_as_sealed(tx: Tx, rows: Sequence[Row], request: ConfirmationRequest) -> bool:
    """Say whether rows that nobody locked are what a gateway wrote: for a look that is to hold, and changes nothing."""
    return tx.seals is None or (rows[0]["unread"] is None and _fault(tx, rows, request) is None)


def why_changed(tx: Tx, rows: Sequence[Row], request: ConfirmationRequest) -> str | None:
    """Say why rows are not what a gateway sealed; None: they are, or it was with a secret that was since retired.

    What ended before a secret was changed keeps the seal that it had: nothing comes of it, and the trail tells of it.
    What is open under it cannot be verified: `LACKS` begins what is said of that.
    """
    row = rows[0]
    if row["unread"] is not None or tx.seals is None:
        return None if row["unread"] == DESTROYED else row["unread"]
    retired = lacking_secret(tx, row)
    if retired is None:
        return _fault(tx, rows, request)
    if (why := _open_fault(row, request)) is not None:
        return why
    return f"{LACKS} {retired}, {_PUT_BACK}" if is_open(request) else None


def _fault(tx: Tx, rows: Sequence[Row], request: ConfirmationRequest) -> str | None:
    row = rows[0]
    bound, seal = row["bound_digest"], row["seal"]
    if seal is None or bound is None:
        return "it has no seal" if is_open(request) else None
    if (why := _open_fault(row, request)) is not None:
        return why
    known: Known = row["known"]
    if known.request is None:
        moved = moved_of(rows)
        if (why := _seal_fault(tx, request.id, bound, seal, moved)) is not None:
            return why
        remember(tx, request.id, known._replace(moved=(seal, moved), request=request))
    else:
        tx.leaves[request.id] = known  # here, where it was seen not to have been set back, and nowhere before
    return exhibits_fault(tx, request.id, request.call.evidence) if request.call.evidence else None


def _open_fault(row: Row, request: ConfirmationRequest) -> str | None:
    """Say what is wrong with a row that takes no secret to see; of what cannot be read, nothing is known."""
    if row["said_version"] is not None and row["said_version"] > request.version:
        return "it was set back: the trail has a later version of it"
    known: Known = row["known"]
    return None if row["unread"] is not None or known.digest == row["bound_digest"] else _OTHER


def _unlike_trail(tx: Tx, row: Row, request: ConfirmationRequest) -> str | None:
    """Say why a locked row is not what the trail says of it: that takes no secret either."""
    try:
        replayed = replay(list_of_request(tx, request.id))
    except UnsealedError as error:
        return error.detail
    faults = request_faults(request, replayed, end=-1, destroyed=row["unread"] is not None)
    return faults[0].text if faults else None


def _seal_fault(tx: Tx, request_id: str, bound: str, seal: str, moved: Moved) -> str | None:
    parts = seal.split(".")
    if len(parts) != 3 or parts[0] != "s1" or tx.seals is None:
        return "its seal is none of a gateway's"
    try:
        tx.seals.verify_text(ROW, sealed_text(request_id, bound, moved), key_id=parts[1], mac=parts[2])
    except BadTokenError:
        if parts[1] not in tx.seals.key_ids:
            return "its seal names a secret that no gateway of this database has had"
        return "its seal does not match what it says"
    return None
