"""What the gateway remembers to recognise a repetition: idempotency keys of creations, and clicks already seen."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import bindparam, delete, insert, select

from app.storage.engine.dialect import to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import idempotency_keys, seen_clicks

KEY_RETENTION = timedelta(hours=24)
"""How long a creation's idempotency key is remembered, unless the file says longer."""

CLICK_RETENTION = timedelta(minutes=15)
"""How long a click is remembered: longer than the five minutes for which its signature is accepted."""

_GET_KEY = Statement(
    select(idempotency_keys.c.call_digest, idempotency_keys.c.request_id, idempotency_keys.c.expires_at).where(
        idempotency_keys.c.org == bindparam("for_org"),
        idempotency_keys.c.agent == bindparam("of_agent"),
        idempotency_keys.c.key == bindparam("of_key"),
    )
)
_PUT_KEY = Statement(insert(idempotency_keys))
_DROP_KEY = Statement(
    delete(idempotency_keys).where(
        idempotency_keys.c.org == bindparam("for_org"),
        idempotency_keys.c.agent == bindparam("of_agent"),
        idempotency_keys.c.key == bindparam("of_key"),
        idempotency_keys.c.expires_at <= bindparam("at"),
    )
)
_GET_CLICK = Statement(
    select(seen_clicks.c.event_key).where(
        seen_clicks.c.org == bindparam("for_org"),
        seen_clicks.c.channel == bindparam("of_channel"),
        seen_clicks.c.event_key == bindparam("of_event"),
    )
)
_PUT_CLICK = Statement(insert(seen_clicks))


def find_key(tx: Tx, agent: str, key: str) -> tuple[str, str] | None:
    """Return the (call digest, request id) that an idempotency key stands for."""
    row = tx.one(_GET_KEY, for_org=tx.org, of_agent=agent, of_key=key)
    return (row["call_digest"], row["request_id"]) if row and row["expires_at"] > to_us(tx.now()) else None


def remember_key(
    tx: Tx, agent: str, key: str, *, call_digest: str, request_id: str, lasts: timedelta = KEY_RETENTION
) -> None:
    """Remember what a key stands for, instead of what it stood for until its time was over."""
    tx.write(_DROP_KEY, for_org=tx.org, of_agent=agent, of_key=key, at=to_us(tx.now()))
    tx.write(
        _PUT_KEY,
        org=tx.org,
        agent=agent,
        key=key,
        call_digest=call_digest,
        request_id=request_id,
        expires_at=to_us(tx.now() + lasts),
    )


def was_seen(tx: Tx, channel: str, event_key: str) -> bool:
    """Say whether this very click was seen."""
    return tx.one(_GET_CLICK, for_org=tx.org, of_channel=channel, of_event=event_key) is not None


def seen_before(tx: Tx, channel: str, event_key: str) -> bool:
    """Say whether this very click was seen; remember it if not."""
    if was_seen(tx, channel, event_key):
        return True
    expires_at = to_us(tx.now() + CLICK_RETENTION)
    tx.write(_PUT_CLICK, org=tx.org, channel=channel, event_key=event_key, expires_at=expires_at)
    return False
