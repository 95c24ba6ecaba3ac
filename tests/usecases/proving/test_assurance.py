"""What an approval takes besides a click: a typed code or amount, or what no card gives."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from app.domain.card.typed import TYPED
from app.domain.people.assurance import Assurance
from app.domain.request.action import Action
from app.domain.request.decision import Evidence, Verdict
from app.storage.requests.requests import lock_request
from app.usecases.deciding.decide import decide
from tests.fixtures.consulting import forged
from tests.fixtures.gateway import PAY
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.storage.engine.transaction import Tx
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import Message

MINUTE = timedelta(minutes=1)
ALICE, BOB, CAROL = (f"{who}@acme.example" for who in ("alice", "bob", "carol"))
CALL = {**PAY, "currency": "CNY"}
WRONG = "WRNG-C0DE"


async def at(g: Gateway, level: str, *, tool: str = "pay") -> None:
    """Make a tool's rule take a level of assurance, and no payment more than it; `pay` is one."""
    g.rewrite("default: deny\n", "default: deny\npayments: {step_up: [], duplicates: 0s}\n")
    g.rewrite("money: [amount]", "money: [amount]\n    payment: {amount: amount, currency: currency, payee: payee}")
    g.rewrite(f"tools: [{tool}], then: ask,", f"tools: [{tool}], then: ask, assurance: {level},")
    await g.reload()


async def type_in(
    g: Gateway, request: dict[str, Any], text: str, who: str = "U_ALICE", *, chat: str = "C1", **more: Any
) -> dict[str, Any]:
    """Press Approve with a text typed beside it."""
    return await g.press(request, who, chat=chat, fields={TYPED: text}, **more)


def refusals(g: Gateway, request: dict[str, Any]) -> list[str]:
    """Return why clicks on a request did not count, in order."""
    rows = g.rows(f"SELECT kind, facts FROM audit_events WHERE request_id = '{request['id']}' ORDER BY seq")
    return [str(row["facts"]).split('"why":"')[1].split('"')[0] for row in rows if row["kind"] == "click.refused"]


async def approve_with_factor(g: Gateway, request: dict[str, Any], *people: str) -> None:
    """Let people approve with their second factor, as the API does once it has looked at it."""

    def unit(tx: Tx, person: str) -> None:
        locked = lock_request(tx, request["id"])
        assert locked is not None
        loaded = g.container.book.current("acme")
        evidence = Evidence(channel="api", assurance=Assurance.L3)
        said = decide(
            tx, *locked, loaded, person=person, verdict=Verdict.APPROVE, reason=None, evidence=evidence
        )  # fmt: skip
        assert said.refusal is None

    for person in people:
        await g.container.store.write(lambda tx, person=person: unit(tx, person), org="acme")
    await g.quiet()


# --- L2: something is typed -------------------------------------------------------------------------------------------


@requirement("S-29")
async def test_a_click_alone_approves_nothing_where_something_must_be_typed(gateway: Gateway) -> None:
    g = gateway
    await at(g, "L2")
    request = await g.ask(arguments=CALL)
    card, trail = g.card(request).card, g.trail(request)
    assert card.buttons is not None
    assert card.buttons.typed is not None
    assert "Takes: a typed code" in str(card.progress)
    assert card.footer.endswith("L2 · UTC")
    for fields in ({}, {TYPED: ""}, {TYPED: "  "}, {"reason": request["code"]}):
        said = await g.press(request, fields=fields)
        assert (said["result"], "type the code" in said["sentence"]) == ("retry", True)
    said = await g.press(request, wants_form=True)
    [(_, form)] = g.platform.forms
    assert [field.name for field in form.fields] == [TYPED]
    assert request["code"] in form.note
    assert (await g.read(request))["state"] == "pending"
    assert g.trail(request) == trail


@requirement("S-29")
@pytest.mark.parametrize("typed", ["code", "code of a phone", "amount"])
async def test_the_code_or_the_amount_approves_and_the_vote_says_what_it_was_worth(
    either_gateway: Gateway, typed: str
) -> None:
    g = either_gateway
    await at(g, "L2")
    request = await g.ask(arguments=CALL)
    code = str(request["code"])
    text = {"code": code, "code of a phone": code.lower().replace("-", " "), "amount": "80,000.00"}[typed]
    assert (await type_in(g, request, text))["result"] == "recorded"
    assert (await g.read(request))["state"] == "approved"
    assert [row["assurance"] for row in g.rows("SELECT assurance FROM decisions")] == ["L2"]
    assert (await g.claim(request)).status_code == 200


