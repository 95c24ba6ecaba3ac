"""Receivers are told what the trail says: each event at least once, in order, under one id, and nobody else is told."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
import structlog
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from app.domain.trail.audit import Kind, Record
from app.domain.trail.webhooks import Webhook, read_secret
from app.usecases.platforms.send_webhooks import ALARM_AFTER, NotTakenError, SendWebhooks
from app.workers.outbound import Outbound
from examples.webhook_receiver import verify
from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.storage.rig import ManualClock, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from app.storage.engine.store import Store

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes, ok").decode()
OLD = "whsec_" + base64.b64encode(b"one from before, of thirty bytes").decode()
ORG = "acme"


@dataclass(slots=True)
class Receiver:
    """Somebody else's server, which verifies what it gets with its own code."""

    url: str = ""
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict[str, str])
    got: list[tuple[str, dict[str, Any], dict[str, str]]] = field(
        default_factory=list[tuple[str, dict[str, Any], dict[str, str]]]
    )
    gate: asyncio.Event | None = None
    elsewhere: int = 0

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.got.append((headers["webhook-id"], json.loads(body), {**headers, "(body)": body.decode()}))
        if self.gate is not None:
            await self.gate.wait()
        return web.Response(status=self.status, headers=self.headers)

    async def stray(self, request: web.Request) -> web.Response:
        del request
        self.elsewhere += 1
        return web.Response()

    @property
    def kinds(self) -> list[str]:
        return [body["kind"] for _, body, _ in self.got]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    app = web.Application()
    app.router.add_post("/hook", made.take)
    app.router.add_route("*", "/elsewhere", made.stray)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield made
    if made.gate is not None:
        made.gate.set()
    await runner.cleanup()


def hook(url: str, *kinds: str, name: str = "siem", secrets: tuple[str, ...] = (SECRET,)) -> Webhook:
    return Webhook(
        name=name, url=url, host="127.0.0.1", secrets=tuple(map(read_secret, secrets)), kinds=kinds or ("*",)
    )


@dataclass(slots=True)
class Book:
    """The part of a policy book that is read here."""

    webhooks: tuple[Webhook, ...]

    def orgs(self) -> tuple[str, ...]:
        return (ORG,)

    def current(self, org: str) -> Book:
        assert org == ORG
        return self


@dataclass(slots=True)
class Desk:
    """One gateway's sender."""

    store: Store
    clock: ManualClock
    send: SendWebhooks

    async def say(self, *kinds: Kind) -> None:
        for kind in kinds:
            record = Record(kind=kind, actor="system", facts={"n": 1})
            await self.store.write(lambda tx, record=record: tx.append(record), org=ORG)


@asynccontextmanager
async def desk(url: str, *hooks: Webhook, clock: ManualClock | None = None, **outbound: Any) -> AsyncIterator[Desk]:
    moved = clock or ManualClock()
    async with open_store(url, moved) as store:
        send = SendWebhooks(
            store=store, book=cast("Any", Book(hooks)), clock=moved, send=Outbound(**outbound), every=timedelta(hours=1)
        )
        yield Desk(store, moved, send)


@requirement("S-36")
async def test_every_event_that_is_wanted_comes_once_in_order_and_proved(
    database_url: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk(database_url, hook(receiver.url, "request.*", "key.created", secrets=(SECRET, OLD))) as at:
        monkeypatch.setattr("examples.webhook_receiver.time.time", lambda: at.clock.now().timestamp())
        await at.say(Kind.CREATED)  # before it was first looked: a receiver is told of what comes from then on
        await at.send()
        await at.say(Kind.CREATED, Kind.CARD_POSTED, Kind.APPROVED, Kind.KEY_CREATED, *[Kind.CARD_LATE] * 120)
        for _ in range(2):
            await at.send()
        await at.say(Kind.EXPIRED)
        await at.send()
    assert receiver.kinds == ["request.created", "request.approved", "key.created", "request.expired"]
    for event_id, body, headers in receiver.got:
        assert event_id == body["id"]
        for secret in (SECRET, OLD):
            assert verify(headers, headers["(body)"].encode(), [secret]) == event_id
    assert len({event_id for event_id, _, _ in receiver.got}) == 4
    assert [body["seq"] for _, body, _ in receiver.got] == sorted(body["seq"] for _, body, _ in receiver.got)


@requirement("S-36")
async def test_two_replicas_send_each_event_once(database_url: str, receiver: Receiver) -> None:
    clock = ManualClock()
    async with (
        desk(database_url, hook(receiver.url), clock=clock) as one,
        desk(database_url, hook(receiver.url), clock=clock) as two,
    ):
        await one.send()
        await one.say(*[Kind.CREATED] * 10)
        for _ in range(10):
            await asyncio.gather(one.send(), two.send())
    assert [body["seq"] for _, body, _ in receiver.got] == list(range(10))


@requirement("S-36")
@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 410, 429, 500, 503])
@pytest.mark.heavy
@pytest.mark.sampled(3)
async def test_what_is_not_taken_comes_again_under_the_same_id_and_nothing_is_passed_over(
    sqlite_url: str, receiver: Receiver, status: int
) -> None:
    receiver.status, receiver.headers = status, {"location": receiver.url.replace("hook", "elsewhere")}
    async with desk(sqlite_url, hook(receiver.url)) as at:
        await at.send()
        await at.say(Kind.CREATED, Kind.APPROVED)
        waits = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
        for tried, wait in enumerate(waits, start=1):
            for _ in range(3):
                await at.send()
                assert len(receiver.got) == tried
            at.clock.advance(timedelta(seconds=wait))
        receiver.status = 200
        await at.send()
    assert len({event_id for event_id, _, _ in receiver.got[:-1]}) == 1
    assert receiver.kinds[-2:] == ["request.created", "request.approved"]
    assert receiver.elsewhere == 0


