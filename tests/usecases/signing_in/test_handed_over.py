"""A requester who is proved by a token that the agent hands over: a fact, and nothing else ever becomes one."""

from __future__ import annotations

import asyncio
import hmac
import warnings
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from joserfc.jwk import ECKey, OctKey, RSAKey
from msgspec.structs import replace

from app.domain.call.requester_proof import RequesterProof, proof_from
from app.domain.call.tool_call import binding_digest
from tests.domain.samples import START, a_call
from tests.fixtures.gateway import ManualClock
from tests.fixtures.patience import HANGS, eventually
from tests.fixtures.second_factors import ALICE, BOB, OLGA
from tests.requirements import requirement
from tests.usecases.signing_in.handed import AGENT, ISSUER, PORTAL, Issuer, a_key, part, takes_tokens
from tests.usecases.voters.test_approvers import facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fixtures.gateway import Gateway

TOOL = "proved_pay"
HOUR = 3600


@pytest.fixture
async def issuer(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Issuer:
    assert isinstance(gateway.clock, ManualClock)
    issuer = Issuer(gateway.clock)
    monkeypatch.setattr(gateway.container.prove.issuers, "fetch", issuer.fetch)
    await takes_tokens(gateway)
    return issuer


async def post(g: Gateway, token: str | None, *, tool: str = TOOL, who: str = "agent:shop", **more: Any) -> Any:
    body = {"tool": tool, "arguments": {}, **more}
    return await g.call("POST", "/v1/requests", body if token is None else {**body, "requester_token": token}, who=who)


@requirement("S-88")
async def test_a_good_token_makes_a_fact_of_who_asked_and_without_one_the_rule_refuses(
    gateway: Gateway, issuer: Issuer
) -> None:
    g = gateway
    bare = await post(g, None, requester=ALICE)
    assert (bare.json()["decision"], bare.json()["rule"]) == ("deny", "proved")
    assert "hand over that person's ID token with the call (requester_token)" in bare.json()["message"]
    answer = await post(g, issuer.token(), requester="ALICE@acme.example")
    assert answer.status_code == 202, answer.text
    request = answer.json()["request"]
    assert request["requester"] == ALICE
    assert request["requester_proof"] == {
        "issuer": ISSUER,
        "subject": "00u1",
        "actor": None,
        "signed_at": g.clock.now().replace(microsecond=0).isoformat(),
        "until": (g.clock.now() + timedelta(minutes=5)).replace(microsecond=0).isoformat(),
    }
    assert facts(g, "request.created")[-1]["requester_proof"]["token"] == sha256(f"{ISSUER}\nt-1".encode()).hexdigest()
    assert (await g.decide(request, who=ALICE)).json()["code"] == "not_eligible"  # who asked is barred, as ever
    assert (await g.decide(request, who=BOB)).json()["state"] == "approved"
    claimed = await g.call(
        "POST", f"/v1/requests/{request['id']}/claim", {"digest": request["digest"], "claim_id": "c"}
    )
    assert claimed.status_code == 200, claimed.text
    assert (await g.verify())[1] is None


@requirement("S-88")
@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"}, {"iss": ...}, {"iss": [ISSUER]}, {"aud": "other"}, {"aud": ...}, {"aud": []},
        {"aud": "assent"}, {"aud": [PORTAL, "other"]}, {"aud": {PORTAL: 1}}, {"azp": "other"}, {"azp": 7}, {"sub": ...},
        {"sub": 7}, {"sub": ""}, {"sub": "x" * 256}, {"email": ...}, {"email": [ALICE]}, {"email": "zoe@acme.example"},
        {"email_verified": ...}, {"email_verified": "true"}, {"email_verified": 1}, {"exp": ...}, {"exp": "9999999999"},
        {"exp": True}, {"exp": 1}, {"exp": 1e300}, {"iat": ...}, {"iat": 1}, {"iat": 2**32}, {"nbf": 2**32},
        {"act": {"sub": AGENT}}, {"act": None}, {"act": AGENT}, {"events": {}}, {"cnf": {"jkt": "x"}},
    ],
)  # fmt: skip
@pytest.mark.sampled(4)
async def test_a_token_that_says_anything_else_proves_nothing_and_bars_nobody_new(
    gateway: Gateway, issuer: Issuer, claims: dict[str, Any]
) -> None:
    token = issuer.token(**claims)
    refused = (await post(gateway, token, requester=ALICE)).json()
    assert (refused["decision"], refused["rule"]) == ("deny", "proved")
    assert "The token that came with it proves nothing: " in refused["reason"]
    claimed = (await post(gateway, token, tool="by_api", requester=BOB)).json()["request"]
    assert (claimed["requester"], claimed["requester_proof"]) == (BOB, None)  # what a claim can do, and no more
    assert (await gateway.decide(claimed, who=BOB)).json()["code"] == "not_eligible"
    assert (await gateway.decide(claimed, who=ALICE)).json()["state"] == "approved"


