"""The record of somebody who tried to decide and may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.trail.audit import Kind, Record

if TYPE_CHECKING:
    from app.domain.request.decision import Evidence


def refused_click(evidence: Evidence, *, why: str, person: str | None) -> Record:
    """Say in the trail that somebody tried to decide who may not."""
    return Record(
        kind=Kind.CLICK_REFUSED,
        actor=person or f"account:{evidence.account_id}",
        facts={
            "why": why,
            "channel": evidence.channel,
            "account": evidence.account_id,
            "tenant": evidence.tenant,
            "app": evidence.app_id,
            "message": evidence.message_id,
        },
    )
