"""Where a proof is read, how it reaches the gateway, and what the file says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx2
import pytest

from app.cli.approver.requests import lines_of
from app.domain.call.requester_proof import RequesterProof
from app.domain.lifecycle.lifecycle import opened
from app.domain.text.language import Language
from app.domain.trail.told import told
from app.policies.file.case_file import read_cases
from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError
from assent import AsyncGateway, ToolCall
from assent.client.call import proved
from assent.command.identity import load_identity
from assent.gate.asking import call_key
from assent.gate.gate import Gate
from assent.gate.guarded import guarded
from assent.gate.suspended import SuspendedCall
from channels import registry
from tests.domain.card.test_card_for import card
from tests.domain.samples import REQUESTER, START, a_call, a_request
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

PROOF = RequesterProof(
    person=REQUESTER, issuer="https://login.acme.example/x", subject="1", signed_at=START, until=START, token="t"
)
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl"


@requirement("S-68")
@pytest.mark.parametrize(
    ("language", "claimed", "fact", "sentence"),
    [
        (Language.EN, "(not verified)", "agent payer for rex <rex@acme.example> (signed in at login.acme.example)",
         "for rex@acme.example, who signed in at https://login.acme.example/x"),
        (Language.ZH, "（未经核实）", "智能体 payer 代 rex <rex@acme.example> 申请（已在 login.acme.example 登录核实）",
         "（代 rex@acme.example，已在 https://login.acme.example/x 登录核实）"),
    ],
)  # fmt: skip
def test_a_fact_reads_as_one_and_a_claim_as_a_claim(language: Language, claimed: str, fact: str, sentence: str) -> None:
    asks = [card(a_request(call=call), language=language).facts for call in (a_call(), a_call(proof=PROOF))]
    said = [next(each.value for each in facts if "payer" in each.value) for facts in asks]
    assert claimed in said[0]
    assert said[1] == fact
    told_so = [opened(a_request(call=call)).record for call in (a_call(), a_call(proof=PROOF))]
    assert [sentence in told(record, language) for record in told_so if record] == [False, True]


FILE = """
org: acme
default: deny
url: https://assent.acme.example
people: {rex@acme.example: {name: Rex}}
sign_in: {corp: {issuer: "https://login.acme.example", client_id: a, client_secret: "${S}", requesters: REQUESTERS}}
tools: {pay: {}}
rules:
  - {id: proved, tools: [pay], then: ALLOW, requester: verified}
