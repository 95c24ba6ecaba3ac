"""What was approved is authenticated, not only stored: whoever has the database alone can make nothing run."""

from __future__ import annotations

from asyncio import to_thread
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from app.domain.errors import UnavailableError
from app.domain.lifecycle.replayed import Replayed
from app.domain.lifecycle.replayed_org import play
from app.domain.trail.audit import Kind, Record
from app.domain.trail.chain import GENESIS, link
from tests.fixtures.gateway import SECRET, open_gateway
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

NEW = "another-master-secret-of-the-tests-0123456789"


def _swapped(s: Stranger, of: str, _: dict[str, Any]) -> None:
    s(f"""UPDATE requests SET arguments = '{{"n":1,"account":"DE66"}}' WHERE id = '{of}'""")


def _later(s: Stranger, of: str, _: dict[str, Any]) -> None:
    s(f"UPDATE grants SET not_after = not_after + 3600000000 WHERE request_id = '{of}'")


def _narrowed(s: Stranger, of: str, _: dict[str, Any]) -> None:
    s(f"UPDATE requests SET stages = replace(stages, '\"need\":2', '\"need\":1') WHERE id = '{of}'")


def _not_enforced(s: Stranger, of: str, _: dict[str, Any]) -> None:
    s(f"UPDATE requests SET allowed_by = 'rule:harmless' WHERE id = '{of}'")


def _voted_by_another(s: Stranger, of: str, _: dict[str, Any]) -> None:
    s(f"UPDATE decisions SET person = 'carol@acme.example' WHERE request_id = '{of}' AND person LIKE 'bob%'")


def _vote_gone(s: Stranger, of: str, _: dict[str, Any]) -> None:
    s(f"DELETE FROM decisions WHERE request_id = '{of}' AND person LIKE 'bob%'")


def _unsealed(s: Stranger, of: str, _: dict[str, Any]) -> None:
    s(f"UPDATE requests SET seal = NULL, bound_digest = NULL WHERE id = '{of}'")


def _sealed_like_another(s: Stranger, of: str, other: dict[str, Any]) -> None:
    for name in ("seal", "bound_digest"):
        s(f"UPDATE requests SET {name} = (SELECT {name} FROM requests WHERE id = '{other['id']}') WHERE id = '{of}'")


def _event_put_in(s: Stranger, of: str, _: dict[str, Any]) -> None:
    s(f"UPDATE requests SET host_event = '{{}}' WHERE id = '{of}'")


def _no_json(s: Stranger, of: str, _: dict[str, Any]) -> None:
    s(f"UPDATE requests SET arguments = 'no json' WHERE id = '{of}'")


def _no_document(s: Stranger, of: str, _: dict[str, Any]) -> None:
    s(f"UPDATE requests SET handovers = '[1]' WHERE id = '{of}'")


@requirement("S-63")
@pytest.mark.parametrize(
    "edit",
    [
        _swapped, _later, _narrowed, _not_enforced, _voted_by_another, _vote_gone, _unsealed, _sealed_like_another,
        _no_json, _no_document, _event_put_in,
    ],
    ids=lambda edit: edit.__name__,
)  # fmt: skip
@pytest.mark.sampled(3)
async def test_what_was_changed_after_the_approval_is_not_handed_out(
    gateway: Gateway, edit: Callable[[Stranger, str, dict[str, Any]], None]
) -> None:
    await _refused_after(gateway, edit)


@requirement("S-63")
async def test_what_was_changed_after_the_approval_is_handed_out_on_neither_database(either_gateway: Gateway) -> None:
    await _refused_after(either_gateway, _swapped)


