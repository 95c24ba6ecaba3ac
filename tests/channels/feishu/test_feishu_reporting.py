"""Who is above whom in Feishu's address book, by the real SDK over HTTP: the scope, the batches, half an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from app.abilities.directories import ReportingChannel, ReportsTo
from app.ports import ChannelRefusedError, ChannelUnavailableError
from channels.feishu.channel import build
from channels.feishu.details.reporting import REPORTING_SCOPE
from channels.feishu.settings import FeishuSettings
from channels.feishu.simulator.simulator import Fault
from tests.channels.feishu.conformance_feishu import FeishuStage, feishu_stage
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from channels.feishu.simulator.simulator import Person


@pytest.fixture
async def stage() -> AsyncIterator[FeishuStage]:
    async with feishu_stage() as stage:
        put_above(stage, stage.alice, stage.bob.open_id)
        yield stage


def put_above(stage: FeishuStage, person: Person, leader: str) -> None:
    """Give somebody a direct manager."""
    people = stage.simulator.platform.people
    people[person.open_id] = replace(people[person.open_id], leader=leader)


async def managers(stage: FeishuStage, *people: Person) -> dict[str, ReportsTo]:
    return dict(await stage.channel.reports_to(tuple(person.open_id for person in people)))


async def test_it_is_asked_only_where_the_file_says_so(stage: FeishuStage) -> None:
    assert isinstance(stage.channel, ReportingChannel)
    assert stage.channel.managers_at_once == 0
    more = stage.settings.model_copy(update={"managers": True})
    channel = build("pay-feishu", more)
    assert channel.managers_at_once == 50
    await channel.close()
    with pytest.raises(ValueError, match="managers"):
        FeishuSettings.model_validate({**stage.settings.model_dump(), "managers": "yes"})


async def test_many_are_one_call_and_who_has_no_manager_is_told_apart(stage: FeishuStage) -> None:
    told = await managers(stage, stage.alice, stage.bob)
    assert told == {stage.alice.open_id: ReportsTo(account_id=stage.bob.open_id), stage.bob.open_id: ReportsTo()}
    [call] = [call for call in stage.simulator.calls if call.operation == "list_users"]
    assert call.query == {"user_ids": f"{stage.alice.open_id},{stage.bob.open_id}", "user_id_type": "open_id"}


@requirement("F-46")
async def test_without_its_scope_nobody_is_without_a_manager_and_the_scope_is_named(stage: FeishuStage) -> None:
    stage.simulator.platform.scopes.discard(REPORTING_SCOPE)
    told = await managers(stage, stage.alice, stage.bob)
    assert {answer.account_id for answer in told.values()} == {""}
    assert all(REPORTING_SCOPE in answer.withheld for answer in told.values())


@requirement("F-46")
async def test_whom_the_app_may_not_see_is_left_out(stage: FeishuStage) -> None:
    stranger = stage.simulator.add_person("Eve", tenant_key="tk_other")
    told = await managers(stage, stage.alice, stranger)
    assert set(told) == {stage.alice.open_id}


@requirement("F-46")
async def test_where_an_unknown_id_fails_the_whole_call_the_others_are_told_all_the_same(stage: FeishuStage) -> None:
    stage.simulator.platform.fails_unknown_in_batch = True
    told = dict(await stage.channel.reports_to((stage.alice.open_id, "ou_gone", stage.bob.open_id)))
    assert set(told) == {stage.alice.open_id, stage.bob.open_id}
    assert await stage.channel.reports_to(("ou_gone",)) == {}


@pytest.mark.parametrize("fault", [Fault.RATE_LIMITED, Fault.SERVER_ERROR, Fault.GARBAGE, Fault.RESET])
async def test_a_failure_is_an_error_and_never_nobody(stage: FeishuStage, fault: Fault) -> None:
    stage.simulator.fail_next("list_users", fault)
    with pytest.raises(ChannelUnavailableError) as failed:
        await managers(stage, stage.alice)
    assert failed.value.limited is (fault is Fault.RATE_LIMITED)


async def test_without_the_scope_of_the_whole_call_it_is_refused_with_the_mend(stage: FeishuStage) -> None:
    stage.simulator.platform.scopes.discard("contact:contact.base:readonly")
    with pytest.raises(ChannelRefusedError, match="a scope is missing"):
        await managers(stage, stage.alice)


@requirement("F-46")
@pytest.mark.parametrize("leader", [7, ["ou_x"], "on_union", {"id": "ou_x"}, " "], ids=repr)
async def test_a_manager_who_is_named_otherwise_is_not_known(stage: FeishuStage, leader: Any) -> None:
    def other(answer: dict[str, Any]) -> dict[str, Any]:
        answer["data"]["items"][0]["leader_user_id"] = leader
        return answer

    stage.simulator.app.tampers["list_users"] = other
    try:
        [answer] = (await managers(stage, stage.alice)).values()
    except ChannelUnavailableError:
        return  # the SDK cannot read it
    assert answer.account_id == ""
    assert answer.withheld
