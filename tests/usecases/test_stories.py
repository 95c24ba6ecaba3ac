"""What happens to one call, from the question to its end, as people and agents live through it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from app.domain.errors import UnavailableError
from app.ports import ChannelRefusedError, ChannelUnavailableError, EditClosedError
from app.storage.cards.outbox import revive_dead
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

MINUTE = timedelta(minutes=1)


async def test_an_approved_call_runs_once_with_the_stored_arguments(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask()
    heard = await g.press(request)
    assert heard["result"] == "recorded"
    assert (await g.read(request))["state"] == "approved"
    claimed = (await g.claim(request)).json()
    assert claimed["arguments"] == request["arguments"]
    assert (await g.report(request, result={"ref": 7})).json()["state"] == "succeeded"
    assert [kind for kind, _ in g.trail(request)] == [
        "request.created",
        "card.posted",
        "request.approved",
        "card.retired",
        "grant.claimed",
        "execution.succeeded",
    ]
    await g.quiet()
    assert not g.platform.live()
    assert "succeeded" in (g.card(request).card.outcome or "").lower()


async def test_a_denial_tells_the_agent_who_and_why(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask()
    assert (await g.press(request, verdict="deny"))["result"] == "recorded"
    seen = await g.read(request)
    assert (seen["state"], seen["settled"]["by"], seen["settled"]["reason"]) == (
        "denied",
        "alice@acme.example",
        "too expensive",
    )
    assert "too expensive" in seen["message"]
    assert (await g.claim(request)).json()["code"] == "not_approved"


@requirement("S-54")
async def test_silence_expires_and_is_the_systems_doing(gateway: Gateway) -> None:
    request = await gateway.ask()
    await gateway.advance(30 * MINUTE)
    seen = await gateway.read(request)
    assert (seen["state"], seen["settled"]["by"], seen["decisions"]) == ("expired", "system", [])
    assert not gateway.platform.live()


async def test_a_withdrawn_request_cannot_be_approved_any_more(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask()
    said = await g.call("POST", f"/v1/requests/{request['id']}/cancel", {"reason": "not needed"})
    assert said.json()["state"] == "cancelled"
    assert (await g.press(request))["result"] == "already"
    assert (await g.read(request))["state"] == "cancelled"
    again = await g.call("POST", f"/v1/requests/{request['id']}/cancel", {})
    assert again.status_code == 200


async def test_a_request_of_which_every_card_is_refused_ends_undeliverable(either_gateway: Gateway) -> None:
    g = either_gateway
    g.platform.faults.extend(ChannelRefusedError("no such chat") for _ in range(5))  # the chat, and four people
    request = await g.ask()
    seen = await g.read(request)
    assert (seen["state"], seen["settled"]["by"], seen["settled"]["reason"]) == (
        "undeliverable",
        "system",
        "chat: no such chat",
    )


async def test_another_channel_is_enough_when_one_refuses(gateway: Gateway) -> None:
    gateway.platform.faults.append(ChannelRefusedError("no such chat"))
    request = await gateway.ask("pay_two")
    assert (await gateway.read(request))["state"] == "pending"
    assert len(gateway.platform.of(request["id"])) == 1


async def test_an_unreachable_platform_is_tried_again_and_given_up_in_the_end(gateway: Gateway) -> None:
    gateway.platform.faults.append(ChannelUnavailableError("away"))
    request = await gateway.ask("long")
    assert not gateway.platform.of(request["id"])
    await gateway.advance(timedelta(seconds=5))
    assert len(gateway.platform.of(request["id"])) == 1

    gateway.platform.faults.extend(ChannelUnavailableError("away") for _ in range(200))
    second = await gateway.ask("long", {"n": 2})
    await gateway.advance(16 * MINUTE)  # long enough, but hardly tried: the gateway itself may have been down
    assert (await gateway.read(second))["state"] == "pending"
    for _ in range(12):  # more often than it takes: how many tries fit into one step is a matter of jitter
        await gateway.advance(2 * MINUTE)
    assert (await gateway.read(second))["state"] == "undeliverable"


async def test_an_approval_that_nobody_claims_lapses(gateway: Gateway) -> None:
    request = await gateway.ask("by_api")
    assert (await gateway.decide(request)).status_code == 200
    await gateway.advance(5 * MINUTE)
    assert (await gateway.read(request))["state"] == "lapsed"
    assert (await gateway.claim(request)).json()["code"] == "grant_lapsed"


@requirement("S-54")
async def test_a_silent_execution_is_unknown_and_can_only_be_reconciled(gateway: Gateway) -> None:
    request = await gateway.ask("by_api")
    await gateway.decide(request)
    assert (await gateway.claim(request)).status_code == 200
    await gateway.advance(10 * MINUTE)
    assert (await gateway.read(request))["state"] == "unknown"
    assert (await gateway.claim(request)).json()["code"] == "already_claimed"
    assert ("execution.unknown", "system") in gateway.trail(request)
    assert (await gateway.report(request, "failed", error="bank said no")).json()["state"] == "failed"
    assert gateway.trail(request)[-1] == ("execution.reconciled", "agent:shop")
    assert (await gateway.report(request, "succeeded")).json()["code"] == "outcome_conflict"


async def test_a_card_is_posted_anew_before_its_buttons_die_and_the_old_one_is_refused(gateway: Gateway) -> None:
    gateway.platform.edits_for = timedelta(days=14)
    request = await gateway.ask("long")
    old = gateway.card(request)
    await gateway.advance(timedelta(days=13, minutes=1))
    await gateway.container.confirm_accounts()
    cards = gateway.platform.of(request["id"])
    assert [card.card.revision for card in cards] == [1, 2]
    assert (await gateway.send(gateway.platform.press(old, "U_ALICE", "approve"))).body["result"] == "refused"  # pyright: ignore[reportOptionalSubscript]
    assert (await gateway.read(request))["state"] == "pending"
    assert (await gateway.press(request))["result"] == "recorded"


async def test_a_card_that_can_no_longer_be_edited_is_replaced_by_one_that_says_so(gateway: Gateway) -> None:
    request = await gateway.ask()
    gateway.platform.refresh_faults.append(EditClosedError("too old"))
    await gateway.press(request)
    cards = gateway.platform.of(request["id"])
    assert len(cards) == 2
    assert cards[1].card.buttons is None
    assert cards[1].card.outcome


@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("deduplicates", [False, True])
async def test_a_gateway_that_dies_while_posting_leaves_exactly_one_live_card(
    sqlite_url: str, config: Path, platform: MemoryPlatform, taken: bool, deduplicates: bool
) -> None:
    clock = ManualClock()
    platform.deduplicates_for = timedelta(hours=1) if deduplicates else timedelta(0)
    platform.gate = asyncio.Event()
    async with open_gateway(sqlite_url, config, platform, clock=clock) as first:
        request = await first.ask()
        if taken:  # the platform takes it, and the process dies before the answer is written down
            platform.gate.set()
            platform.lost.append(asyncio.CancelledError())  # pyright: ignore[reportArgumentType] - what a kill looks like
            await eventually(lambda: platform.messages)
    platform.gate = None
    clock.advance(timedelta(seconds=31))
    async with open_gateway(sqlite_url, config, platform, clock=clock) as second:
        await second.quiet()
        assert len(platform.of(request["id"])) == 1
        assert (await second.press(request))["result"] == "recorded"


async def test_a_card_that_may_be_out_there_unseen_is_superseded(gateway: Gateway) -> None:
    gateway.platform.findable = False
    gateway.platform.lost.append(ChannelUnavailableError("reset", ambiguous=True))
    request = await gateway.ask("long")
    await gateway.advance(timedelta(seconds=5))
    lost, live = gateway.platform.of(request["id"])
    assert (lost.card.revision, live.card.revision) == (1, 2)
    heard = (await gateway.send(gateway.platform.press(lost, "U_ALICE", "approve"))).body or {}
    assert heard["result"] == "refused"
    assert (await gateway.press(request))["result"] == "recorded"


async def test_a_channel_that_is_no_longer_configured_makes_its_cards_undeliverable(gateway: Gateway) -> None:
    gateway.platform.faults.append(ChannelUnavailableError("away"))
    request = await gateway.ask()
    gateway.rewrite("  chat: {type: memory, chat: C1}\n", "")
    gateway.rewrite("channels: [chat]", "channels: [chat-two]")
    gateway.rewrite("channels: [chat, chat-two, api]", "channels: [chat-two, api]")
    gateway.rewrite("channels: [chat, api]", "channels: [api]")
    await gateway.reload()
    gateway.clock.advance(timedelta(seconds=5))  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
    await gateway.container.work.settle_orphans(gateway.container.channels)
    assert (await gateway.read(request))["state"] == "pending"  # another replica may know the channel already
    gateway.clock.advance(timedelta(minutes=6))  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
    await gateway.container.work.settle_orphans(gateway.container.channels)
    seen = await gateway.read(request)
    assert (seen["state"], seen["settled"]["reason"]) == ("undeliverable", "chat: the channel is no longer configured")


async def test_two_stages_need_two_pairs_of_eyes_in_any_order(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask("staged")
    # Alice sits in both groups: she fills one place.
    assert (await g.press(request, "U_ALICE"))["result"] == "recorded"
    assert (await g.decide(request, who="alice@acme.example")).json()["state"] == "pending"
    assert (await g.decide(request, who="dave@acme.example")).json()["state"] == "approved"


async def test_someone_who_approved_may_still_deny(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask("pay_two")
    assert (await g.press(request))["result"] == "recorded"
    assert (await g.decide(request, "deny")).json()["state"] == "denied"
    assert (await g.decide(request, who="bob@acme.example")).json()["code"] == "already_settled"


@requirement("S-23")
async def test_a_vote_of_someone_who_left_the_group_no_longer_counts(gateway: Gateway) -> None:
    request = await gateway.ask("pay_two")
    await gateway.press(request, "U_ALICE")
    gateway.rewrite("finance: [alice@acme.example, ", "finance: [")
    await gateway.reload()
    assert (await gateway.decide(request, who="bob@acme.example")).json()["state"] == "pending"
    assert (await gateway.decide(request, who="carol@acme.example")).json()["state"] == "approved"


@pytest.mark.may_block  # a traceback is written, which reads source files
async def test_a_defect_in_a_channel_is_tried_again_and_harms_no_other_card(gateway: Gateway) -> None:
    gateway.platform.faults.append(ValueError("a defect"))
    request = await gateway.ask("long")
    assert not gateway.platform.of(request["id"])
    second = await gateway.ask("long", {"n": 2})
    assert len(gateway.platform.of(second["id"])) == 1
    await gateway.advance(timedelta(seconds=5))
    assert len(gateway.platform.of(request["id"])) == 1


async def test_a_harmless_failure_does_not_make_an_ambiguous_one_forgotten(gateway: Gateway) -> None:
    gateway.platform.findable = True
    gateway.platform.lost.append(ChannelUnavailableError("timed out", ambiguous=True))
    request = await gateway.ask("long")
    assert len(gateway.platform.of(request["id"])) == 1  # it was taken, though we were not told
    gateway.platform.lookups.append(ChannelUnavailableError("rate limited"))
    for _ in range(3):
        await gateway.advance(timedelta(seconds=10))
    assert len(gateway.platform.of(request["id"])) == 1


async def test_cards_that_were_given_up_can_be_sent_again_by_the_operator(gateway: Gateway) -> None:
    gateway.platform.faults.append(ChannelRefusedError("no such chat"))
    request = await gateway.ask("pay_two")
    assert [m.ref.chat_id for m in gateway.platform.of(request["id"])] == ["C2"]
    assert await gateway.container.store.write(revive_dead, org="acme") == 1
    await gateway.advance(timedelta(seconds=5))
    assert sorted(m.ref.chat_id for m in gateway.platform.of(request["id"])) == ["C1", "C2"]


@pytest.mark.may_block  # the files are read
async def test_where_the_file_has_a_fault_or_is_gone_the_log_says_what_stays_in_force(gateway: Gateway) -> None:
    version = gateway.container.book.current("acme").policy.version
    source = gateway.config
    gone = source.with_name("gone")
    with capture_logs() as logs:
        gateway.rewrite("default: deny", "default: maybe")
        await gateway.container.configuration.use_if_changed()
        source.rename(gone)
        await gateway.container.configuration.use_if_changed()
        await gateway.container.configuration.use_if_changed()
    refused = [line for line in logs if line["event"] == "policy.refused"]
    assert len(refused) == 2
    assert ["default" in refused[0]["fault"], str(source) in refused[1]["fault"]] == [True, True]
    assert [line["stays_in_force"]["acme"] for line in refused] == [version, version]
    assert (await gateway.ask())["status"] == "pending"


async def test_a_reload_that_fails_half_way_is_finished_later(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember = gateway.container.configuration._remember

    async def away(*_: object) -> None:
        raise UnavailableError

    monkeypatch.setattr(gateway.container.configuration, "_remember", away)
    gateway.rewrite("  chat-two: {type: memory, chat: C2}\n", "  chat-two: {type: memory, chat: C3}\n")
    with pytest.raises(UnavailableError):
        await gateway.reload()
    monkeypatch.setattr(gateway.container.configuration, "_remember", remember)
    await gateway.container.configuration.use_if_changed()
    request = await gateway.ask("pay_two")
    assert sorted(m.ref.chat_id for m in gateway.platform.of(request["id"])) == ["C1", "C3"]
