"""What people do around a decision: hand over, add, ask, answer, remind, from both kinds of card; told as stories."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.consulting import ALICE, BOB, CAROL, PAY_TWO, RITA, facts, kinds, own, press
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform


@pytest.fixture(autouse=True)
def direct_chats(platform: MemoryPlatform) -> None:
    """Let messages to people live in chats with ids of their own, as on the real platforms."""
    platform.names_direct_chats = True


# --- hand over --------------------------------------------------------------------------------------------------------


@requirement("S-23", "S-27")
async def test_a_place_that_is_handed_over_is_decided_by_the_other_on_a_card_of_their_own(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    request = await g.ask()
    said = await press(g, g.card(request), "U_ALICE", "hand_over", person="U_BOB", note="on holiday")
    assert said == ("recorded", "Recorded: Bob decides in your place now.")
    copy = own(g, request, "U_BOB")
    assert copy.card.own
    assert (await g.press(request))["result"] == "refused"  # Alice's place is Bob's, whatever she still sees
    answered = await g.send(g.platform.press(copy, "U_BOB", "approve"))
    assert (answered.body or {})["result"] == "recorded"
    seen = await g.read(request)
    assert (seen["state"], seen["handovers"][0]["to"]) == ("approved", BOB)
    assert facts(g, "request.handed_over")[0] | {"message": "-"} == {
        "to": BOB, "note": "on holiday", "channel": "chat", "account": "U_ALICE", "message": "-"
    }  # fmt: skip
    assert facts(g, "request.approved")[0]["handed_over_by"] == ALICE
    assert "given" not in g.card(request).card.headline
    assert "Bob (handed over by Alice)" in str(g.card(request).card.outcome)


@requirement("S-09")
@pytest.mark.parametrize(
    ("whom", "sentence"),
    [
        ("U_RITA", "cannot decide"),  # asked for it
        ("U_OLGA", "cannot decide"),  # the agent is hers
        ("U_DAVE", "cannot decide"),  # of another group
        ("U_ALICE", "cannot decide"),  # herself
        ("U_NOBODY", "not known"),
        ("bob@acme", "not known"),  # a beginning of an address is nobody
        ("Bo", "not known"),
        ("", "say who"),
    ],
)
@pytest.mark.sampled(3)
async def test_a_place_goes_to_nobody_who_could_not_have_had_it(gateway: Gateway, whom: str, sentence: str) -> None:
    request = await gateway.ask(requester=RITA)
    _, said = await press(gateway, gateway.card(request), "U_ALICE", "hand_over", person=whom)
    assert sentence in said
    assert (await gateway.read(request))["handovers"] == []
    assert (await gateway.press(request))["result"] == "recorded"  # she still decides


@pytest.mark.parametrize("whom", ["bob@acme.example", "BOB@Acme.Example", "bob", "U_BOB"])
async def test_a_person_is_named_by_account_by_e_mail_or_by_a_name_that_is_theirs_alone(
    gateway: Gateway, whom: str
) -> None:
    request = await gateway.ask()
    assert (await press(gateway, gateway.card(request), "U_ALICE", "hand_over", person=whom))[0] == "recorded"
    assert (await gateway.read(request))["handovers"][0]["to"] == BOB


@requirement("S-23")
async def test_a_name_that_two_people_have_is_nobody(gateway: Gateway) -> None:
    gateway.rewrite("{name: Carol,", "{name: Bob,")
    await gateway.reload()
    request = await gateway.ask()
    said = await press(gateway, gateway.card(request), "U_ALICE", "hand_over", person="Bob")
    assert "not known" in said[1]


@requirement("S-06")
@pytest.mark.parametrize("action", ["hand_over", "add", "ask", "remind"])
@pytest.mark.parametrize(
    ("account", "why"), [("U_DAVE", "not_eligible"), ("U_OLGA", "barred"), ("U_STRANGER", "unmapped")]
)
@pytest.mark.sampled(4)
async def test_whoever_may_not_decide_may_do_nothing_else_either_and_it_is_recorded(
    gateway: Gateway, action: str, account: str, why: str
) -> None:
    request = await gateway.ask()
    fields = {"person": "U_CAROL", "text": "why?"}
    await gateway.advance(timedelta(minutes=6))
    assert (await press(gateway, gateway.card(request), account, action, **fields))[0] == "refused"
    assert (await gateway.read(request))["version"] == 1
    assert [each["why"] for each in facts(gateway, "click.refused")] == [why]


@requirement("S-23", "S-27")
async def test_two_places_are_never_met_by_one_person_through_a_hand_over(gateway: Gateway) -> None:
    gateway.rewrite(
        PAY_TWO,
        PAY_TWO.replace("[{of: [finance], need: 2}]", "[{of: [alice@acme.example, bob@acme.example], need: 2}]"),
    )
    await gateway.reload()
    request = await gateway.ask("pay_two")
    said = await press(gateway, gateway.card(request), "U_ALICE", "hand_over", person="U_BOB")
    assert said == ("refused", "This person cannot decide this request, or then nobody could. Nothing was changed.")


@requirement("S-27")
async def test_a_place_is_lost_when_the_file_no_longer_lets_the_other_take_it_also_before_the_claim(
    gateway: Gateway,
) -> None:
    request = await gateway.ask("by_api", {"n": 1})
    body = {"to": BOB, "digest": request["digest"]}
    for giver in (ALICE, CAROL):
        given = await gateway.call("POST", f"/v1/requests/{request['id']}/handover", body, who=giver)
        assert given.status_code == 200, given.text
    assert (await gateway.decide(request, who=BOB)).json()["state"] == "approved"
    gateway.rewrite("finance: [alice@acme.example, bob@acme.example, ", "finance: [alice@acme.example, ")
    await gateway.reload()
    refused = await gateway.claim(request)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_approved")
    assert BOB in refused.json()["detail"]


async def test_a_hand_over_takes_the_givers_vote_back_and_keeps_the_others(gateway: Gateway) -> None:
    request = await gateway.ask("pay_two")
    for account in ("U_ALICE", "U_BOB"):
        if account == "U_ALICE":
            await gateway.press(request, account)
    await press(gateway, gateway.card(request), "U_ALICE", "hand_over", person="U_CAROL")
    seen = await gateway.read(request)
    assert (seen["decisions"], seen["state"]) == ([], "pending")
    await gateway.press(request, "U_CAROL")
    assert (await gateway.press(request, "U_BOB"))["sentence"].startswith("Recorded: approved")


async def test_the_same_hand_over_again_changes_nothing(gateway: Gateway) -> None:
    request = await gateway.ask()
    click = gateway.platform.use(gateway.card(request), "U_ALICE", "hand_over", person="U_BOB")
    first, again = [((await gateway.send(click)).body or {})["result"] for _ in range(2)]
    assert (first, again) == ("recorded", "already")
    assert (await press(gateway, gateway.card(request), "U_ALICE", "hand_over", person="U_BOB"))[0] == "already"
    assert kinds(gateway, request).count("request.handed_over") == 1
    assert "click.refused" not in kinds(gateway, request)


# --- add --------------------------------------------------------------------------------------------------------------


@requirement("S-23", "S-24")
async def test_a_person_who_was_added_must_agree_as_well_and_is_asked_alone(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask()
    said = await press(g, g.card(request), "U_ALICE", "add", person="U_DAVE", note="you know the supplier")
    assert said == ("recorded", "Recorded: Dave must approve as well now.")
    assert "counted" not in (await g.press(request))["result"]
    assert (await g.read(request))["state"] == "pending"
    await g.press(request, "U_BOB")
    assert (await g.read(request))["state"] == "pending"  # nobody else stands in for Dave
    await g.send(g.platform.press(own(g, request, "U_DAVE"), "U_DAVE", "approve"))
    seen = await g.read(request)
    assert (seen["state"], [stage["added_by"] for stage in seen["stages"]]) == ("approved", [None, ALICE])
    assert (await g.claim(request)).status_code == 200


async def test_the_denial_of_a_person_who_was_added_ends_the_request(gateway: Gateway) -> None:
    request = await gateway.ask()
    await press(gateway, gateway.card(request), "U_ALICE", "add", person="U_DAVE")
    await gateway.send(gateway.platform.press(own(gateway, request, "U_DAVE"), "U_DAVE", "deny"))
    assert (await gateway.read(request))["state"] == "denied"


@pytest.mark.parametrize("whom", ["U_RITA", "U_OLGA"])
async def test_nobody_is_added_who_may_not_decide(gateway: Gateway, whom: str) -> None:
    request = await gateway.ask(requester=RITA)
    assert "cannot decide" in (await press(gateway, gateway.card(request), "U_ALICE", "add", person=whom))[1]


@requirement("S-27")
async def test_without_the_person_who_was_added_nothing_is_approved(gateway: Gateway) -> None:
    request = await gateway.ask()
    await press(gateway, gateway.card(request), "U_ALICE", "add", person="U_DAVE")
    gateway.rewrite("  dave@acme.example: {name: Dave, memory: U_DAVE}\n", "")
    gateway.rewrite("legal: [dave@acme.example, ", "legal: [")
    await gateway.reload()
    for account in ("U_ALICE", "U_BOB", "U_CAROL"):
        await gateway.press(request, account)
    assert (await gateway.read(request))["state"] == "pending"
