"""Who an account is in Slack, by the e-mail that Slack has confirmed, with the real SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from app.abilities.directories import IdentifyingChannel
from app.ports import AccountStatus, ChannelRefusedError, ChannelUnavailableError
from channels.slack.simulator.simulator import Fault
from tests.channels.slack.conformance_slack import ALICE, SlackStage, slack_stage
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from app.abilities.directories import Member


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    async with slack_stage() as ready:
        yield ready


async def known(stage: SlackStage, *accounts: str) -> dict[str, Member]:
    return dict(await stage.channel.identify(accounts))


@requirement("S-06")
@pytest.mark.parametrize("confirmed", [True, False, None])
async def test_an_e_mail_counts_only_where_slack_says_that_it_is_confirmed(
    stage: SlackStage, confirmed: bool | None
) -> None:
    assert isinstance(stage.channel, IdentifyingChannel)
    person = stage.simulator.world.people[ALICE]
    person.is_email_confirmed = confirmed
    [member] = (await known(stage, ALICE)).values()
    assert member.email == (person.email if confirmed else "")
    assert bool(member.withheld) is (confirmed is None)
    assert member.account == await stage.channel.look_up(email="", account_id=ALICE)


@requirement("S-06")
@pytest.mark.parametrize("status", [AccountStatus.DEACTIVATED, AccountStatus.GUEST, AccountStatus.BOT])
async def test_how_the_account_stands_is_told_with_it(stage: SlackStage, status: AccountStatus) -> None:
    asked = await stage.channel.look_up(email=stage.people[status], account_id="")
    assert asked is not None
    [member] = (await known(stage, asked.account_id)).values()
    assert member.account.status is status


@requirement("F-46")
@pytest.mark.parametrize("told", ["true", 1, "yes", [], {}, None], ids=repr)
async def test_a_mark_of_another_form_confirms_nothing(stage: SlackStage, told: Any) -> None:
    def other(answer: dict[str, Any]) -> dict[str, Any]:
        return {**answer, "user": {**answer["user"], "is_email_confirmed": told}}

    stage.simulator.world.tampers["users.info"] = other
    [member] = (await known(stage, ALICE)).values()
    assert member.email == ""
    assert "users:read.email" in member.withheld


@requirement("F-46")
@pytest.mark.parametrize(
    "profile", [None, "", [], {}, {"email": None}, {"email": ""}, {"email": ["a@b.example"]}, "a@b"], ids=repr
)
async def test_without_an_address_there_is_none(stage: SlackStage, profile: Any) -> None:
    def other(answer: dict[str, Any]) -> dict[str, Any]:
        return {**answer, "user": {**answer["user"], "profile": profile}}

    stage.simulator.world.tampers["users.info"] = other
    [member] = (await known(stage, ALICE)).values()
    assert member.email == ""
    assert "users:read.email" in member.withheld


@requirement("F-46")
async def test_without_the_scope_of_addresses_nobody_has_one_and_it_is_named(stage: SlackStage) -> None:
    for token in stage.simulator.world.tokens.values():
        token.scopes -= {"users:read.email"}
    [member] = (await known(stage, ALICE)).values()
    assert member.email == ""
    assert "users:read.email" in member.withheld


async def test_whom_slack_does_not_know_or_does_not_name_is_left_out(stage: SlackStage) -> None:
    assert set(await known(stage, ALICE, "U0NOBODY")) == {ALICE}
    stage.simulator.world.tampers["users.info"] = lambda answer: {**answer, "user": {"id": "U0OTHER"}}
    assert await known(stage, ALICE) == {}
    stage.simulator.world.tampers["users.info"] = lambda answer: {**answer, "user": None}
    assert await known(stage, ALICE) == {}


async def test_a_failure_is_an_error_and_never_nobody(stage: SlackStage) -> None:
    stage.simulator.fail_next("users.info", Fault.RATE_LIMITED)
    with pytest.raises(ChannelUnavailableError) as failed:
        await known(stage, ALICE)
    assert failed.value.limited
    stage.simulator.fail_next("users.info", Fault.REFUSED)
    with pytest.raises(ChannelRefusedError):
        await known(stage, ALICE)
