"""Who may set up, list and remove second factors over the API, and what it never says."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from tests.fixtures.gateway import open_gateway, query
from tests.fixtures.second_factors import (
    ALICE,
    BOB,
    LONGER_THAN_A_LOCK,
    STEPS_UP,
    asked,
    confirmed,
    enrolled,
    forward,
    invited,
    redeemed,
)
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

OPERATIONS: dict[str, tuple[str, str, dict[str, Any] | None, str]] = {
    "list": ("GET", "/v1/factors", None, "admin"),
    "invite": ("POST", "/v1/factors/invitations", {"person": ALICE}, "admin"),
    "enrol": ("POST", "/v1/factors/enrol", {"code": "AAAA-AAAA-AAAA-AAAA"}, ALICE),
    "confirm": ("POST", "/v1/factors/confirm", {"totp": "000000"}, ALICE),
    "remove": ("DELETE", f"/v1/factors/{ALICE}", None, "admin"),
}


@pytest.fixture
async def g(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    (config / "acme.yaml").write_text(STEPS_UP)
    async with open_gateway(sqlite_url, config, platform) as running:
        yield running


async def call(g: Gateway, name: str, *, who: str | None = None, **changed: Any) -> Any:
    method, path, body, rightly = OPERATIONS[name]
    return await g.call(method, path, {**body, **changed} if body else None, who=who or rightly)


def factors(g: Gateway) -> list[dict[str, Any]]:
    return g.rows("SELECT * FROM factors")


@requirement("S-16", "S-48")
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("who", ["agent:shop", "executor", "auditor", "admin", ALICE])
@pytest.mark.sampled(5)
async def test_only_the_right_kind_of_key_reaches_a_second_factor(g: Gateway, name: str, who: str) -> None:
    await invited(g, ALICE)
    before = factors(g)
    said = await call(g, name, who=who)
    if OPERATIONS[name][3] == who:
        assert said.status_code == 204 or said.json().get("code") != "wrong_scope"
    else:
        assert (said.status_code, said.json()["code"]) == (403, "wrong_scope")
        assert factors(g) == before


@requirement("S-16", "S-48")
@pytest.mark.parametrize("who", ["agent:shop", "executor", "auditor", "admin"])
async def test_no_key_but_an_approvers_votes_whatever_it_sends_along(g: Gateway, who: str) -> None:
    phone = await enrolled(g)
    request = await asked(g, "L3")
    said = await g.decide(request, who=who, typed=request["code"], totp=phone.next(g))
    assert (said.status_code, said.json()["code"]) == (403, "wrong_scope")
    assert (await g.read(request))["decisions"] == []


@requirement("S-16")
async def test_both_sides_are_needed_to_set_one_up(g: Gateway) -> None:
    # A stolen approver's key alone: there is no invitation, or it is not known.
    assert (await call(g, "enrol")).status_code == 403
    code = await invited(g, ALICE)
    assert (await call(g, "enrol")).status_code == 403
    # The administrator's key alone, or the invitation with somebody else's: it is Alice's.
    assert (await call(g, "enrol", who="admin", code=code)).status_code == 403
    assert (await call(g, "enrol", who=BOB, code=code)).status_code == 403
    phone = await redeemed(g, ALICE, code.lower().replace("-", " "))
    assert (await call(g, "enrol", code=code)).status_code == 403  # it works once
    request = await asked(g, "L3")
    early = await g.decide(request, typed=request["code"], totp=phone.next(g))
    assert (early.status_code, early.json()["code"]) == (403, "step_up_needed")  # not before it is confirmed
    await confirmed(g, ALICE, phone)
    forward(g)
    used = await g.decide(request, typed=request["code"], totp=phone.of(phone.shown))
    assert "used already" in used.json()["detail"]  # the confirming code has done its work
    assert (await g.decide(request, typed=request["code"], totp=phone.next(g))).json()["state"] == "approved"
    kinds = [(kind, actor.partition(":")[0]) for kind, actor in g.trail() if kind.startswith("factor.")]
    assert kinds == [("factor.invited", "key"), ("factor.added", ALICE)]


@requirement("S-16")
async def test_an_invitation_holds_for_a_day_and_a_newer_one_ends_it(g: Gateway) -> None:
    first = await invited(g, ALICE)
    second = await invited(g, ALICE)
    assert (await call(g, "enrol", code=first)).status_code == 403
    forward(g, timedelta(hours=24))
    assert (await call(g, "enrol", code=second)).status_code == 403
    third = await invited(g, ALICE)
    forward(g, timedelta(hours=23, minutes=59))
    phone = await redeemed(g, ALICE, third)
    forward(g, timedelta(hours=1))
    late = await g.call("POST", "/v1/factors/confirm", {"totp": phone.next(g)}, who=ALICE)
    assert late.status_code == 404


@requirement("S-29")
async def test_a_new_factor_takes_over_only_with_its_first_code(g: Gateway) -> None:
    old = await enrolled(g)

    async def still_holds(number: int) -> None:
        forward(g)
        request = await asked(g, "L3", number)
        assert (await g.decide(request, typed=request["code"], totp=old.next(g))).json()["state"] == "approved"

    code = await invited(g, ALICE)
    await still_holds(1)
    new = await redeemed(g, ALICE, code)
    await still_holds(2)
    forward(g)
    await confirmed(g, ALICE, new)
    forward(g)
    request = await asked(g, "L3", 9)
    assert (await g.decide(request, typed=request["code"], totp=old.next(g))).json()["wrong"] == "totp"
    assert (await g.decide(request, typed=request["code"], totp=new.next(g))).json()["state"] == "approved"


@requirement("S-29")
async def test_a_removed_factor_proves_nothing(g: Gateway) -> None:
    phone = await enrolled(g)
    forward(g)
    assert (await call(g, "remove")).status_code == 204
    assert (await call(g, "remove")).status_code == 404
    request = await asked(g, "L3")
    said = await g.decide(request, typed=request["code"], totp=phone.next(g))
    assert (said.status_code, "no second factor" in said.json()["detail"]) == (403, True)
    assert [kind for kind, _ in g.trail() if kind.startswith("factor.")][-1] == "factor.removed"


@requirement("S-29")
@pytest.mark.parametrize("what", ["enrol", "confirm"])
async def test_setting_one_up_cannot_be_guessed(g: Gateway, what: str) -> None:
    code = await invited(g, ALICE)
    phone = await redeemed(g, ALICE, code) if what == "confirm" else None
    body = {"totp": phone.wrong(g)} if phone else {"code": "AAAA-AAAA-AAAA-AAAA"}
    said = [(await g.call("POST", f"/v1/factors/{what}", body, who=ALICE)).json()["code"] for _ in range(4)]
    assert said == ["forbidden", "forbidden", "locked", "locked"]
    right = {"totp": phone.next(g)} if phone else {"code": code}
    assert (await g.call("POST", f"/v1/factors/{what}", right, who=ALICE)).json()["code"] == "locked"
    assert ("approver.locked", ALICE) in g.trail()
    forward(g, LONGER_THAN_A_LOCK)
    right = {"totp": phone.next(g)} if phone else {"code": code}
    assert (await g.call("POST", f"/v1/factors/{what}", right, who=ALICE)).status_code == 200


async def test_a_stranger_is_not_invited_and_the_nearest_name_is_offered(g: Gateway) -> None:
    said = await call(g, "invite", person="alise@acme.example")
    assert (said.status_code, said.json()["path"]) == (422, "person")
    assert ALICE in said.json()["detail"]
    assert factors(g) == []


async def test_the_list_says_who_has_one_and_of_one_org_alone(g: Gateway) -> None:
    await enrolled(g)
    await invited(g, BOB)
    items = (await call(g, "list")).json()["items"]
    assert [(each["person"], each["status"], bool(each["invited_until"])) for each in items] == [
        (ALICE, "active", False),
        (BOB, "invited", True),
    ]
    assert set(items[0]) == {"person", "status", "invited_until", "set_by", "set_at"}
    assert (await g.call("GET", "/v1/factors", who="admin", org="globex")).json() == {"items": [], "passkeys": []}
    assert (await g.call("DELETE", f"/v1/factors/{ALICE}", who="admin", org="globex")).status_code == 404
    assert len((await call(g, "list")).json()["items"]) == 2


@requirement("S-37", "S-34")
async def test_no_secret_code_or_invitation_stands_in_the_database_the_trail_or_the_logs(
    g: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    with structlog.testing.capture_logs() as logs:
        code = await invited(g, ALICE)
        phone = await redeemed(g, ALICE, code)
        await confirmed(g, ALICE, phone)
        forward(g)
        request = await asked(g, "L3")
        for _ in range(3):
            await g.decide(request, typed=request["code"], totp=phone.wrong(g))
        forward(g, LONGER_THAN_A_LOCK)
        shown = [phone.of(phone.shown), phone.wrong(g), phone.next(g)]
        said = await g.decide(request, typed="80000.50", totp=shown[-1])
        assert said.json()["state"] == "approved"
        invitation = await invited(g, BOB)
    names = [row["name"] for row in g.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    everything = "\n".join(repr(query(g.url, f"SELECT * FROM {name}")) for name in names if name != "seen_clicks")
    everything += repr(logs) + "".join(capsys.readouterr())
    canaries = [phone.secret, phone.secret.lower(), code, code.replace("-", ""), invitation]
    assert [each for each in canaries if each in everything] == []
    assert [each for each in shown if f"'{each}'" in everything or f'"{each}"' in everything] == []
    assert ("approver.locked", "warning") in {(each["event"], each["log_level"]) for each in logs}
