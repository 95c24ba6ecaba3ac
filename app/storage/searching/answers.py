"""How fast people answered: each recorded decision with the time for which its card had been there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, or_, select

from app.domain.request.decision import Verdict
from app.domain.rules.attention import Answer
from app.storage.engine.dialect import from_us, to_us
from app.storage.engine.transaction import Statement, Tx
from app.storage.tables.tables import decisions, deliveries, requests

if TYPE_CHECKING:
    from datetime import datetime

_MOST = 100_000
_SHOWN_AT = (
    select(func.max(deliveries.c.posted_at))
    .where(
        deliveries.c.request_id == decisions.c.request_id,
        deliveries.c.channel == decisions.c.channel,
        deliveries.c.posted_at <= decisions.c.decided_at,
        # A card that is shown in another one's message has none of its own.
        or_(deliveries.c.message_id == decisions.c.message_id, deliveries.c.carrier_id.is_not(None)),
    )
    .scalar_subquery()
)
_SINCE = Statement(
    select(
        decisions.c.person,
        decisions.c.verdict,
        decisions.c.decided_at,
        func.coalesce(_SHOWN_AT, requests.c.created_at).label(
            "shown_at"
        ),  # elsewhere than on a card: when it was asked
    )
    .join(requests, requests.c.id == decisions.c.request_id)
    .where(decisions.c.org == bindparam("for_org"), decisions.c.decided_at >= bindparam("since"))
    .order_by(decisions.c.decided_at.desc())
    .limit(_MOST)
)


def list_answers(tx: Tx, *, since: datetime) -> list[Answer]:
    """Return an org's decisions since an instant, newest first; votes that were taken back are none."""
    return [
        Answer(
            person=row["person"],
            approved=row["verdict"] == Verdict.APPROVE,
            took=from_us(row["decided_at"]) - from_us(row["shown_at"]),
        )
        for row in tx.all(_SINCE, for_org=tx.org, since=to_us(since))
    ]