async def _refused_after(g: Gateway, edit: Callable[[Stranger, str, dict[str, Any]], None]) -> None:
    request, other = [await g.ask("pay_two", {"n": n, "account": "DE02"}) for n in (1, 2)]
    for who in ("alice@acme.example", "bob@acme.example"):
        assert (await g.decide(request, who=who)).status_code == 200
        assert (await g.decide(other, who=who)).status_code == 200
    await to_thread(edit, await to_thread(Stranger, g), request["id"], other)
    with capture_logs() as logs:
        for _ in range(2):
            refused = await g.claim(request)
            assert (refused.status_code, refused.json()["code"]) == (409, "unsealed")
    alarms = {(line["request"], line["log_level"]) for line in logs if line["event"] == "request.forged"}
    assert alarms == {(request["id"], "critical")}
    assert [kind for kind, _ in g.trail(request)].count("request.forged") == 1, "it is said once"
    assert g.rows(f"SELECT status FROM grants WHERE request_id = '{request['id']}'") == [{"status": "issued"}]
    assert (await g.claim(other, claim_id="claim-2")).status_code == 200, "the others are as they were"


@requirement("S-63")
async def test_a_vote_that_nobody_gave_counts_for_nothing(either_gateway: Gateway) -> None:
    g = either_gateway
    request, other = [await g.ask("pay_two", {"n": n}) for n in (1, 2)]
    await g.decide(other, who="bob@acme.example")
    stranger = await to_thread(Stranger, g)
    vote = stranger.ask(f"SELECT * FROM decisions WHERE request_id = '{other['id']}'")[0]
    stranger.add("decisions", **{**vote, "id": "dec_x", "request_id": request["id"]})
    said = await g.decide(request)
    assert (said.status_code, said.json()["code"]) == (409, "unsealed")
    assert [kind for kind, _ in g.trail(request)][-1] == "request.forged"
    assert (await g.read(request))["state"] == "pending"


