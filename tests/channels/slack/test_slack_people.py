"""Who somebody is in Slack, how the doctor sees a channel, and how an app is set up."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, cast

import pytest

from app.ports import (
    Account,
    AccountStatus,
    ChannelRefusedError,
    ChannelUnavailableError,
    ListeningChannel,
    Severity,
)
from channels.slack.channel import build
from channels.slack.details.manifest import manifest
from channels.slack.settings import SlackSettings
from channels.slack.simulator.simulator import Fault
from channels.slack.simulator.state import ALL_SCOPES
from tests.channels.slack.conformance_slack import ALICE, SlackStage, slack_stage
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    async with slack_stage() as ready:
        yield ready


# --- people -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [each for each in AccountStatus if each is not AccountStatus.UNKNOWN])
async def test_every_kind_of_account_is_told_apart(stage: SlackStage, status: AccountStatus) -> None:
    account = await stage.channel.look_up(email=stage.people[status], account_id="")
    assert account is not None
    assert account.status is status
    assert await stage.channel.look_up(email="", account_id=account.account_id) == account


async def test_people_of_another_workspace_and_strangers_are_guests(stage: SlackStage) -> None:
    stage.simulator.add_person("U0FOREIGN", name="eve", email="eve@partner.example", team_id="T0FOREIGN")
    stage.simulator.add_person("U0STRANGE", name="mal", email="mal@partner.example").is_stranger = True
    assert await stage.channel.look_up(email="eve@partner.example", account_id="") == Account(
        tenant="T0FOREIGN", account_id="U0FOREIGN", status=AccountStatus.GUEST
    )
    stranger = await stage.channel.look_up(email="", account_id="U0STRANGE")
    assert stranger is not None
    assert stranger.status is AccountStatus.GUEST


async def test_of_an_enterprise_grid_whoever_is_in_our_workspace_is_no_guest_wherever_they_are_at_home(
    stage: SlackStage,
) -> None:
    ours = stage.simulator.world.team_id
    for user, teams in (("U0GRIDOURS", ("T0HOME", ours)), ("U0GRIDELSE", ("T0HOME", "T0OTHER"))):
        person = stage.simulator.add_person(user, name="grid", email=f"{user}@example.com", team_id="T0HOME")
        person.grid_teams = teams
    known = [await stage.channel.look_up(email="", account_id=user) for user in ("U0GRIDOURS", "U0GRIDELSE")]
    assert [each.status for each in known if each] == [AccountStatus.ACTIVE, AccountStatus.GUEST]
    assert {each.tenant for each in known if each} == {"T0HOME"}


async def test_the_workspace_is_asked_of_slack_where_it_is_not_pinned(stage: SlackStage) -> None:
    unpinned = {k: v for k, v in stage.simulator.configuration().items() if k != "team_id"}
    channel = build("pay-slack", SlackSettings.model_validate(unpinned))
    account = await channel.look_up(email=stage.email, account_id="")
    await channel.close()
    assert account is not None
    assert account.status is AccountStatus.ACTIVE


async def test_nobody_is_none_and_a_failure_is_an_error(stage: SlackStage) -> None:
    assert await stage.channel.look_up(email="nobody@example.com", account_id="") is None
    assert await stage.channel.look_up(email="", account_id="U0NOBODY") is None
    stage.simulator.fail_next("users.lookupByEmail", Fault.SERVER_ERROR)
    with pytest.raises(ChannelUnavailableError):
        await stage.channel.look_up(email=stage.email, account_id="")
    stage.simulator.fail_next("users.info", Fault.REFUSED)
    with pytest.raises(ChannelRefusedError):
        await stage.channel.look_up(email="", account_id=ALICE)


# --- user groups ------------------------------------------------------------------------------------------------------


async def test_a_user_group_is_its_people(stage: SlackStage) -> None:
    stage.simulator.add_group("S0FIN", "finance", ALICE, "U0B0B00001")
    assert await stage.channel.group_members("group:S0FIN") == (ALICE, "U0B0B00001")
    [asked] = stage.simulator.calls("usergroups.users.list")
    assert asked == {"usergroup": "S0FIN", "include_disabled": "0"}


async def test_a_disabled_user_group_has_nobody(stage: SlackStage) -> None:
    stage.simulator.add_group("S0FIN", "finance", ALICE).disabled = True
    assert await stage.channel.group_members("group:S0FIN") == ()


async def test_a_group_that_cannot_be_read_is_an_error_and_never_a_group_of_nobody(stage: SlackStage) -> None:
    stage.simulator.add_group("S0FIN", "finance", ALICE)
    with pytest.raises(ChannelRefusedError, match="no_such_subteam"):
        await stage.channel.group_members("group:S0THER")
    for source in ("S0FIN", "", "group:finance", "department:S0FIN", "group:S0FIN&include_disabled=1", "group:S0FIN\n"):
        with pytest.raises(ChannelRefusedError, match="S…"):
            await stage.channel.group_members(source)
    for fault in (Fault.SERVER_ERROR, Fault.RATE_LIMITED, Fault.PLAIN_TEXT, Fault.BROKEN_JSON):
        stage.simulator.fail_next("usergroups.users.list", fault)
        with pytest.raises(ChannelUnavailableError):
            await stage.channel.group_members("group:S0FIN")
    stage.simulator.world.groups["S0FIN"].people.append("<!everyone>")
    with pytest.raises(ChannelUnavailableError, match="names no people"):
        await stage.channel.group_members("group:S0FIN")


async def test_without_its_scope_a_group_is_refused_with_the_mend(stage: SlackStage) -> None:
    token = stage.simulator.world.tokens[str(stage.simulator.configuration()["bot_token"])]
    token.scopes = token.scopes - {"usergroups:read"}
    with pytest.raises(ChannelRefusedError, match="add the scope usergroups:read"):
        await stage.channel.group_members("group:S0FIN")


# --- doctor and setting up --------------------------------------------------------------------------------------------


async def test_a_sound_set_up_has_no_complaints(stage: SlackStage) -> None:
    assert {finding.severity for finding in await stage.channel.examine()} == {Severity.OK}


async def test_a_token_that_expires_is_named_before_it_does(stage: SlackStage) -> None:
    token = "xoxe.xoxb-1-simulated"
    tokens = stage.simulator.world.tokens
    tokens[token] = tokens[str(stage.simulator.configuration()["bot_token"])]
    settings = SlackSettings.model_validate(stage.simulator.configuration() | {"bot_token": token})
    channel = build("pay-slack", settings)
    [warning] = [finding for finding in await channel.examine() if finding.severity is not Severity.OK]
    await channel.close()
    assert warning.severity is Severity.WARNING
    assert "expires within twelve hours" in warning.what
    assert "give refresh_token, client_id and client_secret" in warning.mend


async def test_every_complaint_comes_with_its_mend(stage: SlackStage) -> None:
    configuration = {**stage.simulator.configuration(), "team_id": "T0THER", "app_id": "A0THER"}
    stage.simulator.room.has_app = False
    token = stage.simulator.world.tokens[str(configuration["bot_token"])]
    token.scopes = frozenset({"chat:write", "users:read", "channels:read"})
    channel = build("pay-slack", SlackSettings.model_validate(configuration))
    findings = await channel.examine()
    await channel.close()
    bad = [finding for finding in findings if finding.severity is not Severity.OK]
    assert len(bad) == 8
    assert all(finding.mend for finding in bad)
    told = " ".join(f"{finding.what} {finding.mend}" for finding in bad)
    for word in ("team_id: T9TK3CUKW", "app_id: A0APPR0VAL", "users:read.email", "channels:history", "/invite"):
        assert word in told
    for word in ("im:write", "im:history", "usergroups:read"):
        [lost] = [finding for finding in bad if f"without the scope {word} " in finding.what]
        assert lost.severity is Severity.WARNING


async def test_what_slack_does_not_let_the_doctor_see_is_said(stage: SlackStage) -> None:
    configuration = {k: v for k, v in stage.simulator.configuration().items() if k != "app_id"}
    stage.simulator.world.tokens[str(configuration["bot_token"])].scopes = frozenset({"chat:write", "users:read"})
    channel = build("pay-slack", SlackSettings.model_validate(configuration))
    told = {finding.what: finding.severity for finding in await channel.examine()}
    stage.simulator.fail_next("conversations.info", Fault.SERVER_ERROR)
    later = {finding.what for finding in await channel.examine()}
    await channel.close()
    assert told["app_id is not set; the token is of A0APPR0VAL"] is Severity.OK
    [membership] = [severity for what, severity in told.items() if "conversations.info: missing_scope" in what]
    assert membership is Severity.WARNING
    assert "conversations.info: status 500" in later


@pytest.mark.parametrize("archived", [False, True])
async def test_a_channel_that_is_closed_to_the_app_is_an_error(stage: SlackStage, archived: bool) -> None:
    stage.simulator.room.archived = archived
    stage.simulator.room.has_app = archived
    errors = [finding for finding in await stage.channel.examine() if finding.severity is Severity.ERROR]
    assert [("archived" in finding.what, bool(finding.mend)) for finding in errors] == [(archived, True)]


async def test_a_bad_token_is_one_finding(stage: SlackStage) -> None:
    configuration = {**stage.simulator.configuration(), "bot_token": "xoxb-of-another-app"}
    channel = build("pay-slack", SlackSettings.model_validate(configuration))
    [finding] = await channel.examine()
    await channel.close()
    assert finding.severity is Severity.ERROR
    assert "invalid_auth" in finding.what
    assert "xoxb" not in finding.what


def test_the_manifest_asks_for_the_callback_or_the_connection() -> None:
    webhook = manifest(name="pay-slack", public_url="https://assent.example/", receive="webhook")
    socket = manifest(name="pay-slack", public_url="", receive="socket")
    address = "https://assent.example/v1/channels/pay-slack/callback"
    assert webhook["settings"] == {
        "interactivity": {"is_enabled": True, "request_url": address},
        "org_deploy_enabled": False,
        "socket_mode_enabled": False,
        "token_rotation_enabled": False,
    }
    assert "request_url" not in str(socket)
    assert "'socket_mode_enabled': True" in str(socket)


def test_the_manifest_asks_for_every_scope_that_is_used() -> None:
    asked = cast("dict[str, dict[str, list[str]]]", manifest(name="p", public_url="", receive="socket")["oauth_config"])
    assert set(asked["scopes"]["bot"]) == ALL_SCOPES


@pytest.mark.parametrize("address", ["", "http://assent.example", "assent.example", "https://"])
def test_a_manifest_for_webhooks_needs_the_https_address(address: str) -> None:
    with pytest.raises(ValueError, match="--public-url https://"):
        manifest(name="pay-slack", public_url=address, receive="webhook")


async def test_a_webhook_channel_does_not_listen_and_a_listening_one_does(stage: SlackStage) -> None:
    assert not isinstance(stage.channel, ListeningChannel)
    listening = build("pay-slack", SlackSettings.model_validate(stage.simulator.configuration(receive="socket")))
    assert isinstance(listening, ListeningChannel)


@pytest.mark.process
def test_importing_the_channel_does_not_load_the_sdk() -> None:
    code = "import sys, channels.slack.channel as c; sys.exit('slack_sdk' in sys.modules or 'aiohttp' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=HANGS)