def forged(issuer: Issuer, secret: bytes, alg: str = "HS256") -> str:
    """Sign with the issuer's public key, taken for a shared secret."""
    said = f"{part({'alg': alg, 'kid': '1'})}.{part(issuer.claims())}"
    mac = part_of(hmac.digest(secret, said.encode(), "sha256"))
    return f"{said}.{mac}"


def part_of(raw: bytes) -> str:
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@requirement("S-88")
async def test_only_the_issuers_own_keys_sign_in_a_way_of_the_file(gateway: Gateway, issuer: Issuer) -> None:
    said = part(issuer.claims())
    good = issuer.token()
    head, body, mac = good.split(".")
    forgeries = [
        issuer.token(signs_with=RSAKey.generate_key(2048, {"kid": "1"})),
        issuer.token(header={"alg": "RS512"}),
        issuer.token(header={"typ": "logout+jwt"}),
        issuer.token(header={"typ": "at+jwt"}),
        f"{part({'alg': 'none'})}.{said}.",
        f"{part({'alg': 'none', 'kid': '1'})}.{said}.{mac}",
        forged(issuer, a_key().as_pem(private=False)),
        forged(issuer, b""),
        f"{head}.{part(issuer.claims(email=BOB))}.{mac}",
        f"{head}.{body}.{mac[:-4]}AAAA",
        f"{head}.{body}",
        f"{head}.{body}.{mac}.{mac}",
        f"{part({'alg': 'RS256', 'kid': '1', 'crit': ['b64'], 'b64': False})}.{body}.{mac}",
        f"{part({'alg': 'RS256', 'jwk': a_key().as_dict(private=False)})}.{body}.{mac}",
        f"{head}.W1tbW1tbW1tb.{mac}",
        "x",
        "." * 100,
    ]
    for token in forgeries:
        refused = await post(gateway, token, requester=ALICE)
        assert refused.json().get("decision") == "deny", (token, refused.text)
    assert gateway.rows("SELECT id FROM requests") == []
    assert (await post(gateway, good)).status_code == 202


@requirement("S-88")
@pytest.mark.parametrize("key", [OctKey.generate_key(256, {"kid": "1"}), ECKey.generate_key("P-256", {"kid": "1"})])
async def test_a_key_of_another_kind_under_the_same_name_signs_nothing(
    gateway: Gateway, issuer: Issuer, key: Any
) -> None:
    issuer.keys = [key.as_dict(private=False) if key.key_type != "oct" else key.as_dict()]
    assert (await post(gateway, issuer.token())).json()["decision"] == "deny"
    if key.key_type == "oct":
        assert (await post(gateway, forged(issuer, key.raw_value))).json()["decision"] == "deny"


@requirement("S-88")
async def test_a_token_that_is_exchanged_must_be_for_this_very_agent(gateway: Gateway, issuer: Issuer) -> None:
    gateway.rewrite('"audiences": ["portal"]', f'"audiences": ["portal"], "actors": {{"shop": "{AGENT}"}}')
    await gateway.reload()

    async def tried(who: str = "agent:shop", **more: Any) -> Any:
        return (await post(gateway, issuer.token(**{"header": {"typ": "at+jwt"}, **more}), who=who)).json()

    good = await tried(act={"sub": AGENT}, azp=AGENT)
    assert good["request"]["requester_proof"]["actor"] == AGENT
    for why in (
        await tried(),  # a bare token of the person is not enough for an agent that the file names
        await tried(header={}),
        await tried(act={"sub": "0oa-other"}),
        await tried(act={"sub": AGENT, "iss": "https://evil.example"}),
        await tried(act={"act": {"sub": AGENT}, "sub": "0oa-other"}),  # who acted before is none of ours
        await tried(act={"act": {"sub": AGENT}}),
        await tried(act=[AGENT]),
        await tried(act={"sub": [AGENT]}),
        await tried(act={"sub": AGENT}, azp="0oa-other"),
        await tried(act={"sub": AGENT}, aud=AGENT),
        await tried(who="agent:other", act={"sub": AGENT}),  # stolen by another agent
    ):
        assert why["decision"] == "deny", why
    nested = await tried(act={"sub": AGENT, "act": {"sub": "0oa-front"}, "iss": ISSUER}, jti="t-2")
    assert nested["request"]["requester_proof"]["actor"] == AGENT
    bare = (await post(gateway, issuer.token(), who="agent:other")).json()
    assert bare["request"]["requester_proof"]["actor"] is None  # of whom the file says nothing


