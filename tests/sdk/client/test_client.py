"""The client: asks once however often it has to try, waits through restarts, and takes silence for a no."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from assent import (
    Allowed,
    AsyncGateway,
    CallRefusedError,
    ClaimRefusedError,
    Denied,
    Gateway,
    GatewayAwayError,
    KeyRefusedError,
    OutcomeStatus,
    Pending,
    State,
    StillPendingError,
    ToolCall,
    UnexpectedAnswerError,
    UnknownRequestError,
)
from tests.requirements import requirement
from tests.sdk.gateway_stub import KEY, StubGateway
from tests.sdk.pace import ManualSeconds, manual_pace, quick_pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from assent import Request
    from tests.sdk.stub_faults import Fault

PAY = {"payee": "ACME", "amount": 80000}


@pytest.fixture
async def client(gateway: StubGateway) -> AsyncIterator[AsyncGateway]:
    async with AsyncGateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as opened:
        yield opened


async def ask(client: AsyncGateway) -> Request:
    verdict = await client.check(ToolCall("pay", PAY))
    assert isinstance(verdict, Pending)
    return verdict.request


async def arrived(gateway: StubGateway, kind: str, count: int = 1) -> None:
    await asyncio.to_thread(gateway.arrived, kind, count)


async def test_a_check_answers_with_one_of_three(gateway: StubGateway, client: AsyncGateway) -> None:
    gateway.rules |= {"read": "allow", "drop": "deny"}
    assert await client.check(ToolCall("read", {})) == Allowed(rule="small", reason="told to allow", message="allow")
    assert await client.check(ToolCall("drop", {})) == Denied(rule="small", reason="told to deny", message="deny")
    verdict = await client.check(ToolCall("pay", PAY, call_id="c-1", claim="the invoice is due"))
    assert isinstance(verdict, Pending)
    assert not verdict.attached
    assert (verdict.request.session, verdict.request.call_id, verdict.request.arguments) == ("s-1", "c-1", PAY)


@requirement("F-07")
async def test_the_same_call_of_the_same_session_joins_the_request_that_stands(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    first = await ask(client)
    again = await client.check(ToolCall("pay", PAY))
    assert isinstance(again, Pending)
    assert again.attached
    assert again.request.id == first.id


@requirement("S-43")
@pytest.mark.parametrize("fault", ["lost", "reset", "500", "502", "503", "429", "nonsense", "empty", "doubled", "cut"])
async def test_a_check_is_tried_again_under_the_same_key(
    gateway: StubGateway, client: AsyncGateway, fault: Fault
) -> None:
    gateway.faults["check"].extend([fault, fault])
    async with AsyncGateway(gateway.url, KEY, pace=quick_pace()) as without_session:
        verdict = await without_session.check(ToolCall("pay", PAY))
    assert isinstance(verdict, Pending)
    assert len(gateway.rows) == 1
    assert len({headers["Idempotency-Key"] for _, _, headers in gateway.seen}) == 1
    assert gateway.count("check") == 3


async def test_a_wait_ends_with_the_decision(gateway: StubGateway, client: AsyncGateway) -> None:
    request = await ask(client)
    waiting = asyncio.ensure_future(client.wait(request))
    await arrived(gateway, "get")
    gateway.decide(request.id, "denied", reason="too dear")
    settled = await waiting
    assert settled.state is State.DENIED
    assert settled.settled_reason == "too dear"


@pytest.mark.parametrize("fault", ["reset", "500", "502", "503", "429", "nonsense", "empty", "list"])
async def test_a_wait_goes_on_through_faults(gateway: StubGateway, client: AsyncGateway, fault: Fault) -> None:
    request = await ask(client)
    gateway.faults["get"].extend([fault] * 3)
    waiting = asyncio.ensure_future(client.wait(request))
    await arrived(gateway, "get", 4)
    gateway.decide(request.id, "approved")
    assert (await waiting).state is State.APPROVED


async def test_a_wait_goes_on_through_a_restart(gateway: StubGateway, client: AsyncGateway) -> None:
    request = await ask(client)
    waiting = asyncio.ensure_future(client.wait(request))
    await arrived(gateway, "get")
    gateway.stop()
    gateway.decide(request.id, "approved")
    gateway.start()
    assert (await waiting).state is State.APPROVED


async def test_a_gateway_that_stays_away_is_a_no_after_the_deadline_and_not_before(gateway: StubGateway) -> None:
    seconds = ManualSeconds()
    gateway.lifetime = timedelta(minutes=30)
    async with AsyncGateway(gateway.url, KEY, pace=manual_pace(seconds, margin=60)) as client:
        request = await ask(client)
        started = seconds.now
        gateway.stop()
        with pytest.raises(GatewayAwayError, match="not settled by its deadline"):
            await client.wait(request)
    assert 31 * 60 - 2 <= seconds.now - started <= 31 * 60 + 2
    assert max(seconds.slept) <= 10


async def test_a_local_clock_that_is_wrong_changes_nothing(gateway: StubGateway) -> None:
    seconds = ManualSeconds(now=-5e9)
    async with AsyncGateway(gateway.url, KEY, pace=manual_pace(seconds)) as client:
        request = await ask(client)
        waiting = asyncio.ensure_future(client.wait(request))
        await arrived(gateway, "get")
        gateway.decide(request.id, "approved")
        assert (await waiting).state is State.APPROVED


async def test_a_wait_can_be_cut_short(gateway: StubGateway, client: AsyncGateway) -> None:
    request = await ask(client)
    with pytest.raises(StillPendingError) as caught:
        await client.wait(request, within=0)
    assert caught.value.request.id == request.id


async def test_a_gateway_that_does_not_hold_is_not_stormed(gateway: StubGateway) -> None:
    gateway.honour_wait = False
    seconds = ManualSeconds()
    async with AsyncGateway(gateway.url, KEY, pace=manual_pace(seconds)) as client:
        request = await ask(client)
        waiting = asyncio.ensure_future(client.wait(request))
        await arrived(gateway, "get", 9)
        gateway.decide(request.id, "approved")
        assert (await waiting).state is State.APPROVED
    assert seconds.slept[:7] == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0])


async def test_patience_ends_with_a_clear_error(gateway: StubGateway) -> None:
    seconds = ManualSeconds()
    gateway.stop()
    async with AsyncGateway(gateway.url, KEY, pace=manual_pace(seconds, patience=12)) as client:
        with pytest.raises(GatewayAwayError, match=r"away \(ConnectError, .* attempts\): not approved"):
            await client.check(ToolCall("pay", PAY))
    assert sum(seconds.slept) == pytest.approx(12)
    assert seconds.slept[:4] == pytest.approx([0.2, 0.4, 0.8, 1.6])


async def test_a_bad_key_is_said_at_once(gateway: StubGateway) -> None:
    async with AsyncGateway(gateway.url, "ak_wrong", pace=quick_pace()) as client:
        with pytest.raises(KeyRefusedError, match="assent keys create"):
            await client.check(ToolCall("pay", PAY))
    assert gateway.count("check") == 1


async def test_a_key_revoked_while_waiting_ends_the_wait(gateway: StubGateway, client: AsyncGateway) -> None:
    request = await ask(client)
    gateway.faults["get"].append("401")
    with pytest.raises(KeyRefusedError):
        await client.wait(request)


async def test_an_unknown_request_is_said_at_once(client: AsyncGateway) -> None:
    with pytest.raises(UnknownRequestError):
        await client.get("req_of_another_org")


@pytest.mark.parametrize("arguments", [{"x": float("nan")}, {"x": {1, 2}}, {"x": "\ud800"}])
async def test_arguments_that_are_no_json_never_leave(
    gateway: StubGateway, client: AsyncGateway, arguments: dict[str, object]
) -> None:
    with pytest.raises(TypeError):
        await client.check(ToolCall("pay", arguments))
    assert gateway.count("check") == 0


@requirement("S-08")
@pytest.mark.parametrize("fault", ["doubled", "accepted"])
async def test_an_answer_of_two_meanings_is_none(gateway: StubGateway, fault: Fault) -> None:
    gateway.faults["check"].extend([fault] * 99)
    async with AsyncGateway(gateway.url, KEY, pace=manual_pace(ManualSeconds(), patience=1.0)) as client:
        with pytest.raises(GatewayAwayError, match="an answer "):
            await client.check(ToolCall("pay", PAY))


async def test_a_redirect_is_not_followed(gateway: StubGateway, client: AsyncGateway) -> None:
    gateway.faults["check"].append("redirect")
    with pytest.raises(CallRefusedError):
        await client.check(ToolCall("pay", PAY))


async def test_a_verdict_that_nobody_knows_is_no_allow(gateway: StubGateway, client: AsyncGateway) -> None:
    gateway.faults["check"].append("maybe")
    with pytest.raises(UnexpectedAnswerError):
        await client.check(ToolCall("pay", PAY))


async def test_a_state_that_nobody_knows_is_no_approval(gateway: StubGateway, client: AsyncGateway) -> None:
    request = await ask(client)
    gateway.decide(request.id, "almost_approved")
    with pytest.raises(UnexpectedAnswerError):
        await client.wait(request)


async def test_an_answer_about_another_request_is_no_approval(gateway: StubGateway, client: AsyncGateway) -> None:
    request = await ask(client)
    gateway.rows[request.id].id = "req_9999"
    gateway.decide(request.id, "approved")
    with pytest.raises(UnexpectedAnswerError, match="req_9999"):
        await client.wait(request)


async def test_a_claim_returns_the_stored_arguments_and_the_grant(gateway: StubGateway, client: AsyncGateway) -> None:
    request = await ask(client)
    gateway.decide(request.id, "approved")
    gateway.faults["claim"].append("lost")
    claimed = await client.claim(await client.wait(request))
    assert (claimed.grant_id, claimed.arguments) == ("gr_" + request.id, PAY)
    assert claimed.claim_id in client.claims_made
    with pytest.raises(ClaimRefusedError) as caught:
        await client.claim(request)
    assert caught.value.code == "already_claimed"


async def test_an_outcome_can_be_reported_twice(gateway: StubGateway, client: AsyncGateway) -> None:
    request = await ask(client)
    gateway.decide(request.id, "approved")
    claimed = await client.claim(request)
    gateway.faults["outcome"].append("lost")
    settled = await client.report(request.id, claimed.claim_id, OutcomeStatus.SUCCEEDED, result={"paid": True})
    assert settled.state is State.SUCCEEDED
    assert gateway.only.outcomes[-1]["result"] == {"paid": True}


async def test_a_withdrawal_ends_a_request_and_comes_too_late_for_a_settled_one(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    request = await ask(client)
    assert (await client.cancel(request, reason="no longer needed")).state is State.CANCELLED
    assert (await client.cancel(request, reason="again")).state is State.CANCELLED


async def test_open_requests_are_listed_across_pages_and_only_of_the_session(
    gateway: StubGateway, client: AsyncGateway
) -> None:
    for number in range(103):
        await client.check(ToolCall("pay", {"amount": number}))
    await client.check(ToolCall("pay", PAY, session="another"))
    listed = await client.list_open()
    assert [request.arguments["amount"] for request in listed] == list(range(103))


def test_a_client_opens_by_itself_and_lives_through_a_second_loop(gateway: StubGateway) -> None:
    client = AsyncGateway(gateway.url, KEY, pace=quick_pace())
    ids = [asyncio.run(ask(client)).id for _ in range(2)]
    assert ids == ["req_0001", "req_0002"]


async def test_a_key_that_is_rotated_in_its_file_is_read_again(gateway: StubGateway, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("ak_retired\n")
    async with AsyncGateway(gateway.url, file, pace=quick_pace()) as client:
        with pytest.raises(KeyRefusedError, match="assent keys create"):
            await ask(client)
        file.write_text(f"{KEY}\n")
        assert (await ask(client)).state is State.PENDING
        assert gateway.count("check") == 3  # the retired key, once more, and then the new one
        file.write_text("hunter2")
        gateway.faults["check"].append("401")
        with pytest.raises(KeyRefusedError, match="holds no key of Assent"):
            await ask(client)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://x", "http"),
        ("nonsense", "http"),
        ("", "http"),
        ("http://", "a host is"),
        ("http://a:b@x", "user or password"),
        ("http://x/?a=1", "leave out the \\? or #"),
        ("http://x#a", "leave out the \\? or #"),
        ("http://x/a b", "a path is"),
        ("http://x\n", "a host is"),
        ("http://[::1", "a host is"),
        ("http://[::1]80", "a host is"),
        ("http://x:99999", "from 1 to 65535"),
        ("http://x:65536", "from 1 to 65535"),
        ("http://x:0", "from 1 to 65535"),
        ("http://x:", "from 1 to 65535"),
        ("http://x:80:90", "from 1 to 65535"),
        ("http://[::1]:", "from 1 to 65535"),
    ],
)
def test_a_client_without_a_sound_address_is_not_born(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"the gateway's URL must be .*{said}"):
        AsyncGateway(url, KEY)


@pytest.mark.parametrize(
    "url", ["http://x:65535", "HTTPS://gate.acme.example/assent/", "http://[::1]:8080", "http://x/"]
)
def test_a_sound_address_is_taken(url: str) -> None:
    AsyncGateway(url, KEY)


@pytest.mark.parametrize("key", ["", "a\nb", f"{KEY} ", f"{KEY}\n", f"\t{KEY}", "ключ"])
def test_a_client_without_a_sound_key_is_not_born_and_does_not_quote_it(key: str) -> None:
    with pytest.raises(ValueError, match="the gateway's key is missing or malformed: it is one word") as refused:
        AsyncGateway("http://x", key)
    assert not key or key not in str(refused.value)


async def test_a_key_in_a_file_that_no_header_can_hold_is_named_and_never_sent(
    gateway: StubGateway, tmp_path: Path
) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY} \n")
    async with AsyncGateway(gateway.url, file, pace=quick_pace()) as client:
        with pytest.raises(KeyRefusedError, match="malformed"):
            await ask(client)
    assert gateway.count("check") == 0


async def test_proxies_of_the_environment_are_not_used(gateway: StubGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with AsyncGateway(gateway.url, KEY, pace=quick_pace()) as client:
        assert (await ask(client)).state is State.PENDING


def test_the_synchronous_client_does_the_same(gateway: StubGateway) -> None:
    with Gateway(gateway.url, KEY, session="s-1", pace=quick_pace()) as client:
        verdict = client.check(ToolCall("pay", PAY))
        assert isinstance(verdict, Pending)
        assert [request.id for request in client.list_open()] == [verdict.request.id]
        gateway.decide(verdict.request.id, "approved")
        request = client.wait(verdict.request)
        claimed = client.claim(request)
        client.report(request.id, claimed.claim_id, OutcomeStatus.FAILED, error="no funds")
        assert client.get(request.id).state is State.FAILED
        assert client.cancel(request, reason="late").state is State.FAILED
    assert client.get("req_0001").state is State.FAILED  # it opens again by itself
    client.__exit__(None, None, None)


def test_a_synchronous_client_can_be_opened_again(gateway: StubGateway) -> None:
    client = Gateway(gateway.url, KEY, pace=quick_pace())
    for _ in range(2):
        with client:
            assert client.list_open() == []


def test_jitter_comes_from_nowhere_that_a_seed_reaches() -> None:
    random.seed(1)
    first = [AsyncGateway("http://x", KEY).pace.jitter() for _ in range(8)]
    random.seed(1)
    assert first != [AsyncGateway("http://x", KEY).pace.jitter() for _ in range(8)]
