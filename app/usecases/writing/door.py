"""Which way something came in, as the trail keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.domain.request.decision import Evidence


def door_of(evidence: Evidence) -> dict[str, object]:
    """Return through which channel, account and message something came, as the trail keeps it."""
    said = {"channel": evidence.channel, "account": evidence.account_id, "message": evidence.message_id}
    return {name: value for name, value in said.items() if value}
