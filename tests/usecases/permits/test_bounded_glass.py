"""A broken glass has bounds: how often, how much, whose limits, what it takes, and somebody who looks at it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.fixtures.gateway import open_gateway
from tests.fixtures.second_factors import enrolled
from tests.fixtures.standing import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    OLGA,
    PAY,
    RITA,
    STANDING_ACME,
    break_glass,
    break_it,
    submit,
    write_standing,
)
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx2

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

BOUNDS = "uses: 4, each: {CNY: 500, USD: 70}, total: {CNY: 1200, USD: 70}}"
L3 = "  - {id: large, tools: [note], then: ask, assurance: L3, stages: [{of: [finance]}], channels: [api]}\n"
ASK: dict[str, Any] = {"reason": "the payroll run is stuck", "tools": ["pay"], "minutes": 20}


def bounded(text: str) -> str:
    return text.replace("each: {CNY: 100000}, total: {CNY: 200000}}", BOUNDS)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org whose glass has narrow bounds."""
    folder = write_standing(tmp_path)
    (folder / "acme.yaml").write_text(bounded(STANDING_ACME))
    return folder


@pytest.fixture
def with_l3(config: Path) -> Path:
    """Have notes take a second factor."""
    path = config / "acme.yaml"
    path.write_text(path.read_text().replace("  - {id: note,", f"{L3}  - {{id: note,"))
    return config


