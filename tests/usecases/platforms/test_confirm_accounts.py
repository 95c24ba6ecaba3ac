"""Which accounts people have: half an answer, one that is to be waited for, a list longer than a platform likes."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.ports import Account, AccountStatus, ChannelUnavailableError
from app.usecases.platforms.confirm_accounts import ConfirmAccounts
from tests.fixtures.memory_platform import TENANT, MemoryChannel
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

ALICE = "alice@acme.example"


def status_of(gateway: Gateway, person: str = ALICE) -> str:
    return str(gateway.rows(f"SELECT status FROM accounts WHERE person = '{person}' AND channel = 'chat'")[0]["status"])


@requirement("F-46")
@pytest.mark.parametrize("known", [AccountStatus.ACTIVE, AccountStatus.DEACTIVATED, AccountStatus.GUEST])
async def test_an_answer_without_a_standing_changes_none_that_is_known(gateway: Gateway, known: AccountStatus) -> None:
    gateway.platform.statuses["U_ALICE"] = known
    await gateway.container.confirm_accounts()
    gateway.platform.statuses["U_ALICE"] = AccountStatus.UNKNOWN
    await gateway.container.confirm_accounts()
    assert status_of(gateway) == known.value
    request = await gateway.ask()
    said = await gateway.press(request, "U_ALICE")
    assert said["result"] == ("recorded" if known is AccountStatus.ACTIVE else "refused")


@requirement("F-46")
async def test_what_was_active_grows_old_when_the_standing_is_withheld_and_then_decides_nothing(
    gateway: Gateway,
) -> None:
    request = await gateway.ask()
    gateway.platform.statuses["U_ALICE"] = AccountStatus.UNKNOWN
    gateway.rows("UPDATE accounts SET checked_at = checked_at - 3601000000")
    await gateway.container.confirm_accounts()
    assert (await gateway.press(request, "U_ALICE"))["result"] == "retry"
    assert (await gateway.press(request, "U_BOB"))["result"] == "recorded"


@requirement("F-46")
async def test_who_is_unknown_is_told_so_gets_cards_and_decides_nothing(gateway: Gateway) -> None:
    gateway.rows("DELETE FROM accounts WHERE person = 'alice@acme.example'")
    gateway.platform.statuses["U_ALICE"] = AccountStatus.UNKNOWN
    await gateway.container.confirm_accounts()
    assert status_of(gateway) == "unknown"
    request = await gateway.ask()
    said = await gateway.press(request, "U_ALICE")
    assert said["result"] == "refused"
    assert "assent doctor" in said["sentence"]
    assert "deactivated" not in said["sentence"]
    assert (await gateway.read(request))["state"] == "pending"
    refused = gateway.rows("SELECT facts FROM audit_events WHERE kind = 'click.refused'")
    assert [json.loads(str(row["facts"]))["why"] for row in refused] == ["unknown"]
    assert AccountStatus.UNKNOWN.reachable
    assert not AccountStatus.DEACTIVATED.reachable


@requirement("F-45")
async def test_a_lookup_that_hangs_holds_no_card_up(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    never = asyncio.Event()

    async def hang(self: MemoryChannel, *, email: str, account_id: str) -> Account | None:
        del self, email, account_id
        await never.wait()
        return None

    monkeypatch.setattr(MemoryChannel, "look_up", hang)
    acme = gateway.config / "acme.yaml"
    text = await asyncio.to_thread(acme.read_text)
    await asyncio.to_thread(acme.write_text, text.replace("chat: C1", "chat: C9"))  # the channel is built anew
    await gateway.container.configuration.use_if_changed()
    said = await gateway.call("POST", "/v1/requests", {"tool": "pay", "arguments": {"amount": 1}})
    assert said.status_code == 202, said.text
    await eventually(lambda: bool(gateway.platform.in_chat("C9")))


@requirement("F-45")
async def test_a_platform_that_wishes_us_to_wait_is_asked_nothing_in_between_and_then_about_the_rest(
    gateway: Gateway,
) -> None:
    slept: list[float] = []
    asked: list[str] = []
    channel: Any = gateway.container.channels.get("acme", "chat")

    class Strict(MemoryChannel):
        """Lets two people through, then says when to come back."""

        async def look_up(self, *, email: str, account_id: str) -> Account | None:
            del account_id
            if len(asked) == 2 and not slept:
                raise ChannelUnavailableError("too fast", retry_after=timedelta(seconds=30))
            asked.append(email)
            return Account(tenant=TENANT, account_id=email, status=AccountStatus.ACTIVE)

    async def sleep(seconds: float) -> None:
        assert len(asked) == 2
        slept.append(seconds)

    strict = object.__new__(Strict)
    strict.__dict__.update(vars(channel.of))
    container = gateway.container
    confirm = ConfirmAccounts(store=container.store, book=container.book, contact=container.contact, sleep=sleep)
    everybody = container.book.current("acme").policy.directory.people
    assert await confirm.channel("acme", strict) == len(everybody)
    assert slept == [30.0]
    assert sorted(asked) == sorted(everybody)


@requirement("F-45")
async def test_who_is_asked_now_comes_first_and_then_whoever_was_confirmed_longest_ago(gateway: Gateway) -> None:
    await gateway.ask()
    gateway.rows("UPDATE accounts SET checked_at = checked_at - 1000000 WHERE person LIKE 'rita%'")
    gateway.rows("UPDATE accounts SET checked_at = checked_at - 2000000 WHERE person LIKE 'dave%'")
    confirm = gateway.container.confirm_accounts
    order = [each.email for each in await confirm._in_order("acme", gateway.container.channels.get("acme", "chat"))]
    assert order[0] == "rita@acme.example"
    dave = order.index("dave@acme.example")  # longest ago of all, but nobody asks him
    assert max(order.index(ALICE), order.index("bob@acme.example")) < dave < order.index("olga@acme.example")


@requirement("F-45")
async def test_a_hundred_and_twenty_people_are_three_calls_where_a_platform_takes_fifty(gateway: Gateway) -> None:
    calls: list[int] = []

    class Batching(MemoryChannel):
        """Takes many at once."""

        async def look_up_all(self, emails: tuple[str, ...], /) -> dict[str, Account | None]:
            calls.append(len(emails))
            return {email: Account(tenant=TENANT, account_id=email, status=AccountStatus.ACTIVE) for email in emails}

    acme = gateway.config / "acme.yaml"
    text = await asyncio.to_thread(acme.read_text)
    people = "".join(f"  p{n}@acme.example: {{name: P{n}}}\n" for n in range(120))
    await asyncio.to_thread(acme.write_text, text.replace("people:\n", f"people:\n{people}"))
    await gateway.container.configuration.use_if_changed()
    batching = object.__new__(Batching)
    channel: Any = gateway.container.channels.get("acme", "chat")
    batching.__dict__.update(vars(channel.of))
    await gateway.container.confirm_accounts.channel("acme", batching)
    assert sorted(calls) == [20, 50, 50]
