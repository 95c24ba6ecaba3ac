"""Which platform account is which person, as the platform last said: what a click is authorised against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from sqlalchemy import bindparam, delete, insert, select

from app.ports import Account, AccountStatus
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.engine.unreadable import readable
from app.storage.tables.tables import accounts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from app.storage.engine.transaction import Row


class KnownAccount(Struct, frozen=True, kw_only=True):
    """A person's account in one channel, and when that was last checked."""

    person: str
    account: Account
    checked_at: datetime


_PUT = Statement(insert(accounts))
_DROP = Statement(
    delete(accounts).where(
        accounts.c.org == bindparam("for_org"),
        accounts.c.channel == bindparam("of_channel"),
        accounts.c.person == bindparam("of_person"),
    )
)
_BY_ACCOUNT = Statement(
    select(accounts).where(
        accounts.c.org == bindparam("for_org"),
        accounts.c.channel == bindparam("of_channel"),
        accounts.c.account_id == bindparam("of_account"),
    )
)
_OF_PERSON = Statement(
    select(accounts).where(accounts.c.org == bindparam("for_org"), accounts.c.person == bindparam("of_person"))
)
_OF_CHANNEL = Statement(
    select(accounts).where(accounts.c.org == bindparam("for_org"), accounts.c.channel == bindparam("of_channel"))
)


def put_account(tx: Tx, channel: str, person: str, account: Account | None) -> None:
    """Remember what the platform said just now; None: it knows nobody, so the person has no account here."""
    tx.write(_DROP, for_org=tx.org, of_channel=channel, of_person=person)
    if account is not None:
        tx.write(
            _PUT,
            org=tx.org,
            channel=channel,
            person=person,
            tenant=account.tenant,
            account_id=account.account_id,
            status=account.status.value,
            checked_at=to_us(tx.now()),
        )


def list_by_account(tx: Tx, channel: str, account_id: str) -> list[KnownAccount]:
    """Return who an account is: nobody, one person, or (a mistake: then nobody is recognised) several."""
    return _readable(tx.all(_BY_ACCOUNT, for_org=tx.org, of_channel=channel, of_account=account_id))


def list_of_person(tx: Tx, person: str) -> dict[str, KnownAccount]:
    """Return a person's account in each channel, by the channel's name."""
    rows = tx.all(_OF_PERSON, for_org=tx.org, of_person=person)
    return {row["channel"]: known for row in rows for known in _readable([row])}


def list_of_channel(tx: Tx, channel: str) -> list[KnownAccount]:
    """Return every account that is known in a channel."""
    return _readable(tx.all(_OF_CHANNEL, for_org=tx.org, of_channel=channel))


def _readable(rows: Iterable[Row]) -> list[KnownAccount]:
    """Read rows. Who an unreadable one is about is not recognised by it, and the log names the table."""
    return readable("accounts", rows, _known)


def _known(row: Row) -> KnownAccount:
    account = Account(tenant=row["tenant"], account_id=row["account_id"], status=AccountStatus(row["status"]))
    return KnownAccount(person=row["person"], account=account, checked_at=from_us(int(row["checked_at"])))
