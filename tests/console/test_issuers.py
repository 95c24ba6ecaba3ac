"""Signing in by way of an issuer: a real provider that we did not write, and a stand-in that says the worst."""

from __future__ import annotations

import asyncio
import hmac
import json
import warnings
from base64 import urlsafe_b64encode
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from app.usecases.signing_in.issuer import UnreachedError
from app.workers.outbound import Outbound
from tests.console.signed_in import Home
from tests.fixtures.gateway import ManualClock
from tests.fixtures.patience import HANGS
from tests.fixtures.review_visits import URL, with_url
from tests.fixtures.second_factors import ALICE, BOB, DAVE
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

ISSUER = "https://login.example.com"
BACK = "/sign-in/from/acme/corp"


@pytest.fixture
def config(config: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return with_url(config)


@pytest.fixture
def provider() -> Iterator[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from oidc_provider_mock import User, run_server_in_thread

        people = [
            User(sub=ALICE, claims={"email": ALICE, "email_verified": True, "groups": ["ops"]}),
            User(sub="eve", claims={"email": ALICE, "email_verified": False}),
        ]
        with run_server_in_thread(user_claims=people) as server:
            yield server.server_port


async def use(gateway: Gateway, issuer: str, **more: str) -> None:
    """Let an issuer sign people in."""
    entry = {"issuer": issuer, "client_id": "assent", "client_secret": "${CORP_SECRET}", "groups": "groups", **more}
    gateway.container.book._environ = {"CORP_SECRET": "s3cret"}
    gateway.rewrite("org: acme\n", f"org: acme\nsign_in: {{corp: {json.dumps(entry)}}}\n")
    await gateway.reload()


@dataclass(slots=True)
class Browser(Home):
    """Somebody who begins at our door. `cookie` is what they come back with."""

    cookie: str = ""
    wants: dict[str, str] = field(default_factory=dict[str, str])

    async def begin(self) -> str:
        answer = await self.get("/sign-in/with/acme/corp")
        assert answer.status_code == 303, answer.text
        self.cookie = answer.headers["set-cookie"].partition(";")[0].partition("=")[2]
        assert "httponly" in answer.headers["set-cookie"].lower()
        address = answer.headers["location"]
        self.wants = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        return address

    async def back(self, path: str = BACK, **said: str) -> httpx2.Response:
        self.gateway.http.cookies.clear()
        headers = {"cookie": f"assent-begun={self.cookie}; assent-session={self.session}"}
        return await self.gateway.http.get(path, params=said, headers=headers)


@requirement("S-86")
async def test_a_real_provider_signs_in_whom_the_file_knows_with_a_verified_address(
    gateway: Gateway, provider: int
) -> None:
    assert isinstance(gateway.clock, ManualClock)
    gateway.clock.advance(datetime.now(UTC) - gateway.clock.now())  # its tokens are of today
    await use(gateway, f"http://localhost:{provider}")
    browser = Browser(gateway=gateway)
    assert "Sign in with corp" in (await browser.get("/sign-in", host="127.0.0.1:8080")).text

    async def through(who: str) -> httpx2.Response:
        address = await browser.begin()
        async with httpx2.AsyncClient(trust_env=False, timeout=HANGS) as client:
            sent = await client.post(address, data={"sub": who})
        assert sent.status_code == 302, sent.text
        come = urlsplit(sent.headers["location"])
        assert f"{come.scheme}://{come.netloc}{come.path}" == f"{URL}{BACK}"
        return await browser.back(**{name: values[0] for name, values in parse_qs(come.query).items()})

    entered = await through(ALICE)
    assert (entered.status_code, entered.headers["location"]) == (303, "/"), entered.text
    [session] = [each for each in entered.headers.get_list("set-cookie") if each.startswith("assent-session=")]
    browser.session = session.partition(";")[0].partition("=")[2]
    assert (await browser.get()).status_code == 200
    [row] = gateway.rows("SELECT via, groups FROM console_sessions")
    assert (row["via"], row["groups"]) == ("oidc:corp", '["ops"]')
    assert (await through("eve")).status_code == 401  # her address is Alice's, and nobody has verified it


@cache
def _key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "1", "use": "sig"})


