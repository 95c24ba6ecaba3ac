"""What the agent's program sent to its hook is kept beside the request: whole within its bound, without secrets."""

from __future__ import annotations

import json
from asyncio import to_thread
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.request.host_event import MOST_KEPT, kept_event
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

ACCOUNT = 'DE02 "of Acme" \\ 付'
TOKEN = "ghp_" + "a1B2" * 9


def told(**more: Any) -> str:
    return json.dumps({"hook_event_name": "PreToolUse", "tool_input": "(the call's arguments)", **more})


async def ask(g: Gateway, event: str) -> dict[str, Any]:
    body = {
        "tool_name": "pay_two",
        "tool_input": {"n": 1, "account": ACCOUNT},
        "session_id": "s-1",
        "host_event": event,
    }
    said = await g.call("POST", "/v1/hooks/PreToolUse", body)
    assert said.status_code == 202, said.text
    await g.quiet()
    return said.json()["request"]


@requirement("S-37")
async def test_it_is_shown_to_who_may_see_the_request_without_what_is_secret(either_gateway: Gateway) -> None:
    g = either_gateway
    event = told(prompt=f"pay {ACCOUNT} now", nested=json.dumps({"to": ACCOUNT}), env=f"TOKEN={TOKEN}", mode="default")
    request = await ask(g, event)
    assert "host_event" not in request, "whoever sent it need not be told"
    for who in ("agent:shop", "alice@acme.example"):
        kept = (await g.read(request, who=who))["host_event"]
        assert '"mode": "default"' in kept
        assert "pay ••• now" in kept
        assert "of Acme" not in kept
        assert TOKEN not in kept
    assert "host_event" not in (await g.call("GET", "/v1/requests")).json()["items"][0]
    assert g.rows("SELECT host_event FROM requests")[0]["host_event"].startswith("e1."), "encrypted, as arguments are"
    bare = await g.ask("pay_two", {"n": 2})
    assert (await g.read(bare))["host_event"] is None


@pytest.mark.heavy
def test_of_ten_thousand_secrets_none_is_left_and_the_text_is_gone_through_so_often_only() -> None:
    values = [f'"\\ä-{number:05}' for number in range(10_000)]
    event = json.dumps({"said": values[:500]}, ensure_ascii=False)
    kept = kept_event(event, {"secrets": list(values)}, ["secrets"], had=len(event))
    assert json.loads(kept) == {"said": ["•••"] * 500}


async def test_what_is_over_the_bound_is_cut_and_says_so(gateway: Gateway) -> None:
    event = told(prompt="x" * 40_000)
    kept = (await gateway.read(await ask(gateway, event)))["host_event"]
    assert kept == event[:MOST_KEPT] + f" … (cut: {MOST_KEPT} of {len(event)} characters are kept)"


@requirement("S-63")
@pytest.mark.parametrize("value", ["NULL", "'{}'"])
async def test_one_that_was_changed_is_another_request(gateway: Gateway, value: str) -> None:
    g = gateway
    request = await ask(g, told())
    for who in ("alice@acme.example", "bob@acme.example"):
        assert (await g.decide(request, who=who)).status_code == 200
    (await to_thread(Stranger, g))(f"UPDATE requests SET host_event = {value} WHERE id = '{request['id']}'")
    refused = await g.claim(request)
    assert (refused.status_code, refused.json()["code"]) == (409, "unsealed")
