"""Who is above whom in Slack, by SCIM with the real SDK: a token of its own, each part of the answer absent or odd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from app.abilities.directories import ReportingChannel, ReportsTo
from app.ports import ChannelRefusedError, ChannelUnavailableError
from channels.slack.channel import SlackChannel, build
from channels.slack.details.reporting import ENTERPRISE
from channels.slack.settings import SlackSettings
from channels.slack.simulator import scim
from channels.slack.simulator.simulator import DIRECTORY_TOKEN, Fault
from tests.channels.slack.conformance_slack import ALICE, SlackStage, slack_stage
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BOB = "U0BOB00001"


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    async with slack_stage() as ready:
        ready.simulator.add_person(BOB, name="bob", email="bob@example.com")
        ready.simulator.world.people[ALICE].manager = BOB
        yield ready


@pytest.fixture
async def channel(stage: SlackStage) -> AsyncIterator[SlackChannel]:
    said = stage.simulator.configuration() | stage.simulator.open_directory()
    built = build("pay-slack", SlackSettings.model_validate(said))
    yield built
    await built.close()


def answering(stage: SlackStage, extension: Any) -> None:
    """Let SCIM say this of everybody in its enterprise extension."""
    stage.simulator.world.tampers[scim.METHOD] = lambda answer: {**answer, ENTERPRISE: extension}


async def test_it_is_asked_only_with_a_token_of_its_own(stage: SlackStage, channel: SlackChannel) -> None:
    assert isinstance(channel, ReportingChannel)
    assert (stage.channel.managers_at_once, channel.managers_at_once) == (0, 1)
    for wrong in ("xoxb-17653672481-simulated", "admin", "xoxp-"):
        with pytest.raises(ValueError, match=r"scim_token\n.*must be a user token"):
            SlackSettings.model_validate(stage.simulator.configuration() | {"scim_token": wrong})
    with pytest.raises(ValueError, match=r"scim_url\n.*must be https"):
        SlackSettings.model_validate(stage.simulator.configuration() | {"scim_url": "http://scim.example/"})


async def test_the_manager_whom_the_identity_provider_wrote_is_told(stage: SlackStage, channel: SlackChannel) -> None:
    assert await channel.reports_to((ALICE, BOB)) == {ALICE: ReportsTo(account_id=BOB), BOB: ReportsTo()}
    assert stage.simulator.calls(scim.METHOD) == [{"user": ALICE}, {"user": BOB}]


async def test_whom_scim_does_not_know_is_left_out(channel: SlackChannel) -> None:
    assert set(await channel.reports_to((ALICE, "U0NOBODY"))) == {ALICE}


@requirement("F-46")
@pytest.mark.parametrize(
    "extension",
    [None, "", {}, {"manager": None}, {"manager": ""}, {"manager": {}}, {"manager": {"managerId": None}},
     {"manager": {"managerId": ""}}, {"department": "Tours"}],
    ids=repr,
)  # fmt: skip
async def test_an_extension_without_a_manager_names_none(
    stage: SlackStage, channel: SlackChannel, extension: Any
) -> None:
    answering(stage, extension)
    assert await channel.reports_to((ALICE,)) == {ALICE: ReportsTo()}


@requirement("F-46")
@pytest.mark.parametrize(
    "extension",
    ["yes", 7, [], [{"manager": BOB}], {"manager": BOB}, {"manager": {"displayName": "Bob"}},
     {"manager": {"managerId": "bob@acme.example"}}, {"manager": {"managerId": 7}},
     {"manager": {"managerId": f"{BOB}\n"}}, {"manager": {"managerId": [BOB]}}],
    ids=repr,
)  # fmt: skip
async def test_a_manager_who_is_named_by_no_account_is_not_known(
    stage: SlackStage, channel: SlackChannel, extension: Any
) -> None:
    answering(stage, extension)
    [answer] = (await channel.reports_to((ALICE,))).values()
    assert answer.account_id == ""
    assert "by no account" in answer.withheld


@requirement("F-46")
@pytest.mark.parametrize("told", ["U0SOMEBODY", None, ""])
async def test_an_answer_about_somebody_else_is_none(stage: SlackStage, channel: SlackChannel, told: Any) -> None:
    stage.simulator.world.tampers[scim.METHOD] = lambda answer: {**answer, "id": told}
    with pytest.raises(ChannelUnavailableError, match="not about whom was asked for"):
        await channel.reports_to((ALICE,))


async def test_a_token_that_will_not_do_is_refused_with_its_mend(stage: SlackStage, channel: SlackChannel) -> None:
    token = stage.simulator.world.tokens[DIRECTORY_TOKEN]
    token.scopes = frozenset({"users:read"})
    with pytest.raises(ChannelRefusedError, match="lacks the scope admin"):
        await channel.reports_to((ALICE,))
    token.revoked = True
    with pytest.raises(ChannelRefusedError, match="wrong or was revoked"):
        await channel.reports_to((ALICE,))


@pytest.mark.parametrize(
    "fault",
    [Fault.RATE_LIMITED, Fault.SERVER_ERROR, Fault.UNAVAILABLE, Fault.PLAIN_TEXT, Fault.BROKEN_JSON],
)
async def test_a_failure_is_an_error_and_is_tried_once(stage: SlackStage, channel: SlackChannel, fault: Fault) -> None:
    stage.simulator.fail_next(scim.METHOD, fault)
    with pytest.raises(ChannelUnavailableError) as failed:
        await channel.reports_to((ALICE,))
    assert failed.value.limited is (fault is Fault.RATE_LIMITED)
    assert (failed.value.retry_after is not None) is (fault is Fault.RATE_LIMITED)
    assert len(stage.simulator.calls(scim.METHOD)) == 1


async def test_its_token_follows_no_redirect(stage: SlackStage, channel: SlackChannel) -> None:
    stage.simulator.fail_next(scim.METHOD, Fault.REDIRECT)
    with pytest.raises(ChannelRefusedError, match="redirect"):
        await channel.reports_to((ALICE,))
    assert stage.simulator.calls("elsewhere") == []