@dataclass(slots=True)
class Stand:
    """An issuer that says what it is told to say."""

    clock: ManualClock
    key: RSAKey = field(default_factory=_key)
    said: dict[str, Any] = field(default_factory=dict[str, Any])
    claims: dict[str, Any] = field(default_factory=dict[str, Any])
    header: dict[str, Any] = field(default_factory=lambda: {"alg": "RS256", "kid": "1"})
    signs_with: Any = None
    forges_with: bytes | None = None
    answer: bytes | None = None
    asked: list[tuple[str, str, dict[str, list[str]]]] = field(default_factory=list[Any])
    nonce: str = ""

    async def fetch(
        self, method: str, url: str, *, private: bool, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> bytes:
        self.asked.append((method, url, parse_qs(body.decode())))
        if url == f"{ISSUER}/.well-known/openid-configuration":
            ends = {name: f"{ISSUER}/{name}" for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
            return json.dumps({"issuer": ISSUER, **ends, **self.said}).encode()
        if url == f"{ISSUER}/jwks_uri":
            return json.dumps({"keys": [self.key.as_dict(private=False)]}).encode()
        if self.answer is not None:
            return self.answer
        now = int(self.clock.now().timestamp())
        claims = {"iss": ISSUER, "aud": "assent", "sub": "1", "exp": now + 300, "iat": now, "nonce": self.nonce,
                  "email": ALICE, "email_verified": True, **self.claims}  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not ...}
        if self.forges_with is not None:
            parts = b".".join(_part(each) for each in ({"alg": "HS256", "kid": "1"}, claims))
            mac = urlsafe_b64encode(hmac.digest(self.forges_with, parts, "sha256")).rstrip(b"=")
            return json.dumps({"id_token": b".".join((parts, mac)).decode()}).encode()
        token = jwt.encode(self.header, claims, self.signs_with or self.key, algorithms=[self.header["alg"]])
        return json.dumps({"id_token": token, "token_type": "Bearer"}).encode()


def _part(said: dict[str, Any]) -> bytes:
    return urlsafe_b64encode(json.dumps(said).encode()).rstrip(b"=")


@pytest.fixture
async def stand(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Stand:
    assert isinstance(gateway.clock, ManualClock)
    stand = Stand(gateway.clock)
    elsewhere = gateway.container.console.elsewhere
    monkeypatch.setattr(elsewhere._issuers, "fetch", stand.fetch)
    await use(gateway, ISSUER)
    return stand


async def entered(gateway: Gateway, stand: Stand, **said: str) -> httpx2.Response:
    browser = Browser(gateway=gateway)
    await browser.begin()
    stand.nonce = browser.wants["nonce"]
    return await browser.back(**{"code": "c", "state": browser.wants["state"], **said})


@requirement("S-86")
async def test_the_code_is_asked_for_with_its_proof_and_what_was_begun_is_good_once_in_that_browser(
    gateway: Gateway, stand: Stand
) -> None:
    browser, other = Browser(gateway=gateway), Browser(gateway=gateway)
    await browser.begin()
    await other.begin()
    stand.nonce = browser.wants["nonce"]
    good = {"code": "c", "state": browser.wants["state"]}
    assert (await other.back(**good)).status_code == 401  # a link that somebody else began
    assert (await browser.back(code="c", state="x")).status_code == 401
    assert (await browser.back(code="c")).status_code == 401
    assert (await browser.back("/sign-in/from/globex/corp", **good)).status_code == 401
    assert [url for _, url, _ in stand.asked if url.endswith("token_endpoint")] == []
    assert (await browser.back(**good)).status_code == 303
    [sent] = [form for method, _, form in stand.asked if method == "POST"]
    proof = urlsafe_b64encode(sha256(sent["code_verifier"][0].encode()).digest()).decode().rstrip("=")
    assert (browser.wants["code_challenge"], browser.wants["code_challenge_method"]) == (proof, "S256")
    assert sent["redirect_uri"] == [browser.wants["redirect_uri"]] == [f"{URL}{BACK}"]
    assert (await browser.back(**good)).status_code == 401
    await browser.begin()
    stand.nonce = browser.wants["nonce"]
    stand.clock.advance(timedelta(minutes=10))
    assert (await browser.back(code="c", state=browser.wants["state"])).status_code == 401


HOUR = 3600


@requirement("S-86")
@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"}, {"iss": ...}, {"aud": "other"}, {"aud": ...}, {"aud": ["assent", "other"]},
        {"aud": {"assent": 1}}, {"azp": "other"}, {"nonce": "x"}, {"nonce": ...}, {"sub": ...}, {"sub": 7}, {"sub": ""},
        {"email": ...}, {"email": [ALICE]}, {"email": "zoe@acme.example"}, {"email_verified": ...},
        {"email_verified": "true"}, {"email_verified": 1}, {"exp": ...}, {"exp": "9999999999"}, {"exp": True},
        {"exp": 1}, {"exp": 1e300}, {"iat": ...}, {"iat": 1}, {"iat": 2**32}, {"nbf": 2**32},
    ],
)  # fmt: skip
@pytest.mark.sampled(4)
async def test_a_token_that_says_anything_else_signs_nobody_in(
    gateway: Gateway, stand: Stand, claims: dict[str, Any]
) -> None:
    stand.claims = claims
    refused = await entered(gateway, stand)
    assert refused.status_code == 401
    assert "did not sign you in" in refused.text
    assert gateway.rows("SELECT * FROM console_sessions") == []


