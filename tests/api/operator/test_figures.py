"""What Prometheus scrapes: read by its own parser, and described figure by figure in the operator's page."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from tests.fixtures.gateway import ManualClock
from tests.places import ROOT

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from tests.fixtures.gateway import Gateway

NAMED = re.compile(r"`(assent_\w+?)(?:_total)?(?:\{(?P<labels>[\w,]+)\})?`")


async def scraped(gateway: Gateway) -> dict[str, Metric]:
    text = (await gateway.http.get("/metrics")).raise_for_status().text
    return {family.name: family for family in text_string_to_metric_families(text)}


def value(families: dict[str, Metric], name: str, **labels: str) -> float:
    [sample] = [sample for sample in families[name].samples if sample.labels == labels]
    return sample.value


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