"""


@pytest.mark.parametrize(
    ("requesters", "then", "fault"),
    [
        ("{audiences: []}", "allow", "is empty"),
        ("{audiences: [a], max_age: 30s}", "allow", "from 1m to 24h"),
        ("{audiences: [a], max_age: 25h}", "allow", "from 1m to 24h"),
        ("{audiences: [a], actors: {x: 1, y: 1}}", "allow", "must be a text"),
        ("{audiences: [a], actors: {x: b, y: b}}", "allow", "two agents cannot be the same to the issuer"),
        ("{audiences: [a]}", "deny", 'means nothing on a rule that says "then: deny"'),
        ("null", "allow", "nobody could be proved: no issuer under sign_in has `requesters`"),
    ],
)
def test_the_file_says_whose_tokens_count_or_is_refused(tmp_path: Path, requesters: str, then: str, fault: str) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text(FILE.replace("REQUESTERS", requesters).replace("ALLOW", then))
    with pytest.raises(PolicyFaultsError) as refused:
        load_policy(file, environ={"S": "s3cret"}, channel_types=registry.platforms())
    assert fault in str(refused.value)


def test_a_case_may_suppose_a_proof(tmp_path: Path) -> None:
    cases = tmp_path / "cases.yaml"
    cases.write_text(
        "cases:\n  - {it: works, tool: pay, user: Rex@acme.example, verified: true, expect: allow}\n"
        "  - {it: is refused, tool: pay, user: rex@acme.example, expect: deny}\n"
    )
    found = read_cases(cases, org="acme", zone=START.tzinfo, rules=frozenset())  # pyright: ignore[reportArgumentType]
    assert [case.call.proof and case.call.proof.person for case in found] == ["rex@acme.example", None]
    cases.write_text("cases:\n  - {it: works, tool: pay, verified: true, expect: allow}\n")
    with pytest.raises(PolicyFaultsError, match='means nothing without "user"'):
        read_cases(cases, org="acme", zone=START.tzinfo, rules=frozenset())  # pyright: ignore[reportArgumentType]


async def test_the_client_asks_for_the_token_of_each_call_and_keeps_none() -> None:
    call = ToolCall("pay", {}, session="s", call_id="c")
    given = iter(["one", None])

    async def later() -> str | None:
        return "later"

    assert (await proved(call, lambda: next(given))).requester_token == "one"
    assert (await proved(call, lambda: next(given))).requester_token is None
    assert (await proved(call, later)).requester_token == "later"
    own = replace(call, requester_token=TOKEN)
    assert (await proved(own, "other")).requester_token == TOKEN
    assert TOKEN not in repr(own)
    assert TOKEN not in SuspendedCall(call=own, key="k").as_json()
    assert call_key(own) == call_key(call)  # a new token is no new call


async def test_the_token_travels_with_the_call_and_only_with_it() -> None:
    sent: list[tuple[str, dict[str, object]]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append((request.url.path, json.loads(request.content or b"{}")))
        return httpx2.Response(200, json={"decision": "deny", "rule": "proved", "reason": "no proof", "message": ""})

    gateway = AsyncGateway(
        "http://gate.test", "ak_x", transport=httpx2.MockTransport(answer), requester_token=lambda: TOKEN
    )
    async with gateway:
        for found in (
            await gateway.check(ToolCall("pay", {})),
            await gateway.take(ToolCall("pay", {})),
            await Gate(gateway).run("pay", {}, dict, requester_token="eyJ.own.one"),
            await guarded(gateway, tool="pay", requester_token="eyJ.own.two", refusals="return")(pay)(),
        ):
            assert "requester_token" not in repr(found)
    own = [body.get("requester_token") for _, body in sent]
    assert own == [TOKEN, TOKEN, "eyJ.own.one", "eyJ.own.two"]


async def pay() -> None:
    """Never runs here."""


@requirement("S-58")
def test_the_hook_takes_the_token_from_its_users_file_and_a_project_names_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    kept, config = tmp_path / "portal.jwt", tmp_path / "agent.json"
    kept.write_text(TOKEN + "\n")
    config.write_text(json.dumps({"url": "http://127.0.0.1:1", "key": "ak_x", "requester_token_file": str(kept)}))
    config.chmod(0o600)
    monkeypatch.setenv("ASSENT_REQUESTER_TOKEN", "eyJ.of.another")
    identity = load_identity(str(config))
    assert identity.requester_token() == TOKEN
    for wrong in ("", "ak_secret", "-----BEGIN KEY-----", "eyJ.x", "eyJ..x"):
        kept.write_text(wrong)  # read anew each time
        assert identity.requester_token() is None
        assert "who asks is not proved" in (said := capfd.readouterr().err)
        assert not wrong or wrong not in said
    kept.write_text(TOKEN)
    monkeypatch.setattr("assent.command.identity._user_file", lambda: str(tmp_path / "none.json"))
    for name, value in {"URL": "http://127.0.0.1:1", "KEY": "ak_x", "REQUESTER_TOKEN_FILE": str(kept)}.items():
        monkeypatch.setenv(f"ASSENT_{name}", value)
    assert load_identity(None).requester_token() == "eyJ.of.another"
    monkeypatch.delenv("ASSENT_REQUESTER_TOKEN")
    assert load_identity(None).requester_token() is None
    assert load_identity("env").requester_token() == TOKEN


def test_the_command_line_says_a_fact_as_a_fact() -> None:
    from app.api.wire.request_view import view_request

    shown = dict(view_request(a_request(call=a_call(proof=PROOF)), None, whole=False))
    assert any("for rex@acme.example (signed in at https://login.acme.example/x)" in line for line in lines_of(shown))
