"""Passkeys as they are stored: the public half, whose it is under a seal, and how often it says that it has signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, or_, select, update

from app.domain.identity.passkey import Passkey
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.tables.secret_tables import passkeys

if TYPE_CHECKING:
    from datetime import datetime

_OF_ORG = passkeys.c.org == bindparam("for_org")
_OF_PERSON = passkeys.c.person == bindparam("of_person")
_THE_ONE = passkeys.c.credential == bindparam("of_credential")
_GET = Statement(select(passkeys).where(_THE_ONE))
_LIST = Statement(select(passkeys).where(_OF_ORG).order_by(passkeys.c.person, passkeys.c.added_at, passkeys.c.id))
_MINE = Statement(select(passkeys).where(_OF_ORG, _OF_PERSON).order_by(passkeys.c.added_at, passkeys.c.id))
_PUT = Statement(insert(passkeys))
_USE = Statement(
    update(passkeys)
    .where(
        _OF_ORG,
        _THE_ONE,
        passkeys.c.seal == bindparam("sealed_as"),
        or_(passkeys.c.signs < bindparam("now_signs"), passkeys.c.signs + bindparam("now_signs") == 0),
    )
    .values(signs=bindparam("now_signs"), used_at=bindparam("at"))
)
_SEAL = Statement(update(passkeys).where(_OF_ORG, _THE_ONE).values(seal=bindparam("new_seal")))
_DROP = Statement(delete(passkeys).where(_OF_ORG, _THE_ONE))


def find_passkey(tx: Tx, credential: str) -> Passkey | None:
    """Read a passkey by the name that its device gives it, in whichever org it is."""
    row = tx.one(_GET, of_credential=credential)
    return passkey_of(row) if row else None


def list_passkeys(tx: Tx, person: str | None = None) -> list[Passkey]:
    """Return a person's passkeys, or all of the org, the oldest first."""
    rows = tx.all(_LIST, for_org=tx.org) if person is None else tx.all(_MINE, for_org=tx.org, of_person=person)
    return [passkey_of(row) for row in rows]


def insert_passkey(tx: Tx, passkey: Passkey) -> None:
    """Write a new passkey."""
    tx.write(
        _PUT,
        credential=passkey.credential,
        id=passkey.id,
        org=passkey.org,
        person=passkey.person,
        public_key=passkey.public_key,
        signs=passkey.signs,
        added_at=to_us(passkey.added_at),
        used_at=None,
        seal=passkey.seal,
    )


def use_passkey(tx: Tx, passkey: Passkey, signs: int, at: datetime) -> bool:
    """Keep how often it says that it has signed. False: it is gone, or has said so before, as a copy of it would."""
    said = {"now_signs": signs, "sealed_as": passkey.seal, "at": to_us(at)}
    return tx.run(_USE, for_org=tx.org, of_credential=passkey.credential, **said) == 1


def seal_again(tx: Tx, passkey: Passkey, seal: str) -> None:
    """Keep another seal of the same."""
    tx.run(_SEAL, for_org=tx.org, of_credential=passkey.credential, new_seal=seal)


def drop_passkey(tx: Tx, passkey: Passkey) -> bool:
    """Take a passkey away. False: it is gone already."""
    return tx.run(_DROP, for_org=tx.org, of_credential=passkey.credential) == 1


def passkey_of(row: Row) -> Passkey:
    """Return the passkey of a row."""
    return Passkey(
        id=row["id"],
        org=row["org"],
        person=row["person"],
        credential=row["credential"],
        public_key=row["public_key"],
        signs=row["signs"],
        added_at=from_us(row["added_at"]),
        used_at=from_us(row["used_at"]) if row["used_at"] is not None else None,
        seal=row["seal"],
    )