@pytest.fixture
async def guarded(database_url: str, with_l3: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    async with open_gateway(database_url, with_l3, platform) as running:
        yield running


async def paid(g: Gateway, amount: str, *, currency: str = "CNY", payee: str = "Acme Ltd") -> str:
    """Submit a payment and return how its request stands."""
    said = await submit(g, arguments={**PAY, "amount": amount, "currency": currency, "payee": payee})
    return said["request"]["state"]


async def ask(g: Gateway, *, who: str = ALICE, **changed: Any) -> httpx2.Response:
    return await g.call("POST", "/v1/break-glass", {**ASK, **changed}, who=who)


async def confirm(g: Gateway, asked: dict[str, Any], *, who: str = BOB, **more: Any) -> httpx2.Response:
    return await g.call("POST", f"/v1/break-glass/{asked['id']}/confirm", {"digest": asked["digest"], **more}, who=who)


async def listed(g: Gateway) -> dict[str, Any]:
    return (await g.call("GET", "/v1/break-glass", who="auditor")).json()["items"][0]


@requirement("S-74")
async def test_fifty_large_claims_of_two_people_with_a_small_limit_all_wait_for_people(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    """The case that was seen: 50 claims of CNY 999,999, let pass by two people who may each approve CNY 1,000."""
    path = config / "acme.yaml"
    text = STANDING_ACME.replace(
        "each: {CNY: 100000}, total: {CNY: 200000}}", "uses: 100, each: {CNY: 1000000}, total: {CNY: 60000000}}"
    )
    for name in ("Alice", "Bob"):
        text = text.replace(f"{{name: {name},", f"{{name: {name}, limit: 1000 CNY,")
    path.write_text(text)
    async with open_gateway(database_url, config, platform) as g:
        await break_glass(g)
        stands = [await paid(g, "999999", payee=f"Nobody {number}") for number in range(50)]
        assert stands == ["pending"] * 50
        assert await paid(g, "1000") == "approved"
        assert await paid(g, "1000.01") == "pending"
        assert ((await listed(g))["used"], (await listed(g))["spent"]) == (1, {"CNY": "1000"})


@requirement("S-74")
@pytest.mark.parametrize("limited", ["Alice", "Bob"])
async def test_the_limit_of_either_of_the_two_holds(gateway: Gateway, limited: str) -> None:
    gateway.rewrite(f"{{name: {limited},", f"{{name: {limited}, limit: 100 CNY,")
    await gateway.reload()
    await break_glass(gateway, tools=["pay", "note"])
    assert await paid(gateway, "101") == "pending"
    assert await paid(gateway, "20", currency="USD") == "pending", "a limit in one currency says nothing of another"
    assert (await submit(gateway, "note", {}))["request"]["state"] == "pending", "what it costs is not known"
    assert await paid(gateway, "100") == "approved"


@requirement("S-74")
async def test_one_payment_all_payments_and_the_uses_are_bounded(either_gateway: Gateway) -> None:
    g = either_gateway
    glass = await break_glass(g)
    assert (glass["uses"], glass["each"], glass["total"]) == (
        4,
        {"CNY": "500", "USD": "70"},
        {"CNY": "1200", "USD": "70"},
    )
    assert "4 uses at most, CNY 500, USD 70 at most each, CNY 1,200, USD 70 in all" in glass["scope"]
    assert "最多 4 次，每笔最多 CNY 500、USD 70，合计最多 CNY 1,200、USD 70" in glass["scope_zh"]
    assert await paid(g, "500.01") == "pending"
    assert await paid(g, "1", currency="EUR") == "pending"
    assert await paid(g, "500") == "approved"
    assert await paid(g, "500") == "approved"
    assert await paid(g, "200.01") == "pending"  # that would be 1,200.01
    assert await paid(g, "200") == "approved"
    assert await paid(g, "0.01") == "pending"
    assert await paid(g, "70", currency="USD") == "approved"  # the fourth
    assert (await submit(g, "note", {}))["request"]["state"] == "pending"
    assert ((await listed(g))["used"], (await listed(g))["spent"]) == (4, {"CNY": "1200", "USD": "70"})


@requirement("S-74")
async def test_what_costs_nothing_is_bounded_by_the_uses(gateway: Gateway) -> None:
    await break_glass(gateway, tools=["note"])
    stands = [(await submit(gateway, "note", {"to": str(number)}))["request"]["state"] for number in range(6)]
    assert stands == ["approved"] * 4 + ["pending"] * 2


@requirement("S-74")
@pytest.mark.parametrize(("tool", "pass_"), [("pay", 3), ("note", 4)], ids=["total", "uses"])
async def test_of_many_at_the_same_time_on_several_replicas_no_more_pass_than_the_bounds_allow(
    database_url: str, config: Path, platform: MemoryPlatform, tool: str, pass_: int
) -> None:
    async with open_gateway(database_url, config, platform) as a, open_gateway(database_url, config, platform) as b:
        await break_glass(a, tools=["pay", "note"])
        await a.key("agent:shop")
        b.keys.update(a.keys)
        calls = [PAY | {"payee": f"Payee {number}"} if tool == "pay" else {"to": str(number)} for number in range(24)]
        answers = await asyncio.gather(*(submit((a, b)[at % 2], tool, call) for at, call in enumerate(calls)))
        stands = sorted(each["request"]["state"] for each in answers)
        assert stands == ["approved"] * pass_ + ["pending"] * (24 - pass_)
        assert (await listed(a))["used"] == pass_


@requirement("S-74")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("each: {CNY: 500, USD: 70}", "each: {CNY: 399, USD: 70}"),
        ("total: {CNY: 1200, USD: 70}", "total: {CNY: 799, USD: 70}"),
        ("uses: 4", "uses: 1"),
        ("{name: Bob,", "{name: Bob, limit: 399 CNY,"),
    ],
    ids=["each", "total", "uses", "limit"],
)
async def test_a_file_that_is_tightened_meanwhile_holds_at_the_next_use_and_at_the_claim(
    gateway: Gateway, old: str, new: str
) -> None:
    g = gateway
    await break_glass(g)
    waiting = [(await submit(g, arguments={**PAY, "payee": name}))["request"] for name in ("One", "Two")]
    assert [request["state"] for request in waiting] == ["approved"] * 2
    g.rewrite(old, new)
    await g.reload()
    assert await paid(g, "400", payee="Three") == "pending"
    assert (await g.claim(waiting[0])).status_code == 409


