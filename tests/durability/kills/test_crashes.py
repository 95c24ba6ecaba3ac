"""A gateway killed between any two steps: what was acknowledged is there, and nothing happens twice."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from app.clock import SystemClock
from app.domain.identity.seals import Seals
from tests.domain.samples import a_call
from tests.durability.gateway_process import PEOPLE, SECRET, Scene, scene, until
from tests.durability.invariants import faults
from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.storage.rig import behind, given_request, look, open_store, sealed_anew

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from channels.slack.simulator.simulator import SlackSimulator
    from tests.durability.gateway_process import Gateway

pytestmark = pytest.mark.process

ANN = PEOPLE["ann@acme.example"]


@asynccontextmanager
async def on(url: str, folder: Path, *platforms: str) -> AsyncIterator[Scene]:
    """Set the scene, and look at the invariants when it is over."""
    async with scene(url, folder, *platforms) as made:
        yield made
    assert faults(url) == []


def cards(slack: SlackSimulator) -> list[dict[str, Any]]:
    return [entry for entry in slack.view(slack.room.id) if entry["kind"] == "message"]


def live(slack: SlackSimulator) -> list[dict[str, Any]]:
    return [card for card in cards(slack) if "assent_approve" in str(card["blocks"])]


def heard(slack: SlackSimulator) -> list[object]:
    return [entry["text"] for entry in slack.view(slack.room.id) if entry.get("only_for") == ANN]


def events(url: str, kind: str) -> int:
    return int(look(url, f"SELECT count(*) FROM audit_events WHERE kind = '{kind}'")[0][0])


def let_leases_run_out(url: str, table: str, column: str) -> None:
    """Make what a dead process holds due: the tests' stand-in for waiting half a minute."""
    with behind(url) as connection:
        connection.execute(f"UPDATE {table} SET {column} = 1 WHERE status IN ('queued', 'started')")


async def let_executions_run_out(url: str) -> None:
    """The same for executions, whose times are sealed."""
    let_leases_run_out(url, "executions", "lease_until")
    await sealed_anew(url, Seals([SECRET]))


async def hangs_up(call: Any) -> None:
    """Make a call to a gateway that dies over it."""
    with pytest.raises(httpx2.HTTPError):
        await call


async def posted(slack: SlackSimulator) -> dict[str, Any]:
    await until("the card is live", lambda: live(slack))
    return live(slack)[0]


async def recorded(url: str) -> None:
    """Wait until a press would count: where the card is, and who the people are, is written down."""
    await until("where the card is, is recorded", lambda: events(url, "card.posted"))
    ann = f"SELECT 1 FROM accounts WHERE account_id = '{ANN}' AND status = 'active'"
    await until("the people's accounts are known", lambda: look(url, ann))


# --- cards ------------------------------------------------------------------------------------------------------------


@requirement("F-02", "F-03")
@pytest.mark.parametrize("place", ["deliver.before_post", "deliver.after_post"])
async def test_a_card_is_there_once_whatever_dies_around_its_post(sqlite_url: str, tmp_path: Path, place: str) -> None:
    async with on(sqlite_url, tmp_path, "slack") as made:
        assert made.slack is not None
        async with made.gateway(f"{place}:kill") as gateway:
            request = await gateway.ask("pay")
            await gateway.died()
        assert len(cards(made.slack)) == (place == "deliver.after_post")
        let_leases_run_out(sqlite_url, "outbox", "due_at")
        async with made.gateway() as gateway:
            await recorded(sqlite_url)
            assert len(cards(made.slack)) == len(live(made.slack)) == 1
            await made.slack.click(ANN, made.slack.room.id, str(live(made.slack)[0]["ts"]), "assent_approve")
            assert (await gateway.read(request, wait=30))["state"] == "approved"
            await until("the card shows it", lambda slack=made.slack: not live(slack))


@requirement("F-02", "F-03")
@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("place", ["deliver.before_post", "deliver.after_post"])
async def test_both_platforms_have_one_live_card_each_after_many_deaths(
    sqlite_url: str, tmp_path: Path, place: str, *, bounded: bool
) -> None:
    """Killed at the n-th post, n drawn by the round; every request ends with one live card on each platform."""
    rounds = 4 if bounded else 200
    async with on(sqlite_url, tmp_path, "slack", "feishu") as made:
        assert made.slack is not None
        assert made.feishu is not None
        made.environ["ASSENT_MAX_CARDS_PER_AGENT"] = "1000"  # or the rounds behind the hundredth post nothing
        chat = str(made.channels["pay-feishu"]["chat"])
        for index in range(rounds):
            async with made.gateway(f"{place}:kill:{1 + index % 2}", may_die_early=True) as gateway:
                await asyncio.gather(gateway.ask("pay", session=f"s-{index}"), return_exceptions=True)
                await gateway.died()  # a card of the round before may end it at any time
            let_leases_run_out(sqlite_url, "outbox", "due_at")
        async with made.gateway():
            await until("every errand is done", lambda: not queued(sqlite_url), seconds=60)
            asked = look(sqlite_url, "SELECT count(*) FROM requests")[0][0]
            assert asked >= rounds // 20  # in most rounds it dies of a card of the round before, and asks nothing
            assert len(live(made.slack)) == asked
            assert len([card for card in made.feishu.view(chat) if card["buttons"]]) == asked


