"""Nothing happens that the trail cannot tell of, and what the clock does touches only what is due."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tests.fixtures.gateway import ManualClock
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

MINUTE = timedelta(minutes=1)

# --- audit ------------------------------------------------------------------------------------------------------------

_TRANSITIONS = (
    "create", "vote", "approve", "deny", "cancel", "expire", "claim", "succeed", "lapse", "lose", "reconcile", "click",
    "key",
)  # fmt: skip


@requirement("S-17")
@pytest.mark.parametrize("transition", _TRANSITIONS)
@pytest.mark.heavy
@pytest.mark.sampled(4)
async def test_what_cannot_be_written_to_the_trail_does_not_happen(  # noqa: C901, PLR0912 - one arm a transition
    gateway: Gateway, transition: str
) -> None:
    g = gateway
    tool = {"vote": "pay_two", "click": "pay"}.get(transition, "by_api")
    request = await g.ask(tool)
    if transition in {"claim", "lapse", "succeed", "lose", "reconcile"}:
        await g.decide(request)
    if transition in {"succeed", "lose", "reconcile"}:
        await g.claim(request)
    if transition == "reconcile":
        await g.advance(11 * MINUTE)
    await g.key("alice@acme.example")
    await g.key("admin")
    before = g.content(without=("outbox",))
    g.rows("CREATE TRIGGER broken BEFORE INSERT ON audit_events BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
    said: Any = None
    match transition:
        case "create":
            said = await g.call("POST", "/v1/requests", {"tool": "by_api", "arguments": {"n": 2}})
        case "vote" | "approve":
            said = await g.decide(request)
        case "deny":
            said = await g.decide(request, "deny")
        case "cancel":
            said = await g.call("POST", f"/v1/requests/{request['id']}/cancel", {})
        case "claim":
            said = await g.claim(request)
        case "succeed" | "reconcile":
            said = await g.report(request)
        case "key":
            said = await g.call("POST", "/v1/keys", {"scope": "auditor", "label": "x"}, who="admin")
        case "click":
            assert (await g.press(request))["result"] == "retry"
        case _:
            g.clock.advance(timedelta(hours=2))  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
            with pytest.raises(Exception, match="database"):
                await g.container.sweep()
    if said is not None:
        assert said.status_code == 503
        assert "retry-after" in said.headers
        assert "disk" not in said.text
    assert g.content(without=("outbox",)) == before
    g.rows("DROP TRIGGER broken")
    if said is not None and transition == "claim":
        assert (await g.claim(request)).status_code == 200


# --- sweeps and looking -----------------------------------------------------------------------------------------------


@requirement("S-53")
async def test_sweeps_touch_only_what_is_pending_and_due(gateway: Gateway) -> None:
    g = gateway
    ends: dict[str, dict[str, Any]] = {}
    for n, end in enumerate(["claimed", "succeeded", "denied", "cancelled", "pending"]):
        ends[end] = await g.ask("long" if end == "pending" else "by_api", {"n": n})
        match end:
            case "claimed" | "succeeded":
                await g.decide(ends[end])
                await g.claim(ends[end])
            case "denied":
                await g.decide(ends[end], "deny")
            case "cancelled":
                await g.call("POST", f"/v1/requests/{ends[end]['id']}/cancel", {})
            case _:
                pass
        if end == "succeeded":
            await g.report(ends[end])
    before = g.content()
    assert isinstance(g.clock, ManualClock)
    g.clock.advance(9 * MINUTE)  # within every lease
    swept = await asyncio.gather(*(g.container.sweep() for _ in range(8)))
    assert sum(each.total for each in swept) == 0
    assert g.content() == before
    await g.advance(40 * MINUTE)  # the lease of the claimed one is over: unknown, by its own machine, and nothing else
    states = {end: (await g.read(request))["state"] for end, request in ends.items()}
    assert states == {
        "claimed": "unknown",
        "succeeded": "succeeded",
        "denied": "denied",
        "cancelled": "cancelled",
        "pending": "pending",
    }
    assert [row["status"] for row in g.rows(f"SELECT status FROM requests WHERE id = '{ends['claimed']['id']}'")] == [
        "approved"
    ]


@requirement("S-53")
async def test_racing_sweeps_expire_each_request_once(either_gateway: Gateway) -> None:
    g = either_gateway
    requests = [await g.ask("by_api", {"n": n}) for n in range(20)]
    if isinstance(g.clock, ManualClock):
        g.clock.advance(30 * MINUTE)
    else:
        with psycopg.connect(g.url) as owner:
            owner.execute("SET assent.org = '*'")
            owner.execute("ALTER TABLE requests DISABLE TRIGGER USER")
            owner.execute("UPDATE requests SET expires_at = created_at + 1")
            owner.execute("ALTER TABLE requests ENABLE TRIGGER USER")
        await g.container.seal_standing.again("acme", by="test", reason="its times were moved")
    swept = await asyncio.gather(*(g.container.sweep() for _ in range(6)))
    assert sum(each.expired for each in swept) == 20
    assert Counter(kind for kind, _ in g.trail())["request.expired"] == 20
    assert {(await g.read(request))["state"] for request in requests} == {"expired"}
