"""The page says how a call differs from the last one like it that people approved: in what, or that it does not."""

from __future__ import annotations

from asyncio import to_thread
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.fixtures.gateway import ManualClock
from tests.fixtures.review_visits import ReadPage, Visitor, with_url
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

FIRST = {"n": 1, "memo": "steel", "account": "DE02-SECRET", "old": True}


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


async def asked(g: Gateway, arguments: dict[str, Any], *, approve: bool = True, **more: Any) -> dict[str, Any]:
    request = await g.ask("by_api", arguments, **{"session": "s-1", **more})
    if approve:
        assert (await g.decide(request)).status_code == 200
    return request


async def told(g: Gateway, request: dict[str, Any], *, who: str = "alice@acme.example") -> str:
    """Return what the page of a request says, as text."""
    page = await Visitor(gateway=g).visit(request, who=who)
    return " ".join(" ".join(ReadPage(page).texts).split())


async def test_what_differs_is_written_out_argument_by_argument_with_what_must_not_be_seen_masked(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    g.rewrite("by_api: {}", "by_api: {sensitive: [account]}")
    await g.reload()
    await asked(g, FIRST)
    now = await asked(g, {"n": 2, "memo": "steel", "account": "DE99-SECRET", "new": "<b>"}, approve=False)
    page = await told(g, now)
    assert "4 different from what Alice approved on 20" in page
    for difference in ("n 1 → 2", "old true → –", "new – → <b>", "account not the same; both are hidden"):
        assert difference in page, page
    assert "steel → " not in page
    for hidden in ("DE02-SECRET", "DE99-SECRET"):
        assert hidden not in page


async def test_what_is_the_same_is_said_to_be_and_what_is_no_measure_is_not_mentioned(gateway: Gateway) -> None:
    g = gateway
    await asked(g, {**FIRST, "n": 7})
    await g.advance(timedelta(minutes=1))
    first = await asked(g, FIRST)
    assert (await g.claim(first)).status_code == 200
    await g.advance(timedelta(minutes=1))
    denied = await asked(g, {**FIRST, "n": 5}, approve=False)
    await g.decide(denied, "deny")
    again = await g.ask("by_api", FIRST, session="s-1")
    assert "Identical to what Alice approved on 2026-03-01" in await told(g, again)
    for other in (
        await asked(g, FIRST, approve=False, session="s-2"),
        await g.ask("by_api", {**FIRST, "n": 3}),
        await g.ask("pay_two", FIRST, session="s-1"),
        await g.ask("by_api", {**FIRST, "n": 4}, session="s-1", who="agent:other"),
    ):
        page = await told(g, other)
        assert ("Identical" in page, "different from" in page) == (False, False)


PAYS = "by_api: {payment: {amount: amount, currency: currency, payee: payee, reference: ref}}"
ORDER = {"payee": "Acme Ltd", "amount": 500, "currency": "EUR", "ref": "A-1"}


async def later(g: Gateway) -> None:
    """Let a minute pass where no real time does."""
    if isinstance(g.clock, ManualClock):
        await g.advance(timedelta(minutes=1))


async def test_a_payment_is_measured_by_the_last_one_to_the_same_payee_in_whatever_session(
    either_gateway: Gateway,
) -> None:
    """The payee is who they are however they are written; another payee, agent or tool is no measure."""
    g = either_gateway
    g.rewrite("by_api: {}", PAYS)
    g.rewrite("org: acme\n", "org: acme\npayments: {step_up: [], duplicates: 0s}\n")  # a key alone decides here
    await g.reload()
    await asked(g, {**ORDER, "amount": 200}, session="s-1")
    await later(g)
    await asked(g, ORDER, session="s-2")
    await later(g)
    await asked(g, {**ORDER, "payee": "Globex", "amount": 900}, session="s-3")
    await later(g)
    denied = await asked(g, {**ORDER, "amount": 7_000}, approve=False, session="s-4")
    await g.decide(denied, "deny")
    for payee in ("Acme Ltd", "  ACME  ltd "):
        now = await asked(g, {**ORDER, "payee": payee, "amount": 650}, approve=False, session=f"s-{payee}")
        page = await told(g, now)
        assert "amount 500 → 650" in page, page
    without = await g.ask("by_api", {**ORDER, "amount": 650, "ref": "A-2"})
    assert "amount 500 → 650" in await told(g, without), "also for a call that names no session"
    for other in (
        await g.ask("by_api", {**ORDER, "payee": "Initech"}, session="s-6"),
        await g.ask("by_api", ORDER, session="s-7", who="agent:other"),
        await g.ask("pay_two", ORDER, session="s-8"),
    ):
        page = await told(g, other)
        assert ("Identical" in page, "different from" in page) == (False, False)


async def test_what_is_long_or_much_is_bounded(gateway: Gateway) -> None:
    many = {f"a{n:03}": "x" * 4_000 + str(n) for n in range(25)}
    await asked(gateway, many)
    now = await asked(gateway, {name: f"{value}!" for name, value in many.items()} | {"b": "y" * 9_000}, approve=False)
    page = await told(gateway, now)
    assert "26 different from" in page
    assert "and 6 more that differ" in page
    assert "too long to show where they differ" in page


@requirement("S-37")
async def test_nobody_is_shown_an_earlier_call_that_they_may_not_see(gateway: Gateway) -> None:
    g = gateway
    await g.decide(await g.ask("by_api", FIRST, session="s-1", requester="rita@acme.example"))
    g.rewrite(
        "tools: [by_api], then: ask, stages: [{of: [finance]}]", "tools: [by_api], then: ask, stages: [{of: [legal]}]"
    )
    await g.reload()
    now = await g.ask("by_api", {**FIRST, "n": 2}, session="s-1")
    assert "different from" not in await told(g, now, who="dave@acme.example")
    assert "different from" in await told(g, now, who="olga@acme.example"), "the owner may see both"


@requirement("S-63")
async def test_a_row_that_no_gateway_wrote_is_no_measure(gateway: Gateway) -> None:
    g = gateway
    first = await asked(g, FIRST)
    now = await asked(g, {**FIRST, "n": 2}, approve=False)
    assert "1 different from" in await told(g, now)
    (await to_thread(Stranger, g))(f"UPDATE requests SET arguments = '{{\"n\":2}}' WHERE id = '{first['id']}'")
    assert "different from" not in await told(g, now)