@requirement("S-74")
async def test_a_wider_file_does_not_widen_what_two_people_have_confirmed(gateway: Gateway) -> None:
    await break_glass(gateway)
    gateway.rewrite(BOUNDS, "uses: 9, each: {CNY: 900}, total: {CNY: 9000}}")
    await gateway.reload()
    assert await paid(gateway, "501") == "pending"
    assert await paid(gateway, "500") == "approved"


@requirement("S-74")
async def test_what_was_asked_for_under_other_bounds_is_asked_for_anew(gateway: Gateway) -> None:
    asked = (await ask(gateway)).json()
    gateway.rewrite("uses: 4", "uses: 3")
    await gateway.reload()
    refused = await confirm(gateway, asked)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "other bounds" in refused.json()["detail"]


@requirement("S-74", "S-50")
async def test_bounds_that_are_written_into_the_row_are_not_believed(gateway: Gateway) -> None:
    await break_glass(gateway)
    gateway.rows("UPDATE standing_approvals SET scope = replace(scope, '\"uses\":4', '\"uses\":5')")
    assert await paid(gateway, "1") == "pending"


@requirement("S-74")
async def test_one_of_before_there_were_bounds_allows_nothing_and_can_be_reviewed(gateway: Gateway) -> None:
    glass = await break_glass(gateway)
    old = json.dumps({"agent": None, "minutes": 20, "tools": ["pay"]}, separators=(",", ":"))
    gateway.rows(f"UPDATE standing_approvals SET scope = '{old}'")
    assert await paid(gateway, "1") == "pending"
    shown = await listed(gateway)
    assert (shown["scope"], shown["uses"]) == (
        "For 20 minutes every agent may use “pay” without anybody being asked.",
        None,
    )
    await gateway.call("POST", f"/v1/break-glass/{glass['id']}/end", {}, who=ALICE)
    done = await gateway.call("POST", f"/v1/break-glass/{glass['id']}/review", {"note": "none ran"}, who=RITA)
    assert done.status_code == 200, done.text


# --- the second factor ------------------------------------------------------------------------------------------------


@requirement("S-74")
async def test_where_a_covered_rule_takes_a_second_factor_both_of_the_two_show_theirs(guarded: Gateway) -> None:
    g = guarded
    covers: dict[str, Any] = {"tools": ["note"]}
    refused = await ask(g, **covers)
    assert (refused.status_code, refused.json()["code"], refused.json()["missing"]) == (403, "step_up_needed", ["totp"])
    nobodys = await ask(g, **covers, totp="123456")
    assert "no second factor is set up for you" in nobodys.json()["detail"]
    alices, bobs = await enrolled(g, ALICE), await enrolled(g, BOB)
    wrong = await ask(g, **covers, totp=alices.wrong(g))
    assert (wrong.status_code, wrong.json()["wrong"], wrong.json()["left"]) == (403, "totp", 2)
    asked = (await ask(g, **covers, totp=alices.next(g))).json()
    assert (asked["factor"], asked["state"]) == (True, "proposed")
    for given in ({}, {"totp": bobs.wrong(g)}, {"totp": alices.of(alices.shown)}):
        assert (await confirm(g, asked, **given)).json()["code"] == "step_up_needed"
    assert (await submit(g, "note", {}))["request"]["state"] == "pending"
    assert (await confirm(g, asked, totp=bobs.next(g))).json()["state"] == "active"
    assert (await submit(g, "note", {"to": "desk"}))["request"]["state"] == "approved"
    said = {row["facts"] for row in g.rows("SELECT facts FROM audit_events WHERE kind = 'click.refused'")}
    assert any('"step_up"' in facts for facts in said)
    assert any('"wrong_totp"' in facts for facts in said)


@requirement("S-74")
async def test_three_wrong_codes_lock_whoever_breaks_the_glass_too(guarded: Gateway) -> None:
    alices = await enrolled(guarded, ALICE)
    said = [await ask(guarded, tools=["note"], totp=alices.wrong(guarded)) for _ in range(3)]
    assert [each.json()["code"] for each in said] == ["step_up_needed", "step_up_needed", "locked"]
    assert (await ask(guarded, tools=["note"], totp=alices.next(guarded))).json()["code"] == "locked"


