"""The requester's manager by the platforms' directories: what they say counts where the file says nothing."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.abilities.directories import ReportsTo
from app.ports import AccountStatus, ChannelRefusedError, ChannelUnavailableError
from app.usecases.platforms import hearing
from app.usecases.platforms.hearing import EVERY, TRUSTED_FOR
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.fixtures.memory_platform import MemoryChannel, MemoryPlatform
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

ALICE, BOB, DAVE, OLGA, RITA = (f"{name}@acme.example" for name in ("alice", "bob", "dave", "olga", "rita"))
RULE = "{id: pay, tools: [pay], then: ask, stages: [{of: [finance]}], channels: [chat], timeout: 30m}"
ON_DAVE = {"U_RITA": ReportsTo(account_id="U_DAVE")}
PEOPLE = "{name: Rita, memory: U_RITA}"
SECOND = "  chat-two: {type: memory, chat: C2}\n"


async def with_directory(
    g: Gateway, said: Mapping[str, ReportsTo] = ON_DAVE, *, rita: str = PEOPLE, at_once: int = 50, both: bool = False
) -> None:
    """Let payments be approved by the requester's manager, whom these directories may tell."""
    g.platform.managers_at_once = at_once
    g.platform.managers = dict(said)
    if not both:
        g.rewrite(SECOND, "")
        g.rewrite("channels: [chat, chat-two, api]", "channels: [chat, api]")
    if rita != PEOPLE:
        g.rewrite(PEOPLE, rita)
    g.rewrite(RULE, RULE.replace("[finance]", "[manager]"))
    await g.reload()


async def submitted(g: Gateway, **said: Any) -> dict[str, Any]:
    body = {"tool": "pay", "arguments": {"payee": "Acme Ltd", "amount": 5}, "requester": RITA, **said}
    return (await g.call("POST", "/v1/requests", body)).json()


async def asked_again(g: Gateway, after: timedelta = EVERY) -> None:
    """Ask everybody's directory once more."""
    g.clock.advance(after)  # pyright: ignore[reportAttributeAccessIssue] - SQLite's is manual
    await g.container.fetch_groups()


def asked_about(g: Gateway) -> list[tuple[str, ...]]:
    """Return the calls about people of this org."""
    return [accounts for accounts in g.platform.managers_asked if accounts != ("U_GINA",)]


@requirement("S-07")
async def test_whom_the_directory_names_approves_where_the_file_names_nobody(either_gateway: Gateway) -> None:
    g = either_gateway
    await with_directory(g)
    request = await g.ask(requester=RITA)
    assert {message.ref.chat_id for message in g.platform.of(request["id"])} == {"C1", "U_DAVE"}
    assert (await g.decide(request, who=ALICE)).json()["code"] == "not_eligible"
    assert (await g.decide(request, who=RITA)).json()["code"] == "not_eligible"
    assert (await g.decide(request, who=DAVE)).json()["state"] == "approved"
    assert (await g.claim(request)).status_code == 200


async def test_the_files_manager_wins_and_the_directory_is_not_even_asked(gateway: Gateway) -> None:
    await with_directory(gateway, rita="{name: Rita, memory: U_RITA, manager: bob@acme.example}")
    assert "U_RITA" not in {account for asked in gateway.platform.managers_asked for account in asked}
    request = await gateway.ask(requester=RITA)
    assert (await gateway.decide(request, who=DAVE)).json()["code"] == "not_eligible"
    assert (await gateway.decide(request, who=BOB)).json()["state"] == "approved"


async def test_a_directory_that_nobody_switched_on_is_not_asked(gateway: Gateway) -> None:
    await with_directory(gateway, at_once=0)
    said = await submitted(gateway)
    assert said["reason"].endswith(f"(no manager of {RITA} is known: people has no `manager` for them).")
    assert gateway.platform.managers_asked == []


@requirement("S-07", "S-09", "F-46")
@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "chat has not told who it is"),
        ({"U_RITA": ReportsTo()}, "chat names none"),
        ({"U_RITA": ReportsTo(withheld="grant the scope")}, "chat withholds who it is: grant the scope"),
        ({"U_RITA": ReportsTo(account_id="U_STRANGER")}, "whom chat names is nobody under people with an active"),
        ({"U_RITA": ReportsTo(account_id="U_RITA")}, "chat names them as their own"),
        ({"U_RITA": ReportsTo(account_id="dave@acme.example")}, "whom chat names is nobody under people"),
    ],
    ids=["silence", "none", "withheld", "a stranger", "themselves", "no account"],
)
async def test_where_the_directory_names_nobody_the_call_is_refused_and_says_why(
    either_gateway: Gateway, said: Mapping[str, ReportsTo], why: str
) -> None:
    await with_directory(either_gateway, said)
    answer = await submitted(either_gateway)
    assert answer["decision"] == "deny"
    assert f"no manager of {RITA} is known: people has no `manager` for them, and {why}" in answer["reason"]
    assert either_gateway.platform.messages == []


