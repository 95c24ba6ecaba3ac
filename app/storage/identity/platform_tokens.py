"""A platform's access that ends and is renewed: one row a channel, its two tokens sealed for exactly that channel."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select, update

from app.domain.identity.seals import BadTokenError
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.tables.secret_tables import platform_tokens

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.identity.seals import Seals

_T = platform_tokens
_ONE = (_T.c.org == bindparam("for_org"), _T.c.channel == bindparam("of_channel"))
_GET = Statement(select(_T).where(*_ONE))
_LOCK = Statement(select(_T).where(*_ONE).with_for_update())
_INSERT = Statement(insert(_T))
_FIELDS = ("pair", "ends_at", "seeds", "refreshing_until", "refreshing_by", "trouble", "lost_at")
_UPDATE = Statement(update(_T).where(*_ONE).values({name: bindparam(f"new_{name}") for name in _FIELDS}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is kept of one channel. `pair` is as it stands in the row: sealed, or None."""

    ends_at: datetime
    refreshing_until: datetime
    refreshing_by: str = ""
    pair: str | None = field(default=None, repr=False)
    seeds: tuple[str, ...] = ()
    trouble: str = ""
    lost_at: datetime | None = None

    def freed(self, *, until: datetime, trouble: str = "") -> Kept:
        """Let go of the lease; nobody tries again before then."""
        return replace(self, refreshing_by="", refreshing_until=until, trouble=trouble)


def find_kept(tx: Tx, channel: str) -> Kept | None:
    """Read what is kept of a channel."""
    row = tx.one(_GET, for_org=tx.org, of_channel=channel)
    return _from_row(row) if row else None


def lock_kept(tx: Tx, channel: str) -> Kept:
    """Read it and keep it locked to the end of the unit. Two who make the row at once: one of them is run again."""
    row = tx.one(_LOCK if tx.locks_rows else _GET, for_org=tx.org, of_channel=channel)
    if row is not None:
        return _from_row(row)
    long_ago = from_us(0)
    kept = Kept(ends_at=long_ago, refreshing_until=long_ago)
    tx.write(_INSERT, org=tx.org, channel=channel, **_columns(kept))
    return kept


def put_kept(tx: Tx, channel: str, kept: Kept) -> None:
    """Write what was locked."""
    changed = {f"new_{name}": value for name, value in _columns(kept).items()}
    tx.write(_UPDATE, for_org=tx.org, of_channel=channel, **changed)


def seal_pair(seals: Seals, token: str, renewal: str, *, org: str, channel: str) -> str:
    """Seal two tokens for one channel."""
    return seals.hide(json.dumps([token, renewal]), bound=_bound(org, channel))


def open_pair(seals: Seals, pair: str, *, org: str, channel: str) -> tuple[str, str] | None:
    """Open them again. None: they were sealed for another channel, or under a secret that is not accepted any more."""
    try:
        token, renewal = json.loads(seals.read_hidden(pair, bound=_bound(org, channel)))
    except BadTokenError:
        return None
    return token, renewal


def _bound(org: str, channel: str) -> tuple[str, ...]:
    return "platform-tokens", org, channel


def _columns(kept: Kept) -> dict[str, object]:
    return {
        "pair": kept.pair,
        "ends_at": to_us(kept.ends_at),
        "seeds": " ".join(kept.seeds),
        "refreshing_until": to_us(kept.refreshing_until),
        "refreshing_by": kept.refreshing_by,
        "trouble": kept.trouble,
        "lost_at": to_us(kept.lost_at) if kept.lost_at else None,
    }


def _from_row(row: Row) -> Kept:
    return Kept(
        pair=row["pair"],
        ends_at=from_us(row["ends_at"]),
        seeds=tuple(row["seeds"].split()),
        refreshing_until=from_us(row["refreshing_until"]),
        refreshing_by=row["refreshing_by"],
        trouble=row["trouble"],
        lost_at=from_us(row["lost_at"]) if row["lost_at"] is not None else None,
    )
