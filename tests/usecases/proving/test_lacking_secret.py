"""A secret that was taken away too early: what is open under it is refused until it is back, and nobody forged it."""

from __future__ import annotations

from asyncio import to_thread
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from app.cli.doctor.records import look_at_records
from app.domain.errors import UnavailableError
from app.domain.identity.seals import Seals
from app.domain.text.language import Language
from app.domain.words.say import say
from app.ports import Severity
from tests.console.signed_in import Home
from tests.fixtures.gateway import SECRET, open_gateway
from tests.fixtures.review_visits import URL, Visitor, pressing, with_url
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

NEW = "another-master-secret-of-the-tests-0123456789"
ALICE = "alice@acme.example"
[OLD_ID] = Seals([SECRET]).key_ids
[NEW_ID] = Seals([NEW]).key_ids
NEVER = "0badcafe"
LOUD = {"request.forged", "secret.foreign", "value.unreadable"}


async def left_open(url: str, config: Path, platform: MemoryPlatform) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Leave one that waits, one approved, one that runs and one that has a card; then rotate, and use every key."""
    async with open_gateway(url, config, platform) as g:
        requests = [await g.ask("by_api", {"n": n}) for n in range(3)] + [await g.ask()]
        for request in requests[1:3]:
            assert (await g.decide(request)).status_code == 200
        assert (await g.claim(requests[2])).status_code == 200
        await g.key("admin")
        keys = dict(g.keys)
    async with open_gateway(url, config, platform, secret=f"{NEW},{SECRET}") as g:
        g.keys.update(keys)
        for who in ("agent:shop", ALICE, "admin"):
            assert (await g.call("GET", "/v1/requests", who=who)).status_code == 200
    return requests, keys


async def tried(g: Gateway, requests: list[dict[str, Any]]) -> list[Any]:
    """Do to each what it waits for: a vote, a claim, an outcome; and withdraw the first."""
    cancelled = await g.call("POST", f"/v1/requests/{requests[0]['id']}/cancel", {})
    return [
        await g.decide(requests[0]),
        await g.claim(requests[1]),
        await g.report(requests[2]),
        cancelled,
    ]


@requirement("S-63", "S-67")
async def test_what_is_open_under_a_secret_that_went_too_early_waits_for_it_and_is_not_called_forged(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    requests, keys = await left_open(database_url, config, platform)
    with capture_logs() as logs:
        async with open_gateway(database_url, config, platform, secret=NEW) as g:
            g.keys.update(keys)
            for answer in await tried(g, requests):
                said = answer.json()
                assert (answer.status_code, said["code"], said["secret_id"]) == (503, "lacking_secret", OLD_ID)
                assert f"sealed with a secret (id {OLD_ID}) that this gateway does not have" in said["detail"]
                assert answer.headers["Retry-After"] == "30"
            ready = await g.http.get("/readyz")
            assert (ready.status_code, ready.json()["code"]) == (503, "unavailable")
            assert f"4 open requests of acme are sealed with {OLD_ID}" in ready.json()["detail"]
            assert "put it back behind the new one" in ready.json()["detail"]
            found = await look_at_records(g.container.store, g.container.book, "acme", head_file=None)
            assert [each.mend for each in found if each.severity is Severity.ERROR] == [
                "put the old secret back, ASSENT_SECRET=new,old, until they are over; if it is lost: assent reseal"
            ]
            assert not [each for each in found if "restore" in each.mend or "is broken" in each.what]
            assert [each for each in found if "not the seals of 4 open requests" in each.what]
            _, fault = await g.verify()
            assert f"sealed with the secret {OLD_ID}, which ASSENT_SECRET does not have: put it back" in str(fault)
            assert g.rows(f"SELECT status FROM grants WHERE request_id = '{requests[1]['id']}'") == [
                {"status": "issued"}
            ]
            assert "request.forged" not in {kind for kind, _ in g.trail()}
    [alarm] = [line for line in logs if line["event"] == "secret.lacking"]
    assert (alarm["org"], alarm["log_level"]) == ("acme", "critical")
    assert f"4 open requests of acme are sealed with {OLD_ID}" in alarm["why"]
    assert not LOUD & {line["event"] for line in logs}
    async with open_gateway(database_url, config, platform, secret=f"{NEW},{SECRET}") as g:
        g.keys.update(keys)
        assert [answer.status_code for answer in (await tried(g, requests))[:3]] == [409, 200, 200]  # one was withdrawn
        assert (await g.http.get("/readyz")).status_code == 200
        assert (await g.verify())[1] is None


@requirement("S-63", "S-67")
async def test_whoever_presses_on_a_card_or_a_page_is_told_the_same(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    requests, keys = await left_open(database_url, with_url(config), platform)
    async with open_gateway(database_url, config, platform, secret=NEW) as g:
        g.keys.update(keys)
        click = platform.press(g.card(requests[3]), "U_ALICE", "approve")
        # The card as a gateway with both would have posted it: signed with the new one, its request not sealed anew.
        said = (await g.send(replace(click, token=click.token.replace(OLD_ID, NEW_ID)))).body or {}
        assert (said["result"], said["sentence"]) == (
            "refused",
            say(Language.EN, "click.lacking_secret", secret_id=OLD_ID),
        )
        assert OLD_ID in say(Language.ZH, "click.lacking_secret", secret_id=OLD_ID)
        home, path = await Home.of(g, origin=URL), f"/r/{requests[3]['id']}"
        pressed = await home.post(path, origin=URL, verdict="approve", press=pressing((await home.get(path)).text))
        visitor = Visitor(gateway=g)
        entered = await visitor.enter((await visitor.link(requests[3])).json()["url"])
        for answer in (pressed, entered):
            assert answer.status_code == 503
            assert f"sealed with a secret (id {OLD_ID}) that this gateway does not have" in answer.text
        assert "request.forged" not in {kind for kind, _ in g.trail()}


@requirement("S-63")
@pytest.mark.parametrize("remembered", [False, True], ids=["in the row alone", "in the memory of secrets too"])
async def test_an_id_that_no_secret_of_the_database_had_is_forged_as_ever(
    either_gateway: Gateway, remembered: bool
) -> None:
    g = either_gateway
    request = await g.ask("by_api")
    assert (await g.decide(request)).status_code == 200
    stranger = await to_thread(Stranger, g)
    stranger(f"UPDATE requests SET seal = replace(seal, '{OLD_ID}', '{NEVER}') WHERE id = '{request['id']}'")
    if remembered:
        stranger(f"INSERT INTO secret_ids (org, key_id, known_since) VALUES ('acme', '{NEVER}', 1)")
    with capture_logs() as logs:
        refused = await g.claim(request)
        await g.container.replicas()
    assert (refused.status_code, refused.json()["code"]) == (409, "unsealed")
    assert {line["log_level"] for line in logs if line["event"] == "request.forged"} == {"critical"}
    assert "secret.lacking" not in {line["event"] for line in logs}
    g.container.replicas.check()
    assert "request.forged" in {kind for kind, _ in g.trail(request)}
    _, fault = await g.verify()
    assert fault is not None


@requirement("S-63")
async def test_what_was_changed_beside_a_retired_id_is_forged_where_it_shows_without_its_secret(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    requests, keys = await left_open(database_url, config, platform)
    async with open_gateway(database_url, config, platform, secret=NEW) as g:
        g.keys.update(keys)
        stranger = await to_thread(Stranger, g)
        stranger(f"UPDATE requests SET allowed_by = 'rule:harmless' WHERE id = '{requests[1]['id']}'")
        refused = await g.claim(requests[1])
        assert (refused.status_code, refused.json()["code"]) == (409, "unsealed")
        assert "request.forged" in {kind for kind, _ in g.trail(requests[1])}
        [grant] = g.rows(f"SELECT not_after FROM grants WHERE request_id = '{requests[2]['id']}'")
        stranger(f"UPDATE grants SET not_after = not_after + 3600000000 WHERE request_id = '{requests[2]['id']}'")
        assert (await g.report(requests[2])).json()["code"] == "unsealed", "the trail says another end of it"
        stranger(f"UPDATE grants SET not_after = {grant['not_after']} WHERE request_id = '{requests[2]['id']}'")
        assert (await g.report(requests[2])).status_code == 503
        stranger(f"UPDATE requests SET seal = seal || '00' WHERE id = '{requests[2]['id']}'")
        assert (await g.report(requests[2])).status_code == 503, "nothing is done with it all the same"
    async with open_gateway(database_url, config, platform, secret=f"{NEW},{SECRET}") as g:
        g.keys.update(keys)
        assert (await g.report(requests[2])).json()["code"] == "unsealed", "and with the secret it shows"


@requirement("S-63")
async def test_a_secret_that_is_lost_is_given_up_by_sealing_anew(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    requests, keys = await left_open(database_url, config, platform)
    async with open_gateway(database_url, config, platform, secret=NEW) as g:
        g.keys.update(keys)
        with pytest.raises(UnavailableError, match="put it back"):
            g.container.replicas.check()
        await g.container.seal_standing.again("acme", by=ALICE, reason="the old one is lost")
    async with open_gateway(database_url, config, platform, secret=NEW) as g:
        g.keys.update(keys)
        g.container.replicas.check()
        assert (await g.claim(requests[1])).status_code == 200