@requirement("S-06", "S-28")
@pytest.mark.parametrize("status", [each for each in AccountStatus if each is not AccountStatus.ACTIVE])
async def test_a_manager_whose_account_is_not_active_is_nobody(gateway: Gateway, status: AccountStatus) -> None:
    await with_directory(gateway)
    request = await gateway.ask(requester=RITA)
    gateway.rows(f"UPDATE accounts SET status = '{status.value}' WHERE person = '{DAVE}'")
    await gateway.container.fetch_groups()
    assert (await gateway.decide(request, who=DAVE)).json()["code"] == "not_eligible"
    assert (await submitted(gateway))["decision"] == "deny"


@requirement("S-06")
async def test_an_account_of_two_people_names_neither(gateway: Gateway) -> None:
    await with_directory(gateway)
    request = await gateway.ask(requester=RITA)
    gateway.rows(f"UPDATE accounts SET account_id = 'U_DAVE' WHERE person = '{BOB}' AND channel = 'chat'")
    await gateway.container.fetch_groups()
    for who in (DAVE, BOB):
        assert (await gateway.decide(request, who=who)).json()["code"] == "not_eligible"


async def test_the_agents_owner_approves_nothing_of_it_as_somebodys_manager_either(gateway: Gateway) -> None:
    await with_directory(gateway, {"U_RITA": ReportsTo(account_id="U_OLGA")})
    assert (await submitted(gateway))["decision"] == "deny"


@requirement("S-07")
@pytest.mark.parametrize("other", ["U_BOB", "U_STRANGER", "U_RITA"])
async def test_two_directories_that_name_different_people_name_nobody(gateway: Gateway, other: str) -> None:
    await with_directory(gateway, {**ON_DAVE, "chat-two/U_RITA": ReportsTo(account_id=other)}, both=True)
    assert "the directories do not name one and the same person" in (await submitted(gateway))["reason"]
    gateway.platform.managers["chat-two/U_RITA"] = ReportsTo()  # one that names nobody is no objection
    await asked_again(gateway)
    request = await gateway.ask(requester=RITA)
    assert (await gateway.decide(request, who=DAVE)).json()["state"] == "approved"


@requirement("S-27")
async def test_who_is_the_manager_now_decides_and_who_was_has_approved_nothing_by_the_claim(gateway: Gateway) -> None:
    await with_directory(gateway)
    first, second = await gateway.ask(requester=RITA), await gateway.ask(arguments={"amount": 7}, requester=RITA)
    assert (await gateway.decide(first, who=DAVE)).json()["state"] == "approved"
    gateway.platform.managers["U_RITA"] = ReportsTo(account_id="U_BOB")
    await asked_again(gateway)
    assert (await gateway.decide(second, who=DAVE)).json()["code"] == "not_eligible"
    assert (await gateway.decide(second, who=BOB)).json()["state"] == "approved"
    said = await gateway.claim(first)
    assert (said.status_code, said.json()["code"]) == (409, "not_approved")


@requirement("S-07", "S-27", "F-46")
@pytest.mark.parametrize(
    "fault",
    [
        ChannelUnavailableError("away"),
        ChannelRefusedError("no scope"),
        RuntimeError("a defect"),
        ReportsTo(withheld="the scope is gone"),
        None,
    ],
    ids=["unavailable", "refused", "a defect", "withheld", "left out"],
)
@pytest.mark.sampled(3)
async def test_what_a_directory_said_holds_for_an_hour_whatever_goes_wrong_and_then_nobody_is_the_manager(
    gateway: Gateway, fault: Exception | ReportsTo | None
) -> None:
    await with_directory(gateway)
    request = await gateway.ask(requester=RITA)
    gateway.platform.managers = {"U_RITA": fault} if isinstance(fault, ReportsTo) else {}
    for span in (EVERY, TRUSTED_FOR - EVERY):
        gateway.platform.manager_faults.extend([fault] if isinstance(fault, Exception) else ())
        await asked_again(gateway, span)
        assert gateway.container.book.current("acme").policy.directory.told[RITA].manager == DAVE
    gateway.platform.manager_faults.extend([fault] if isinstance(fault, Exception) else ())
    await asked_again(gateway, timedelta(seconds=1))
    gateway.platform.manager_faults.clear()
    assert (await gateway.decide(request, who=DAVE)).json()["code"] != "approved"
    assert gateway.container.book.current("acme").policy.directory.told[RITA].manager is None
    gateway.platform.managers = dict(ON_DAVE)
    await asked_again(gateway)
    assert gateway.container.book.current("acme").policy.directory.told[RITA].manager == DAVE