@requirement("S-74")
@pytest.mark.parametrize("tools", [["note"], ["stop_*", "note"], ["no*"]])
async def test_any_rule_that_it_could_cover_counts(
    sqlite_url: str, with_l3: Path, platform: MemoryPlatform, tools: list[str]
) -> None:
    path = with_l3 / "acme.yaml"
    path.write_text(path.read_text().replace('"stop_*", forbidden]', '"stop_*", "no*", forbidden]'))
    async with open_gateway(sqlite_url, with_l3, platform) as g:
        assert (await ask(g, tools=tools)).json()["code"] == "step_up_needed"
        assert (await ask(g, tools=["stop_*", "pay"])).status_code == 201


@requirement("S-74")
async def test_what_takes_a_factor_only_now_does_not_pass_under_a_glass_without_one(gateway: Gateway) -> None:
    g = gateway
    asked = (await ask(g, tools=["note"])).json()
    await break_it(g, asked)
    waiting = (await submit(g, "note", {"to": "desk"}))["request"]
    assert waiting["state"] == "approved"
    g.rewrite("  - {id: note,", f"{L3}  - {{id: note,")
    await g.reload()
    assert (await submit(g, "note", {"to": "hall"}))["request"]["state"] == "pending"
    assert (await g.claim(waiting)).status_code == 409


@requirement("S-74")
async def test_a_level_that_a_caution_raises_takes_the_factor_as_well(gateway: Gateway) -> None:
    g = gateway
    g.rewrite("payments: {step_up: [], duplicates: 0m}", "payments: {step_up: [first_payee], duplicates: 0m}")
    g.rewrite("  - id: pay\n    tools: [pay]\n", "  - id: pay\n    tools: [pay]\n    assurance: L2\n")
    await g.reload()
    alices, bobs = await enrolled(g, ALICE), await enrolled(g, BOB)
    plain = await break_glass(g)
    assert await paid(g, "1", payee="A Stranger") == "pending"
    await g.call("POST", f"/v1/break-glass/{plain['id']}/end", {}, who=ALICE)
    await g.call("POST", f"/v1/break-glass/{plain['id']}/review", {"note": "none ran"}, who=RITA)
    asked = (await ask(g, totp=alices.next(g))).json()
    assert (await confirm(g, asked)).json()["code"] == "step_up_needed", "the second shows one where the first did"
    assert (await confirm(g, asked, totp=bobs.next(g))).status_code == 200
    assert await paid(g, "1", payee="Another Stranger") == "approved"


# --- who reviews ------------------------------------------------------------------------------------------------------


@requirement("S-74")
async def test_it_is_reviewed_by_somebody_whom_the_file_names_for_it(gateway: Gateway) -> None:
    g = gateway
    g.rewrite("review: [finance]", "review: [rita@acme.example]")
    await g.reload()
    glass = await break_glass(g)
    await g.call("POST", f"/v1/break-glass/{glass['id']}/end", {}, who=ALICE)
    for who, status in ((DAVE, 403), (CAROL, 403), (OLGA, 403), (ALICE, 403), (BOB, 403), (RITA, 200)):
        said = await g.call("POST", f"/v1/break-glass/{glass['id']}/review", {"note": "seen"}, who=who)
        assert said.status_code == status, who


@requirement("S-74")
async def test_who_a_platform_says_may_review_must_leave_somebody_else(gateway: Gateway) -> None:
    g = gateway
    g.platform.groups["group:G1"] = ("U_ALICE", "U_BOB")
    g.rewrite("review: [finance]", "review: [auditing]")
    g.rewrite("groups:\n", "groups:\n  auditing: {channel: chat, group: G1}\n")
    await g.reload()
    asked = (await ask(g)).json()
    refused = await confirm(g, asked)
    assert (refused.status_code, "nobody would be left to review it" in refused.json()["detail"]) == (409, True)
    assert (await confirm(g, asked, who=OLGA)).status_code == 200  # Bob is left