@requirement("S-29")
async def test_three_wrong_tries_lock_one_person_out_of_one_request_and_nobody_else(either_gateway: Gateway) -> None:
    g = either_gateway
    await at(g, "L2")
    request, other = await g.ask(arguments=CALL), await g.ask(arguments={**CALL, "amount": 7})
    for left in (2, 1):
        said = await type_in(g, request, WRONG)
        assert (said["result"], f"left: {left}" in said["sentence"]) == ("retry", True)
    assert "until" in (await type_in(g, request, "79,999.99"))["sentence"]
    for typed in (str(request["code"]), WRONG):
        said = await type_in(g, request, typed)
        assert (said["result"], "until" in said["sentence"]) == ("refused", True)
    assert "until" in (await g.press(request, wants_form=True))["sentence"]
    assert refusals(g, request) == ["wrong_code"] * 3 + ["locked"] * 2
    assert ("approver.locked", ALICE) in g.trail(request)
    assert (await g.read(request))["state"] == "pending"
    assert (await type_in(g, other, str(other["code"])))["result"] == "recorded"
    assert (await type_in(g, request, str(request["code"]), "U_BOB"))["result"] == "recorded"
    assert (await g.read(request))["state"] == "approved"
    everything = repr(g.content()) + repr(g.rows("SELECT * FROM attempts"))
    assert WRONG not in everything
    assert "79,999" not in everything


@requirement("S-29")
async def test_whoever_is_locked_out_can_deny_and_is_heard_again_after_a_while(gateway: Gateway) -> None:
    g = gateway
    await at(g, "L2")
    denied, request = await g.ask(arguments=CALL), await g.ask(arguments={**CALL, "amount": 7})
    for each in (denied, request):
        said = [await type_in(g, each, WRONG) for _ in range(3)]
        assert "2026-03-01 10:15 UTC" in said[-1]["sentence"]
    assert (await g.press(denied, verdict="deny"))["result"] == "recorded"
    await g.advance(15 * MINUTE - timedelta(seconds=1))
    assert (await type_in(g, request, "7"))["result"] == "refused"
    await g.advance(timedelta(seconds=1))
    assert "left: 2" in (await type_in(g, request, WRONG))["sentence"]
    assert (await type_in(g, request, "7"))["result"] == "recorded"


@requirement("S-29")
async def test_wrong_tries_add_up_over_all_cards_and_a_right_one_forgets_them(gateway: Gateway) -> None:
    g = gateway
    await at(g, "L2", tool="pay_two")
    request = await g.ask("pay_two")
    code = str(request["code"])
    assert "left: 2" in (await type_in(g, request, "80000"))["sentence"]  # no payment: the code alone
    assert "left: 1" in (await type_in(g, request, WRONG, chat="C2"))["sentence"]
    assert (await type_in(g, request, code))["result"] == "recorded"
    withdraw = g.platform.use(g.card(request), "U_ALICE", Action.WITHDRAW)
    assert (await g.send(withdraw)).body["result"] == "recorded"  # pyright: ignore[reportOptionalSubscript]
    assert "left: 2" in (await type_in(g, request, WRONG, chat="C2"))["sentence"]
    assert "left: 1" in (await type_in(g, request, WRONG))["sentence"]
    assert "until" in (await type_in(g, request, WRONG, chat="C2"))["sentence"]
    assert (await type_in(g, request, code, "U_BOB"))["result"] == "recorded"
    assert (await type_in(g, request, code, "U_CAROL", chat="C2"))["result"] == "recorded"
    assert (await g.read(request))["state"] == "approved"


@requirement("S-20", "S-29")
async def test_one_wrong_try_that_arrives_many_times_is_one(gateway: Gateway) -> None:
    g = gateway
    await at(g, "L2")
    request = await g.ask(arguments=CALL)
    said = [await type_in(g, request, WRONG, event_key="the same") for _ in range(5)]
    assert (said[-1]["result"], "looked at already" in said[-1]["sentence"]) == ("retry", True)
    assert refusals(g, request) == ["wrong_code"]
    assert (await type_in(g, request, "80000"))["result"] == "recorded"


@requirement("S-06", "S-29")
async def test_what_outsiders_type_is_not_looked_at(gateway: Gateway) -> None:
    g = gateway
    await at(g, "L2")
    request = await g.ask(arguments=CALL, requester=ALICE)
    for who, why in (("U_DAVE", "not_eligible"), ("U_ALICE", "barred")):
        for typed in (WRONG, str(request["code"])):
            assert (await type_in(g, request, typed, who))["result"] == "refused"
            assert refusals(g, request)[-1] == why
        assert (await g.press(request, who, wants_form=True))["result"] == "refused"
    assert not g.platform.forms
    assert not g.rows("SELECT * FROM attempts")
    assert (await g.read(request))["state"] == "pending"


