"""What Prometheus scrapes: read by its own parser, and described figure by figure in the operator's page."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from app.domain.errors import UnavailableError
from app.ports import ChannelUnavailableError
from app.storage.engine.transaction import Statement
from app.storage.statements.together import LostGuardError
from app.usecases.platforms.send_webhooks import Failing
from tests.fixtures.figures import scraped, value
from tests.fixtures.gateway import ManualClock
from tests.places import ROOT

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from app.storage.engine.transaction import Tx
    from tests.fixtures.gateway import Gateway

NAMED = re.compile(r"`(assent_\w+?)(?:_total)?(?:\{(?P<labels>[\w,]+)\})?`")


async def test_what_is_owed_is_counted_and_its_age_is_told(either_gateway: Gateway) -> None:
    g = either_gateway
    families = await scraped(g)
    assert value(families, "assent_requests", state="pending") == 0
    assert value(families, "assent_oldest_seconds", what="pending") == 0

    g.container.read._counted = None  # twice a minute at most: as if half of one had gone by
    first = await g.ask()
    second = await g.ask(arguments={"amount": 7, "account": "DE07"})
    assert (await g.decide(second)).status_code == 200
    if isinstance(g.clock, ManualClock):
        g.clock.advance(timedelta(seconds=90))
    families = await scraped(g)
    states = {sample.labels["state"]: sample.value for sample in families["assent_requests"].samples}
    assert states == {"pending": 1, "approved": 1, "executing": 0, "unknown": 0, "pending_elsewhere": 0}
    assert value(families, "assent_oldest_seconds", what="pending") >= (90 if isinstance(g.clock, ManualClock) else 0)
    assert value(families, "assent_outbox_rows", status="dead") == 0
    assert {sample.labels["lane"] for sample in families["assent_lane_backlog"].samples} == {
        "write",
        "read",
        "read_long",
    }
    assert value(families, "assent_event_streams") == 0
    assert families["process_resident_memory_bytes"].samples[0].value > 10_000_000
    assert first["state"] == "pending"


async def test_of_two_orgs_receivers_of_one_name_the_longer_failure_is_told(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = gateway.clock.now()
    failing = [
        Failing(org=org, webhook="siem", since=now - timedelta(seconds=seconds), why="status 500")
        for org, seconds in (("acme", 60), ("globex", 3600), ("initech", 5))
    ]
    monkeypatch.setattr(type(gateway.container.webhooks), "failing", property(lambda _: tuple(failing)))
    assert value(await scraped(gateway), "assent_webhook_failing_seconds", webhook="siem") == 3600


async def test_counting_is_not_done_at_every_look(gateway: Gateway) -> None:
    await scraped(gateway)
    await gateway.ask()
    assert value(await scraped(gateway), "assent_requests", state="pending") == 0
    gateway.container.read._counted = None
    assert value(await scraped(gateway), "assent_requests", state="pending") == 1


async def test_an_errand_that_waits_is_told_by_its_age(gateway: Gateway) -> None:
    gateway.rows("UPDATE outbox SET status = 'done'")
    await gateway.ask()
    gateway.rows("UPDATE outbox SET status = 'queued', due_at = 9007199254740991")
    assert isinstance(gateway.clock, ManualClock)
    gateway.clock.advance(timedelta(minutes=5))
    assert value(await scraped(gateway), "assent_oldest_seconds", what="outbox") >= 300


async def test_how_long_people_took_is_told_by_what_came_of_it(gateway: Gateway) -> None:
    g = gateway
    approved, denied, _ = await g.ask(), await g.ask(arguments={"amount": 1}), await g.ask(arguments={"amount": 2})
    await g.advance(timedelta(seconds=20))
    assert (await g.decide(approved)).status_code == 200
    await g.advance(timedelta(seconds=70))
    assert (await g.decide(denied, "deny")).status_code == 200
    await g.claim(approved)
    await g.report(approved)
    await g.advance(timedelta(minutes=31))
    families = await scraped(g)
    took = {
        sample.labels["outcome"]: sample.value
        for sample in families["assent_decided_seconds"].samples
        if sample.name.endswith("_sum")
    }
    assert took == {"approved": 20, "denied": 90, "expired": 31 * 60 + 90, "cancelled": 0, "undeliverable": 0}
    counts = {s.labels["outcome"]: s.value for s in families["assent_decided_seconds"].samples if "_count" in s.name}
    assert counts == {"approved": 1, "denied": 1, "expired": 1, "cancelled": 0, "undeliverable": 0}


async def test_commits_are_timed_and_what_fails_in_the_database_is_counted(either_gateway: Gateway) -> None:
    g = either_gateway

    def count(families: dict[str, Metric]) -> float:
        return next(s.value for s in families["assent_commit_seconds"].samples if s.name.endswith("_count"))

    before = await scraped(g)
    kinds = {sample.labels["kind"]: sample.value for sample in before["assent_database_errors"].samples}
    assert {"silent", "full", "race", "lost", "statement"} < set(kinds)
    await g.ask()
    assert count(await scraped(g)) > count(before)
    g.rows("ALTER TABLE seen_clicks RENAME TO seen_clicks_away")
    sql = Statement(text("SELECT 1 FROM seen_clicks"))
    with pytest.raises(UnavailableError):
        await g.container.store.read(lambda tx: tx.write(sql), org="acme")
    g.rows("ALTER TABLE seen_clicks_away RENAME TO seen_clicks")

    lost = iter([True, False])

    def unit(_: Tx) -> None:
        if next(lost):
            raise LostGuardError

    await g.container.store.write(unit, org="acme")
    after = await scraped(g)
    told = {
        sample.labels["kind"]: sample.value - kinds[sample.labels["kind"]]
        for sample in after["assent_database_errors"].samples
    }
    assert told["schema"] >= 1
    assert told["race"] == 1


async def test_each_channel_tells_whether_it_is_reached_and_when_it_last_was(gateway: Gateway) -> None:
    families = await scraped(gateway)
    assert families["assent_channel_connected"].samples == []
    request = await gateway.ask()
    families = await scraped(gateway)
    assert value(families, "assent_channel_connected", channel="chat", direction="send") == 1
    assert 0 <= value(families, "assent_channel_last_success_seconds", channel="chat", direction="send") < 60
    assert not [s for s in families["assent_channel_last_success_seconds"].samples if s.labels["direction"] == "hear"]

    gateway.platform.broken["chat"] = ChannelUnavailableError("away")
    await gateway.ask(arguments={"amount": 3})
    assert value(await scraped(gateway), "assent_channel_connected", channel="chat", direction="send") == 0
    gateway.platform.broken.clear()
    await gateway.press(request)
    assert value(await scraped(gateway), "assent_channel_connected", channel="chat", direction="send") == 1


async def test_the_page_tells_of_every_figure_with_its_labels_and_of_no_other(gateway: Gateway) -> None:
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8").partition("## Watching")[2].partition("\n## ")[0]
    told = {
        match[1]: tuple((match["labels"] or "").split(",")) if match["labels"] else ()
        for match in NAMED.finditer(page.partition("One line of the log")[0])
    }
    figures = vars(gateway.container.telemetry).values()
    declared = {
        figure._name: tuple(figure._labelnames)
        for figure in figures
        if getattr(figure, "_name", "").startswith("assent_")
    }
    assert told == declared