@requirement("S-88")
async def test_a_token_is_over_in_time_and_of_today_only(gateway: Gateway, issuer: Issuer) -> None:
    lasting = issuer.token(exp=int(gateway.clock.now().timestamp()) + 24 * HOUR)
    issuer.clock.advance(timedelta(minutes=59))
    assert (await post(gateway, lasting)).status_code == 202
    issuer.clock.advance(timedelta(minutes=2))
    refused = (await post(gateway, lasting, session="anew")).json()
    assert "it was made too long ago" in refused["reason"]
    gateway.rewrite('"audiences": ["portal"]', '"audiences": ["portal"], "max_age": "12h"')
    await gateway.reload()
    assert (await post(gateway, lasting, session="anew")).status_code == 202


@requirement("S-88")
async def test_who_is_named_beside_the_token_is_the_same_person_or_the_call_is_refused(
    gateway: Gateway, issuer: Issuer
) -> None:
    refused = await post(gateway, issuer.token(), requester=BOB)
    assert (refused.status_code, refused.json()["path"]) == (422, "requester")
    assert "of somebody else than `requester` names" in refused.json()["detail"]
    assert gateway.rows("SELECT id FROM requests") == []


@requirement("S-88")
async def test_an_issuer_that_is_away_proves_nobody_holds_nobody_up_and_is_not_asked_by_every_call(
    gateway: Gateway, issuer: Issuer
) -> None:
    issuer.away = True
    refused = (await post(gateway, issuer.token(), requester=ALICE)).json()
    assert (refused["decision"], "does not answer just now" in refused["reason"]) == ("deny", True)
    claimed = (await post(gateway, issuer.token(), tool="by_api", requester=ALICE)).json()["request"]
    assert (claimed["requester"], claimed["requester_proof"]) == (ALICE, None)
    assert len(issuer.asked) == 1
    issuer.clock.advance(timedelta(seconds=6))
    issuer.away, issuer.hangs = False, True
    gateway.container.prove._seconds = 0.05
    assert "does not answer just now" in (await post(gateway, issuer.token())).json()["reason"]
    assert len(issuer.asked) == 2
    issuer.clock.advance(timedelta(seconds=6))
    issuer.hangs, gateway.container.prove._seconds = False, 5.0
    for nonsense in (b"", b"[]", b"{}", b"[" * 100_000):
        issuer.answer = nonsense
        assert (await post(gateway, issuer.token())).json()["decision"] == "deny"
        issuer.clock.advance(timedelta(seconds=6))
    issuer.answer = None
    assert (await post(gateway, issuer.token())).status_code == 202


@requirement("S-88")
async def test_a_caller_that_went_away_is_no_failure_of_the_issuer(gateway: Gateway, issuer: Issuer) -> None:
    issuer.hangs = True
    provider = gateway.container.book.current("acme").providers[0]
    asking = asyncio.create_task(gateway.container.prove.issuers.signed(provider, issuer.token()))
    await eventually(lambda: bool(issuer.asked))
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking
    issuer.hangs = False
    assert (await post(gateway, issuer.token())).status_code == 202  # at once, without a moment of leaving it alone


@requirement("S-88")
async def test_a_hundred_calls_ask_the_issuer_once_and_unknown_keys_make_it_asked_no_more_than_twice_a_minute(
    gateway: Gateway, issuer: Issuer
) -> None:
    tokens = [issuer.token(jti=f"t-{number}") for number in range(100)]
    answers = await asyncio.gather(*(post(gateway, token, session=token[-9:]) for token in tokens[:20]))
    assert {answer.status_code for answer in answers} <= {202, 429}
    assert len(issuer.asked) == 2  # what it says of itself, and its keys
    unknown = issuer.token(header={"kid": "9"}, signs_with=a_key("9"))
    issuer.clock.advance(timedelta(seconds=31))
    for _ in range(10):
        assert (await post(gateway, unknown)).json()["decision"] == "deny"
    assert len(issuer.asked) == 3
    issuer.keys = [a_key("9").as_dict(private=False)]  # it has changed its key
    issuer.clock.advance(timedelta(seconds=31))
    assert (await post(gateway, issuer.token(header={"kid": "9"}, signs_with=a_key("9")))).status_code == 202
    assert len(issuer.asked) == 4


@requirement("S-88")
async def test_the_token_is_kept_nowhere_and_logged_nowhere(
    gateway: Gateway, issuer: Issuer, capfd: pytest.CaptureFixture[str]
) -> None:
    good, bad = issuer.token(), issuer.token(aud="other")
    assert (await post(gateway, good)).status_code == 202
    assert (await post(gateway, bad)).json()["decision"] == "deny"
    wrong = await gateway.call("POST", "/v1/requests", {"tool": TOOL, "arguments": 7, "requester_token": good})
    large = await post(gateway, "a" * 16_001)
    assert (wrong.status_code, large.status_code, large.json()["path"]) == (422, 422, "requester_token")
    said = repr(gateway.content()) + "".join(capfd.readouterr()) + wrong.text + large.text
    for token in (good, bad):
        for piece in token.split("."):
            assert piece not in said
    assert "a" * 200 not in said