@requirement("S-12", "S-29")
async def test_in_a_shared_message_each_request_takes_its_own_code(gateway: Gateway) -> None:
    g = gateway
    g.rewrite("default: deny\n", "default: deny\nattention: {group: 10m}\n")
    await at(g, "L2")
    first, second = [await g.ask(arguments={**CALL, "amount": amount}, session="s-1") for amount in (9, 7)]
    [message] = g.platform.in_chat("C1")
    [other] = message.card.also
    assert message.card.buttons is not None
    assert other.buttons is not None
    assert other.buttons.typed is not None

    async def typed(token: str | None, text: str) -> str:
        click = replace(g.platform.press(message, "U_ALICE", "approve"), token=token or "", fields={TYPED: text})
        return str((await g.send(click)).body["result"])  # pyright: ignore[reportOptionalSubscript]

    assert await typed(other.buttons.approve, str(first["code"])) == "retry"
    assert await typed(other.buttons.approve, str(second["code"])) == "recorded"
    assert [(await g.read(each))["state"] for each in (first, second)] == ["pending", "approved"]


@requirement("S-29")
async def test_whoever_changes_a_call_approves_the_changed_one_with_its_own_code(gateway: Gateway) -> None:
    g = gateway
    await at(g, "L2")
    request = await g.ask(arguments=CALL)
    amount = next(field.name for field in _edit_fields(g.card(request)) if field.value == "80000")

    async def edit(value: str) -> dict[str, Any]:
        filled = {field.name: field.value for field in _edit_fields(g.card(request))}
        typed = {**filled, amount: value, TYPED: str(request["code"])}
        return (await g.send(g.platform.use(g.card(request), "U_ALICE", Action.EDIT, **typed))).body or {}

    assert (await edit("80000"))["result"] == "refused"  # nothing was changed: a plain approval, and worth one click
    said = await edit("70000")
    assert (said["result"], "Now approve it" in said["sentence"]) == ("recorded", True)
    after = await g.read(request)
    assert (after["state"], after["arguments"]["amount"], after["decisions"]) == ("pending", 70000, [])
    assert (await type_in(g, request, str(request["code"])))["result"] == "retry"
    assert after["code"] != request["code"]
    assert (await type_in(g, request, str(after["code"])))["result"] == "recorded"
    assert (await g.read(request))["state"] == "approved"


def _edit_fields(message: Message) -> tuple[Any, ...]:
    form = next(each.form for each in message.card.controls if each.action is Action.EDIT)
    assert form is not None
    return form.fields


# --- L3 and L4: no card approves --------------------------------------------------------------------------------------


@requirement("S-29")
@pytest.mark.parametrize(
    ("level", "tool", "takes"), [("L3", "pay", "your second factor"), ("L4", "pay_two", "two people")]
)
async def test_a_card_that_cannot_approve_says_how_and_denies_all_the_same(
    gateway: Gateway, level: str, tool: str, takes: str
) -> None:
    g = gateway
    await at(g, level, tool=tool)
    request = await g.ask(tool, CALL)
    card = g.card(request).card
    assert card.buttons is not None
    assert card.buttons.approve is None
    assert Action.EDIT not in {control.action for control in card.controls}
    assert takes in str(card.withheld)
    assert f"assent requests approve {request['id']}" in str(card.withheld)
    assert "Takes: " in str(card.progress)
    assert (await g.press(request, verdict="deny"))["result"] == "recorded"
    assert (await g.read(request))["state"] == "denied"


@requirement("S-06", "S-29")
@pytest.mark.parametrize("fields", [{}, {TYPED: "80000"}])
@pytest.mark.parametrize("wants_form", [False, True])
async def test_a_button_that_no_card_of_this_level_has_is_refused_and_recorded(
    gateway: Gateway, fields: dict[str, str], *, wants_form: bool
) -> None:
    g = gateway
    await at(g, "L3")
    request = await g.ask(arguments=CALL)
    for action in (Action.APPROVE, Action.EDIT):
        click = replace(await forged(g, request, action), fields=fields, wants_form=wants_form)
        said = (await g.send(click)).body or {}
        assert (said["result"], "more than a click" in str(said["sentence"])) == ("refused", True)
    assert refusals(g, request) == ["step_up", "step_up"]
    assert not g.platform.forms
    assert (await g.read(request))["decisions"] == []
    await approve_with_factor(g, request, BOB)
    assert (await g.read(request))["state"] == "approved"


