"""Second factors as they are stored: at most one a person, its secret sealed, and the last step whose code was used."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, select, update

from app.domain.identity.factor import Factor, FactorStatus
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.tables.payment_tables import factors

_ONE = (factors.c.org == bindparam("for_org"), factors.c.person == bindparam("of_person"))
_GET = Statement(select(factors).where(*_ONE))
_LOCK = Statement(select(factors).where(*_ONE).with_for_update())
_LIST = Statement(select(factors).where(factors.c.org == bindparam("for_org")).order_by(factors.c.person))
_INSERT = Statement(insert(factors))
_FIELDS = ("status", "secret", "new_secret", "invite_hash", "invite_until", "set_by", "set_at", "last_step")
_UPDATE = Statement(update(factors).where(*_ONE).values({name: bindparam(f"new_{name}") for name in _FIELDS}))
_USE = Statement(
    update(factors)
    .where(
        *_ONE,
        factors.c.status == FactorStatus.ACTIVE.value,
        factors.c.last_step < bindparam("of_step"),
    )
    .values(last_step=bindparam("of_step"), secret=bindparam("sealed"))
)
_DROP = Statement(delete(factors).where(*_ONE))


def find_factor(tx: Tx, person: str) -> Factor | None:
    """Read a person's factor."""
    row = tx.one(_GET, for_org=tx.org, of_person=person)
    return _from_row(row) if row else None


def lock_factor(tx: Tx, person: str) -> Factor | None:
    """Read a person's factor and keep it locked to the end of the unit: two codes at once are one after the other."""
    row = tx.one(_LOCK if tx.locks_rows else _GET, for_org=tx.org, of_person=person)
    return _from_row(row) if row else None


def list_factors(tx: Tx) -> list[Factor]:
    """Return an org's factors, by person."""
    return [_from_row(row) for row in tx.all(_LIST, for_org=tx.org)]


def put_factor(tx: Tx, factor: Factor, *, is_new: bool) -> None:
    """Write a factor that was locked, or was not there."""
    columns = {
        "status": factor.status.value,
        "secret": factor.secret,
        "new_secret": factor.new_secret,
        "invite_hash": factor.invite_hash,
        "invite_until": to_us(factor.invite_until) if factor.invite_until else None,
        "set_by": factor.set_by,
        "set_at": to_us(factor.set_at),
        "last_step": factor.last_step,
    }
    if is_new:
        tx.write(_INSERT, org=tx.org, person=factor.person, **columns)
    else:
        changed = {f"new_{name}": columns[name] for name in _FIELDS}
        tx.write(_UPDATE, for_org=tx.org, of_person=factor.person, **changed)


def use_step(tx: Tx, person: str, step: int, *, sealed: str) -> bool:
    """Spend a step's code, and keep the secret as it is sealed now. False: it, or a later one, was spent before."""
    return tx.run(_USE, for_org=tx.org, of_person=person, of_step=step, sealed=sealed) == 1


def drop_factor(tx: Tx, person: str) -> bool:
    """Take a person's factor away, with any invitation. False: there is none."""
    return tx.run(_DROP, for_org=tx.org, of_person=person) == 1


def _from_row(row: Row) -> Factor:
    return Factor(
        person=row["person"],
        status=FactorStatus(row["status"]),
        secret=row["secret"],
        new_secret=row["new_secret"],
        invite_hash=row["invite_hash"],
        invite_until=from_us(row["invite_until"]) if row["invite_until"] is not None else None,
        set_by=row["set_by"],
        set_at=from_us(row["set_at"]),
        last_step=row["last_step"],
    )
