"""What a key opens is what was sealed with its secret: neither its id nor its row can be borrowed."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from app.usecases.reading.keys import _checksum
from tests.fixtures.gateway import ManualClock
from tests.requirements import requirement
from tests.storage.rig import behind

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

ALICE = "alice@acme.example"


async def last_uses(g: Gateway) -> dict[str, str | None]:
    """Return when each key was last used, by its scope, as administrators see it."""
    items = (await g.call("GET", "/v1/keys", who="admin")).json()["items"]
    return {each["scope"]: each["last_used_at"] for each in items}


async def status(g: Gateway, text: str) -> int:
    """Return what a key is answered; each looks as if it were seen for the first time."""
    g.container.keys._known.forget_all(lambda _: True)
    return (await g.http.get("/v1/requests", headers={"authorization": f"Bearer {text}"})).status_code


@requirement("S-34")
async def test_the_id_of_a_key_with_another_secret_opens_nothing(gateway: Gateway) -> None:
    text = (await gateway.key("auditor"))["authorization"].removeprefix("Bearer ")
    _, key_id, secret, _ = text.split("_")
    other = secrets.token_hex(26)[: len(secret)]
    assert await status(gateway, f"ak_{key_id}_{secret}_{_checksum(key_id, secret)}") == 200
    assert await status(gateway, f"ak_{key_id}_{other}_{_checksum(key_id, other)}") == 401


@requirement("S-34", "S-63")
@pytest.mark.parametrize(
    ("who", "change"),
    [
        ("agent:shop", "agent = 'other'"),
        ("agent:shop", "scope = 'evaluation'"),
        ("agent:shop", "scope = 'admin', agent = NULL"),
        ("auditor", "scope = 'admin'"),
        ("auditor", "org = 'globex'"),
        ("auditor", "expires_at = 4102444800000000"),
        (ALICE, "person = 'bob@acme.example'"),
        ("executor", "tools = '[\"transfer\"]'"),
    ],
)
@pytest.mark.sampled(3)
async def test_a_key_whose_row_was_changed_opens_nothing(either_gateway: Gateway, who: str, change: str) -> None:
    g = either_gateway
    text = (await g.key(who))["authorization"].removeprefix("Bearer ")
    assert await status(g, text) == 200
    with behind(g.url) as connection:
        connection.execute(f"UPDATE api_keys SET {change} WHERE id = '{text.split('_')[1]}'")
    assert await status(g, text) == 401


@requirement("S-34")
async def test_a_key_that_was_just_seen_to_work_ends_with_its_last_instant(gateway: Gateway) -> None:
    g = gateway
    assert isinstance(g.clock, ManualClock)
    made = await g.call("POST", "/v1/keys", {"scope": "auditor", "label": "short", "lives_for_days": 1}, who="admin")
    headers = {"authorization": f"Bearer {made.json()['key']}"}
    g.clock.advance(timedelta(days=1, microseconds=-1))
    assert (await g.http.get("/v1/requests", headers=headers)).status_code == 200
    g.clock.advance(timedelta(microseconds=1))
    assert (await g.http.get("/v1/requests", headers=headers)).status_code == 401


@requirement("S-34")
@pytest.mark.parametrize(("scheme", "answer"), [("Bearer", 200), ("bearer", 200), ("Basic", 401), ("Token", 401)])
async def test_a_key_comes_as_a_bearers_or_not_at_all(gateway: Gateway, scheme: str, answer: int) -> None:
    text = (await gateway.key("auditor"))["authorization"].removeprefix("Bearer ")
    said = await gateway.http.get("/v1/requests", headers={"authorization": f"{scheme} {text}"})
    assert said.status_code == answer


async def test_a_keys_last_use_is_stored_apart_from_its_calls_and_never_goes_back(either_gateway: Gateway) -> None:
    g, keys = either_gateway, either_gateway.container.keys
    await g.key("auditor")
    await g.call("GET", "/v1/requests", who="agent:shop")
    assert await last_uses(g) == {"auditor": None, "agent": None, "admin": None}
    await keys.note_uses()
    uses = await last_uses(g)
    assert uses["auditor"] is None, "it was made, and never used"
    assert uses["agent"] is not None
    stored = datetime.fromisoformat(uses["agent"])
    assert abs((g.clock.now() - stored).total_seconds()) < 60
    agent = g.keys["acme/agent:shop"].split("_")[1]
    for _ in range(2):  # another replica has seen a later one, this one an earlier one
        with behind(g.url) as connection:
            later = int((stored + timedelta(hours=1)).timestamp() * 1_000_000)
            connection.execute(f"UPDATE api_keys SET last_used_at = {later} WHERE id = '{agent}'")
        keys._noted.clear()
        await keys.note_uses()
        assert (await last_uses(g))["agent"] == (stored + timedelta(hours=1)).isoformat()
    assert (await g.call("GET", "/v1/requests", who="agent:shop")).status_code == 200


async def test_what_was_noted_is_not_written_again(gateway: Gateway) -> None:
    keys = gateway.container.keys
    await gateway.call("GET", "/v1/requests", who="agent:shop")
    await keys.note_uses()
    with behind(gateway.url) as connection:
        connection.execute("UPDATE api_keys SET last_used_at = NULL")
    await keys.note_uses()
    assert gateway.rows("SELECT id FROM api_keys WHERE last_used_at IS NOT NULL") == []
    await gateway.advance(timedelta(minutes=5))
    await gateway.call("GET", "/v1/requests", who="agent:shop")
    await keys.note_uses()
    assert len(gateway.rows("SELECT id FROM api_keys WHERE last_used_at IS NOT NULL")) == 1


@requirement("S-76")
async def test_the_key_of_somebody_who_has_left_opens_nothing_until_they_are_back(gateway: Gateway) -> None:
    g, carol = gateway, "carol@acme.example"
    request = await g.ask("by_api")
    paths = ("/v1/requests", f"/v1/requests/{request['id']}", "/v1/standing-approvals", "/v1/break-glass", "/v1/payees")
    for path in paths:
        assert (await g.call("GET", path, who=carol)).status_code == 200, path
    file = g.config / "acme.yaml"
    before = file.read_text()
    lines = [line for line in before.splitlines() if not line.strip().startswith(f"{carol}:")]
    file.write_text("\n".join(lines).replace(f", {carol}", ""))
    await g.reload()
    for path in paths:
        refused = await g.call("GET", path, who=carol)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), path
        assert refused.json()["detail"].startswith(f"{carol} is nobody of acme's file or groups")
    assert (await g.decide(request, who=carol)).json()["code"] == "forbidden"
    assert (await g.decide(request, who=ALICE)).status_code == 200, "everybody else goes on"
    said = [row["facts"] for row in g.rows("SELECT facts FROM audit_events WHERE kind = 'access.refused'")]
    assert len(said) == len(paths) + 1, "each attempt is in the trail"
    file.write_text(before)
    await g.reload()
    assert (await g.call("GET", paths[0], who=carol)).status_code == 200