@requirement("S-27", "S-29")
@pytest.mark.parametrize(
    ("level", "tool", "worth"), [("L2", "pay", "L1"), ("L3", "pay", "L2"), ("L4", "pay_two", "L2")]
)
async def test_an_approval_is_taken_back_whose_votes_are_worth_less_than_it_takes(
    gateway: Gateway, level: str, tool: str, worth: str
) -> None:
    """No way leads there; the claim looks all the same."""
    g = gateway
    await at(g, level, tool=tool)
    request = await g.ask(tool, CALL)
    if level == "L2":
        await type_in(g, request, "80000")
    else:
        await approve_with_factor(g, request, *([ALICE, BOB] if level == "L4" else [ALICE]))
    assert (await g.read(request))["state"] == "approved"
    g.rows(f"UPDATE decisions SET assurance = '{worth}' WHERE person = '{ALICE}'")
    assert (await g.claim(request)).json()["code"] == "unsealed"
    await g.container.seal_standing.again("acme", by="olga@acme.example", reason="looked at it")
    refused = await g.claim(request)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_approved")
    assert "alice@acme.example may not approve this any more" in refused.json()["detail"]
    assert [row["status"] for row in g.rows("SELECT status FROM grants")] == ["revoked"]


# --- and a notice elsewhere -------------------------------------------------------------------------------------------


@requirement("S-29")
async def test_whoever_approved_with_a_second_factor_hears_of_it_in_a_chat_of_their_own(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    g.rewrite("stages: [{of: [finance], need: 2}], channels: [chat, chat-two, api]",
              "stages: [{of: [finance], need: 2}], channels: [chat, api]")  # fmt: skip
    await at(g, "L4", tool="pay_two")
    request = await g.ask("pay_two")
    await approve_with_factor(g, request, ALICE)
    assert not g.platform.in_chat("U_ALICE")  # only once it is complete
    await approve_with_factor(g, request, BOB)
    assert (await g.read(request))["state"] == "approved"
    for who in ("U_ALICE", "U_BOB"):
        [message] = g.platform.in_chat(who)
        assert message.card.own
        assert message.card.buttons is None
        assert message.card.headline == "You approved this"
        [warning] = message.card.warnings
        assert "with your second factor at" in warning
        assert f"assent requests withdraw {request['id']}" in warning
    assert not g.platform.in_chat("U_CAROL")
    assert g.card(request).card.warnings == ()
    await g.claim(request)
    await g.quiet()
    [message] = g.platform.in_chat("U_ALICE")
    assert message.card.headline == "You approved this"


@requirement("S-29")
async def test_whoever_has_a_copy_of_their_own_hears_of_it_below_it(gateway: Gateway) -> None:
    g = gateway
    g.platform.opens_forms = False
    await at(g, "L3")
    request = await g.ask(arguments=CALL)
    for who in ("U_ALICE", "U_BOB"):
        await g.send(g.platform.use(g.card(request), who, Action.MORE))
    [copy], [other] = g.platform.in_chat("U_ALICE"), g.platform.in_chat("U_BOB")
    assert copy.card.buttons is not None
    assert copy.card.buttons.approve is None
    await approve_with_factor(g, request, ALICE)
    assert [message.ref for message in g.platform.in_chat("U_ALICE")] == [copy.ref]
    [(under, notice)] = g.platform.notices
    assert under == copy.ref
    assert "You approved “Pay Acme Ltd 80,000”" in notice.text
    assert (copy.card.headline, other.card.headline) == ("You approved this", "Approved")
    assert other.card.warnings == ()


@requirement("S-29")
async def test_a_request_without_cards_is_told_of_wherever_its_approver_has_a_chat(gateway: Gateway) -> None:
    g = gateway
    await at(g, "L3", tool="by_api")
    request = await g.ask("by_api", {})
    await approve_with_factor(g, request, CAROL)
    told = g.platform.of(request["id"])
    assert {message.ref.chat_id for message in told} == {"U_CAROL"}
    assert all("You approved this" in message.card.warnings[-1] for message in told)


@requirement("S-29")
async def test_a_click_is_no_news_to_whoever_clicked(gateway: Gateway) -> None:
    g = gateway
    await at(g, "L2")
    request = await g.ask(arguments=CALL)
    await type_in(g, request, str(request["code"]))
    assert [message.ref.chat_id for message in g.platform.of(request["id"])] == ["C1"]
    assert not g.platform.notices