def queued(url: str) -> int:
    return int(look(url, "SELECT count(*) FROM outbox WHERE status = 'queued'")[0][0])


# --- clicks -----------------------------------------------------------------------------------------------------------


@requirement("F-04", "F-05", "S-20")
@pytest.mark.parametrize(
    ("place", "decided_before"),
    [("click.received", False), ("commit.before", False), ("commit.after", True), ("click.recorded", True)],
)
@pytest.mark.sampled(2)
async def test_a_click_redelivered_after_a_death_has_one_effect(
    sqlite_url: str, tmp_path: Path, place: str, decided_before: bool
) -> None:
    async with on(sqlite_url, tmp_path, "slack") as made:
        assert made.slack is not None
        async with made.gateway(f"{place}:kill") as gateway:
            request = await gateway.ask("pay")
            card = await posted(made.slack)
            await recorded(sqlite_url)
            pressed = await made.slack.click(ANN, made.slack.room.id, card["ts"], "assent_approve")
            # The person sees that nothing came back; where the machine is busy, an answer may have left before the end.
            assert pressed.trouble or "click.late" in gateway.log.read_text()
            await gateway.died()
        assert events(sqlite_url, "request.approved") == decided_before
        async with made.gateway() as gateway:
            again = await made.slack.send_raw(pressed.body, pressed.headers)
            assert (again.status, again.trouble) == (200, "")
            after = await gateway.read(request, wait=30)
            assert (after["state"], len(after["decisions"])) == ("approved", 1)
            await until("the card shows it", lambda slack=made.slack: not live(slack))
            # (Whoever is told that nothing changed is told how it stands, too.)
            hears = "Nothing changed: ✅ Approved by ann" if decided_before else "Recorded: approved."
            await until("she hears it", lambda slack=made.slack: hears in str(heard(slack)))
        assert events(sqlite_url, "request.approved") == 1


@requirement("F-06")
@pytest.mark.parametrize("place", ["commit.before", "commit.after"])
async def test_a_waiter_comes_back_to_the_answer(sqlite_url: str, tmp_path: Path, place: str) -> None:
    async with on(sqlite_url, tmp_path) as made:
        async with made.gateway(f"{place}:kill") as gateway:
            request = await gateway.ask("wire")
            waiting = asyncio.ensure_future(gateway.read(request, wait=30))
            await gateway.holds()  # one that comes while it dies may be told what is committed already
            await hangs_up(gateway.decide("ann", request))
            await hangs_up(waiting)
            await gateway.died()
        async with made.gateway() as gateway:
            waiting = asyncio.ensure_future(gateway.read(request, wait=30))
            said = await gateway.decide("ann", request)  # she tries again: her first try was never answered
            assert said.status_code == 200
            assert (await asyncio.wait_for(waiting, HANGS))["state"] == "approved"
        assert events(sqlite_url, "request.approved") == 1


# --- executions -------------------------------------------------------------------------------------------------------


class Bank:
    """The tool: pays once a key, however often it is asked."""

    def __init__(self) -> None:
        self.paid: dict[str, int] = {}
        self.asked = 0

    def pay(self, key: str) -> None:
        self.asked += 1
        self.paid.setdefault(key, 80000)


async def approved(gateway: Gateway, session: str = "s-1") -> dict[str, Any]:
    request = await gateway.ask("wire", session=session)
    assert (await gateway.decide("ann", request)).json()["state"] == "approved"
    return request


@requirement("F-08", "S-03")
@pytest.mark.parametrize("place", ["commit.before", "commit.after"])
async def test_a_claim_whose_answer_was_lost_is_answered_again_and_never_given_to_another(
    sqlite_url: str, tmp_path: Path, place: str
) -> None:
    async with on(sqlite_url, tmp_path) as made:
        async with made.gateway(f"{place}:kill:2") as gateway:  # the first change is the approval
            request = await approved(gateway)
            await hangs_up(gateway.claim(request))
            await gateway.died()
        async with made.gateway() as gateway:
            mine = await gateway.claim(request)
            other = await gateway.claim(request, "c-2")
            assert (mine.status_code, other.status_code) == (200, 409)
            assert other.json()["code"] == "already_claimed"
            assert (await gateway.claim(request)).json() == mine.json()
        assert events(sqlite_url, "grant.claimed") == 1


