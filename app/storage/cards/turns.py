"""When each method may next be used in each chat: one row, which all replicas go by."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select, update

from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import turns

if TYPE_CHECKING:
    from datetime import datetime

TURN_RETENTION = timedelta(hours=1)
"""How long a chat's row is kept after everything in it was paid for."""

_ONE = (
    turns.c.org == bindparam("for_org"),
    turns.c.channel == bindparam("of_channel"),
    turns.c.method == bindparam("of_method"),
    turns.c.chat_id == bindparam("of_chat"),
)
_LOCK = Statement(select(turns).where(*_ONE).with_for_update())
_INSERT = Statement(insert(turns))
_PAY = Statement(update(turns).where(*_ONE).values(paid_until=bindparam("paid")))
_HOLD = Statement(update(turns).where(*_ONE).values(held_until=bindparam("held")))
_FORGET = Statement(delete(turns).where(turns.c.paid_until <= bindparam("at"), turns.c.held_until <= bindparam("at")))

Lane = tuple[str, str, str]
"""The channel, the method, and the chat ("" where it is one for all chats)."""


def take_turn(tx: Tx, lane: Lane, *, every: timedelta, burst: int, patience: timedelta) -> tuple[timedelta, bool]:
    """Take the next turn; return how long it is until then, and whether it was taken: not where that is too long."""
    paid, held = _lock(tx, lane)
    now = tx.lock_now()  # behind the lock
    free_at = max(held, paid - every * (burst - 1))
    wait = max(free_at - now, timedelta(0))
    if wait > patience:
        return wait, False
    tx.write(_PAY, **_named(tx, lane), paid=to_us(max(paid, held, now) + every))
    return wait, True


def hold_turns(tx: Tx, lane: Lane, *, wait: timedelta) -> None:
    """Let nobody take a turn for so long: the platform said so."""
    _, held = _lock(tx, lane)
    tx.write(_HOLD, **_named(tx, lane), held=to_us(max(held, tx.lock_now() + wait)))


def forget_turns(tx: Tx, *, before: datetime) -> int:
    """Drop the rows of chats in which nothing has gone on since; return how many."""
    return tx.run(_FORGET, at=to_us(before))


def _lock(tx: Tx, lane: Lane) -> tuple[datetime, datetime]:
    """Return until when the lane is paid for, and held. Two who make its row at once: one of them is run again."""
    row = tx.one(_LOCK, **_named(tx, lane))
    if row is not None:
        return from_us(row["paid_until"]), from_us(row["held_until"])
    channel, method, chat_id = lane
    tx.write(_INSERT, org=tx.org, channel=channel, method=method, chat_id=chat_id, paid_until=0, held_until=0)
    return from_us(0), from_us(0)


def _named(tx: Tx, lane: Lane) -> dict[str, object]:
    channel, method, chat_id = lane
    return {"for_org": tx.org, "of_channel": channel, "of_method": method, "of_chat": chat_id}
