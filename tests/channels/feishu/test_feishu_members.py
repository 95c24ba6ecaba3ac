"""Who an account is in Feishu, by the organisation's mailbox, with the real SDK over HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from app.abilities.directories import IdentifyingChannel, Member
from app.ports import AccountStatus, ChannelUnavailableError
from channels.feishu.details.people import STATUS_SCOPE
from channels.feishu.simulator.simulator import Fault
from tests.channels.feishu.conformance_feishu import FeishuStage, feishu_stage
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from channels.feishu.simulator.simulator import Person

MAILBOX = "alice@corp.example"


@pytest.fixture
async def stage() -> AsyncIterator[FeishuStage]:
    async with feishu_stage() as stage:
        people = stage.simulator.platform.people
        for person, mailbox in ((stage.alice, MAILBOX), (stage.gone, "gone@corp.example")):
            people[person.open_id] = replace(person, mailbox=mailbox)
        yield stage


async def known(stage: FeishuStage, *people: Person) -> dict[str, Member]:
    return dict(await stage.channel.identify(tuple(person.open_id for person in people)))


@requirement("S-06")
async def test_the_mailbox_of_the_organisation_counts_and_the_address_that_was_written_down_does_not(
    stage: FeishuStage,
) -> None:
    assert isinstance(stage.channel, IdentifyingChannel)
    assert stage.channel.members_at_once == 50
    told = await known(stage, stage.alice, stage.bob, stage.gone)
    assert {each.email for each in told.values()} == {MAILBOX, "", "gone@corp.example"}
    assert told[stage.bob.open_id].email == ""  # though bob@example.com stands there
    statuses = {each.account.account_id: each.account.status for each in told.values()}
    assert statuses == {
        stage.alice.open_id: AccountStatus.ACTIVE,
        stage.bob.open_id: AccountStatus.ACTIVE,
        stage.gone.open_id: AccountStatus.DEACTIVATED,
    }


@requirement("S-06")
async def test_people_of_another_tenant_are_left_out(stage: FeishuStage) -> None:
    stranger = stage.simulator.add_person("Eve", tenant_key="tk_other")
    stage.simulator.platform.people[stranger.open_id] = replace(stranger, mailbox=MAILBOX)
    assert await known(stage, stranger) == {}


@requirement("F-46")
async def test_without_the_scope_neither_a_standing_nor_an_e_mail_is_known_and_the_scope_is_named(
    stage: FeishuStage,
) -> None:
    stage.simulator.platform.scopes.discard(STATUS_SCOPE)
    [member] = (await known(stage, stage.alice)).values()
    assert (member.email, member.account.status) == ("", AccountStatus.UNKNOWN)
    assert STATUS_SCOPE in member.withheld


@requirement("F-46")
@pytest.mark.parametrize("told", [None, "", 7, [MAILBOX], {"value": MAILBOX}, True], ids=repr)
async def test_a_mailbox_of_another_form_is_none(stage: FeishuStage, told: Any) -> None:
    def other(answer: dict[str, Any]) -> dict[str, Any]:
        answer["data"]["items"][0]["enterprise_email"] = told
        return answer

    stage.simulator.app.tampers["list_users"] = other
    try:
        [member] = (await known(stage, stage.alice)).values()
    except ChannelUnavailableError:
        return  # the SDK cannot read it
    assert member.email == ""


async def test_a_failure_is_an_error_and_never_nobody(stage: FeishuStage) -> None:
    stage.simulator.fail_next("list_users", Fault.SERVER_ERROR)
    with pytest.raises(ChannelUnavailableError):
        await known(stage, stage.alice)