@requirement("S-86")
async def test_only_a_key_of_the_issuer_signs_and_a_new_one_is_asked_for(gateway: Gateway, stand: Stand) -> None:
    stand.signs_with = RSAKey.generate_key(2048, {"kid": "1"})
    assert (await entered(gateway, stand)).status_code == 401
    stand.forges_with = stand.key.as_pem(private=False)  # its public key, taken for a secret of ours
    assert (await entered(gateway, stand)).status_code == 401
    stand.forges_with = None
    stand.header, stand.signs_with = {"alg": "RS512", "kid": "1"}, None
    assert (await entered(gateway, stand)).status_code == 401  # not how the file says
    stand.header = {"alg": "RS256", "kid": "1"}
    assert (await entered(gateway, stand)).status_code == 303
    stand.key, stand.header = RSAKey.generate_key(2048, {"kid": "2", "use": "sig"}), {"alg": "RS256", "kid": "2"}
    stand.clock.advance(timedelta(seconds=31))
    assert (await entered(gateway, stand)).status_code == 303


@requirement("S-86")
@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"id_token": 7}', b'{"id_token": "a.b.c"}', b"[" * 100_000])
async def test_an_issuer_that_answers_nonsense_signs_nobody_in(gateway: Gateway, stand: Stand, answer: bytes) -> None:
    stand.answer = answer
    assert (await entered(gateway, stand)).status_code == 401


@requirement("S-86")
async def test_another_issuers_answer_is_told_from_this_ones(gateway: Gateway, stand: Stand) -> None:
    assert (await entered(gateway, stand, iss="https://evil.example")).status_code == 401
    assert (await entered(gateway, stand, error="access_denied")).status_code == 401
    stand.said = {"authorization_response_iss_parameter_supported": True}
    stand.clock.advance(timedelta(minutes=11))
    assert (await entered(gateway, stand)).status_code == 401  # it promises to name itself, and does not
    assert (await entered(gateway, stand, iss=ISSUER)).status_code == 303


@requirement("S-86")
@pytest.mark.parametrize(
    "said",
    [{"issuer": "https://evil.example"}, {"token_endpoint": "http://login.example.com/"}, {"jwks_uri": ...},
     {"authorization_endpoint": "javascript:alert(1)"}, {"token_endpoint": 7}],
)  # fmt: skip
async def test_an_issuer_that_describes_itself_wrongly_is_not_gone_to(
    gateway: Gateway, stand: Stand, said: dict[str, Any]
) -> None:
    stand.said = {name: None if value is ... else value for name, value in said.items()}
    assert (await Browser(gateway=gateway).get("/sign-in/with/acme/corp")).status_code == 503


