"""Settling an outcome that nobody knows: by whom, when, with what evidence, and never by running anything again."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from app.cli.commands import app
from tests.fixtures.commands import Across, CliRunner
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

NOTE = "bank statement of 1 March, line 12"


async def unknown(gateway: Gateway) -> dict[str, Any]:
    request = await gateway.ask("by_api")
    await gateway.decide(request)
    assert (await gateway.claim(request)).status_code == 200
    await gateway.report(request, "unknown")
    return await gateway.read(request)


async def reconcile(gateway: Gateway, request: dict[str, Any], *, who: str = "admin", **body: Any) -> httpx2.Response:
    sent = {"status": "succeeded", "note": NOTE, **body}
    return await gateway.call("POST", f"/v1/requests/{request['id']}/reconcile", sent, who=who)


@requirement("F-09")
@pytest.mark.parametrize(("who", "by"), [("admin", "key:"), ("agent:shop", "agent:shop")])
async def test_an_unknown_outcome_is_settled_with_its_evidence_in_the_trail(
    either_gateway: Gateway, who: str, by: str
) -> None:
    gateway = either_gateway
    request = await unknown(gateway)
    said = await reconcile(gateway, request, who=who, result={"receipt": "R-1"})
    assert (said.status_code, said.json()["state"]) == (200, "succeeded")
    assert (await gateway.read(request))["execution"]["result"] == {"receipt": "R-1"}
    [event] = [row for row in gateway.rows("SELECT * FROM audit_events") if row["kind"] == "execution.reconciled"]
    assert event["actor"].startswith(by)
    assert json.loads(event["facts"])["note"] == NOTE
    assert (await gateway.claim(request)).json()["code"] == "already_claimed"


async def test_saying_it_again_is_harmless_and_saying_otherwise_is_refused(gateway: Gateway) -> None:
    request = await unknown(gateway)
    first = await reconcile(gateway, request, status="failed", error="not paid")
    again = await reconcile(gateway, request, status="failed", error="not paid")
    assert (first.json()["state"], again.status_code) == ("failed", 200)
    assert first.json()["version"] == again.json()["version"]
    assert (await reconcile(gateway, request)).json()["code"] == "outcome_conflict"
    assert (await gateway.read(request))["state"] == "failed"


async def test_only_what_is_unknown_can_be_settled(gateway: Gateway) -> None:
    request = await gateway.ask("by_api")
    assert (await reconcile(gateway, request)).json()["code"] == "not_started"
    await gateway.decide(request)
    assert (await reconcile(gateway, request)).json()["code"] == "not_started"
    await gateway.claim(request)
    running = await reconcile(gateway, request)
    assert (running.status_code, running.json()["code"]) == (409, "outcome_conflict")
    assert "may still be running" in running.json()["detail"]
    await gateway.advance(timedelta(minutes=10))
    assert (await reconcile(gateway, request)).json()["state"] == "succeeded"


@requirement("S-16")
async def test_nobody_else_may_settle_it(gateway: Gateway) -> None:
    request = await unknown(gateway)
    before = gateway.rows("SELECT * FROM executions")
    for who, status in (("agent:other", 404), ("alice@acme.example", 403), ("auditor", 403)):
        assert (await reconcile(gateway, request, who=who)).status_code == status, who
    foreign = await gateway.call(
        "POST", f"/v1/requests/{request['id']}/reconcile", {"status": "failed", "note": NOTE}, who="admin", org="globex"
    )
    assert foreign.status_code == 404
    assert gateway.rows("SELECT * FROM executions") == before


@pytest.mark.parametrize(
    "body", [{"note": ""}, {"note": None}, {"status": "unknown"}, {"status": "started"}, {"more": 1}]
)
async def test_it_takes_a_certain_outcome_and_its_evidence(gateway: Gateway, body: dict[str, Any]) -> None:
    request = await unknown(gateway)
    assert (await reconcile(gateway, request, **body)).status_code == 422
    assert (await gateway.read(request))["state"] == "unknown"


async def test_the_command_line_settles_it(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    request, other = await unknown(gateway), await unknown(gateway)
    key = (await gateway.key("admin"))["authorization"].removeprefix("Bearer ")
    whole, transport = httpx2.Client, Across(gateway, asyncio.get_running_loop())
    monkeypatch.setattr(httpx2, "Client", lambda **more: whole(**more, transport=transport))
    env = {"ASSENT_URL": "http://gateway.test/", "ASSENT_KEY": key}

    async def run(*words: str) -> Any:
        return await asyncio.to_thread(CliRunner().invoke, app, ["requests", "reconcile", *words], env=env)

    assert (await run(request["id"], "--note", NOTE)).exit_code == 2  # it does not guess which
    done = await run(request["id"], "--succeeded", "--note", NOTE, "--result", '{"receipt": "R-9"}')
    assert (done.exit_code, done.stdout.strip()) == (0, "by_api: succeeded")
    assert (await gateway.read(request))["execution"]["result"] == {"receipt": "R-9"}
    failed = await run(other["id"], "--failed", "--note", NOTE, "--error", "never arrived")
    assert (failed.exit_code, failed.stdout.strip()) == (0, "by_api: failed")
    refused = await run(other["id"], "--succeeded", "--note", NOTE)
    assert (refused.exit_code, "Another outcome was already recorded" in refused.output) == (1, True)