@requirement("S-07")
@pytest.mark.parametrize(
    ("then", "code"), [(ON_DAVE, 200), ({"U_RITA": ReportsTo(account_id="U_BOB")}, 409), ({"U_RITA": ReportsTo()}, 409)]
)
async def test_an_approval_waits_for_a_directory_that_has_not_told_since_a_restart_and_ends_by_what_it_says(
    database_url: str, config: Path, platform: MemoryPlatform, then: Mapping[str, ReportsTo], code: int
) -> None:
    clock = ManualClock() if database_url.startswith("sqlite") else None
    async with open_gateway(database_url, config, platform, clock=clock) as g:
        await with_directory(g)
        request = await g.ask(requester=RITA)
        assert (await g.decide(request, who=DAVE)).json()["state"] == "approved"
    platform.managers = {}
    async with open_gateway(database_url, config, platform, clock=clock) as g:
        for _ in range(2):
            early = await g.claim(request)
            assert (early.status_code, early.json()["code"], early.headers["retry-after"]) == (503, "unavailable", "2")
            assert "was not told yet, since the gateway was started" in early.json()["detail"]
            assert (await g.read(request))["state"] == "approved"
        assert g.rows("SELECT id FROM executions") == []
        platform.managers = dict(then)
        g.container.fetch_groups._managers._heard.clear()  # else it is asked again in minutes
        await g.container.fetch_groups()
        assert (await g.claim(request)).status_code == code
        assert (await g.read(request))["state"] == ("executing" if code == 200 else "lapsed")


async def test_a_directory_that_has_told_before_and_fell_silent_keeps_no_approval(gateway: Gateway) -> None:
    await with_directory(gateway)
    gateway.rewrite("timeout: 30m", "timeout: 9h")
    await gateway.reload()
    request = await gateway.ask(requester=RITA)
    gateway.platform.managers = {}
    gateway.clock.advance(TRUSTED_FOR - timedelta(seconds=1))  # pyright: ignore[reportAttributeAccessIssue]
    assert (await gateway.decide(request, who=DAVE)).json()["state"] == "approved"
    await asked_again(gateway, timedelta(seconds=2))
    assert (await gateway.claim(request)).json()["code"] == "not_approved"
    assert (await gateway.read(request))["state"] == "lapsed"


@requirement("F-45")
async def test_nobody_is_asked_about_again_within_minutes_and_as_many_at_once_as_the_platform_takes(
    gateway: Gateway,
) -> None:
    await with_directory(gateway, at_once=4)
    assert sorted(map(len, asked_about(gateway))) == [2, 4]
    await gateway.container.fetch_groups()
    assert len(asked_about(gateway)) == 2
    await asked_again(gateway)
    assert len(asked_about(gateway)) == 4


@requirement("F-45")
async def test_whose_request_waits_is_asked_about_first_then_who_was_not_asked_about_for_longest(
    gateway: Gateway,
) -> None:
    await with_directory(gateway, at_once=1)
    gateway.platform.managers_asked.clear()
    await gateway.ask(requester=RITA)
    await asked_again(gateway)
    assert asked_about(gateway)[0] == ("U_RITA",)
    assert len(asked_about(gateway)) == 6


@requirement("F-45")
async def test_one_account_that_cannot_be_asked_about_keeps_nobody_from_being_told(gateway: Gateway) -> None:
    gateway.platform.manager_faults.extend([ChannelRefusedError("no"), ChannelRefusedError("no")])
    await with_directory(gateway, {f"U_{who}": ReportsTo(account_id="U_DAVE") for who in ("OLGA", "RITA")}, at_once=1)
    told = gateway.container.book.current("acme").policy.directory.told
    assert {who for who, each in told.items() if each.manager == DAVE} == {OLGA, RITA}
    gateway.platform.manager_faults.extend([ChannelUnavailableError("away") for _ in range(9)])
    gateway.platform.managers_asked.clear()
    await asked_again(gateway)
    assert len(asked_about(gateway)) == 3  # one after the other: it is away


@requirement("F-45")
async def test_a_directory_that_says_when_to_come_back_is_asked_nothing_in_between(gateway: Gateway) -> None:
    limited = ChannelUnavailableError("too fast", retry_after=timedelta(seconds=600), limited=True)
    gateway.platform.manager_faults.extend([limited, limited])  # one is another org's
    await with_directory(gateway, at_once=1)
    await asked_again(gateway)
    assert len(asked_about(gateway)) == 1


@requirement("S-07", "F-46")
async def test_a_directory_that_never_answers_holds_up_neither_a_group_nor_a_call(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing, "PATIENCE", 0.01)

    async def silent(_self: MemoryChannel, _accounts: tuple[str, ...]) -> dict[str, ReportsTo]:
        return await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(MemoryChannel, "reports_to", silent)
    gateway.platform.groups["group:S0BOARD"] = ("U_BOB",)
    gateway.rewrite("  owners: [olga", "  board: {channel: chat, group: S0BOARD}\n  owners: [olga")
    await with_directory(gateway)
    assert gateway.container.book.current("acme").policy.directory.members("board") == {BOB}
    assert "chat has not told who it is" in (await submitted(gateway))["reason"]


async def test_a_proposed_file_is_tried_with_the_managers_of_now(gateway: Gateway) -> None:
    await with_directory(gateway)
    book = gateway.container.book
    proposed = book.proposed("acme", book.current("acme").text).policy.directory
    assert proposed.named("manager", requester=RITA, owner=None) == {DAVE}
    assert proposed.ever("manager") == {DAVE}