@requirement("S-86")
async def test_a_pinned_person_is_their_subject_alone(gateway: Gateway, stand: Stand) -> None:
    gateway.rewrite('"groups": "groups"', f'"groups": "groups", "subjects": {{"{ALICE}": "00u1"}}')
    await gateway.reload()
    assert (await entered(gateway, stand)).status_code == 401  # her address, and another subject
    stand.claims = {"sub": "00u1", "email": BOB, "email_verified": False, "groups": "ops"}
    assert (await entered(gateway, stand)).status_code == 303
    [row] = gateway.rows("SELECT person, groups FROM console_sessions")
    assert (row["person"], row["groups"]) == (ALICE, None)


@requirement("S-86", "S-35")
async def test_an_issuer_is_asked_within_bounds() -> None:
    served: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(asyncio.current_task())
        with suppress(ConnectionError):
            await say(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
        if path == b"/never":
            await reader.read()
        elif path == b"/away":
            writer.write(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n")
        else:
            size = 10_000_000 if path == b"/large" else 5
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + b"x" * size)
            await writer.drain()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        fetch = Outbound(seconds=0.5).fetch
        assert await fetch("GET", f"http://localhost:{port}/", private=False) == b"xxxxx"
        for path, why in (("large", "more than"), ("away", "status 302"), ("never", "no answer within")):
            with pytest.raises(UnreachedError, match=why):
                await fetch("GET", f"http://localhost:{port}/{path}", private=False)
        with pytest.raises(UnreachedError, match="leads to"):
            await Outbound(resolve=inside).fetch("GET", "https://login.example.com/", private=True)
        await asyncio.gather(*filter(None, served))


async def inside(host: str, port: int) -> list[str]:
    """Answer with where a cloud keeps its metadata."""
    return ["169.254.169.254"]


@requirement("S-87")
async def test_a_role_of_the_file_or_of_a_claim_opens_the_record_of_others_as_long_as_it_is_given(
    gateway: Gateway, stand: Stand
) -> None:
    request = await gateway.ask("by_api", requester=BOB)
    dave = await Browser.of(gateway, DAVE, origin=URL)
    page = f"/console/requests/{request['id']}"
    assert (await dave.get(page)).status_code == 404
    gateway.rewrite("org: acme\n", 'org: acme\nroles: {auditor: [dave@acme.example], operator: ["claim:ops"]}\n')
    await gateway.reload()
    assert (await dave.get(page)).status_code == 200
    gateway.rewrite("auditor: [dave@acme.example], operator", "auditor")
    await gateway.reload()
    assert (await dave.get(page)).status_code == 404
    stand.claims = {"email": DAVE, "groups": ["ops"]}
    answer = await entered(gateway, stand)
    [session] = [each for each in answer.headers.get_list("set-cookie") if each.startswith("assent-session=")]
    dave.session = session.partition(";")[0].partition("=")[2]
    assert (await dave.get(page)).status_code == 200
    gateway.rows('UPDATE console_sessions SET groups = \'["root","ops"]\'')
    assert (await dave.get(page)).status_code == 401  # nobody is put into a group in the database
    gateway.rows("UPDATE console_sessions SET groups = '[\"ops\"]'")
    assert (await dave.get(page)).status_code == 200
    other = {"issuer": "https://other.example", "client_id": "a", "client_secret": "${CORP_SECRET}", "groups": "groups"}
    gateway.rewrite(', "groups": "groups"}', f"}}, other: {json.dumps(other)}")
    await gateway.reload()
    assert [(await dave.get(path)).status_code for path in ("/", page)] == [200, 404]  # its groups count no more
    gateway.rewrite("sign_in: {corp:", "sign_in: {next:")
    await gateway.reload()
    assert (await dave.get()).status_code == 401  # whom the file has no more, has signed nobody in