@requirement("S-63")
async def test_a_row_that_is_set_back_to_what_it_once_was_is_not_run_again(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask("by_api")
    await g.decide(request)
    stranger = await to_thread(Stranger, g)  # it keeps all rows as they are now: approved, and not spent
    assert (await g.claim(request)).status_code == 200
    now = stranger.rows()
    for name in ("executions", "grants", "requests"):
        row = next((row for row in stranger.kept[name] if request["id"] in {row["id"], row.get("request_id")}), None)
        column = "id" if name == "requests" else "request_id"
        stranger(f"DELETE FROM {name} WHERE {column} = '{request['id']}'")
        if row is not None:
            stranger.add(name, **row)
    assert now["executions"], "it had run"
    again = await g.claim(request, claim_id="claim-2")
    assert (again.status_code, again.json()["code"]) == (409, "unsealed")


@requirement("S-63")
async def test_a_person_who_presses_a_button_is_told(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("pay")
    stranger = await to_thread(Stranger, g)
    _swapped(stranger, request["id"], {})
    told = await g.press(request)
    assert "not what was asked" in str(told)
    assert (await g.read(request))["state"] == "pending"


@requirement("S-63")
async def test_what_stood_before_there_were_seals_is_sealed_once_and_never_again(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        request, done = await g.ask("by_api", {"n": 1}), await g.ask("by_api", {"n": 2})
        await g.decide(done, "deny")
        agent = g.keys["acme/agent:shop"]
        stranger = await to_thread(Stranger, g)
        events, _ = await g.container.read.trail("acme", after=-1, most=100)
    as_before = [event for event in events if event.record.kind != "secret.known"]
    await to_thread(stranger.rewrite, as_before)
    if database_url.startswith("sqlite"):
        Path(f"{database_url.removeprefix('sqlite:///')}.head").unlink()
    stranger("UPDATE requests SET seal = NULL, bound_digest = NULL", "DELETE FROM secret_ids")
    from app.domain.identity.seals import Seals

    old_hash = Seals([SECRET]).key_hashes(agent.split("_")[2])[0]  # as keys were kept before
    stranger(f"UPDATE api_keys SET secret_hash = '{old_hash}' WHERE id = '{agent.split('_')[1]}'")
    async with open_gateway(database_url, config, platform) as g:
        g.keys["acme/agent:shop"] = agent
        assert [kind for kind, _ in g.trail(request)][-1] == "request.sealed"
        assert "request.sealed" not in [kind for kind, _ in g.trail(done)], "nothing can come of it any more"
        assert (await g.decide(request)).status_code == 200
        assert (await g.claim(request)).status_code == 200
        hashed = g.rows(f"SELECT secret_hash FROM api_keys WHERE id = '{agent.split('_')[1]}'")[0]["secret_hash"]
        assert hashed.startswith("k2."), "rehashed when it was used"
        late = await g.ask("by_api", {"n": 3})
    stranger("UPDATE requests SET seal = NULL, bound_digest = NULL", "DELETE FROM secret_ids")
    with capture_logs() as logs:
        async with open_gateway(database_url, config, platform) as g:
            g.keys["acme/agent:shop"] = agent
            refused = await g.decide(late)
            assert (refused.status_code, refused.json()["code"]) == (409, "unsealed")
    assert "secret.forgotten" in {line["event"] for line in logs}, "the trail remembers what the table does not"


@requirement("S-63")
async def test_whoever_takes_the_memory_of_sealing_away_has_no_row_sealed_anew(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        request = await g.ask("by_api", {"n": 1})
        await g.decide(request)
        agent = g.keys["acme/agent:shop"]
        await g.quiet()
        stranger = await to_thread(Stranger, g)
    [known] = stranger.ask("SELECT seq FROM audit_events WHERE kind = 'secret.known' AND org = 'acme'")
    stranger(
        """UPDATE requests SET arguments = '{"n":666}'""",
        "DELETE FROM secret_ids",
        f"UPDATE audit_events SET kind = 'card.held' WHERE org = 'acme' AND seq = {known['seq']}",
    )
    with capture_logs() as logs:
        async with open_gateway(database_url, config, platform) as g:
            g.keys["acme/agent:shop"] = agent
            stranger(f"UPDATE audit_events SET kind = 'secret.known' WHERE org = 'acme' AND seq = {known['seq']}")
            refused = await g.claim(request)
            assert (refused.status_code, refused.json()["code"]) == (409, "unsealed")
            assert "request.sealed" not in [kind for kind, _ in g.trail(request)]
            _, fault = await g.verify()
            assert fault is not None
            assert "secret" in fault, "what knew of the first sealing is gone"
    assert "secret.forgotten" in {line["event"] for line in logs}


@requirement("S-63")
async def test_what_is_sealed_the_first_time_is_what_its_events_say(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        changed, kept = await g.ask("by_api", {"n": 1}), await g.ask("by_api", {"n": 2})
        agent = g.keys["acme/agent:shop"]
        await g.quiet()
        stranger = await to_thread(Stranger, g)
        events, _ = await g.container.read.trail("acme", after=-1, most=100)
    await to_thread(stranger.rewrite, [event for event in events if event.record.kind != "secret.known"])
    if database_url.startswith("sqlite"):
        Path(f"{database_url.removeprefix('sqlite:///')}.head").unlink()
    stranger(
        "UPDATE requests SET seal = NULL, bound_digest = NULL",
        f"""UPDATE requests SET arguments = '{{"n":666}}' WHERE id = '{changed["id"]}'""",
        "DELETE FROM secret_ids",
    )
    async with open_gateway(database_url, config, platform) as g:
        g.keys["acme/agent:shop"] = agent
        assert [(await g.decide(each)).status_code for each in (changed, kept)] == [409, 200]


@requirement("S-64")
def test_a_secret_that_becomes_known_a_first_time_again_is_named() -> None:
    so_far = Replayed()
    for seq, facts in enumerate(({"key_id": "a"}, {"key_id": "b"}, {"key_id": "a", "reason": "lost"}, {"key_id": "a"})):
        record = Record(kind=Kind.SECRET_KNOWN, actor="system", facts=facts)
        at, of_org = datetime.now(UTC), {"org": "acme", "request_id": None, "request_version": None}
        play(so_far, link(record, **of_org, seq=seq, event_id="evt", at=at, prev_hash=GENESIS))
    assert [fault.seq for fault in so_far.faults] == [3]


@requirement("S-63", "S-67")
async def test_a_secret_is_rotated_with_both_at_a_time_and_no_key_or_request_ends(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        request = await g.ask("by_api")
        await g.key("alice@acme.example")
        keys = dict(g.keys)
    async with open_gateway(database_url, config, platform, secret=f"{NEW},{SECRET}") as g:
        g.keys.update(keys)
        assert (await g.decide(request)).status_code == 200
        assert (await g.call("GET", "/v1/requests")).status_code == 200
        assert [row["n"] for row in g.rows("SELECT count(*) AS n FROM secret_ids WHERE org = 'acme'")] == [2]
    with capture_logs() as logs:
        async with open_gateway(database_url, config, platform, secret=NEW) as g:
            g.keys.update(keys)
            assert (await g.claim(request)).status_code == 200, "what was touched meanwhile is sealed anew"
    assert not {"secret.foreign", "request.forged"} & {line["event"] for line in logs}
    with capture_logs() as logs:
        async with open_gateway(database_url, config, platform, secret="a-third-master-secret-of-the-tests-0123") as g:
            assert [row["n"] for row in g.rows("SELECT count(*) AS n FROM secret_ids WHERE org = 'acme'")] == [2]
    assert {line["org"] for line in logs if line["event"] == "secret.foreign"} == {"acme", "globex"}


@requirement("S-63", "S-67")
async def test_a_retired_secret_alone_is_another_one_and_a_rotation_back_has_both(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    keys: dict[str, str] = {}
    asked = SECRET + NEW
    for secret in (SECRET, f"{NEW},{SECRET}", NEW):
        async with open_gateway(database_url, config, platform, secret=secret) as g:
            g.keys.update(keys)
            request = await g.ask("by_api", {"n": SECRET + secret})
            if secret != NEW:  # nothing that is open hangs on a secret that goes
                assert (await g.decide(request, "deny")).status_code == 200
            await g.key("alice@acme.example")
            keys = dict(g.keys)
            await g.container.replicas()
            g.container.replicas.check()
    with capture_logs() as logs:
        async with open_gateway(database_url, config, platform, secret=SECRET) as g:
            await g.container.replicas()
            with pytest.raises(UnavailableError, match="secret"):
                g.container.replicas.check()
            with pytest.raises(UnavailableError, match="another secret"):
                await g.container.services.payees.add("acme", "Globex", account="DE02 1203 0000 0000 4711", by="cli")
            assert [row["n"] for row in g.rows("SELECT count(*) AS n FROM value_keys WHERE org = 'acme'")] == [1]
    assert {line["org"] for line in logs if line["event"] == "secret.foreign"} == {"acme", "globex"}
    for secret in (f"{SECRET},{NEW}", SECRET):
        with capture_logs() as logs:
            async with open_gateway(database_url, config, platform, secret=secret) as g:
                g.keys.update(keys)
                assert (await g.decide(request, "deny")).status_code == 200
                assert (await g.read(request))["arguments"]["n"] == asked
                asked = secret
                request = await g.ask("by_api", {"n": asked})
        assert not {"secret.foreign", "request.forged"} & {line["event"] for line in logs}
    async with open_gateway(database_url, config, platform, secret=SECRET) as g:
        _, fault = await g.verify()
        assert fault is None


@requirement("S-63")
async def test_no_key_borrows_the_secret_or_the_rights_of_another(either_gateway: Gateway) -> None:
    g = either_gateway
    await g.key("admin")
    await g.key("agent:shop")
    mine, admin = g.keys["acme/agent:shop"].split("_"), g.keys["acme/admin"].split("_")
    from app.usecases.reading.keys import _checksum

    stranger = await to_thread(Stranger, g)
    hashed = f"(SELECT secret_hash FROM api_keys WHERE id = '{mine[1]}')"
    stranger(f"UPDATE api_keys SET secret_hash = {hashed} WHERE id = '{admin[1]}'")
    g.keys["acme/admin"] = f"ak_{admin[1]}_{mine[2]}_{_checksum(admin[1], mine[2])}"
    assert (await g.call("GET", "/v1/keys", who="admin")).status_code == 401
    stranger.put_back()
    stranger(f"UPDATE api_keys SET scope = 'admin', agent = NULL WHERE id = '{mine[1]}'")
    assert (await g.call("GET", "/v1/keys")).status_code in {401, 403}
