"""The lines of `assent doctor` about receivers outside: each is seen as it should be, and as it should not."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from app.cli.doctor.webhooks import look_at_webhooks
from app.domain.trail.audit import Kind, Record
from app.domain.trail.webhooks import Webhook
from app.ports import Severity
from app.storage.trail.webhook_cursors import lock_cursor, put_cursor
from tests.fixtures.gateway import START
from tests.requirements import requirement
from tests.storage.rig import ORG, ManualClock, open_store

if TYPE_CHECKING:
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx


class Book:
    """The part of a policy book that is read here."""

    def __init__(self, *secrets: bytes) -> None:
        self.webhooks = (
            Webhook(name="siem", url="https://siem.example/hook", host="siem.example", secrets=secrets, kinds=("*",)),
        )

    def current(self, org: str) -> Book:
        assert org == ORG
        return self


async def told(store: Store, *secrets: bytes) -> list[tuple[Severity, str, str]]:
    found = await look_at_webhooks(store, cast("Any", Book(*secrets or (b"one",))), ORG)
    return [(each.severity, each.what, each.mend) for each in found]


@requirement("S-36")
async def test_the_doctor_says_how_each_receiver_stands(database_url: str) -> None:
    clock = ManualClock(START)
    async with open_store(database_url, clock) as store:
        (before,) = await told(store)
        assert before[:2] == (Severity.OK, "siem: is told of what comes once a gateway has started")
        await store.write(lambda tx: lock_cursor(tx, "siem") and None, org=ORG)
        (taken,) = await told(store)
        assert taken[:2] == (Severity.OK, "siem: has taken what it was told")
        rotating = await told(store, b"one", b"two")
        assert [line[0] for line in rotating] == [Severity.WARNING, Severity.OK]
        assert "two signatures" in rotating[0][1]

        def fails(tx: Tx) -> None:
            for _ in range(3):
                tx.append(Record(kind=Kind.CREATED, actor="system", facts={}))
            cursor = lock_cursor(tx, "siem")
            put_cursor(tx, replace(cursor, failing_since=tx.now(), error="status 500", attempts=2))

        await store.write(fails, org=ORG)
        (failing,) = await told(store)
        assert failing[0] is Severity.WARNING
        assert (
            "takes nothing since 2026-03-01 10:00 UTC (status 500), and is 3 of the trail's events behind" in failing[1]
        )
        assert "docs/operations.md" in failing[2]
        clock.advance(timedelta(minutes=15))
        (long,) = await told(store)
        assert long[0] is Severity.ERROR
