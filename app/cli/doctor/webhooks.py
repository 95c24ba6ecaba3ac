"""Whether the receivers outside take what they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.cli.doctor.payments import error, ok, warning
from app.storage.trail.audit_chain import get_head
from app.storage.trail.cuts import find_cut
from app.storage.trail.webhook_cursors import list_cursors
from app.usecases.platforms.send_webhooks import ALARM_AFTER

if TYPE_CHECKING:
    from app.domain.trail.webhooks import Webhook
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Finding
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.trail.webhook_cursors import Cursor

_MEND = "see what it answers, and its address and secret: docs/operations.md"


async def look_at_webhooks(store: Store, book: PolicyBook, org: str) -> list[Finding]:
    """Say of each receiver of the file how it stands."""
    hooks = book.current(org).webhooks

    def unit(tx: Tx) -> list[Finding]:
        known = {cursor.name: cursor for cursor in list_cursors(tx)}
        return [finding for hook in hooks for finding in _one(tx, hook, known.get(hook.name))]

    return await store.read(unit, org=org) if hooks else []


def _one(tx: Tx, hook: Webhook, cursor: Cursor | None) -> list[Finding]:
    found: list[Finding] = []
    if len(hook.secrets) > 1:
        mend = "take it out once the receiver takes the new one"
        found.append(warning(f"{hook.name}: secret_old is set: messages bear two signatures", mend))
    if cursor is None:
        return [*found, ok(f"{hook.name}: is told of what comes once a gateway has started")]
    cut = find_cut(tx)
    if cut is not None and cursor.seq < cut.last:
        what = f"{hook.name}: will not be told of events {cursor.seq + 1} to {cut.last}: they were cut off"
        found.append(warning(f"{what} while no gateway's file named it", "they are in the segments that were cut"))
    if cursor.failing_since is None:
        return [*found, ok(f"{hook.name}: has taken what it was told")]
    behind = get_head(tx)[0] - cursor.seq
    what = f"{hook.name}: takes nothing since {cursor.failing_since:%Y-%m-%d %H:%M} UTC ({cursor.error})"
    what += f", and is {behind} of the trail's events behind"
    is_long = tx.now() - cursor.failing_since >= ALARM_AFTER
    return [*found, (error if is_long else warning)(what, _MEND)]