@requirement("S-09")
async def test_a_proved_requester_approves_nothing_of_theirs_by_whichever_account(
    gateway: Gateway, issuer: Issuer
) -> None:
    g = gateway
    for person in (ALICE, OLGA):
        answer = await post(g, issuer.token(email=person.upper(), sub=person), session=person)
        request = answer.json()["request"]
        assert (await g.decide(request, who=person)).json()["code"] == "not_eligible"
    g.rewrite("verified, stages: [{of: [finance]}]", "verified, stages: [{of: [finance], allow_requester: true}]")
    await g.reload()
    own = (await post(g, issuer.token(), tool="proved_run")).json()["request"]
    assert (await g.decide(own, who=ALICE)).json()["state"] == "approved"  # where the rule says so, in writing


@requirement("S-88")
async def test_a_claim_joins_no_request_that_says_who_asked_as_a_fact(gateway: Gateway, issuer: Issuer) -> None:
    proved = (await post(gateway, issuer.token(), tool="by_api", session="s")).json()["request"]
    claimed = (await post(gateway, None, tool="by_api", session="s", requester=ALICE)).json()["request"]
    again = (await post(gateway, issuer.token(jti="t-2"), tool="by_api", session="s")).json()
    assert claimed["id"] != proved["id"]
    assert (again["attached"], again["request"]["id"]) == (True, proved["id"])


@requirement("S-88")
def test_the_proof_is_part_of_what_is_approved() -> None:
    at = {"signed_at": START, "until": START}
    proof = RequesterProof(person=ALICE, issuer=ISSUER, subject="1", token="", actor=None, **at)
    bound = {"request_id": "req_1", "nonce": "n", "policy_version": "p", "expires_at": START}
    digests = {binding_digest(a_call(proof=each), **bound) for each in (None, proof, replace(proof, subject="2"))}
    assert len(digests) == 3
    assert proof_from(proof.facts()) == proof


async def test_asked_again_or_changed_it_stays_proved_and_today_a_rule_may_demand_it(
    gateway: Gateway, issuer: Issuer
) -> None:
    g = gateway
    request = (await post(g, issuer.token())).json()["request"]
    issuer.clock.advance(timedelta(days=1))
    await g.container.sweep()
    again = (await g.call("POST", f"/v1/requests/{request['id']}/reopen", {}, who=BOB)).json()
    assert again["requester_proof"]["subject"] == "00u1", again
    claimed = (await post(g, None, tool="by_api", requester=ALICE)).json()["request"]
    assert (await g.decide(claimed, who=BOB)).json()["state"] == "approved"
    g.rewrite("{id: by-api,", "{id: by-api, requester: verified,")
    await g.reload()
    body = {"digest": claimed["digest"], "claim_id": "c"}
    refused = await g.call("POST", f"/v1/requests/{claimed['id']}/claim", body)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_approved")


@pytest.fixture
def real_provider() -> Iterator[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from oidc_provider_mock import User, run_server_in_thread

        people = [
            User(sub=ALICE, claims={"email": ALICE, "email_verified": True}),
            User(sub="eve", claims={"email": ALICE, "email_verified": False}),
        ]
        with run_server_in_thread(user_claims=people) as server:
            yield server.server_port


@requirement("S-88")
async def test_the_token_of_a_real_provider_proves_who_signed_in_there(gateway: Gateway, real_provider: int) -> None:
    assert isinstance(gateway.clock, ManualClock)
    gateway.clock.advance(datetime.now(UTC) - gateway.clock.now())  # its tokens are of today
    root = f"http://localhost:{real_provider}"
    await takes_tokens(gateway, issuer=root)

    async def token_of(who: str) -> str:
        """Sign in at the portal, as its own browser and server would."""
        back = "https://portal.acme.example/back"
        asked = {"client_id": PORTAL, "redirect_uri": back, "response_type": "code", "scope": "openid email"}
        async with httpx2.AsyncClient(trust_env=False, timeout=HANGS) as client:
            sent = await client.post(f"{root}/oauth2/authorize", params=asked, data={"sub": who})
            code = httpx2.URL(sent.headers["location"]).params["code"]
            form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back}
            answer = await client.post(f"{root}/oauth2/token", data=form, auth=(PORTAL, "x"))
            return answer.json()["id_token"]

    request = (await post(gateway, await token_of(ALICE))).json()["request"]
    assert (request["requester"], request["requester_proof"]["issuer"]) == (ALICE, root)
    assert (await post(gateway, await token_of("eve"), session="s")).json()["decision"] == "deny"
