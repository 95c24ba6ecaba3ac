"""Where a trail was cut: a record of each cut, which is what the rest of the chain hangs on, and the cutting itself."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import Boolean, Text, bindparam, delete, exists, func, insert, literal_column, select, text

from app.domain.identity.seals import BadTokenError
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Statement
from app.storage.tables.tables import audit_events, requests, trail_cuts

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.identity.seals import Seals
    from app.storage.engine.transaction import Row, Tx

_T = trail_cuts
_LIST = Statement(select(_T).where(_T.c.org == bindparam("for_org")).order_by(_T.c.seq))
_NEWEST = Statement(
    select(_T).where(_T.c.org == bindparam("for_org")).order_by(_T.c.seq.desc()).limit(literal_column("1"))
)
_INSERT = Statement(insert(_T))
_E = audit_events
_OF_ORG = _E.c.org == bindparam("for_org")
_LEFT = Statement(select(func.count().label("rows")).select_from(_E).where(_OF_ORG, _E.c.seq <= bindparam("upto")))
_DROP = Statement(
    delete(_E).where(
        _OF_ORG,
        _E.c.seq.in_(
            select(_E.c.seq)
            .where(_OF_ORG, _E.c.seq <= bindparam("upto"))
            .order_by(_E.c.seq)
            .limit(literal_column("500"))
        ),
    )
)
_FIRST_STANDING = Statement(
    select(_E.c.seq, _E.c.request_id)
    .where(_OF_ORG, _E.c.seq > bindparam("behind"), exists().where(requests.c.id == _E.c.request_id))
    .order_by(_E.c.seq)
    .limit(literal_column("1"))
)
_FIRST_SINCE = Statement(
    select(_E.c.seq)
    .where(_OF_ORG, _E.c.seq > bindparam("behind"), _E.c.at >= bindparam("since"))
    .order_by(_E.c.seq)
    .limit(literal_column("1"))
)
_MAY = Statement(
    select(literal_column("pg_has_role(current_user, relowner, 'MEMBER')", Boolean).label("may"))
    .add_columns(literal_column("current_user", Text).label("role"))
    .select_from(text("pg_class"))
    .where(text("oid = 'audit_events'::regclass"))
)


class Cut(Struct, frozen=True, kw_only=True):
    """One cut: which events were exported into which file, and what they said that stands."""

    first: int
    prev: str  # the hash of the event before the first
    last: int
    hash: str
    file: str
    digest: str
    carried: str
    by: str
    at: datetime
    seal: str = ""

    @property
    def end(self) -> tuple[int, str]:
        """What the rest of the chain follows."""
        return self.last, self.hash

    def facts(self) -> dict[str, object]:
        """Return what the trail says of it."""
        return {
            "first": self.first,
            "prev": self.prev,
            "last": self.last,
            "hash": self.hash,
            "file": self.file,
            "digest": self.digest,
            "carried": hashlib.sha256(self.carried.encode()).hexdigest(),
        }


def list_cuts(tx: Tx) -> list[Cut]:
    """Return an org's, the oldest first."""
    return [_from_row(row) for row in tx.all(_LIST, for_org=tx.org)]


def find_cut(tx: Tx) -> Cut | None:
    """Return the newest; None: the trail is whole."""
    row = tx.one(_NEWEST, for_org=tx.org)
    return _from_row(row) if row else None


def put_cut(tx: Tx, cut: Cut, seals: Seals) -> None:
    """Record a cut. From then on the events that it covers may go; nobody takes the record back."""
    key_id, mac = seals.seal("trail", _sealed(tx.org, cut))
    tx.write(
        _INSERT,
        org=tx.org,
        seq=cut.last,
        hash=cut.hash,
        first_seq=cut.first,
        prev_hash=cut.prev,
        file=cut.file,
        digest=cut.digest,
        carried=cut.carried,
        cut_by=cut.by,
        cut_at=to_us(cut.at),
        seal=f"{key_id}.{mac}",
    )


def why_unsealed(org: str, cut: Cut, seals: Seals | None) -> str | None:
    """Say why a record is not taken for what a gateway's secret has sealed; None: it is."""
    key_id, _, mac = cut.seal.partition(".")
    if seals is None or key_id not in seals.key_ids:
        return f"the cut at event {cut.last} is sealed with the secret {key_id}, which ASSENT_SECRET has not"
    try:
        seals.verify_text("trail", _sealed(org, cut), key_id=key_id, mac=mac)
    except BadTokenError:
        return f"the record of the cut at event {cut.last} is not as it was sealed"
    return None


def who_may_not(tx: Tx) -> str | None:
    """Return the role that may not cut, where the database says so; None: this one may."""
    if not tx.locks_rows:
        return None  # SQLite has no roles
    row = tx.one(_MAY)
    return None if row is None or row["may"] else str(row["role"])


def count_left(tx: Tx, upto: int) -> int:
    """Return how many events are still there until a number."""
    row = tx.one(_LEFT, for_org=tx.org, upto=upto)
    return int(row["rows"]) if row else 0


def drop_events(tx: Tx, upto: int) -> int:
    """Delete the oldest events until a number, a few hundred; return how many."""
    return tx.run(_DROP, for_org=tx.org, upto=upto)


def first_standing(tx: Tx, *, behind: int) -> tuple[int, str] | None:
    """Return the first event of a request whose rows stand, and which one."""
    row = tx.one(_FIRST_STANDING, for_org=tx.org, behind=behind)
    return (row["seq"], row["request_id"]) if row else None


def first_since(tx: Tx, since: datetime, *, behind: int) -> int | None:
    """Return the number of the first event that is not before an instant."""
    row = tx.one(_FIRST_SINCE, for_org=tx.org, since=to_us(since), behind=behind)
    return row["seq"] if row else None


def _sealed(org: str, cut: Cut) -> str:
    facts = {**cut.facts(), "by": cut.by, "at": to_us(cut.at)}
    return "\n".join([org, *(f"{name}={value}" for name, value in facts.items())])


def _from_row(row: Row) -> Cut:
    return Cut(
        first=row["first_seq"],
        prev=row["prev_hash"],
        last=row["seq"],
        hash=row["hash"],
        file=row["file"],
        digest=row["digest"],
        carried=row["carried"],
        by=row["cut_by"],
        at=from_us(row["cut_at"]),
        seal=row["seal"],
    )