@requirement("F-08")
async def test_whoever_dies_between_claim_and_side_effect_leaves_an_unknown_that_is_never_run(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with on(sqlite_url, tmp_path) as made:
        async with made.gateway("commit.after:kill:2") as gateway:
            request = await approved(gateway)
            await hangs_up(gateway.claim(request))  # and the agent is gone with it
            await gateway.died()
        await let_executions_run_out(sqlite_url)
        async with made.gateway() as gateway:
            await until("it is said to be unknown", lambda: events(sqlite_url, "execution.unknown"))
            assert (await gateway.read(request))["state"] == "unknown"
            for claim_id in ("c-1", "c-2"):
                assert (await gateway.claim(request, claim_id)).json()["code"] == "already_claimed"
            opened = await gateway.call("payer", "GET", "/v1/requests?open=true")
            assert [each["id"] for each in opened.json()["items"]] == [
                request["id"]
            ]  # somebody is still owed an answer
        assert events(sqlite_url, "grant.claimed") == events(sqlite_url, "execution.unknown") == 1


@requirement("F-09")
@pytest.mark.parametrize("place", ["commit.before", "commit.after"])
async def test_an_outcome_whose_record_was_lost_is_reported_again_with_one_payment(
    sqlite_url: str, tmp_path: Path, place: str
) -> None:
    bank = Bank()
    async with on(sqlite_url, tmp_path) as made:
        async with made.gateway(f"{place}:kill:3") as gateway:
            request = await approved(gateway)
            bank.pay((await gateway.claim(request)).json()["grant_id"])
            await hangs_up(gateway.report(request))
            await gateway.died()
        async with made.gateway() as gateway:
            # The agent starts again, does not know whether it paid, and is given the same key.
            again = await gateway.claim(request)
            if again.status_code == 200:
                bank.pay(again.json()["grant_id"])
            assert (await gateway.report(request)).json()["state"] == "succeeded"
        assert len(bank.paid) == 1
        assert events(sqlite_url, "execution.succeeded") == 1


@requirement("F-09")
async def test_an_unknown_outcome_is_reconciled_by_the_downstream_key(sqlite_url: str, tmp_path: Path) -> None:
    bank = Bank()
    async with on(sqlite_url, tmp_path) as made:
        async with made.gateway("commit.before:kill:3") as gateway:
            request = await approved(gateway)
            bank.pay((await gateway.claim(request)).json()["grant_id"])
            await hangs_up(gateway.report(request))
            await gateway.died()
        await let_executions_run_out(sqlite_url)
        async with made.gateway() as gateway:
            await until("it is said to be unknown", lambda: events(sqlite_url, "execution.unknown"))
            key = (await gateway.read(request))["grant"]["id"]
            assert (await gateway.report(request, "succeeded" if key in bank.paid else "failed")).status_code == 200
            assert (await gateway.read(request))["state"] == "succeeded"
        assert (len(bank.paid), bank.asked) == (1, 1)
        assert events(sqlite_url, "execution.reconciled") == 1


# --- sweepers ---------------------------------------------------------------------------------------------------------


@requirement("F-10")
@pytest.mark.parametrize("place", ["commit.before", "commit.after"])
async def test_a_sweep_killed_in_its_middle_is_finished_by_the_next(
    sqlite_url: str, tmp_path: Path, place: str
) -> None:
    """More are due than one commit holds, so the first death leaves some expired and some not."""
    due = 200
    async with on(sqlite_url, tmp_path) as made:
        long_ago = SystemClock().now() - timedelta(hours=1)
        async with open_store(sqlite_url, seals=Seals([SECRET])) as store:
            opening = [
                given_request(store, f"req_{index}", now=long_ago, expires_at=long_ago + timedelta(minutes=5))
                for index in range(due)
            ]
            await asyncio.gather(*opening)
        # It may die before it can say that it is ready: nothing waits for that here.
        gateway = await made._start(f"{place}:kill:1", sqlite_url)
        await gateway.died()
        await gateway.close()
        assert events(sqlite_url, "request.expired") < due
        async with made.gateway():
            await until("all have expired", lambda: events(sqlite_url, "request.expired") == due)
        assert look(sqlite_url, "SELECT count(*) FROM requests WHERE status = 'expired'") == [(due,)]


@requirement("F-10", "S-53")
async def test_a_sweep_leaves_claimed_rows_alone(sqlite_url: str, tmp_path: Path) -> None:
    async with on(sqlite_url, tmp_path) as made, made.gateway() as gateway:
        request = await approved(gateway)
        await gateway.claim(request)
        with behind(sqlite_url) as connection:  # the grant's time is over, but it is spent
            connection.execute("UPDATE grants SET not_after = started_at + 1 FROM executions")
        await sealed_anew(sqlite_url, Seals([SECRET]))
        before = look(sqlite_url, "SELECT * FROM requests")
        long_ago = SystemClock().now() - timedelta(hours=1)
        async with open_store(sqlite_url, seals=Seals([SECRET])) as store:
            call = a_call(session="due")
            await given_request(store, "due", call=call, now=long_ago, expires_at=long_ago + timedelta(minutes=5))
        await until("the sweep has come by", lambda: events(sqlite_url, "request.expired"))
        assert look(sqlite_url, "SELECT * FROM requests WHERE id <> 'due'") == before
        assert (await gateway.report(request)).json()["state"] == "succeeded"
