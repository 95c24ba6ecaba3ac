"""Every refused attempt leaves a trace: in the trail with who and why, in the log, and in a counter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from app.domain.errors import UnavailableError
from app.usecases.proving.note_refusals import Attempt, NoteRefusals
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway


def _refused(g: Gateway, *, org: str = "acme") -> list[tuple[str, str, str]]:
    rows = g.rows(f"SELECT actor, facts FROM audit_events WHERE kind = 'access.refused' AND org = '{org}' ORDER BY seq")
    found = [(row["actor"], json.loads(row["facts"])) for row in rows]
    return [(actor, facts["what"], facts["why"]) for actor, facts in found]


@requirement("S-76")
async def test_every_refused_attempt_is_in_the_trail_with_who_and_why(either_gateway: Gateway) -> None:
    g = either_gateway
    request, other, third = [await g.ask("by_api", {"n": n}) for n in (1, 2, 3)]
    await g.decide(request)
    await g.decide(other)
    shop, alice = "agent:shop", "alice@acme.example"
    of = "/v1/requests/{request_id}"
    expected: list[tuple[str, str, str]] = []

    async def tried(actor: str, what: str, why: str, answer: Any) -> None:
        assert (answer.status_code >= 400, answer.json()["code"]) == (True, why)
        expected.append((actor, what, why))
        assert _refused(g) == expected

    body = {"scope": "admin", "label": "mine"}
    await tried(shop, "POST /v1/keys", "wrong_scope", await g.call("POST", "/v1/keys", body))
    await tried("agent:thief", f"POST {of}/claim", "not_found", await g.claim(request, who="agent:thief"))
    await tried(shop, f"POST {of}/claim", "digest_mismatch", await g.claim(request, digest="0" * 64))
    assert (await g.claim(request)).status_code == 200
    await tried(shop, f"POST {of}/claim", "already_claimed", await g.claim(request, claim_id="claim-2"))
    await g.container.switches.set_read_only("acme", on=True, reason="audit", by="olga@acme.example")
    await tried(shop, f"POST {of}/claim", "read_only", await g.claim(other))
    await tried(
        "dave@acme.example",
        f"POST {of}/handover",
        "not_eligible",
        await g.call(
            "POST",
            f"/v1/requests/{third['id']}/handover",
            {"to": "bob@acme.example", "note": "n", "digest": third["digest"]},
            who="dave@acme.example",
        ),
    )
    await tried(shop, "POST /v1/standing-approvals", "wrong_scope", await g.call("POST", "/v1/standing-approvals", {}))
    await tried(shop, "POST /v1/break-glass", "wrong_scope", await g.call("POST", "/v1/break-glass", {}))
    g.keys["acme/stranger"] = "ak_nobody_nothing_000000"
    unknown = await g.call("GET", "/v1/requests", who="stranger")
    address = "address:127.0.0.1"
    await tried(address, "GET /v1/requests", "unauthenticated", unknown)
    assert _refused(g, org="globex") == [(address, "GET /v1/requests", "unauthenticated")], "whose it is nobody knows"
    assert alice not in str(_refused(g))
    counted = g.container.telemetry.registry.get_sample_value("assent_access_refused_total", {"code": "wrong_scope"})
    assert counted == 3


@requirement("S-76")
async def test_the_same_attempt_is_said_once_a_minute_and_counted_always(gateway: Gateway) -> None:
    now, counted = [0.0], list[str]()
    note = NoteRefusals(
        store=gateway.container.store, orgs=lambda: ["acme"], counted=counted.append, monotonic=lambda: now[0]
    )
    attempt = Attempt(org="acme", actor="agent:shop", what="POST /x", code="wrong_scope")
    for _ in range(5):
        await note(attempt)
    assert len(_refused(gateway)) == 1
    now[0] = 61.0
    await note(attempt)
    facts = json.loads(gateway.rows("SELECT facts FROM audit_events ORDER BY seq DESC LIMIT 1")[0]["facts"])
    assert (facts["unsaid"], len(counted), len(_refused(gateway))) == (4, 6, 2)


@requirement("S-76")
async def test_what_cannot_be_written_is_refused_all_the_same(gateway: Gateway, monkeypatch: Any) -> None:
    async def down(*_: object, **__: object) -> None:
        raise UnavailableError

    await gateway.key("agent:shop")
    monkeypatch.setattr(gateway.container.services.note_refusal._store, "write", down)
    assert (await gateway.call("POST", "/v1/keys", {"scope": "admin", "label": "x"})).status_code == 403