@requirement("S-36")
async def test_a_receivers_own_wish_is_obeyed_up_to_five_minutes(sqlite_url: str, receiver: Receiver) -> None:
    receiver.status, receiver.headers = 429, {"retry-after": "90"}
    async with desk(sqlite_url, hook(receiver.url)) as at:
        await at.send()
        await at.say(Kind.CREATED)
        await at.send()
        for seconds, tried in ((89, 1), (1, 2)):
            at.clock.advance(timedelta(seconds=seconds))
            await at.send()
            assert len(receiver.got) == tried
        receiver.headers = {"retry-after": "99999"}
        for seconds, tried in ((90, 3), (300, 4)):
            at.clock.advance(timedelta(seconds=seconds))
            await at.send()
            assert len(receiver.got) == tried


@requirement("S-36")
async def test_one_that_takes_nothing_is_said_aloud_once_and_again_when_it_is_back(
    sqlite_url: str, receiver: Receiver
) -> None:
    receiver.status = 500
    with structlog.testing.capture_logs() as logged:
        async with desk(sqlite_url, hook(receiver.url)) as at:
            await at.send()
            await at.say(Kind.CREATED)
            for _ in range(12):
                await at.send()
                at.clock.advance(ALARM_AFTER / 3)
            [failing] = at.send.failing
            assert (failing.webhook, failing.why) == ("siem", "status 500")
            receiver.status = 200
            await at.send()
            assert at.send.failing == ()
    assert [line["log_level"] for line in logged if line["event"] == "webhook.failing"] == ["critical"]
    assert len([line for line in logged if line["event"] == "webhook.taken_again"]) == 1
    assert receiver.url not in str(logged)


@requirement("S-36")
async def test_who_died_behind_the_answer_sends_the_same_event_again(database_url: str, receiver: Receiver) -> None:
    clock = ManualClock()
    async with desk(database_url, hook(receiver.url), clock=clock) as at:
        await at.send()
        await at.say(Kind.CREATED)
        receiver.gate = asyncio.Event()
        sending = asyncio.gather(at.send())
        async with asyncio.timeout(HANGS):
            while not receiver.got:  # noqa: ASYNC110 - the receiver has no event for it
                await asyncio.sleep(0.01)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        receiver.gate.set()
    async with desk(database_url, hook(receiver.url), clock=clock) as at:
        await at.send()
        assert len(receiver.got) == 1  # the lease of the dead one
        clock.advance(timedelta(seconds=31))
        await at.send()
        clock.advance(timedelta(hours=1))
        await at.send()
    assert len(receiver.got) == 2
    assert len({event_id for event_id, _, _ in receiver.got}) == 1


@requirement("S-36")
async def test_who_lost_the_lease_moves_nothing_back(database_url: str, receiver: Receiver) -> None:
    clock = ManualClock()
    async with (
        desk(database_url, hook(receiver.url), clock=clock) as slow,
        desk(database_url, hook(receiver.url), clock=clock) as other,
    ):
        await slow.send()
        await slow.say(Kind.CREATED, Kind.APPROVED, Kind.CLAIMED)
        receiver.gate = gate = asyncio.Event()
        sending = asyncio.gather(slow.send())
        async with asyncio.timeout(HANGS):
            while not receiver.got:  # noqa: ASYNC110 - the receiver has no event for it
                await asyncio.sleep(0.01)
        receiver.gate = None
        clock.advance(timedelta(seconds=31))
        await other.send()
        gate.set()
        await sending
        await slow.send()
        await other.send()
    assert receiver.kinds == ["request.created", "request.created", "request.approved", "grant.claimed"]


