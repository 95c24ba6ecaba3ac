"""An Enterprise Grid, end to end: whoever is of our organisation is themselves; people of a foreign one are refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from channels.slack.simulator.state import Person
from tests.fixtures.patience import eventually
from tests.fixtures.platforms import slack_id
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.platforms import Stage

GRID, FOREIGN = "E0GRID", "E0ELSEWHERE"
HOME = "T0HOME"


async def become(stage: Stage, account: str, *, home: str, teams: tuple[str, ...], enterprise: str = GRID) -> None:
    """Let Alice be a Grid's member with an id of the organisation (W…), at home in some workspace."""
    world = stage.slack.world
    world.enterprise_id = GRID
    world.people.pop(slack_id("alice"), None)
    world.add_person(
        Person(
            id=account, name="alice", email="alice@acme.example", team_id=home, grid_teams=teams,
            enterprise_id=enterprise,
        )
    )  # fmt: skip
    await stage.gateway.container.confirm_accounts()


async def press(stage: Stage, account: str, request: dict[str, Any]) -> str:
    """Approve in Slack, and return what the person is told."""
    told = len(stage.slack.room.notes)
    sent = await stage.slack.click(account, stage.slack.room.id, stage.slack_ts(request), "assent_approve")
    assert sent.status == 200
    await eventually(lambda: len(stage.slack.room.notes) > told)
    return stage.slack.room.notes[-1].text


def voted(stage: Stage) -> dict[str, Any]:
    """Return whose vote the trail has, and by which account."""
    (row,) = stage.gateway.rows("SELECT actor, facts FROM audit_events WHERE kind = 'request.approved'")
    facts = json.loads(row["facts"])
    return {"actor": row["actor"], "account": facts["account"], "tenant": facts["tenant"]}


@requirement("S-06", "S-28")
@pytest.mark.parametrize("org_wide", [False, True])
async def test_a_member_who_is_at_home_in_another_workspace_is_known_by_the_organisations_id(
    stage: Stage, org_wide: bool
) -> None:
    await become(stage, "W0ALICE00", home=HOME, teams=(HOME, stage.slack.world.team_id))
    stage.slack.world.org_wide = org_wide
    request = await stage.ask()
    assert "Recorded: approved" in await press(stage, "W0ALICE00", request)
    assert voted(stage) == {"actor": "alice@acme.example", "account": "W0ALICE00", "tenant": HOME}


@requirement("S-06")
async def test_a_colleague_of_another_workspace_decides_only_where_the_app_is_the_whole_organisations(
    stage: Stage,
) -> None:
    await become(stage, "W0ALICE00", home=HOME, teams=(HOME,))
    request = await stage.ask()
    assert "This account may not decide" in await press(stage, "W0ALICE00", request)
    assert await stage.state(request) == "pending"
    channel: Any = stage.gateway.container.channels.get("acme", "pay-slack")
    channel = channel.of  # the package's own, behind its guard
    stage.slack.world.org_wide, channel._team = True, ""  # as after a new installation and a restart
    await stage.gateway.container.confirm_accounts()
    assert "Recorded: approved" in await press(stage, "W0ALICE00", request)


@requirement("S-06")
@pytest.mark.parametrize("org_wide", [False, True])
@pytest.mark.heavy
async def test_people_of_a_foreign_organisation_are_refused_whichever_name_they_bear(
    stage: Stage, org_wide: bool
) -> None:
    stage.slack.world.org_wide = org_wide
    channel: Any = stage.gateway.container.channels.get("acme", "pay-slack")
    channel = channel.of  # the package's own, behind its guard
    channel._team = ""
    await become(stage, "W0ALICE00", home="T0THEIRS", teams=("T0THEIRS",), enterprise=FOREIGN)
    request = await stage.ask()
    assert "This account may not decide" in await press(stage, "W0ALICE00", request)
    assert await stage.state(request) == "pending"


@requirement("S-06", "S-28")
async def test_an_id_of_ours_that_comes_from_a_foreign_workspace_is_refused(stage: Stage) -> None:
    await become(stage, "W0ALICE00", home=HOME, teams=(HOME, stage.slack.world.team_id))
    request = await stage.ask()
    stage.slack.world.people["W0ALICE00"].team_id = "T0THEIRS"  # what the click says; the account is known otherwise
    assert "This account may not decide" in await press(stage, "W0ALICE00", request)
    assert await stage.state(request) == "pending"
