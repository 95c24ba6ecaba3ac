"""The gateways that work on this database, as each of them writes itself down; see `app.domain.trail.replicas`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import bindparam, delete, insert, select, update

from app.domain.trail.replicas import Replica
from app.storage.engine.dialect import MICROSECOND, from_us, to_us
from app.storage.engine.transaction import Statement
from app.storage.engine.unreadable import readable
from app.storage.tables.replica_tables import replicas

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from app.storage.engine.transaction import Row, Tx

_T = replicas
_HAS = ("policy_version", "key_ids", "software", "ahead", "refused", "since", "seen_at")
_ALL = Statement(select(_T).order_by(_T.c.org, _T.c.id))
_OF_ORG = Statement(select(_T).where(_T.c.org == bindparam("for_org")).order_by(_T.c.id))
_LOCK = Statement(select(_T).where(_T.c.org == bindparam("for_org")).order_by(_T.c.id).with_for_update())
_INSERT = Statement(insert(_T))
_BEAT = Statement(
    update(_T)
    .where(_T.c.org == bindparam("for_org"), _T.c.id == bindparam("for_id"))
    .values({name: bindparam(f"new_{name}") for name in _HAS})
)
_SAY = Statement(update(_T).where(_T.c.org == bindparam("for_org")).values(said=bindparam("now_said")))
_LEAVE = Statement(delete(_T).where(_T.c.id == bindparam("for_id")))
_LEAVE_ORG = Statement(delete(_T).where(_T.c.id == bindparam("for_id"), _T.c.org == bindparam("for_org")))
_FORGET = Statement(delete(_T).where(_T.c.seen_at < bindparam("before")))


class Written(Struct, frozen=True, kw_only=True):
    """An org's gateways, and in what its trail says that they differ."""

    replicas: tuple[Replica, ...] = ()
    said: str = ""


def list_written(tx: Tx) -> dict[str, Written]:
    """Return those of every org that this transaction sees, by org, in the order of their ids."""
    rows: dict[str, list[Row]] = {}
    for row in tx.all(_ALL):
        rows.setdefault(row["org"], []).append(row)
    return {org: _written(of_org) for org, of_org in rows.items()}


def lock_written(tx: Tx) -> Written:
    """Lock the org's: whoever comes second reads what the first has said."""
    return _written(tx.all(_LOCK if tx.locks_rows else _OF_ORG, for_org=tx.org))


def write_down(tx: Tx, mine: Mapping[str, Replica], known: Mapping[str, Written]) -> None:
    """Write what this gateway has, by org. `known` are the rows as they were read."""
    new: list[Row] = []
    beats: list[Row] = []
    for org, replica in mine.items():
        written = known.get(org, Written())
        has = {
            "policy_version": replica.policy_version,
            "key_ids": " ".join(replica.key_ids),
            "software": replica.software,
            "ahead": replica.ahead // MICROSECOND,
            "refused": replica.refused,
            "since": to_us(replica.since),
            "seen_at": to_us(replica.seen_at),
        }
        if any(each.id == replica.id for each in written.replicas):
            beats.append({"for_org": org, "for_id": replica.id, **{f"new_{name}": has[name] for name in _HAS}})
        else:
            new.append({"org": org, "id": replica.id, "said": written.said, **has})
    if beats:
        tx.run_many(_BEAT, beats)
    if new:
        tx.run_many(_INSERT, new)


def keep_said(tx: Tx, said: str) -> None:
    """Keep what the org's trail says now."""
    tx.write(_SAY, for_org=tx.org, now_said=said)


def leave(tx: Tx, replica_id: str, *, org: str | None = None) -> None:
    """Take a gateway's own rows away: it stops, or has no file of this org any more."""
    if org is None:
        tx.write(_LEAVE, for_id=replica_id)
    else:
        tx.write(_LEAVE_ORG, for_id=replica_id, for_org=org)


def forget_silent(tx: Tx, *, before: datetime) -> None:
    """Drop those that nobody has heard of since."""
    tx.write(_FORGET, before=to_us(before))


def _written(rows: Sequence[Row]) -> Written:
    return Written(
        replicas=tuple(readable("replicas", rows, _from_row)), said=max((row["said"] for row in rows), default="")
    )


def _from_row(row: Row) -> Replica:
    return Replica(
        id=row["id"],
        policy_version=row["policy_version"],
        key_ids=tuple(row["key_ids"].split()),
        software=row["software"],
        ahead=row["ahead"] * MICROSECOND,
        refused=row["refused"],
        since=from_us(row["since"]),
        seen_at=from_us(row["seen_at"]),
    )
