"""A link of the trail as the wire shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.domain.trail.audit import AuditEvent


def view_event(event: AuditEvent) -> dict[str, object]:
    """Show a link of the trail, with everything that its hash covers."""
    return {
        "org": event.org,
        "seq": event.seq,
        "id": event.id,
        "at": event.at.isoformat(),
        "kind": event.record.kind.value,
        "actor": event.record.actor,
        "request_id": event.request_id,
        "request_version": event.request_version,
        "facts": dict(event.record.facts),
        "prev_hash": event.prev_hash,
        "hash": event.hash,
    }