@pytest.mark.heavy
async def test_one_that_hangs_does_not_keep_the_others_waiting_for_long(sqlite_url: str, receiver: Receiver) -> None:
    hangs = Receiver(gate=asyncio.Event())
    app = web.Application()
    app.router.add_post("/hook", hangs.take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slow = hook(f"http://127.0.0.1:{runner.addresses[0][1]}/hook", name="slow")
    async with desk(sqlite_url, slow, hook(receiver.url), seconds=1.5) as at:
        await at.send()
        await at.say(*[Kind.CREATED] * 3)
        await asyncio.wait_for(at.send(), HANGS)
        assert len(receiver.got) == 3
        assert [failing.why for failing in at.send.failing] == ["no answer within 1.5 seconds"]
    assert hangs.gate is not None
    hangs.gate.set()
    await runner.cleanup()


# --- where it goes ----------------------------------------------------------------------------------------------------


async def sent(webhook: Webhook, *addresses: str) -> str:
    """Send one message to a name that leads there; return why it was not taken, or ""."""

    async def resolve(host: str, port: int) -> list[str]:
        del host, port
        return list(addresses)

    try:
        await Outbound(resolve=resolve, seconds=3)(webhook, b"{}", {"webhook-id": "evt_1"})
    except NotTakenError as refusal:
        return refusal.why
    return ""


def to(host: str, receiver: Receiver, *, private: bool = False) -> Webhook:
    url = receiver.url.replace("127.0.0.1", host)
    return Webhook(name="siem", url=url, host=host, secrets=(read_secret(SECRET),), kinds=("*",), private=private)


@requirement("S-35", "S-36")
@pytest.mark.parametrize("private", [False, True])
async def test_a_name_that_leads_inside_gets_no_packet(receiver: Receiver, *, private: bool) -> None:
    """The canary listens where the name leads."""
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254", "0.0.0.0"):
        assert "leads to" in await sent(to("siem.example", receiver, private=private), address)
    assert receiver.got == []


@requirement("S-35", "S-36")
async def test_one_inner_address_among_public_ones_refuses_all_of_them(receiver: Receiver) -> None:
    assert "10.0.0.7" in await sent(to("siem.example", receiver), "93.184.216.34", "10.0.0.7")
    assert "leads nowhere" in await sent(to("siem.example", receiver))


@requirement("S-35", "S-36")
async def test_the_connection_goes_to_the_address_that_was_checked_whatever_the_name_leads_to_later(
    receiver: Receiver,
) -> None:
    """`localhost` may be this machine; that it is asked for only once is what the count shows."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        del port
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    await Outbound(resolve=resolve)(to("localhost", receiver), b"{}", {"webhook-id": "evt_1"})
    assert asked == ["localhost"]
    [(_, _, headers)] = receiver.got
    assert headers["host"] == receiver.url.split("/")[2].replace("127.0.0.1", "localhost")


@requirement("S-35", "S-36")
async def test_no_proxy_of_the_environment_hears_of_it(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert await sent(to("localhost", receiver), "127.0.0.1") == ""
    assert len(receiver.got) == 1


async def test_nobody_listening_is_told_without_an_address(sqlite_url: str) -> None:
    async with desk(sqlite_url, hook("http://127.0.0.1:9/hook?key=canary")) as at:
        await at.send()
        await at.say(Kind.CREATED)
        await at.send()
        [failing] = at.send.failing
    assert failing.why == "no connection (ConnectError)"


def certificate_for(name: str, folder: Path) -> Path:
    """Make a self-signed certificate with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver")])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, raw = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path = folder / f"{name}.pem"
    path.write_bytes(key.private_bytes(pem, raw, serialization.NoEncryption()) + made.public_bytes(pem))
    return path


@requirement("S-35", "S-36")
@pytest.mark.may_block  # the test itself writes certificates
@pytest.mark.parametrize(("proves", "why"), [("localhost", ""), ("siem.example", "no connection (ConnectError)")])
async def test_the_certificate_is_held_against_the_name_not_against_the_address(
    proves: str, why: str, tmp_path: Path
) -> None:
    pem = certificate_for(proves, tmp_path)
    theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    theirs.load_cert_chain(pem)
    got = Receiver()
    app = web.Application()
    app.router.add_post("/hook", got.take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=theirs).start()
    url = f"https://localhost:{runner.addresses[0][1]}/hook"
    webhook = Webhook(name="siem", url=url, host="localhost", secrets=(read_secret(SECRET),), kinds=("*",))

    async def resolve(host: str, port: int) -> list[str]:
        del host, port
        return ["127.0.0.1"]

    outbound = Outbound(resolve=resolve)
    outbound._tls = ssl.create_default_context(cafile=str(pem))
    told = ""
    try:
        await outbound(webhook, b"{}", {"webhook-id": "evt_1"})
    except NotTakenError as refusal:
        told = refusal.why
    assert (told, len(got.got)) == (why, 0 if why else 1)
    await runner.cleanup()
